"""Compiled programs with fewer keys: the bytes told are those of the file, and results are NumPy's."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import hemera as hm
from hemera.circuits.needs import size_text
from hemera.compiler import uploads

from .compile_cases import deep

RNG = np.random.default_rng(60)
WEIGHTS = [RNG.normal(0, 1 / np.sqrt(shape[0]), shape) for shape in ((48, 32), (32, 32), (32, 10))]
BANDS = sum(np.diag(RNG.uniform(0.5, 1, 64 - abs(k)), k) for k in (-17, -16, -1, 0, 1, 16, 17))
DEVICE = "cpu-avx512-16"


def network(x):
    x = x @ WEIGHTS[0]
    x = (x * x) @ WEIGHTS[1]
    return (x * x) @ WEIGHTS[2]


def bands(x):
    """Diagonals on both sides, some far from others."""
    return BANDS @ x


def compiled(function, width, limit=None, **options):
    spec = hm.ArraySpec((width,), range=(-1, 1))
    return hm.compile(function, spec, upload_limit=limit, **{"security": None, **options})


def file_bytes(plan):
    ctx = hm.Context(plan.params)
    return len(bytes(plan.generate_keys(ctx, ctx.generate_secret_key())))


@pytest.mark.parametrize(("function", "width", "least_keys"), [(network, 48, 4), (bands, 64, 2)])
def test_each_limit_is_kept(function, width, least_keys):
    x = RNG.uniform(-1, 1, width)
    plan, before, keys = compiled(function, width), 0.0, 0
    refused = ""
    while not refused:
        cost = plan.cost(DEVICE)
        keys = len(cost.needed_keys)
        assert cost.upload_bytes == pytest.approx(file_bytes(plan), rel=0.01)
        assert f", {size_text(cost.upload_bytes)} to upload" in plan.report()
        assert cost.as_dict()["bytes"]["upload"] == cost.upload_bytes
        assert cost.seconds is not None
        assert cost.seconds > 0.95 * before  # fewer bytes take no less time
        before = cost.seconds
        expected = function(x)
        np.testing.assert_allclose(plan.local()(x), expected, atol=2**-16 * np.abs(expected).max())
        limit = cost.upload_bytes
        assert compiled(function, width, limit).cost().upload_bytes == limit
        try:
            plan = compiled(function, width, limit - 1)
        except hm.errors.ParameterError as reason:
            refused = str(reason)
        else:
            assert plan.cost().upload_bytes < limit
    found = re.search(r"at least (\d+) bytes to upload, more than upload_limit=(\d+)", refused)
    assert found is not None
    assert tuple(map(int, found.groups())) == (limit, limit - 1)
    assert keys == least_keys


@pytest.mark.parametrize("seed", range(20))
def test_of_ways_as_fast_the_fewest_bytes(monkeypatch, seed):
    """A search finds ways of these seconds and bytes, and the judge looks at all of them."""
    ways = np.random.default_rng(seed).integers(1, 6, (12, 2)).tolist()

    class Found(uploads._Search):
        def __init__(self, *_):
            pass

        found = lambda _: iter(ways)  # noqa: E731
        seconds_of = lambda _, way: float(way[0])  # noqa: E731
        bytes_of = lambda _, way, **__: way[1]  # noqa: E731
        rewritten = lambda _, way, *__: way  # noqa: E731
        _keys = lambda _, way: set(way)  # noqa: E731

    monkeypatch.setattr(uploads, "_Search", Found)
    told = SimpleNamespace(upload_bytes=lambda _: 9)
    program = SimpleNamespace(told_keys=lambda *_: told, levels=lambda _: [], operations={})
    params = SimpleNamespace(rescaling="automatic")
    for limit in range(1, 7):
        fits = [way for way in ways if way[1] <= limit]
        if fits:
            assert uploads.within(program, params, limit, DEVICE) == min(fits)
        else:
            with pytest.raises(hm.errors.ParameterError, match=f"at least {min(way[1] for way in ways)} "):
                uploads.within(program, params, limit, DEVICE)


def test_keys_of_fewer_bytes_do_not_serve_the_model_without_a_limit():
    plan = compiled(network, 48)
    fewer = compiled(network, 48, plan.cost().upload_bytes // 2)
    assert fewer.params == plan.params
    ctx = hm.Context(plan.params)
    sk = ctx.generate_secret_key()
    fewer_keys = fewer.generate_keys(ctx, sk)
    with pytest.raises(hm.errors.MissingKeyError, match="needs keys that are not there: rotations by"):
        plan.package.check(ctx, fewer_keys)
    loaded = hm.serving.Package.load(fewer.package.to_bytes())
    loaded.check(ctx, fewer_keys)
    assert loaded.interface.keys == fewer.package.interface.keys


def test_bootstraps_have_fewer_keys_too():
    def long(x):
        for _ in range(9):
            x = 1 - (x * x) @ means
        return x

    means = np.abs(WEIGHTS[1]) / np.abs(WEIGHTS[1]).sum(axis=0)

    x = RNG.uniform(-1, 1, 32)
    plan = compiled(long, 32, params=deep(), precision_bits=8)
    assert plan.package.program.operations["bootstrap"] >= 1
    whole = plan.cost().upload_bytes
    for limit in (whole, whole * 9 // 10, whole // 2):
        fewer = compiled(long, 32, limit, params=deep(), precision_bits=8)
        assert fewer.cost().upload_bytes == pytest.approx(file_bytes(fewer), rel=0.01)
        assert fewer.cost().upload_bytes <= limit
        expected = long(x)
        np.testing.assert_allclose(fewer.local()(x), expected, atol=2**-8 * np.abs(expected).max())
    loaded = hm.serving.Package.load(fewer.package.to_bytes())
    assert loaded.interface.keys == fewer.package.interface.keys
    assert loaded.interface.keys.bootstraps[0]["upload_limit"] <= limit
    with pytest.raises(hm.errors.ParameterError, match=r"^upload_limit=1000000, .* are at least \d+ bytes"):
        compiled(long, 32, 1_000_000, params=deep(), precision_bits=8)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scheme": "bfv"}, 'upload_limit is of scheme="ckks", without share=True'),
        ({"share": True}, 'upload_limit is of scheme="ckks", without share=True'),
        ({"limit": -1}, "upload_limit must be an integer of 0 or more, not -1"),
    ],
)
def test_other_uses_are_refused(options, words):
    with pytest.raises(hm.errors.ParameterError, match=words):
        compiled(bands, 64, **{"limit": 1 << 20, **options})
