"""Results have NumPy's types: truth values and integers are read as such, not as floats near them."""

import io

import numpy as np
import pytest

import hemera as hm
from hemera.errors import ParameterError
from hemera.serving import Package
from hemera.serving.home import Home

from ..serving.conftest import client_of, serving

WHOLE = hm.ArraySpec((6,), range=(-3, 8), dtype=np.int64)
ROW = np.array([3, -1, 8, 3, 0, -3])
FUNCTIONS = {
    "comparison": lambda x: x > 3,
    "none is true": lambda x: x > 8,
    "and, or, not": lambda x: ~((x > 0) & (x < 5) | (x == 8)),
    "any": lambda x: np.any(x == 7),
    "all": lambda x: np.all(x > -4),
    "argmax": np.argmax,
    "argmin": lambda x: x.argmin(),
    "count": lambda x: np.count_nonzero(x == 3),
    "sum of masks": lambda x: (x > 0).sum(),
    "sign": np.sign,
    "sum": np.sum,
    "products": lambda x: x * x - 3,
    "rows": lambda x: np.sum(x.reshape(2, 3) >= 0, axis=1),
    "mean": np.mean,
    "half": lambda x: x / 2,
    "mask times real": lambda x: (x > 0) * 0.5,
}


def assert_is(found, wanted):
    """The type, the shape and the value; those of floats nearly."""
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    assert np.shape(found) == np.shape(wanted)
    if np.asarray(wanted).dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, atol=2.0**-8)
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_have_numpy_s_types(name):
    function = FUNCTIONS[name]
    plan = hm.compile(function, WHOLE, security=None)
    wanted = function(ROW)
    assert_is(plan.local()(ROW), wanted)
    assert_is(plan.evaluate_clear(ROW), wanted)
    assert_is(plan.clear(ROW), wanted)
    assert_is(function(hm.array(ROW, range=(-3, 8))).decrypt(security=None), wanted)
    assert plan.check(ROW[None]).bits >= 15


@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
@pytest.mark.parametrize("name", ["comparison", "none is true", "any", "and, or, not", "count", "products"])
def test_exact_results_have_numpy_s_types(name, scheme):
    function = FUNCTIONS[name]
    spec = hm.ArraySpec((6,), range=(-3, 8), dtype=np.int64)
    plan = hm.compile(function, spec, scheme=scheme, security=None)
    assert_is(plan.local()(ROW), function(ROW))
    assert_is(plan.evaluate_clear(ROW), function(ROW))
    assert plan.check(ROW[None]).bits == np.inf


def test_a_false_result_is_false_with_secure_parameters():
    plan = hm.compile(lambda x: {"any": np.any(x > 7), "most": (x > 2).sum(), "twice": 2.0 * x}, WHOLE)
    assert plan.params.security == ">=128"
    row = np.array([3, -1, 7, 3, 0, -3])
    for found in (plan.local()(row), Package.load(io.BytesIO(plan.package.to_bytes())).evaluate_clear(row)):
        assert not found["any"]
        assert [10, 11, 12, 13][found["most"]] == 13
        assert {name: each.dtype.kind for name, each in found.items()} == {
            "any": "b",
            "most": "i",
            "twice": "f",
        }
    assert [each.read for each in plan.package.outputs] == ["truth", "integer", "values"]


@pytest.mark.parametrize(("most", "kind"), [(2**6, "i"), (2**6 + 1, "f")])
def test_integers_are_read_up_to_what_the_bits_tell_apart(most, kind):
    """Ten bits have four after the point of numbers up to 2^6; larger ones stay floats, near integers."""
    spec = hm.ArraySpec((2,), range=(0, most), dtype=int)
    found = hm.compile(lambda x: x + 0, spec, precision_bits=10, security=None).local()([most, 1])
    assert found.dtype.kind == kind
    np.testing.assert_allclose(found, [most, 1], atol=2.0**-3)


@pytest.mark.parametrize("samples", [1, 4])
def test_large_results_of_several_ciphertexts_and_samples(samples):
    rows = np.random.default_rng(3).integers(0, 4, (3, 3000) if samples > 1 else (3000,))
    spec = hm.ArraySpec((3000,), range=(0, 3), dtype=int)
    params = hm.ckks.Parameters.for_circuit(6, slots=4096, security=None)
    plan = hm.compile(lambda x: {"is": x == 2, "own": x * 2}, spec, params=params, samples=samples)
    found = plan.local()(rows)
    assert_is(found["is"], rows == 2)
    assert_is(found["own"], rows * 2)


def test_clients_of_a_server_get_numpy_s_types(tmp_path):
    def function(x):
        return {"is": x > 2, "any": np.any(x > 7), "first": np.argmin(x), "half": 0.5 * x}

    plan = hm.compile(function, WHOLE, security=None, name="types")
    home = Home(tmp_path)
    home.add_model(plan.package)
    token = home.clients.add("one")
    with serving(home) as server, client_of(server.url, token) as client:
        found = client.predict("types", ROW)
    assert found.keys() == function(ROW).keys()
    for name, wanted in function(ROW).items():
        assert_is(found[name], wanted)


@pytest.mark.parametrize("name", ["comparison", "argmax", "sum", "products", "mean", "half"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_examples_of_integers_give_integers(name, dtype):
    function, rows = FUNCTIONS[name], np.random.default_rng(2).integers(0, 9, (40, 6)).astype(dtype)
    plan = hm.compile(function, rows[0], calibrate=rows, security=None)
    row = rows[0].astype(np.int64)  # integers of other types are int64, and do not wrap around
    assert_is(plan.local()(row), function(row))
    with pytest.raises(ParameterError, match=r"the model is for multiples of 1, and 7\.5 is none"):
        plan.local()(row + 0.5)


def test_examples_of_integers_with_fractions_or_far_from_0_give_floats():
    rows = np.random.default_rng(2).integers(0, 9, (40, 6))
    for samples in (rows / 2, rows + 1_000_000):
        plan = hm.compile(np.sum, rows[0], calibrate=samples, security=None)
        assert plan.local()(samples[0]).dtype == np.float64
