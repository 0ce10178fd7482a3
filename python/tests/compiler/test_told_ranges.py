"""What a model's file tells of its outputs: the ranges that samples show, what inputs can lead to, and what
clients do with inputs and results. The judges are NumPy and interval arithmetic by hand."""

from dataclasses import replace

import numpy as np
import pytest

import hemera as hm
from hemera.compiler import compiling
from hemera.compiler.scaling import Scaled
from hemera.compiler.watching import Known
from hemera.errors import RangeWarning
from hemera.package.encodings import Arrays
from hemera.package.encodings.base import chunked
from hemera.package.encodings.watching import tell_rows
from hemera.package.specs import OutputSpec

RNG = np.random.default_rng(4)
WEIGHTS = RNG.normal(size=6)
SAMPLES = RNG.normal(size=(50, 6))
LOW, HIGH = -5.0, 4.0
MOST = float(np.maximum(WEIGHTS * LOW, WEIGHTS * HIGH).sum())
LEAST = float(np.minimum(WEIGHTS * LOW, WEIGHTS * HIGH).sum())


def compiled(function, spec, samples, **options):
    own = {"calibrate": samples, "precision_bits": 8, "security": None, **options}
    return hm.compile(function, spec, **own)


def shown(values, margin):
    """The range of samples, widened to both sides by a part."""
    room = margin * float(np.ptp(values))
    return float(values.min()) - room, float(values.max()) + room


def told(plan):
    found = []
    for spec in plan.package.outputs:
        assert spec.low is not None
        assert spec.high is not None
        assert spec.reach is not None
        found.append((spec.low, spec.high, spec.reach))
    return found


@pytest.mark.parametrize("margin", [0.1, 0.5])
@pytest.mark.parametrize("watch", [True, False])
@pytest.mark.parametrize(("factor", "number"), [(3.0, 1.0), (-2.0, 5.0), (0.5, 0.0)])
def test_ranges_and_reaches_of_results_and_watched_values(margin, watch, factor, number):
    """With watched outputs results are any that inputs allow; alone they lie where samples showed them."""

    def program(x):
        inner = factor * (x @ WEIGHTS) + number
        return {"line": inner, "bent": np.tanh(inner)}

    spec = hm.ArraySpec((6,), range=(LOW, HIGH))
    plan = compiled(program, spec, SAMPLES, watch=watch, margin=margin)
    allowed = sorted((factor * LEAST + number, factor * MOST + number))
    reach = max(map(abs, allowed))
    ends = shown(factor * (SAMPLES @ WEIGHTS) + number, margin)
    found = told(plan)
    assert found[0] == pytest.approx((*(allowed if watch else ends), reach))
    # Polynomials go beyond 1 by less than their error.
    assert max(map(abs, found[1])) == pytest.approx(1, abs=2.0**-6)
    assert len(found) == (3 if watch else 2)
    if watch:
        assert found[2] == pytest.approx((*ends, reach))


def test_what_samples_show_in_full_is_told_of_no_result():
    plan = compiled(lambda x: x * 2, hm.ArraySpec((6,), range=(LOW, HIGH)), None, calibrate=None)
    (spec,) = plan.package.outputs
    assert (spec.low, spec.high, spec.reach) == (None, None, None)


@pytest.mark.parametrize("middle", [1e4, -1e4])
@pytest.mark.parametrize("watch", [True, False])
def test_scaled_results_reach_what_is_decrypted_of_them(middle, watch):
    """Inputs far from 0: what is decrypted is (result - number) / factor, and no larger than what is told."""

    def program(x):
        return {"sum": x @ np.abs(WEIGHTS), "first": 3 * x[0] - 7, "bent": np.tanh((x[1] - middle) / 2)}

    samples = middle + SAMPLES / np.abs(SAMPLES).max() / 2
    spec = hm.ArraySpec((6,), range=(middle - 1, middle + 1))
    plan = compiled(program, spec, samples, watch=watch)
    encoding = plan.package.interface.encoding
    assert isinstance(encoding, Arrays)
    assert encoding.input_scales == ((1.0, middle),)
    total = float(np.abs(WEIGHTS).sum())
    ends = [((middle - 1) * total, (middle + 1) * total), (3 * middle - 10, 3 * middle - 4)]
    for (_, _, reach), (low, high), (factor, number) in zip(
        told(plan), ends, encoding.output_scales, strict=False
    ):
        assert number == pytest.approx((low + high) / 2, rel=1e-3)
        assert reach == pytest.approx(max(high - number, number - low) / factor, rel=1e-6)
        assert reach < 4  # and not 10^4, by the magnitudes of result and number
    rows = np.stack([samples[0], np.full(6, middle + 1), np.full(6, middle - 1)])
    with pytest.warns(RangeWarning, match="rows 1, 2 of 3 leave"):  # of the bent one
        found = plan.local(threads=1)(rows)
    np.testing.assert_allclose(found["sum"], rows @ np.abs(WEIGHTS), atol=abs(middle) * total * 2.0**-12)
    np.testing.assert_allclose(found["first"], 3 * rows[:, 0] - 7, atol=abs(middle) * 2.0**-12)
    if watch:
        return
    exact = [rows @ np.abs(WEIGHTS), 3 * rows[:, 0] - 7, np.tanh((rows[:, 1] - middle) / 2)]
    decrypted = [
        each
        for own, layout, (factor, number) in zip(exact, encoding.outputs, encoding.output_scales, strict=True)
        for each in layout.encode(
            chunked((own - number) / factor, encoding.samples), plan.package.outputs[0].width
        )
    ]
    first, *others = plan.package.outputs
    outputs = [replace(first, low=(middle - 0.75) * total, high=(middle + 0.75) * total), *others]
    with pytest.warns(RangeWarning, match="rows 1, 2 of 3 leave the range of result 'sum', .* may have left"):
        encoding.decode(decrypted, outputs, 3)


