"""`hm.array`: results are NumPy's on the same values."""

import gc
import weakref

import numpy as np
import pytest

import hemera as hm
from hemera.compiler import EagerArray
from hemera.errors import ParameterError, RangeError

from ..beside import together
from ..refusals import raises

RNG = np.random.default_rng(7)
AGES = RNG.uniform(0, 120, 60)
TABLE = RNG.uniform(-1, 1, (6, 10))


def shallow():
    """Insecure ones for programs of up to eight levels."""
    return hm.ckks.Parameters.for_circuit(8, scale_bits=40, slots=1024, range_bits=15, security=None)


def close(found, expected, bits=14):
    expected = np.asarray(expected)
    assert np.shape(found) == expected.shape
    room = 2.0**-bits * max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, rtol=0, atol=room)


def test_results_are_numpy_s():
    x = hm.array(AGES, range=(0, 120))
    z = (x - x.mean()) / 30
    close((z**2).mean().decrypt(params=shallow()), (((AGES - AGES.mean()) / 30) ** 2).mean())


@pytest.mark.parametrize("seed", range(6))
def test_random_expressions_of_two_arrays(seed):
    rng = np.random.default_rng(seed)
    a, b, w = rng.uniform(-1, 1, (4, 6)), rng.uniform(-1, 1, (6,)), rng.uniform(-1, 1, (6, 3))
    choices = [
        lambda x, y: x * y + 1,
        lambda x, y: (x @ w).sum(axis=1) - y[:4],
        lambda x, y: np.tanh(x + y).T,
        lambda x, y: np.concatenate([x, y[np.newaxis]])[1:, ::2],
        lambda x, y: (x - y).reshape(2, 12) ** 3,
        lambda x, y: np.einsum("ij,j->i", x, y) * 0.5,
    ]
    first, second = rng.permutation(len(choices))[:2]

    def both(x, y):
        return choices[first](x, y), choices[second](x, y)

    x, y = hm.array(a, range=(-1, 1)), hm.array(b, range=(-1, 1))
    found = hm.compute(*both(x, y), params=shallow(), threads=1)
    for own, expected in zip(found, both(a, b), strict=True):
        close(own, expected, bits=12)
    # A second call, of one of them, by itself.
    close(both(x, y)[0].decrypt(params=shallow()), both(a, b)[0], bits=12)


def test_only_what_a_result_is_made_of_is_encrypted():
    x, y = hm.array(TABLE, range=(-1, 1), name="x"), hm.array(AGES, range=(0, 120), name="y")
    kept = (x * x).sum(axis=1)
    (y * y).sum()
    plan = hm.compile({"of y": y.sum()}, params=shallow())
    assert [spec.name for spec in plan.inputs] == ["y"]
    assert plan.outputs == {"of y": ()}
    assert [spec.name for spec in hm.compile(kept, params=shallow()).inputs] == ["x"]


def test_a_plan_takes_other_values_and_is_a_model(tmp_path):
    x = hm.array(TABLE, range=(-1, 1))
    plan = hm.compile({"squares": x**2, "sums": x.sum(axis=0)}, params=shallow())
    other = RNG.uniform(-1, 1, TABLE.shape)
    found = plan.local(threads=1)(other)
    close(found["squares"], other**2)
    close(found["sums"], other.sum(axis=0))
    agreed = plan.check(RNG.uniform(-1, 1, (4, *TABLE.shape)), threads=1)
    assert agreed.bits > 16
    plan.save(tmp_path / "sums.hemera-model")
    package = hm.serving.Package.load(tmp_path / "sums.hemera-model")
    clear = package.evaluate_clear(other)
    close(clear["sums"], other.sum(axis=0))


def test_order_of_inputs_is_that_of_their_making():
    x, y = hm.array([1.0, 2.0], range=(0, 2), name="x"), hm.array([3.0, 4.0], range=(0, 4), name="y")
    plan = hm.compile(y - x, params=shallow())
    assert [spec.name for spec in plan.inputs] == ["x", "y"]
    close(plan.local()(np.array([2.0, 0.0]), np.array([1.0, 1.0])), [-1, 1])


def test_integers_and_booleans_can_be_compared():
    answers = RNG.integers(1, 6, 40)
    member = RNG.integers(0, 2, 40).astype(bool)
    x, m = hm.array(answers, range=(1, 5)), hm.array(member)
    assert (x.step, m.step, m.range) == (1, 1, (0, 1))
    halves, floats = hm.array([0.5, 1.5], range=(0, 2), step=0.5), hm.array([0.5], range=(0, 2))
    plan = hm.compile([x.sum(), m.sum(), halves.sum(), floats.sum()], params=shallow())
    assert [each.step for each in plan.inputs] == [1, 1, 0.5, None]
    found = hm.compute((x > 3).sum(), ((x == 2) & m).sum(), params=shallow())
    assert np.round(found).tolist() == [(answers > 3).sum(), ((answers == 2) & member).sum()]


