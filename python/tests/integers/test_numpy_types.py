"""Types, shapes and refusals of encrypted integers are those of NumPy 2: each operation with each pair of
types, of arrays, NumPy's scalars and Python's integers. Counted: there are no values."""

import operator
from functools import cache

import numpy as np
import pytest

import hemera as hm

from ..refusals import raises

TYPES = [np.dtype(f"{kind}{size}") for size in (1, 2, 8) for kind in "ui"]
ARITHMETIC = {
    **{f.__name__: f for f in (operator.add, operator.sub, operator.mul)},
    **{f.__name__: f for f in (operator.and_, operator.or_, operator.xor)},
    **{f"np.{f.__name__}": f for f in (np.add, np.subtract, np.multiply, np.bitwise_xor)},
    "np.minimum": np.minimum,
    "np.maximum": np.maximum,
    "np.where": np.where,
    "np.concatenate": lambda a, b: np.concatenate([np.ravel(a), np.ravel(b)]),
}
SHIFTS = {**{f.__name__: f for f in (operator.lshift, operator.rshift, np.left_shift)}}
DIVISIONS = {
    **{f.__name__: f for f in (operator.floordiv, operator.mod, np.floor_divide)},
    "divmod": lambda a, b: divmod(a, b)[1],
}
COMPARISONS = {
    **{f.__name__: f for f in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)},
    **{f"np.{f.__name__}": f for f in (np.less, np.greater_equal, np.equal)},
}


@cache
def counted():
    return hm.integers.Context(64, preset="test-exact", device="ledger")


def outcome(of, *operands):
    """Type and shape of a result, or the kind of error."""
    try:
        with np.errstate(all="ignore"):
            found = of(*operands)
    except (OverflowError, TypeError) as error:
        return OverflowError if isinstance(error, OverflowError) else TypeError
    return TypeError if found.dtype.kind == "f" else (found.dtype, found.shape)


def require_numpys(of, a, b):
    """With one operand encrypted, or both."""
    expected = outcome(of, a, b)
    x, y = (counted().encrypt(each) if isinstance(each, np.ndarray) else each for each in (a, b))
    assert outcome(of, x, y) == expected
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        assert outcome(of, x, b) == expected
        assert outcome(of, a, y) == expected


def arrays(left, right):
    return np.arange(6, dtype=left).reshape(2, 3), np.arange(1, 4, dtype=right)


def named(name, of):
    """np.where has a condition: encrypted where a value is."""
    if name != "np.where":
        return of

    def where(a, b):
        truths = np.array([True, False, True])
        is_plain = not any(isinstance(x, hm.integers.Integers) for x in (a, b))
        return np.where(truths if is_plain else counted().encrypt(truths), a, b)

    return where


@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS])
def test_pairs_of_types(name):
    of = named(name, {**ARITHMETIC, **COMPARISONS}[name])
    for left in TYPES:
        for right in TYPES:
            a, b = arrays(left, right)
            if name in COMPARISONS and np.result_type(left, right).kind == "f":
                # NumPy compares uint64 with signed integers; encrypted ones are refused, plain ones are not.
                x, y = counted().encrypt(a), counted().encrypt(b)
                assert outcome(of, x, y) is TypeError
                assert outcome(of, x, b) == outcome(of, a, y) == outcome(of, a, b)
                continue
            require_numpys(of, a, b)
            require_numpys(of, a, b[1])  # NumPy's scalars have types
            require_numpys(of, a[0, 0], b)


@pytest.mark.parametrize("name", [*SHIFTS, *DIVISIONS])
def test_pairs_of_types_with_plain_amounts_and_divisors(name):
    of = {**SHIFTS, **DIVISIONS}[name]
    for left in TYPES:
        for right in TYPES:
            a, b = arrays(left, right)
            x = counted().encrypt(a)
            assert outcome(of, x, b[1]) == outcome(of, a, b[1])
            if name in SHIFTS:
                assert outcome(of, x, b) == outcome(of, a, b)


