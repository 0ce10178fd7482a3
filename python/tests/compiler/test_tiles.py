"""Arrays of more elements than a ciphertext has slots: compiled, encrypted, in files, tables and servers."""

import numpy as np
import pandas as pd
import pytest

import hemera as hm
from hemera.arrays.layout import Layout
from hemera.arrays.operations import Affine, Input
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tensor import TensorProgram
from hemera.arrays.tiling import split
from hemera.compiler import bootstraps
from hemera.compiler.lowering import InSlots
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.package.interface import Interface
from hemera.serving import Package

from ..arrays.programs import listed
from ..refusals import raises

RNG = np.random.default_rng(9)
Spec = hm.ArraySpec
SLOTS = 512


def shallow(depth=8):
    """Insecure ones with 512 slots."""
    return hm.ckks.Parameters.for_circuit(depth, scale_bits=40, range_bits=20, degree=1024, security=None)


MATRIX = RNG.uniform(-1, 1, (40, 30)) / 4
KERNEL = np.array([0.25, 0.5, -0.25])

PROGRAMS = {
    "moments": ((1300,), lambda x: {"mean": x.mean(), "var": x.var(), "sum": x.sum() / 8}),
    "elements": ((1300,), lambda x: [x * 2, x * x, 1 - x, np.exp(x)]),
    "centred": ((1025,), lambda x: x - x.mean()),
    "places": ((1300,), lambda x: [np.roll(x, 7), x[::-1], x[100:1200:3], np.concatenate([x, x[:400]])]),
    "axes": ((3, 700), lambda x: [x.sum(0), x.mean(1), x - x.mean(1, keepdims=True), x.T]),
    "matrices": ((40, 40), lambda x: [x @ MATRIX, MATRIX.T @ x]),
    "encrypted matrices": ((600, 3), lambda x: x.T @ x / 100),
    "neighbours": ((1500,), lambda x: np.convolve(x, KERNEL)),
    "small to large": ((30,), lambda x: (MATRIX @ x)[:, None] * np.outer(np.ones(40), x)),
    "large to small": ((800,), lambda x: x.reshape(20, 40) @ MATRIX),
    "polynomial": ((700,), lambda x: np.polyval([1, -2, 3.0, 0.5], x)),
    "constant": ((600,), lambda x: np.concatenate([x[:10] * 3, np.arange(800.0) / 800])),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_encrypted_results_are_numpys(name):
    shape, program = PROGRAMS[name]
    x = RNG.uniform(-1, 1, shape)
    plan = hm.compile(program, Spec(shape, (-1, 1)), params=shallow(), precision_bits=14)
    found, wanted = listed(plan.local(threads=1)(x)), listed(program(x))
    assert len(found) == len(wanted)
    for own, value in zip(found, wanted, strict=True):
        assert own.shape == value.shape
        np.testing.assert_allclose(own, value, rtol=0, atol=2.0**-13 * max(1.0, np.abs(value).max()))
    for own, value in zip(listed(plan.evaluate_clear(x)), wanted, strict=True):
        np.testing.assert_allclose(own, value, rtol=0, atol=2.0**-13 * max(1.0, np.abs(value).max()))
    report = plan.report()
    assert " in " in report.split("where", 1)[1]  # a count of ciphertexts
    assert plan.expected_bits(x[None]) > 10


def test_shapes_beside_the_number_of_slots():
    for size in (SLOTS - 1, SLOTS, SLOTS + 1, 2 * SLOTS, 2 * SLOTS + 1):
        plan = hm.compile(
            lambda x: {"twice": 2 * x, "sum": x.sum()}, Spec((size,), (-1, 1)), params=shallow(1)
        )
        inputs = [spec.name for spec in plan.package.inputs]
        assert inputs == (["x"] if size <= SLOTS else [f"x.{at}" for at in range(-(-size // SLOTS))])
        x = RNG.uniform(-1, 1, size)
        found = plan.local(threads=1)(x)
        np.testing.assert_allclose(found["twice"], 2 * x, atol=1e-5)
        assert found["sum"] == pytest.approx(x.sum(), abs=1e-4)


def test_several_inputs_of_different_sizes():
    def program(x, y, z):
        return {"a": x[:700] * y, "b": (x.reshape(100, 13) * z).sum()}

    specs = Spec((1300,), (-1, 1)), Spec((700,), (0, 2)), Spec((100, 13), (-3, 0))
    x, y, z = (RNG.uniform(*spec.range, spec.shape) for spec in specs if spec.range)
    plan = hm.compile(program, *specs, params=shallow(3))
    found = plan.local(threads=1)(x, y, z)
    for name, value in program(x, y, z).items():
        np.testing.assert_allclose(found[name], value, atol=1e-4)
    clear = plan.evaluate_clear(x, y, z)
    np.testing.assert_allclose(clear["a"], x[:700] * y, atol=1e-9)
    raises(MismatchError, "700", lambda: plan.evaluate_clear(x, y[:-1], z))
    # The array's own name, not that of one of its ciphertexts.
    with pytest.raises(ParameterError, match=r"y: the model is for values from 0\.0 to 2\.0"):
        plan.evaluate_clear(x, y - 1, z)


def test_samples_and_checks():
    samples = RNG.uniform(-1, 1, (6, 900))
    plan = hm.compile(
        lambda x: np.tanh(2 * x), samples[0], calibrate=samples, params=shallow(), precision_bits=10
    )
    found = plan.check(samples, encrypted=2, threads=1)
    assert found.bits > 9
    assert not found.outside
    far = samples.copy()
    far[3, 800] = 5
    assert sum(plan.check(far, encrypted=0).outside.values()) == 2  # the input, and the argument


@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
def test_exact_programs(scheme):
    kind = {"bfv": hm.bfv, "bgv": hm.bgv}[scheme].Parameters
    params = kind.for_circuit(8, plain_bits=30, degree=4096, security=None)
    rows = params.max_slots // 2

    def survey(x):
        return {
            "counts": np.histogram(x, [1, 2, 3, 4, 5, 6])[0],
            "above": (x > 3).sum(),
            "squares": (x * x).sum(),
            "turned": np.roll(x, 5),
            "both": np.where(x == 2, x + 7, 3 * x),
        }

    size = 2 * rows + 77
    plan = hm.compile(survey, Spec((size,), (1, 5)), scheme=scheme, params=params, security=None)
    x = RNG.integers(1, 6, size)
    found, clear = plan.local(threads=1)(x), plan.evaluate_clear(x)
    for name, value in survey(x).items():
        np.testing.assert_array_equal(found[name], value)
        np.testing.assert_array_equal(clear[name], value)
    raises(ParameterError, "x: the model is for values from 1", lambda: plan.evaluate_clear(x + 1))


def test_tables_of_their_kinds_are_cut():
    """Elements of different ranges have tables of their own, which are cut as the elements are."""
    low = RNG.integers(0, 3, 3000)

    def program(x):
        return (x + low) % 4 == 1

    plan = hm.compile(program, Spec((3000,), (0, 3)), scheme="bfv", params=_bfv(10), security=None)
    x = RNG.integers(0, 4, 3000)
    np.testing.assert_array_equal(plan.evaluate_clear(x), program(x))


def _bfv(depth):
    return hm.bfv.Parameters.for_circuit(depth, plain_bits=25, degree=4096, security=None)


def test_more_rows_than_slots():
    """With parameters that are found, of the largest ring."""
    x = RNG.uniform(0, 120, 100_000)
    plan = hm.compile(lambda x: {"mean": x.mean(), "var": x.var()}, Spec((100_000,), (0, 120)))
    assert len(plan.package.inputs) == 4
    assert plan.params.security is not None
    found = plan.local()(x)
    assert found["mean"] == pytest.approx(x.mean(), abs=1e-3)
    assert found["var"] == pytest.approx(x.var(), abs=0.02)
    # The error of 1/100,000 as it is encoded is that of all slots.
    measured = -np.log2(max(abs(found["mean"] - x.mean()), abs(found["var"] - x.var())) / x.var())
    assert plan.expected_bits(x[None]) == pytest.approx(measured, abs=4)


def test_too_many_ciphertexts_are_refused_before_anything_is_made():
    with pytest.raises(ParameterError, match="8192 ciphertexts; at most 4096"):
        hm.compile(lambda x: x, Spec((1 << 28,), (0, 1)))
    with pytest.raises(ParameterError, match="8192 ciphertexts; at most 4096"):
        hm.compile(lambda x: x, Spec((1 << 28,), (0, 1)), scheme="bgv")


def study(t):
    old = t[t.age > 60]
    return {"stay": old.stay.mean(), "old": old.stay.count(), "by ward": t.groupby("ward").stay.mean()}


def patients(rows):
    return pd.DataFrame(
        {
            "age": RNG.integers(0, 100, rows).astype(float),
            "stay": np.where(RNG.uniform(size=rows) < 0.1, np.nan, RNG.integers(0, 60, rows)),
            "ward": RNG.choice(["A", "B", "C"], rows),
        }
    )


def test_tables():
    frame = patients(1100)
    ranges = {"age": (0, 100), "stay": (0, 60)}
    spec = hm.TableSpec.of(frame, ranges=ranges, keys=["ward"], steps={"age": 1})
    plan = hm.compile(study, spec, params=shallow(26))
    found = plan.local(threads=2)(frame)
    old = frame[frame.age > 60]
    assert found["old"] == old.stay.count()
    assert found["stay"] == pytest.approx(old.stay.mean(), abs=0.02)
    pd.testing.assert_series_equal(found["by ward"], frame.groupby("ward").stay.mean(), atol=0.01)


def test_estimators_of_many_features():
    linear = pytest.importorskip("sklearn.linear_model")
    x = RNG.normal(size=(60, 700))
    model = linear.LinearRegression().fit(x, x[:, :3].sum(1))
    plan = hm.compile(model, calibrate=x, params=shallow(2))
    np.testing.assert_allclose(plan.local(threads=1).predict(x[:5]), model.predict(x[:5]), atol=1e-2)
    loaded = Package.load(bytes(plan.package))
    np.testing.assert_allclose(loaded.evaluate_clear(x[:5]), model.predict(x[:5]), atol=1e-2)


def test_arrays_with_values():
    values = RNG.uniform(-1, 1, 1300)
    x = hm.array(values, range=(-1, 1))
    found = (x * x).mean().decrypt(params=shallow(3), threads=1)
    assert found == pytest.approx((values**2).mean(), abs=1e-5)


def squares():
    return hm.compile(
        lambda x: {"y": x * x, "m": x.mean()}, Spec((1300,), (-1, 1)), params=shallow(2), name="large"
    )


def test_files_whose_layouts_do_not_fit():
    interface = squares().package.interface
    data = interface.describe()
    assert Interface.from_dict(data).encoding == interface.encoding
    arrays = data["encoding"]
    for wrong in (
        {**arrays, "inputs": arrays["inputs"] * 2},
        {**arrays, "outputs": arrays["outputs"][:1]},
        {**arrays, "inputs": arrays["outputs"][1:]},
    ):
        raises(FormatError, "layouts of", Interface.from_dict, {**data, "encoding": wrong})


def test_tiles_are_placed_as_one(monkeypatch):
    """The search for bootstraps sees an array, however many tiles it has, at the time of all of them."""
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    seen = []
    place = bootstraps.place

    def watched(inputs, steps, **options):
        seen.append((inputs, steps))
        return place(inputs, steps, **options)

    monkeypatch.setattr(bootstraps, "place", watched)

    def long(x, y):
        for _ in range(7):
            x = x * x * 0.5 + y
        return x

    for tiles in (1, 3):
        spec = Spec((tiles * params.max_slots,), (-0.5, 0.5))
        hm.compile(long, spec, spec, params=params)
    (inputs, steps), (more_inputs, more_steps) = seen
    assert len(inputs) == len(more_inputs) == 2
    for one, three in zip(inputs, more_inputs, strict=True):
        assert three.bootstrap == pytest.approx(3 * one.bootstrap)
    for one, three in zip(steps, more_steps, strict=True):
        assert (three.operands, three.depth) == (one.operands, one.depth)
        assert three.bootstrap == pytest.approx(3 * one.bootstrap)
        assert three.cost(5) == pytest.approx(3 * one.cost(5))


def test_streamed_matrices_are_not_kept_by_a_second_tile():
    weights = RNG.uniform(-1, 1, (8, 8))
    plan = hm.compile(lambda x: x @ weights, Spec((128, 8), (-1, 1)), params=shallow(1))
    context = hm.Context(plan.params, threads=1)
    before = context.memory_used
    model = plan.prepare(context, weights_memory=0)
    assert context.memory_used == before
    assert not model.captures


def test_sums_after_equal_ones_take_no_level():
    """A sum takes a mask where unused slots hold other values, and none where they hold zeros."""
    plan = hm.compile(lambda x: [np.exp(x).sum(), x.sum()], Spec((12,), (-1, 1)), params=shallow())
    operations = plan.package.program.operations
    assert (operations.get("map", 0), operations["multiply by array"]) == (0, 1)
    x = RNG.uniform(-1, 1, 12)
    found = plan.local(threads=1)(x)
    np.testing.assert_allclose(listed(found), [np.exp(x).sum(), x.sum()], atol=1e-3)


def test_equal_maps_of_different_layouts():
    """What is made once for equal maps is for the layouts of both ends."""
    program = TensorProgram()
    matrix = SparseMap.dense(RNG.uniform(-1, 1, (16, 16)))
    inputs = [program.add(Input(name, -1, 1), [], (4, 4), range=(-1, 1)) for name in ("a", "b")]
    maps = [program.add(Affine((matrix,)), [at], (4, 4), range=(-16, 16)) for at in (*inputs, *inputs)]
    program.outputs = [(f"y{at}", each) for at, each in enumerate(maps)]
    raster = Layout.raster((4, 4))
    turned = Layout((4, 4), raster.bits[2:] + raster.bits[:2])
    layouts = (raster, turned, raster, raster, turned, turned)
    steps = InSlots(split(program, 16), layouts, 16).run()
    x = RNG.uniform(-1, 1, (2, 1, 4, 4))
    slots = [layout.pack(each, 16) for layout, each in zip(layouts, x, strict=False)]
    found = steps.program.evaluate_clear(slots, 0)
    for own, layout, source in zip(found, layouts[2:], (0, 1, 0, 1), strict=True):
        expected = matrix.apply(x[source].reshape(1, 16)).reshape(1, 4, 4)
        np.testing.assert_allclose(layout.unpack(own), expected, atol=1e-12)


def test_equal_tiles_share_their_matrices():
    weights = RNG.uniform(-1, 1, (8, 8))

    def layer(x):
        return (x @ weights) ** 2

    one, four = (hm.compile(layer, Spec((64 * n, 8), (-1, 1)), params=shallow(3)) for n in (1, 4))
    assert len(four.package.inputs) == 4
    assert four.cost().plaintext_bytes == one.cost().plaintext_bytes
    assert len(bytes(four.package)) < len(bytes(one.package)) + 10_000
    loaded = Package.load(bytes(four.package))
    assert loaded.cost().plaintext_bytes == one.cost().plaintext_bytes
    context = hm.Context(four.params, threads=1)
    model = loaded.prepare(context)
    assert sum(own > 0 for own in model.encoded_bytes) == 1
    assert loaded.prepare(context, weights_memory=0).streamed_bytes == max(model.encoded_bytes)

    def other(x):
        return np.concatenate([x[:64] @ weights, x[64:] @ weights.T]) ** 2

    x = RNG.uniform(-1, 1, (128, 8))
    different = hm.compile(other, Spec((128, 8), (-1, 1)), params=shallow(3))
    assert different.cost().plaintext_bytes > one.cost().plaintext_bytes
    np.testing.assert_allclose(different.local(threads=1)(x), other(x), atol=1e-4)
