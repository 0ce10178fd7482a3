"""Operations of a pool: results are those of NumPy, and to the bit those of one context."""

import numpy as np
import pytest

import hemera as hm
from hemera.circuits import LinearTransform, TransformGrid, sigmoid

from ..refusals import raises
from ..test_random_objects import ELSEWHERE, OPERATIONS, drawn
from .setting import SLOTS, same

WEIGHTS = np.arange(-5, 10).reshape(3, 5)

CIRCUITS = {
    "apply": lambda ev, x, _, __: ev.apply(sigmoid((-1, 1), bits=5), ev.declare(x, 1.0)),
    "transform": lambda ev, x, _, a: ev.transform(x, _matrix(ev, x, a)),
    "transform_all": lambda ev, x, y, a: ev.transform_all(_grid(ev, x, a), x, y),
    "polyval": lambda ev, x, _, __: ev.polyval(x, [[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]]),
}
# Tested apart: with keys, plans or results of their own.
APART = {
    *("bootstrap", "multiply_matrices", "reencrypt", "capture", "load", "rotation_plan", "bootstraps"),
    *("context", "has_keys", "keys"),
}


def _matrix(ev, x, a):
    matrix = np.zeros((SLOTS, SLOTS))
    for step in range(3):
        matrix += np.diag(np.resize(a[0], SLOTS)[: SLOTS - step], step)
        if step:
            matrix += np.diag(a[0][:step], step - SLOTS)
    return LinearTransform(matrix, ev.context.params, slots=SLOTS, level=x.level)


def _grid(ev, x, a):
    blocks = [[{0: a[0], 1: a[0]}, {1: a[0]}]]
    return TransformGrid(blocks, ev.context.params, slots=SLOTS, level=x.level)


def test_every_operation_is_compared():
    assert {*CIRCUITS, *APART} - {"polyval"} == ELSEWHERE


def compare(setting, operation, x, y, a):
    (x, one_x), (y, one_y) = setting.pair(x), setting.pair(y)
    expected = operation(setting.one, one_x, one_y, a)
    for _ in range(2):
        same(operation(setting.ev, x, y, a), expected)


@pytest.mark.parametrize(("kind", "slots"), [("int8", SLOTS), ("bool", 5), ("complex64", 5)])
def test_operations_have_the_bits_of_one_context(any_scheme, kind, slots):
    exact = any_scheme.pool.params.scheme != "ckks"
    given = [drawn("uint8" if exact and kind == "complex64" else kind, (5, 3, slots), at) for at in (1, 2, 3)]
    for operations in OPERATIONS["whole" if exact else "ckks"]:
        compare(any_scheme, operations, *given)
    compare(any_scheme, lambda ev, x, _, a: [ev.matmul(x, a[0, 0]), ev.multiply_rows(WEIGHTS, x)], *given)


@pytest.mark.parametrize("name", CIRCUITS)
def test_circuits_have_the_bits_of_one_context(ckks, name):
    compare(ckks, CIRCUITS[name], *(ckks.values(5, seed=seed) for seed in (1, 2, 3)))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_batches_are_cut_evenly_and_in_order(ckks, count):
    """As NumPy splits an array; without empty parts."""
    a, b = ckks.values(count), ckks.values(count, seed=2)
    x = ckks.ev.encrypt(a)
    split = [part for part in np.array_split(a, len(ckks.pool)) if len(part)]
    assert [len(part) for part in x.parts] == [len(part) for part in split]
    assert x.members == list(range(len(split)))
    for part, expected in zip(x.parts, split, strict=True):
        decrypted = part.context.decrypt(part, ckks.sk.to(part.context))
        np.testing.assert_allclose(decrypted, expected, atol=2**-18)
    y = ckks.pool.encrypt(b, ckks.sk)
    ckks.check((x * y - b + y) * 2, (a * b - b + b) * 2)
    assert len(x) == count
    for at, each in enumerate(x):
        ckks.check(each, a[at])


def test_operands_broadcast_as_in_numpy(any_scheme):
    values = {
        shape: any_scheme.values(*shape, seed=len(shape))
        for shape in [(), (1,), (2,), (4, 2), (4, 1), (1, 2)]
    }
    for left, a in values.items():
        x = any_scheme.ev.encrypt(a)
        for right, b in values.items():
            any_scheme.check(x * any_scheme.ev.encrypt(b), a * b)
            any_scheme.check(x + b, a + b)
            any_scheme.check(b - x, b - a)
            plain = any_scheme.ev.encode(b)
            if len(plain.parts) == 1 or (len(right) == len(left) and right[0] >= left[0]):
                any_scheme.check(x * plain, a * b)
    with pytest.raises(hm.errors.MismatchError, match=r"\(4, 2\) and \(3,\)"):
        any_scheme.ev.encrypt(values[4, 2]) + any_scheme.ev.encrypt(any_scheme.values(3))


def test_plaintexts_in_parts(any_scheme):
    a, b = any_scheme.values(5, 2), any_scheme.values(5, 2, seed=2)
    plain = any_scheme.pool.encode(b)
    assert len(plain.parts) == 3
    x = any_scheme.ev.encrypt(a)
    any_scheme.check(x * plain, a * b)
    any_scheme.check(any_scheme.ev.encrypt(plain), b)
    any_scheme.check(any_scheme.pool.encrypt(plain, any_scheme.sk), b)
    np.testing.assert_allclose(any_scheme.pool.decode(plain), b, atol=2**-18)
    single = any_scheme.pool.replicate(any_scheme.one.encode(b[0, 0]))
    any_scheme.check(x * single, a * b[0, 0])
    assert single.to(any_scheme.pool.contexts[2]) is single.to(any_scheme.pool.contexts[2])
    loaded = any_scheme.pool.load(bytes(single))
    any_scheme.check(x * loaded, a * b[0, 0])
    assert len(loaded.parts[0]._copies) == 2  # kept for the next product
    single_plain = any_scheme.pool.encode(b[0, 0])
    any_scheme.check(any_scheme.pool.encrypt(single_plain, any_scheme.sk), b[0, 0])
    with pytest.raises(hm.errors.MismatchError, match="can not be joined"):
        any_scheme.ev.encrypt(any_scheme.values(3, 5, 2)) * plain


