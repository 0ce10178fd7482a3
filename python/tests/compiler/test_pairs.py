"""Encrypted matrices times each other in compiled programs: many pairs at once, next to NumPy."""

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.layout import Layout
from hemera.errors import FormatError, LevelError, MismatchError, MissingKeyError, ParameterError, RangeError
from hemera.program.expected_noise import ExpectedNoise

from ..refusals import raises

RNG = np.random.default_rng(35)
Spec = hm.ArraySpec


def insecure(depth=2, degree=1024):
    """With 512 slots: 128 pairs of 4 x 4."""
    return hm.ckks.Parameters.for_circuit(depth, scale_bits=40, range_bits=12, degree=degree, security=None)


def turned(x):
    return np.swapaxes(x, -1, -2)


PROGRAMS = {
    # The shapes of a sample's inputs, and the program.
    "two": ([(4, 4), (4, 4)], lambda a, b: a @ b),
    "rectangular": ([(4, 3), (3, 2)], lambda a, b: a @ b),
    "turned right": ([(4, 3), (2, 3)], lambda a, b: a @ turned(b)),
    "turned left": ([(3, 4), (3, 2)], lambda a, b: turned(a) @ b),
    "other order": ([(4, 3), (2, 4)], lambda a, b: b @ a),
    "both turned": ([(4, 3), (2, 4)], lambda a, b: turned(a) @ turned(b)),
    "three": ([(4, 3), (3, 2), (2, 4)], lambda a, b, c: a @ (b @ c)),
    "three, turned": ([(4, 4), (4, 4), (4, 4)], lambda a, b, c: turned(c) @ (a @ turned(b))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_pairs_have_numpys_products(name):
    shapes, program = PROGRAMS[name]
    specs = [Spec(shape, (-1, 1)) for shape in shapes]
    plan = hm.compile(program, *specs, samples=128, params=insecure(), layout="pairs")
    assert (plan.layout, plan.samples, plan.depth) == ("pairs", 128, len(shapes) - 1)
    assert [each.shape for each in plan.package.inputs] == [(4,)] * len(shapes)
    assert "matrices as pairs" in plan.report()
    keys = plan.package.interface.keys
    assert (keys.count, [size for size, _ in keys.pairs]) == (0, [4] * (len(shapes) - 1))
    for count in (130, 5):
        xs = [RNG.uniform(-1, 1, (count, *shape)) for shape in shapes]
        wanted = program(*xs)
        found = plan.local(threads=1)(*xs)
        assert (found.shape, found.dtype) == (wanted.shape, np.float64)
        np.testing.assert_allclose(found, wanted, atol=2.0**-20)
        np.testing.assert_allclose(plan.evaluate_clear(*xs), wanted, atol=1e-12)


def test_errors_are_the_plans():
    plan = hm.compile(
        lambda a, b: a @ b, *[Spec((128, 4, 4), (-1, 1))] * 2, params=insecure(), layout="pairs"
    )
    a, b = (RNG.uniform(-1, 1, (128, 4, 4)) for _ in range(2))
    error = plan.local(threads=1)(a, b) - a @ b
    noisy = plan.package.evaluate_clear([a, b], noise=ExpectedNoise(plan.package._program, plan.params))
    assert np.sqrt(np.mean(error**2)) == pytest.approx(np.sqrt(np.mean((noisy - a @ b) ** 2)), rel=0.2)
    checked = plan.check(a[np.newaxis], b[np.newaxis], threads=1)
    assert checked.bits == pytest.approx(plan.expected_bits(a[np.newaxis], b[np.newaxis]), abs=2)


def test_many_pairs_are_multiplied_at_once():
    """Arrays with values choose by themselves: many pairs are one product, few lie in slots."""
    a, b = (RNG.uniform(-1, 1, (512, 8, 8)) for _ in range(2))
    x, y = (hm.array(each, range=(-1, 1)) for each in (a, b))
    plan = hm.compile(x @ y)
    assert plan.layout == "pairs"
    assert plan.layout_seconds["pairs"] < min(
        own for name, own in plan.layout_seconds.items() if name != "pairs"
    )
    assert "s with elements in slots" in plan.report()
    np.testing.assert_allclose((x @ y).decrypt(threads=1), a @ b, atol=2.0**-20)
    few = hm.compile(hm.array(a[:8], range=(-1, 1)) @ hm.array(b[:8], range=(-1, 1)))
    assert few.layout == "slots"


def test_other_programs_are_no_pairs():
    specs = [Spec((4, 4), (-1, 1))] * 2
    for program in (
        lambda a, b: (a @ b) * 2,
        lambda a, b: a @ b + 1,
        lambda a, b: a * b,
        lambda a, b: a @ b + a,
        lambda a, b: (a @ b) @ np.eye(4)[::-1],
        lambda a, b: {"product": a @ b, "a": a},
        lambda a, b: a @ a + 0 * b,
    ):
        with pytest.raises(ParameterError, match=r"x @ \(y @ z\).*take another layout"):
            hm.compile(program, *specs, samples=128, params=insecure(4), layout="pairs")
    with pytest.raises(ParameterError, match="take another layout"):
        hm.compile(
            lambda a, b, c: (a @ b) @ c, *specs, specs[0], samples=128, params=insecure(4), layout="pairs"
        )
    with pytest.raises(ParameterError, match="take another layout"):
        hm.compile(lambda a: a @ a, specs[0], samples=128, params=insecure(4), layout="pairs")


def test_refusals_name_the_way_out():
    def program(a, b):
        return a @ b

    specs = [Spec((4, 4), (-1, 1))] * 2
    with pytest.raises(ParameterError, match="32 samples fill too few of the 512 slots; at least 64"):
        hm.compile(program, *specs, samples=32, params=insecure(), layout="pairs")
    hm.compile(program, *specs, samples=64, params=insecure(), layout="pairs")
    narrow = hm.ckks.Parameters.for_circuit(2, range_bits=3, degree=1024, security=None)
    with pytest.raises(RangeError, match="slots hold values up to 16; give parameters with range_bits=6"):
        hm.compile(program, *specs, samples=128, params=narrow, layout="pairs")
    with pytest.raises(ParameterError, match="power of two"):  # 64 x 64 is beyond N/64
        hm.compile(
            program,
            *[Spec((64, 1), (-1, 1)), Spec((1, 64), (-1, 1))],
            samples=8,
            params=insecure(),
            layout="pairs",
        )
    plan = hm.compile(program, *specs, samples=128, params=insecure(), layout="pairs")
    a = RNG.uniform(-1, 1, (5, 4, 4))
    raises(MismatchError, r"\(samples, 4, 4\)", lambda: plan.evaluate_clear(a, a[:, :3]))
    raises(ParameterError, "the model is for values from -1", plan.evaluate_clear, a, 2 + a)
    with pytest.raises(LevelError):
        hm.compile(
            lambda a, b, c: a @ (b @ c), *specs, specs[0], samples=128, params=insecure(1), layout="pairs"
        )


def test_keys_of_pairs():
    specs = [Spec((128, 3, 4), (-1, 1))] * 2
    package = hm.compile(lambda a, b: a @ turned(b), *specs, params=insecure(), layout="pairs").package
    ctx = hm.Context(package.params, threads=1)
    sk = ctx.generate_secret_key()
    keys = ctx.load(package.generate_keys(ctx, sk).to_bytes())
    package.check(ctx, keys)
    with pytest.raises(MissingKeyError, match="products of pairs of matrices of 4 x 4"):
        package.check(ctx, ctx.generate_keys(sk))
    # Without an axis of requests as well.
    a, b = (RNG.uniform(-1, 1, (128, 3, 4)) for _ in range(2))
    inputs = [
        ctx.encrypt(ctx.encode(each, level=spec.level), sk).reshape(4)
        for each, spec in zip(package.interface.encode([a, b]), package.inputs, strict=True)
    ]
    model = package.prepare(ctx)
    found = package.interface.decode([ctx.decrypt(each, sk)[np.newaxis] for each in model.run(keys, inputs)])
    np.testing.assert_allclose(found, a @ turned(b), atol=2.0**-20)
    described = package.describe()
    assert described["keys"]["pairs"] == [[4, 2]]
    for wrong in ([[3, 2]], [[4, 99]], [[1024, 2]]):
        with pytest.raises(FormatError):
            type(package.interface).from_dict({**described, "keys": {**described["keys"], "pairs": wrong}})


@pytest.mark.parametrize("side", ["left", "right"])
def test_matrices_are_packed_as_the_circuit_takes_them(side):
    product = hm.circuits.MatrixBatchProduct(insecure(), 8)
    matrices = RNG.normal(size=(product.pairs, 8, 8))
    (packed,) = Layout.in_pairs((8, 8), 8, product.pairs, left=side == "left").encode(matrices, 512)
    np.testing.assert_allclose(packed, product.pack(matrices, side), atol=1e-12)
    # Transposed matrices: lines are columns of those that clients have where the factor's are rows.
    layout = Layout.in_pairs((5, 8), 8, product.pairs, left=side == "right", axis=2)
    assert Layout.from_data(layout.to_data()) == layout
    written = {"left": side == "left", "turned": True}
    assert Layout.from_data({**layout.to_data(), **written}) == layout
    x = RNG.normal(size=(3, product.pairs, 5, 8))
    (own,) = layout.encode(x, 512)
    assert own.shape == (3, 8, 512)
    np.testing.assert_allclose(layout.decode([own]), x, atol=1e-12)
    whole = np.zeros((product.pairs, 8, 8))
    whole[:, :, :5] = turned(x[1])
    np.testing.assert_allclose(own[1], product.pack(whole, side), atol=1e-12)
    raises(MismatchError, "is needed", lambda: layout.encode(x[..., :7], 512))
    raises(ParameterError, "layout's matrices take 512", layout.encode, x, 256)
