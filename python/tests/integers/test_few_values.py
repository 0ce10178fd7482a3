"""Integers of few slots, refreshed by roots of unity: NumPy's values, at every number of them."""

import operator
from functools import cache

import numpy as np
import pytest

import hemera as hm

from ..refusals import raises
from .setting import check

MOST = {8: 8, 16: 4, 32: 2, 64: 1}
"""The values of a ciphertext of N = 2^11: 1,024 slots hold 16 digits, each with its 64 blocks."""
OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    "==": operator.eq,
    "&": operator.and_,
    ">> 5": lambda a, _: a >> 5,
    "// 7": lambda a, _: a // 7,
    "least": np.minimum,
    "sum": lambda a, _: a.sum(dtype=a.dtype),
}


@cache
def few(bits, values):
    return hm.integers.Context(bits, values=values, preset="test-exact-few")


@pytest.mark.parametrize(
    ("name", "values", "count"),
    [("uint64", 1, 2), ("int32", 2, 2), ("uint16", 4, 9), ("int8", 8, 5), ("uint8", 1, 2)],
)
def test_operations_are_those_of_numpy(name, values, count):
    """In one ciphertext, a part of one and several: carries through all digits, and random values."""
    dtype = np.dtype(name)
    ints, limits, rng = few(8 * dtype.itemsize, values), np.iinfo(dtype), np.random.default_rng(count)
    a, b = (rng.integers(limits.min, limits.max, count, dtype, endpoint=True) for _ in range(2))
    a[0], b[0] = (limits.max if dtype.kind == "u" else -1), 1
    x, y = ints.encrypt(a), ints.encrypt(b)
    for operation in OPERATIONS.values():
        with np.errstate(over="ignore"):
            expected = operation(a, b)
        check(operation(x, y), expected, ints)


def test_one_value_stays_right_through_operations_in_a_row():
    ints, rng = few(64, 1), np.random.default_rng(5)
    a, b = (rng.integers(0, 2**64 - 1, 1, np.uint64, endpoint=True) for _ in range(2))
    x, y = ints.encrypt(a), ints.encrypt(b)
    for name in rng.choice(["+", "-", "*", "&", "least"], 12):
        with np.errstate(over="ignore"):
            a, b = OPERATIONS[name](a, b), a
        x, y = OPERATIONS[name](x, y), x
        check(x, a, ints)


@pytest.mark.parametrize("bits", MOST)
def test_the_numbers_of_values_that_fit(bits):
    most = MOST[bits]
    assert few(bits, most).values == most
    for wrong in (0, -1, 3, 2 * most):
        raises(hm.errors.ParameterError, f"values={wrong}: .* up to {most}", few, bits, wrong)
    with pytest.raises(hm.errors.ParameterError, match=rf"up to {most}; say how many, Context\(values=\)"):
        hm.integers.Context(bits, preset="test-exact-few")
    with pytest.raises(TypeError, match="an integer as values, not float"):
        hm.integers.Context(bits, values=1.0, preset="test-exact-few")
    whole = hm.integers.Context(bits, values=16, preset="test-exact", device="ledger")
    assert (whole.values, whole._layout.slots) == (16, 4 * bits)


def test_contexts_of_other_values_take_no_files_and_have_no_keys():
    """Digits stand elsewhere there, so values would be wrong."""
    ints, a = few(8, 4), np.arange(7, dtype=np.uint8)
    file = bytes(ints.encrypt(a))
    server = hm.integers.Context(8, values=4, preset="test-exact-few", keys=bytes(ints.keys))
    check(ints.load(bytes(server.load(file) + server.encrypt(a))), a + a, ints)
    other = hm.integers.Context(8, values=8, keys=ints.keys)
    raises(hm.errors.MismatchError, r"of 4 values each, .* has 8 in one; .*values=", other.load, file)
    raises(hm.errors.MismatchError, "two contexts", lambda: ints.encrypt(a) + other.encrypt(a))
    for context in (other, hm.integers.Context(16, values=2, secret_key=ints.secret_key)):
        with pytest.raises(hm.errors.MismatchError, match=r"of 8 bits, 4 in .*, and this one has"):
            context.decrypt(ints.encrypt(a))
    raises(hm.errors.MissingKeyError, "", lambda: other.encrypt(a) + other.encrypt(a))


@pytest.mark.parametrize(("bits", "values"), [(64, 1), (64, 32), (8, 256)])
def test_the_secure_preset_has_the_levels_of_all_operations(bits, values):
    """Counted, with errors and levels of a run: each operation with as many refreshes as of whole
    ciphertexts."""
    ints = hm.integers.Context(bits, values=values, preset="n16-exact-few", device="ledger")
    assert ints.params.security_bits >= 128
    assert ints.values == values
    dtype = np.dtype(f"uint{bits}")
    x = ints.encrypt(np.arange(values, dtype=dtype), levels=0)
    for name, operation in OPERATIONS.items():
        for operand in (x, operation(x, x) if name not in ("<", "==", "sum") else x):
            found = operation(operand, x)
            assert found.failure_log2 < -128, name
            assert found.error < 2**-9, name


def test_a_report_counts_one_ciphertext():
    text = hm.integers.Context(64, values=4, preset="n16-exact-few", device="ledger").report("nvidia-h200")
    assert "for one ciphertext (counted" in text
    assert "a * b: 2 refreshes" in text
    assert "a + b, a - b, -a: 1 refresh" in text