def test_what_is_encrypted_of_samples_and_told_of_results():
    """(x - number) / factor; None stays None."""
    whole = compiled(
        lambda x: {"a": x, "b": x}, hm.ArraySpec((6,), (LOW, HIGH)), None, calibrate=None
    )._program
    own = Scaled(whole, ((2.0, 10.0), (4.0, 0.0)), ((8.0, -3.0), (0.5, 1.0)))
    first, second = own.examples([np.array([[10.0, 14.0]]), None])
    assert second is None
    np.testing.assert_array_equal(first, [[0, 2]])
    known = {"a": Known("", -1, 2, (-5.0, 4.0)), "b": Known("f", 0, 1, (-3.0, 3.0))}
    found = own.known(known)
    assert found == {"a": Known("", -1, 2, (-0.25, 0.875)), "b": Known("f", 0, 1, (-8.0, 4.0))}
    assert (found["a"].reach, found["b"].reach) == (0.875, 8.0)
    assert own.known({"b": Known("", None, None, None)}) == {"b": Known()}
    assert Known().reach is None


@pytest.mark.parametrize("watch", [True, False])
def test_room_for_results_is_each_one_by_its_own_scale(watch, monkeypatch):
    """A large result of a large factor needs no more room than a small one: 4 at most, whatever the units."""
    reaches = []
    made = compiling.Search
    monkeypatch.setattr(compiling, "Search", lambda *args: reaches.append(made(*args).reach) or made(*args))

    def program(x):
        return {"large": 3000 * x[0], "small": x[1] / 4096, "bent": np.tanh(x[2] - 1e4)}

    samples = 1e4 + SAMPLES / np.abs(SAMPLES).max() / 2
    compiled(program, hm.ArraySpec((6,), range=(1e4 - 1, 1e4 + 1)), samples, watch=watch)
    assert reaches
    assert 0 < max(reaches) < 4


@pytest.mark.parametrize(
    ("value", "possible"), [(1199.0, True), (1201.0, False), (801.0, True), (799, False)]
)
def test_rows_are_said_to_be_possible_in_units_of_results(value, possible):
    """100 y + 1000 is a result and inputs lead to y up to 2: results from 800 to 1200 may be right."""
    spec = OutputSpec("y", 1, low=950.0, high=1050.0, reach=2.0)
    with pytest.warns(RangeWarning, match="may have left theirs" if possible else "have left theirs, and"):
        tell_rows(np.array([[value]]), spec, 1, scale=(100.0, 1000.0))


@pytest.mark.parametrize("order", ["xy", "yx"])
def test_rows_by_name_are_watched_as_their_inputs(order):
    """Here with nothing watched by outputs: the program in the clear names the rows."""
    samples = {"x": SAMPLES[:, :2] * 0.5, "y": SAMPLES[:, :2] * 0.5}
    specs = [hm.ArraySpec((2,), range=(-2, 2), name="x"), hm.ArraySpec((2,), range=(-50, 50), name="y")]
    plan = hm.compile(
        lambda x, y: (np.tanh(x[0] + x[1]), y.sum()),
        *specs,
        calibrate=list(samples.values()),
        watch=False,
        precision_bits=6,
        security=None,
    )
    rows = {"x": np.array([[0.1, 0.2], [1.9, 1.9]]), "y": np.array([[40.0, 0], [0.0, 0]])}
    with pytest.warns(RangeWarning, match="row 1 of 2 leaves"):
        found = plan.local(threads=1)({name: rows[name] for name in order})
    np.testing.assert_allclose(found["output0"][0], np.tanh(0.3), atol=2.0**-6)


def test_small_results_have_room_beyond_samples_next_to_large_ones():
    """What clients decrypt is scaled: a hundred times the samples of the small one, 1.5e-3 in all."""
    samples = 1e4 + RNG.uniform(-1, 1, (50, 4)) * [0.01, 0.01, 1, 1]

    def program(x):
        return {"small": (x - 1e4) @ [1e-3, -5e-4, 0, 0], "large": (x - 1e4) @ [0, 0, 1000, -500]}

    spec = hm.ArraySpec((4,), range=(1e4 - 1, 1e4 + 1))
    plan = hm.compile(program, spec, calibrate=samples, security=None)
    encoding = plan.package.interface.encoding
    assert isinstance(encoding, Arrays)
    (small, _), (large, _) = encoding.output_scales
    assert small < 2.0**-20 * large
    rows = 1e4 + np.array([[0.9, -0.9, 1, -1], [-0.9, 0.9, -1, 1], [0.01, 0, 0, 0]])
    found, wanted = plan.local(threads=1)(rows), program(rows)
    np.testing.assert_allclose(found["small"], wanted["small"], atol=2.0**-13 * 2e-5)
    np.testing.assert_allclose(found["large"], wanted["large"], atol=2.0**-13 * 2000)
