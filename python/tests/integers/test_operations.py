"""Encrypted integers beside NumPy's: operators, types and edges."""

import operator
import re
from dataclasses import replace

import numpy as np
import pytest

import hemera as hm
from hemera.errors import MismatchError, ParameterError

from ..refusals import raises, refuse
from .setting import check, context, operands

TYPES = [("uint8", 8), ("int8", 16), ("uint64", 64), ("int64", 64)]


@pytest.fixture(params=TYPES, ids=lambda param: f"{param[0]} in {param[1]} bits")
def case(request):
    name, bits = request.param
    return context(bits), np.dtype(name)


# All of one type; of the others each that differs by sign or width, and each operator twice or more.
BINARY = [
    "add sub mul and_ or_ xor lt le gt ge eq ne",
    "sub mul or_ lt ge",
    "add mul xor le ne",
    "sub mul gt eq and_",
]
OPERATORS = [
    (own, getattr(operator, f)) for own, names in zip(TYPES, BINARY, strict=True) for f in names.split()
]


@pytest.mark.parametrize(
    ("case", "f"), OPERATORS, indirect=["case"], ids=[f"{f.__name__} of {own[0]}" for own, f in OPERATORS]
)
def test_operators(case, f):
    ints, dtype = case
    a, b = operands(ints, dtype)
    with np.errstate(over="ignore"):
        check(f(ints.encrypt(a), ints.encrypt(b)), f(a, b), ints)


def test_signs_bits_and_choices(case):
    ints, dtype = case
    a, b = operands(ints, dtype, 1)
    x, y = ints.encrypt(a), ints.encrypt(b)
    with np.errstate(over="ignore"):
        check(-x, -a, ints)
        check(abs(x), abs(a), ints)
    check(~x, ~a, ints)
    check(np.minimum(x, y), np.minimum(a, b), ints)
    check(np.maximum(x, y), np.maximum(a, b), ints)
    less, equal = x < y, x == y
    check(np.where(less | equal, x, y), np.where(a <= b, a, b), ints)
    check(less & equal, np.zeros(a.shape, bool), ints)
    check(less ^ ~equal, a > b, ints)


def test_choices_of_all_pairs_of_edges_of_int64():
    ints, limits = context(64), np.iinfo(np.int64)
    near = [-(2**32), -16, -1, 0, 1, 15, 2**31]
    edges = [limits.min, limits.min + 1, *near, limits.max - 1, limits.max]
    a, b = (each.ravel() for each in np.meshgrid(edges, edges))
    x, y = ints.encrypt(a), ints.encrypt(b)
    check(np.minimum(x, y), np.minimum(a, b), ints)
    check(np.where(x < y, x, 0), np.where(a < b, a, 0), ints)
    with np.errstate(over="ignore"):
        check(abs(x), abs(a), ints)
        check(abs(x - y), abs(a - b), ints)
    for edge in (limits.min, limits.max):
        check(x <= edge, a <= edge, ints)


@pytest.mark.parametrize("amount", [0, 3, 13, 100])
@pytest.mark.parametrize(("name", "bits"), [("uint8", 8), ("int16", 16), ("int64", 64)])
def test_shifts(name, bits, amount):
    ints, dtype = context(bits), np.dtype(name)
    a, _ = operands(ints, dtype, 2)
    width = 8 * dtype.itemsize
    # NumPy shifts by the width and more to 0 and to the sign.
    left = a << amount if amount < width else np.zeros_like(a)
    right = a >> min(amount, width - 1) if dtype.kind == "i" or amount < width else np.zeros_like(a)
    check(ints.encrypt(a) << amount, left, ints)
    check(ints.encrypt(a) >> amount, right, ints)