def test_functions_keep_their_ranges_and_lines():
    x = hm.array(AGES / 120, range=(0, 1))
    y = np.exp(x)
    y = y * x[::-1]
    plan = hm.compile(y, params=shallow())
    assert plan.report().count("test_eager.py") >= 2
    close(plan.local()(AGES / 120), np.exp(AGES / 120) * AGES[::-1] / 120, bits=12)


def test_ranges_are_those_of_the_arrays():
    x = hm.array(RNG.integers(1, 6, 12), range=(1, 5))
    results = {
        "mask": x > 3,
        "rare": np.maximum(x, 4),
        "spread": ((x - 3) ** 2).mean(),
        "distance": abs(x - 2),
        "deviation": (x - x.mean()).var(),
        "sorted": np.sort(x[:4]),
    }
    plan = hm.compile(results, params=None)
    for name, number in plan._program.outputs:
        found, expected = plan._program.nodes[number].range, results[name].range
        assert found == pytest.approx(expected, abs=1e-9), name


def test_values_must_fit():
    raises(ParameterError, "range=", hm.array, [1.0, 2.0])
    raises(RangeError, r"from 1 to 5 .* from 0 to 4", hm.array, [1.0, 5.0], range=(0, 4))
    raises(RangeError, "from -1 to 3", hm.array, [-1.0, 3.0], range=(0, 4))
    raises(RangeError, "", hm.array, [1.0, np.nan], range=(0, 4))
    raises(ParameterError, "step", hm.array, [1.0, 2.5], range=(0, 4), step=1)
    with pytest.raises(TypeError, match=r"np\.matrix has products of its own"):
        hm.array(np.eye(2).view(np.matrix), range=(0, 1))
    raises(TypeError, "complex", hm.array, [1j], range=(0, 1))
    raises(TypeError, "real numbers", hm.array, ["a"], range=(0, 1))
    raises(ParameterError, "no elements", hm.array, [], range=(0, 1))


def test_arrays_of_one_precision_go_together():
    x = hm.array([1.0], range=(0, 1))
    y = hm.array([1.0], range=(0, 1), precision_bits=10)
    raises(TypeError, "another program", lambda: x + y)
    raises(TypeError, "precision_bits", hm.compute, x, y)
    with pytest.raises(TypeError, match=r"hm\.array"):
        hm.compute(np.ones(2))
    raises(TypeError, "at least one", hm.compute)
    for several in ([x, np.ones(1)], (np.ones(1), x), {"a": x, "b": 1.0}):  # arrays, as one of them is
        raises(TypeError, r"arrays of hm\.array are needed, not (ndarray|float)", hm.compile, several)
    raises(TypeError, "precision_bits= is not for arrays", hm.compile, x, precision_bits=12)


def test_precision_is_that_of_the_arrays():
    exact, rough = (
        hm.compile(np.tanh(hm.array(TABLE, range=(-1, 1), precision_bits=bits))) for bits in (20, 8)
    )
    assert rough.depth < exact.depth
    assert isinstance(rough.params, hm.ckks.Parameters)
    assert isinstance(exact.params, hm.ckks.Parameters)
    assert rough.params.scale < exact.params.scale


def test_threads_record_for_themselves():
    found = {}

    def other():
        found["x"] = hm.array([1.0, 2.0], range=(0, 2))
        found["sum"] = found["x"].sum().decrypt(params=shallow())

    together(other)
    close(found["sum"], 3.0)
    raises(TypeError, "another program", lambda: found["x"] + hm.array([1.0, 2.0], range=(0, 2)))


def test_what_was_recorded_goes_with_its_arrays():
    gc.collect()
    x = hm.array(TABLE, range=(-1, 1), precision_bits=11)
    kept = weakref.ref(x._recorder)
    y = x * 2
    del x
    gc.collect()
    assert kept() is y._recorder
    del y
    gc.collect()
    assert kept() is None


def test_values_are_not_given_away():
    x = hm.array([0.25], range=(0, 1))
    assert isinstance(x + 1, EagerArray)
    assert "0.25" not in repr(x)
    assert "decrypt()" in repr(x + 1)
    raises(TypeError, "its values are encrypted", lambda: bool(x > 0.5 if x.step else x))