@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS, *SHIFTS, *DIVISIONS])
def test_pythons_integers_at_the_edges_of_types(name):
    """The last that a type holds, and the first that it does not; comparisons take all."""
    of = named(name, {**ARITHMETIC, **COMPARISONS, **SHIFTS, **DIVISIONS}[name])
    for dtype in TYPES:
        a, limits = arrays(dtype, dtype)[0], np.iinfo(dtype)
        x = counted().encrypt(a)
        for number in (limits.min - 1, limits.min, -1, 0, 1, limits.max, limits.max + 1, 2**70, -(2**70)):
            is_held = limits.min <= number <= limits.max
            if name in SHIFTS and number < 0 and is_held:
                raises(TypeError, "0 or more", of, x, number)
            elif name in ("np.where", "np.concatenate") and not is_held:
                if name == "np.where":  # NumPy wraps around
                    assert outcome(of, x, number) == outcome(of, number, x) is OverflowError
            else:
                assert outcome(of, x, number) == outcome(of, a, number)
                if name in COMPARISONS or (name in ARITHMETIC and name != "np.concatenate"):
                    assert outcome(of, number, x) == outcome(of, number, a)


TRUTHS = np.array([True, False, True])
OTHERS = {
    "truths": TRUTHS[::-1],
    "a truth": True,
    "a truth of NumPy": np.True_,
    "uint8": np.arange(3, dtype=np.uint8),
    "int16": np.int16(-3),
    "a number": 7,
    "numbers": [1, 2, 3],
}


@pytest.mark.parametrize("other", OTHERS)
def test_truth_values_are_numpys(other):
    b = OTHERS[other]
    operations = {**ARITHMETIC, **{name: COMPARISONS[name] for name in ("eq", "ne", "np.equal")}}
    for name, of in operations.items():
        if name in ("np.where", "np.concatenate", "np.minimum", "np.maximum"):
            continue
        x = counted().encrypt(TRUTHS)
        expected = outcome(of, TRUTHS, b)
        assert outcome(of, x, b) == expected, name
        assert outcome(of, b, x) == outcome(of, b, TRUTHS), name
        if isinstance(b, np.ndarray):
            assert outcome(of, x, counted().encrypt(b)) == expected, name
            assert outcome(of, TRUTHS, counted().encrypt(b)) == expected, name
    for unary in (operator.neg, operator.invert, np.logical_not):
        assert outcome(unary, counted().encrypt(TRUTHS)) == outcome(unary, TRUTHS)


CHOICES = [
    (np.uint8(1), 0),
    (1, np.uint8(0)),
    (1, 2),
    (-1, [1, 2, 3]),
    (True, False),
    (True, 5),
    (np.uint8(1), True),
    (np.uint8(1), np.int8(1)),
    (np.arange(3, dtype=np.uint16), TRUTHS),
    (np.uint64(1), np.int64(1)),
    (1.5, 2),
]


@pytest.mark.parametrize("choice", range(len(CHOICES)))
def test_choices_of_plain_values_have_numpys_types(choice):
    a, b = CHOICES[choice]
    condition = counted().encrypt(TRUTHS)
    assert outcome(np.where, condition, a, b) == outcome(np.where, TRUTHS, a, b)
    assert outcome(np.where, condition, b, a) == outcome(np.where, TRUTHS, b, a)
    y, z = (counted().encrypt(x) if isinstance(x, np.ndarray) and x.dtype.kind == "b" else x for x in (a, b))
    assert outcome(np.where, condition, y, z) == outcome(np.where, TRUTHS, a, b)