def test_indices_and_shapes_are_numpy_s(any_scheme):
    a = any_scheme.values(4, 3)
    x, one = any_scheme.pair(a)
    for index in (0, -1, slice(1, None), slice(None, None, -1), (2, 1), (slice(None), 2), [3, 0, 0], None):
        same(x[index], one[index])
        any_scheme.check(x[index], a[index])
    for shape in [(12,), (2, 6), (-1, 2), (1, 4, 3)]:
        same(x.reshape(shape), one.reshape(shape))
    same(x.copy(), one)
    raises(IndexError, "", lambda: x[4])
    raises(hm.errors.MismatchError, "number of elements", x.reshape, 5)


def test_joining(any_scheme):
    a, b = any_scheme.values(2), any_scheme.values(3, seed=2)
    (x, one_x), (y, one_y) = any_scheme.pair(a), any_scheme.pair(b)
    joined = hm.concatenate([x, y])
    assert joined.members == [0, 1, 2]  # cut anew
    same(joined, hm.concatenate([one_x, one_y]))
    same(hm.stack([x, x]), hm.stack([one_x, one_x]))
    same(hm.stack([y[0], y[2]]), hm.stack([one_y[0], one_y[2]]))
    same(hm.add_many([x, x]), hm.add_many([one_x, one_x]))
    same(hm.multiply_many([x, x]), hm.multiply_many([one_x, one_x]))
    same(hm.concatenate([x, one_y]), hm.concatenate([one_x, one_y]))
    noisy, one_noisy = y + y, one_y + one_y  # on other members than x: a bound holds for all
    bounds = (
        ["largest"] if any_scheme.pool.params.scheme == "ckks" else ["noise_bits", "guaranteed_noise_budget"]
    )
    if bounds == ["largest"]:
        noisy, one_noisy = any_scheme.ev.declare(y, 3.0), any_scheme.one.declare(one_y, 3.0)
        x, one_x = any_scheme.ev.declare(x, 2.0), any_scheme.one.declare(one_x, 2.0)
    for parts, ones in (([x, noisy], [one_x, one_noisy]), ([noisy, x], [one_noisy, one_x])):
        for bound in bounds:
            assert getattr(hm.concatenate(parts), bound) == getattr(hm.concatenate(ones), bound)
            assert getattr(x, bound) != getattr(noisy, bound)
    with pytest.raises(hm.errors.MismatchError):
        hm.concatenate([x, y.at_level(1)])  # of other levels, which never meet on a member
    raises(hm.errors.MismatchError, "stack", hm.stack, [x, y])
    raises(hm.errors.MismatchError, "no axis", hm.concatenate, [x[0], x[1]])


@pytest.mark.parametrize("shape", [(1,), (4,), (4, 2), (1, 3), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_every_axis_by_either_number(ckks, name, shape):
    """From the front and from the end, of the batch and of the slots, with and without `out=`."""
    a, last = ckks.values(*shape), len(shape)
    x, operation = ckks.ev.encrypt(a), getattr(ckks.ev, name)
    for axis in (None, *range(-last - 1, last + 1)):
        along = last if axis is None else axis
        expected = getattr(np, name)(a, axis=along, keepdims=along in (-1, last))
        expected = expected + np.zeros((*expected.shape[:-1], SLOTS))  # every slot has that of the slots
        ckks.check(operation(x, axis=axis), expected)
        ckks.check(getattr(x, name)(axis=axis), expected)
        out = x.copy()
        assert operation(x, axis=axis, out=out) is out
        ckks.check(out, expected)
    for wrong in (-last - 2, last + 1):
        raises(hm.errors.ParameterError, rf"^{name}: axis {wrong} of a batch", operation, x, axis=wrong)
    ckks.check(x, a)


def test_results_in_place(any_scheme):
    a, b = any_scheme.values(4), any_scheme.values(4, seed=2)
    x, y = any_scheme.ev.encrypt(a), any_scheme.ev.encrypt(b)
    same_object = x
    x += y
    x *= 2
    assert x is same_object
    any_scheme.check(x, (a + b) * 2)
    with pytest.raises(hm.errors.MissingKeyError):
        any_scheme.pool.bind(any_scheme.ev.keys.public_only()).rotate(x, 1, out=x)
    any_scheme.check(x, (a + b) * 2)
    small = any_scheme.ev.encrypt(a[:2])
    assert any_scheme.ev.add(x, y, out=small) is small  # of another shape before
    any_scheme.check(small, (a + b) * 2 + b)
    assert len(small) == 4
    any_scheme.check(small[3], ((a + b) * 2 + b)[3])
    row = x[0]
    with pytest.raises(hm.errors.MismatchError, match="can not replace"):
        row += y
    any_scheme.check(row, ((a + b) * 2)[0])
    any_scheme.ev.multiply(b=2, a=row, out=row)
    any_scheme.check(row, ((a + b) * 4)[0])
    with pytest.raises(TypeError, match="out="):
        any_scheme.ev.add(x, y, out=any_scheme.one.encrypt(a))  # of one context
