"""Each kind of layout in files, at a server, with bootstraps and with results for others: NumPy's results."""

import copy

import numpy as np
import pytest

import hemera as hm
from hemera.errors import FormatError
from hemera.package.interface import Interface
from hemera.serving import Package
from hemera.serving.home import Home

from ..serving.conftest import client_of
from ..serving.conftest import serving as running

RNG = np.random.default_rng(21)
WEIGHTS = RNG.uniform(-1, 1, (12, 5)) / 3
DEEP = hm.ckks.Parameters.for_bootstrapping("test-40")
SLOTS = DEEP.max_slots
SHALLOW = hm.ckks.Parameters.for_circuit(3, scale_bits=40, range_bits=10, degree=1024, security=None)
"""Insecure ones with 512 slots."""


def squares(x):
    return {"y": x * x, "m": x.mean()}


def layer(x):
    return {"y": x @ WEIGHTS + 1}


LAYOUTS = {
    # The program, the shapes of its inputs, options, and changes that files are refused for: fields of their
    # encoding, or of its first input or output.
    "samples": (
        squares,
        [(12,)],
        {"samples": 4},
        [("", "samples", each) for each in (0, 3, 8, "4", 1 << 40)],
    ),
    "imaginary parts": (
        lambda x: {"y": np.roll(x, 1) * x, "m": x.mean()},
        [(SLOTS // 2,)],
        {"samples": 4, "params": DEEP},
        [("", "parts", each) for each in (0, 1, 3, "2", 1 << 40)] + [("", "samples", 1)],
    ),
    "tiles": (squares, [(1300,)], {}, [("", "inputs", []), ("", "outputs", [])]),
    "ciphertexts": (
        layer,
        [(12,)],
        {"samples": 512, "layout": "ciphertexts"},
        [("inputs", "samples", each) for each in (1, 500)] + [("inputs", "sample", [0])],
    ),
    "sequences": (
        layer,
        [(4, 12)],
        {"samples": 128, "layout": "sequences"},
        [("inputs", "samples", 100), ("inputs", "length", 3), ("inputs", "sequence", [0])]
        + [("inputs", "tokens", each) for each in (1, 2)],
    ),
    "pairs": (
        lambda a, b: {"y": a @ np.swapaxes(b, -1, -2)},
        [(3, 4), (3, 4)],
        {"samples": 128, "layout": "pairs"},
        [("outputs", "size", 3), ("outputs", "size", 1), ("outputs", "axis", 3), ("outputs", "samples", 3)]
        + [("outputs", "matrix", each) for each in ([5, 1], [0, 1])],
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_models_travel(name, tmp_path):
    program, shapes, options, refused = LAYOUTS[name]
    specs = [hm.ArraySpec(shape, (-1, 1)) for shape in shapes]
    plan = hm.compile(program, *specs, name="own", **{"params": SHALLOW, **options})
    plan.save(tmp_path / "own")
    loaded = Package.load(tmp_path / "own")
    assert loaded.interface.keys == plan.package.interface.keys
    x = [RNG.uniform(-1, 1, (plan.samples + 1, *shape)) for shape in shapes]
    wanted = [program(*each) for each in zip(*x, strict=True)]

    def require(found, atol):
        found = found if isinstance(found, dict) else {"y": found}  # a single result has no name
        for each in wanted[0]:
            np.testing.assert_allclose(found[each], [own[each] for own in wanted], rtol=0, atol=atol)

    require(loaded.evaluate_clear(x if len(x) > 1 else x[0]), 2**-16)
    home = Home(tmp_path / "home")
    home.add_model(loaded)
    token = home.clients.add("clinic")
    with running(home) as server, client_of(server.url, token, security=None) as client:
        for given in (x, dict(zip([each.name for each in plan.inputs], x, strict=True))):
            require(client.predict("own", given), 2**-9 if name == "imaginary parts" else 2**-15)
    data = loaded.interface.describe()
    assert Interface.from_dict(data).encoding == loaded.interface.encoding
    for place, field, value in refused:
        encoding = copy.deepcopy(data["encoding"])
        (encoding[place][0] if place else encoding)[field] = value
        with pytest.raises(FormatError):
            Interface.from_dict({**data, "encoding": encoding})


@pytest.mark.parametrize(("extent", "samples"), [(16, 4), (SLOTS * 3 // 2, 1)], ids=["samples", "tiles"])
def test_deep_programs_bootstrap_all_ciphertexts(extent, samples):
    def long(x):
        for _ in range(8):
            x = 0.7 * np.roll(x, 3) + x * x / 4
        return x

    plan = hm.compile(long, hm.ArraySpec((extent,), (-1, 1)), samples=samples, params=DEEP)
    tiles = len(plan.package.inputs)
    assert plan.package.program.operations["bootstrap"] % tiles == 0
    x = RNG.uniform(-1, 1, (samples, extent))
    np.testing.assert_allclose(plan.local()(x), [long(each) for each in x], atol=2e-3)


@pytest.mark.parametrize(("extent", "samples"), [(8, 4), (40_000, 1)], ids=["samples", "tiles"])
def test_results_for_others_have_noise(extent, samples):
    options = {"samples": samples, "share": True, "precision_bits": 12, "security": None}
    plan = hm.compile(lambda x: x * x / 2, hm.ArraySpec((extent,), (-1, 1)), **options)
    assert len(plan.sharing.noise_bounds) == len(plan.package.inputs)
    x = RNG.uniform(-1, 1, (samples, extent))
    errors = plan.local()(x) - x * x / 2
    assert errors.shape == x.shape
    assert 2.0**-20 < np.abs(errors).max() < 2.0**-12