def test_pythons_integers_have_the_contexts_type():
    narrow = hm.integers.Context(8, preset="test-exact", device="ledger")
    assert narrow.encrypt([1, -128, 127]).dtype == narrow.encrypt(5).dtype == np.int8
    assert narrow.encrypt([np.uint8(200)]).dtype == np.uint8
    assert counted().encrypt([1, 2**40]).dtype == np.int64
    assert counted().encrypt([2**63]).dtype == np.uint64
    for number in (128, -129):
        raises(OverflowError, f"Python integer {number} out of bounds for int8", narrow.encrypt, [1, number])
    raises(OverflowError, "out of bounds for int64", counted().encrypt, [2**64])
    condition = narrow.encrypt(TRUTHS)
    assert np.where(condition, 127, -128).dtype == np.int8
    for a, b in ((128, 0), (0, 128), (0, -129), (300, 0)):
        raises(OverflowError, "out of bounds for int8", np.where, condition, a, b)
    raises(TypeError, "of 8 bits, not int16", np.where, condition, np.int16(1), 0)
    raises(TypeError, "of 8 bits, not int64", narrow.encrypt(TRUTHS).astype, np.int64)
    raises(TypeError, "the values are integers, not", narrow.encrypt, [1, None])


def test_what_numpy_does_in_place():
    """The array changes under all its names; where NumPy would change others as well, it is refused."""
    a = np.arange(6, dtype=np.uint8)
    for symbol, of in {
        "+": operator.iadd, "-": operator.isub, "*": operator.imul, "//": operator.ifloordiv,
        "%": operator.imod, "<<": operator.ilshift, ">>": operator.irshift,
        "&": operator.iand, "|": operator.ior, "^": operator.ixor,
    }.items():  # fmt: skip
        x = counted().encrypt(a)
        before, error = x, x.error
        assert of(x, 3) is before, symbol
        assert before.error != error, symbol
    x = counted().encrypt(a)
    with pytest.raises(TypeError, match=r"\+= makes int64 of uint8, which NumPy refuses: write y = y \+ x"):
        x += np.int64(1)
    narrow = counted().encrypt(a.astype(np.int8))
    narrow += np.int64(1)
    assert narrow.dtype == np.int8
    with pytest.raises(hm.errors.MismatchError, match=r"\+= of shape \(6,\).* shape \(2, 6\)"):
        x += np.zeros((2, 6), np.uint8)
    for view in (
        lambda x: x[1:3], lambda x: x.reshape(2, 3), lambda x: x.T, lambda x: x.ravel(), lambda x: x[None],
        lambda x: next(iter(x.reshape(2, 3))),
    ):  # fmt: skip
        x = counted().encrypt(a)
        y = view(x)
        for each in (x, y):
            with pytest.raises(TypeError, match="would change other arrays as well"):
                each += 1
    for copy in (
        lambda x: x[[1, 2]],
        lambda x: +x,
        abs,
        lambda x: x.astype(np.uint8),
        lambda x: x[x.shape[0] - 1],
    ):
        x = counted().encrypt(a)
        y = copy(x)
        held = x._stored
        y += 1
        assert x._stored is held
        x += 1
    total = counted().encrypt(a).sum()
    same = total
    total += 1  # numbers of NumPy stay, and the name has another one
    assert total is not same
    with pytest.raises(TypeError, match=r"takes no out.*write array \+ x"):
        a += counted().encrypt(a)
    mask = counted().encrypt(TRUTHS)
    same = mask
    mask &= ~mask
    assert same is mask


def test_functions_of_numpy_that_are_not_there():
    x = counted().encrypt(np.arange(3, dtype=np.uint8))
    for of, words in {
        lambda: np.exp(x): "np.exp takes no Integers",
        lambda: np.add.reduce(x): "np.add.reduce takes no",
        lambda: np.add(x, x, dtype=np.uint16): "takes no dtype",
        lambda: np.median(x): "np.median takes no",
        lambda: np.sum(x, initial=3): "np.sum takes no initial",
        lambda: np.logical_and(x, x): "x != 0 are those of integers",
        lambda: np.negative(x < 2): "take no -",
        lambda: np.absolute(x < 2): "takes no Booleans",
        lambda: np.add(x, "a"): "not the str 'a'",
        lambda: (x < 2) & 1.5: "go with booleans and integers",
        lambda: np.where(np.arange(3), x, x): "the condition is an array of encrypted booleans",
        lambda: np.where(TRUTHS, 1, x < 2) + "a": "not the str 'a'",
    }.items():
        raises(TypeError, words, of)
    raises(TypeError, "unhashable", hash, x < 2)