@pytest.mark.parametrize("before", ["uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("after", ["uint8", "int16", "uint64"])
def test_types_of_values(before, after):
    ints = context(64)
    a, _ = operands(ints, np.dtype(before), 3)
    check(ints.encrypt(a).astype(after), a.astype(after), ints)


@pytest.mark.parametrize("entries", [16, 256])
@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_tables(entries, dtype):
    ints = context(8 if dtype == "uint8" else 64)
    limits = np.iinfo(dtype)
    values = np.random.default_rng(7).integers(limits.min, limits.max, entries, dtype, endpoint=True)
    a = np.resize(np.arange(256, dtype=np.uint8), max(256, ints.values + 5))
    check(hm.integers.Table(values)[ints.encrypt(a)], values[a.astype(int) % entries], ints)


@pytest.mark.parametrize(("bits", "vectors", "refreshes"), [(8, 3, 2), (16, 5, 2), (64, 3, 1), (64, 17, 2)])
def test_vectors_share_the_refreshes_of_a_table(bits, vectors, refreshes):
    ints = context(bits)
    values = np.random.default_rng(8).integers(0, 256, 256, np.uint8)
    a = np.random.default_rng(9).integers(0, 256, vectors * ints.values - 3, np.uint8)
    before = ints.work.refreshes
    check(hm.integers.Table(values)[ints.encrypt(a)], values[a], ints)
    assert ints.work.refreshes == before + refreshes


def test_the_largest_digits_of_a_sum_take_another_carry():
    # Columns of 513 * 15 = 7695 become 15 + 480, then 15 + 30, which is no digit yet.
    ints = context(16)
    a = np.full(513, 2**16 - 1, np.uint16)
    check(ints.encrypt(a).sum(dtype=np.uint16), a.sum(dtype=np.uint16), ints)


@pytest.mark.parametrize("sigma", [2.0**-20, 2.0**-10])
def test_digits_with_an_error_are_cleaned_in_a_sum(sigma):
    ints = context(64)
    a, b = operands(ints, np.dtype(np.int64), 13)
    rng = np.random.default_rng(13)
    noisy = []
    for values in (a, b):
        x = ints.encrypt(values)
        noise = rng.normal(0, sigma, (x._held.value.shape[0], ints._layout.slots))
        x._held = replace(x._held, value=x._held.value + noise, error=1.05 * sigma)  # a sample's
        noisy.append(x)
    x, y = noisy
    with np.errstate(over="ignore"):
        for found, expected in ((x + y, a + b), (x - y, a - b), (-x, -a), (x * y, a * b)):
            check(found, expected, ints, 6 * sigma + 2**-7)
    check(x < y, a < b, ints)
    check(x & y, a & b, ints)
    check(np.where(x == y, x, y), b, ints, 6 * sigma + 2**-7)


def test_a_product_of_unrefreshed_sums_needs_no_thought():
    # Choices of what sums left, until nothing is left.
    ints = context(16)
    a, b = operands(ints, np.dtype(np.uint16), 11)
    x, y, expected, condition = ints.encrypt(a), ints.encrypt(b), a, ints.encrypt(a) < b
    seen = set()
    for _ in range(8):
        x = np.where(condition, x, y)
        expected = np.where(a < b, expected, b)
        seen.add(x.levels)
        if x.levels < 3:
            check(x * y + x, expected * b + expected, ints)
            check(x >> 3, expected >> 3, ints)
            check(x.sum(), expected.sum(dtype=np.uint16), ints)
            check((x == y) | (x < y), expected <= b, ints)
    assert {0, 1, 2} <= seen


@pytest.mark.parametrize("levels", range(6))
def test_products_at_every_level(levels):
    ints = context(16)
    a, b = operands(ints, np.dtype(np.uint16), 14)
    x, y = ints.encrypt(a, levels=levels), ints.encrypt(b)
    assert x.levels == levels
    check(x * y, a * b, ints)


def test_a_server_has_no_secret_key():
    client = context(8)
    server = hm.integers.Context(8, preset="test-exact", keys=client.keys)
    a, b = operands(client, np.dtype(np.uint8), 12)
    y = server.encrypt(a) + server.encrypt(b)
    raises(TypeError, "keys of a server", server.decrypt, y)
    np.testing.assert_array_equal(client.decrypt(y), a + b)


def test_a_report_says_what_operations_take():
    ints = context(64)
    text = ints.report()
    assert "32 values in a ciphertext" in text
    assert re.search(r"^keys of 62 MB, \d+ MB while they are made$", text, re.MULTILINE)
    assert "a * b: 2 refreshes, fails with a probability of 2^-137.7" in text
    a = np.arange(5, dtype=np.uint64)
    for f, refreshes in ((operator.add, 1), (operator.lt, 1), (operator.eq, 1), (operator.mul, 2)):
        before = ints.work.refreshes
        check(f(ints.encrypt(a), ints.encrypt(a[::-1])), f(a, a[::-1]), ints)
        assert ints.work.refreshes == before + refreshes
    text = context(8).report("nvidia-h200")
    assert text.count("2 refreshes") == 0
    assert text.count(" ms, fails") == 7


def test_what_is_refused():
    ints = context(16)
    x = ints.encrypt(np.arange(4, dtype=np.int16))
    other = hm.integers.Context(16, preset="test-exact", keys=ints.keys)
    refuse(
        (lambda: bool(x < x), TypeError, "no truth value"),
        (lambda: bool(x), TypeError, "no truth value"),
        (lambda: [1, 2, 3][x], TypeError, "is no index"),
        (lambda: np.arange(4)[x], TypeError, "takes no Integers"),
        (lambda: x + np.array([1.0, 2, 3, 4]), TypeError, "float64 do not mix"),
        (lambda: x * 0.5, TypeError, "not float"),
        (lambda: (x < x) & 0.5, TypeError, "go with booleans and integers, not float"),
        (lambda: x << -1, TypeError, "0 or more"),
        (lambda: ints.encrypt(np.arange(4, dtype=np.int32)), TypeError, "of 16 bits, not int32"),
        (lambda: ints.encrypt([0.5]), TypeError, "not of float64"),
    )
    wide = context(64)
    refuse(
        (lambda: x + np.arange(5, dtype=np.int16), MismatchError, "do not broadcast"),
        (lambda: x + other.encrypt(np.arange(4, dtype=np.int16)), MismatchError, "two contexts"),
        (lambda: hm.integers.Table(np.arange(17, dtype=np.uint8)), ParameterError, "16 entries, or 256"),
        (lambda: hm.integers.Table(np.arange(16, dtype=np.uint8))[x], TypeError, "looked up by uint8"),
        (lambda: np.where(x, x, x), TypeError, "encrypted booleans"),
        (lambda: hm.integers.Context(24), ParameterError, "8, 16, 32 and 64"),
        (lambda: hm.integers.Context(8, preset="test-40"), ParameterError, "exponentials"),
    )
    with pytest.raises(TypeError, match="is float64"):
        wide.encrypt(np.arange(4, dtype=np.uint64)) + wide.encrypt(np.arange(4, dtype=np.int8))
    with pytest.raises(MismatchError, match=r"\(4,\) and \(5,\) do not broadcast"):
        x + ints.encrypt(np.arange(5, dtype=np.int16))


def test_digits_that_are_none_do_not_leave(monkeypatch):
    ints = context(8)
    x = ints.encrypt(np.arange(9, dtype=np.uint8))
    for wrong in (x._held * 2, x._held * -1):  # 16 is none, and -1 is none
        with pytest.raises(hm.errors.NoiseError, match="no digits"):
            ints.decrypt(hm.integers.Integers(ints, wrong, x.shape, x.dtype))
    true = x == x
    twice = hm.integers.Booleans(ints, true._held * 2, true.shape, true.dtype)
    raises(hm.errors.NoiseError, "no digits", ints.decrypt, twice)
    monkeypatch.setattr(ints, "_secret", ints._ckks.generate_secret_key())
    raises(hm.errors.NoiseError, "", ints.decrypt, x)
