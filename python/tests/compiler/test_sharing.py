"""Results for others: their noise has the declared size, hides the worst error, and leaves the bits."""

import functools
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

import hemera as hm
from hemera.compiler.room import Room
from hemera.errors import FormatError, ParameterError, SecurityError
from hemera.package.error_bounds import noise_bounds
from hemera.package.interface import Interface
from hemera.package.local_model import LocalModel
from hemera.package.sharing import Sharing, Shown
from hemera.serving import Package

from ..refusals import raises


def study(x):
    z = (x - 10) / 10
    return {"scaled": z * 0.5, "spread": z**2}


@functools.cache
def shared():
    spec = hm.ArraySpec((8,), range=(0, 20))
    return hm.compile(study, spec, share=True, shares=512, precision_bits=12, security=None)


def rows(count, seed=0):
    return np.random.default_rng(seed).uniform(0, 20, (count, 8))


@functools.cache
def run(count=250):
    """Results of many requests at once, of one key, and the exact ones."""
    x = rows(count)
    return shared().local(threads=1)(x), study(x)


@pytest.mark.parametrize(("at", "name"), [(0, "scaled"), (1, "spread")])
def test_the_noise_has_the_declared_size(at, name):
    plan = shared()
    found, exact = run()
    scale, degree, slots = 2.0 ** math.log2(plan.params._native.scale), plan.params.degree, plan.slots
    # docs/ckks.md: sigma = sqrt(12 Q) 2^(s/2) (bound S + sqrt(N)/2), a slot sqrt(2n) sigma / S.
    bound = plan.sharing.noise_bounds[at]
    sigma = math.sqrt(12 * 512) * 2**20 * (bound * scale + math.sqrt(degree) / 2)
    real_part = math.sqrt(2 * slots) * sigma / scale / math.sqrt(2)
    errors = np.asarray(found[name] - exact[name])
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(real_part, rel=0.06)
    assert abs(errors.mean()) < 5 * real_part / math.sqrt(errors.size)
    assert plan.sharing.deviation(at, slots, degree, scale) == pytest.approx(real_part * math.sqrt(2))


def test_results_have_the_bits():
    found, exact = run()
    for name, largest in (("scaled", 0.5), ("spread", 1.0)):
        assert np.abs(found[name] - exact[name]).max() < 2.0**-12 * largest
    # The room is there, and not more than a few bits of it are left over for the result that needs most.
    plan = shared()
    noises = [
        6 * plan.sharing.deviation(at, plan.slots, plan.params.degree, plan.params._native.scale) / largest
        for at, largest in enumerate((0.5, 1.0))
    ]
    assert 2.0**-16 < max(noises) <= 2.0**-12


def test_results_of_large_values_are_right_to_a_quarter():
    spec = hm.ArraySpec((4,), range=(-1e6, 1e6))
    plan = hm.compile(lambda x: 2 * x, spec, share=True, precision_bits=4, security=None)
    x = np.array([1e6, -1e6, 3.0, 0.0])
    np.testing.assert_allclose(plan.local(threads=1)(x), 2 * x, rtol=0, atol=0.25)


def test_results_of_small_values_have_the_bits():
    plan = hm.compile(lambda x: x * 0.001, hm.ArraySpec((4,), range=(-1, 1)), share=True, security=None)
    x = np.array([1, -1, 0.3, 0.0])
    np.testing.assert_allclose(plan.local(threads=1)(x), 0.001 * x, rtol=0, atol=0.001 * 2**-16)


def test_the_same_ciphertext_gives_the_same_values():
    plan = shared()
    ctx = hm.Context(plan.params, threads=1)
    sk = ctx.generate_secret_key()
    model = plan.prepare(ctx)
    results = model.run(plan.generate_keys(ctx, sk), [ctx.encrypt(np.zeros(plan.slots), sk)])
    shown = Shown()
    first, second = (plan.package.interface.decrypt(ctx, results, sk, shown) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], ctx.decrypt(results[0], sk))


def random_program(seed):
    """A function of maps, sums, products and functions, and its samples."""
    rng = np.random.default_rng(seed)
    matrices = [rng.normal(size=(8, 8)) / 3 for _ in range(6)]
    choices = rng.integers(0, 8, 5).tolist()

    def program(x):
        for choice, matrix in zip(choices, matrices, strict=False):
            x = [
                lambda x, m: x @ m,
                lambda x, m: x * (x + m[0]) / 2,
                lambda x, _: np.tanh(x),
                lambda x, _: x - x.mean(),
                lambda x, m: np.flip(x) + m[1] * x,
                lambda x, _: x**2 - 0.5,
                lambda x, _: 3 * np.roll(x, 3) - 1,
                lambda x, _: np.exp(x / 8),
            ][choice](x, matrix)
        return x

    return program, rng.uniform(-1, 1, (40, 8))


def test_bounds_cover_the_errors_of_random_programs():
    """And are no wild ones. In a single program chance may leave the drawn errors near 0."""
    params = hm.ckks.Parameters.for_circuit(26, scale_bits=45, slots=64, range_bits=22, security=None)
    spec = hm.ArraySpec((8,), range=(-1, 1))
    ratios = []
    for seed in range(12):
        program, samples = random_program(seed)
        plan = hm.compile(program, spec, calibrate=samples, params=params, precision_bits=10)
        bound = noise_bounds(plan._lowered.program, plan.params, [1.0], plan._lowered.magnitudes)[0]
        errors = plan.local(threads=1)(samples[:8]) - plan.evaluate_clear(samples[:8])
        worst = float(np.sqrt(np.mean(errors**2, axis=-1)).max())
        assert worst < bound, seed
        ratios.append(bound / worst)
    assert np.median(ratios) < 2.0**18


def test_bounds_grow_with_what_is_done():
    params = hm.ckks.Parameters.for_circuit(8, scale_bits=45, slots=64, range_bits=22, security=None)

    def bound(function, largest=1):
        plan = hm.compile(function, hm.ArraySpec((8,), range=(-largest, largest)), params=params)
        return noise_bounds(plan._lowered.program, params, [largest], plan._lowered.magnitudes)[0]

    unit = hm.Context(params, "ledger").noise_bound(depth=0, largest=1)
    assert bound(lambda x: x + 0) >= 2 * unit
    assert bound(lambda x: 1024 * x) >= 1024 * unit
    assert bound(lambda x: x * np.arange(100, 108)) >= 107 * unit
    assert bound(lambda x: x * x, 100) >= 200 * unit
    assert bound(lambda x: (x * x) * x, 100) >= 3 * 100**2 * unit
    ones = np.ones((8, 8)) * 0.7
    assert bound(lambda x: (x * x) @ ones, 100) >= 200 * 0.7 * 8 * unit
    steep = hm.circuits.Polynomial([0, 1000], interval=(-1, 1))
    assert bound(steep) >= 1000 * unit
    assert bound(lambda x: np.sin(12 * x)) >= 10 * 12 * unit


def test_given_parameters_without_room_are_refused_with_the_bits_that_lack():
    small = hm.ckks.Parameters.for_circuit(4, scale_bits=45, slots=64, range_bits=10, security=None)
    spec = hm.ArraySpec((8,), range=(0, 20))
    with pytest.raises(ParameterError, match=r"lacks [\d.]+ bits .*leave params= out.*shares") as told:
        hm.compile(study, spec, share=True, params=small, precision_bits=12)
    bits = int(str(told.value).split("a scale of ")[1].split(" bits")[0])

    def params(scale_bits):
        return hm.ckks.Parameters.for_circuit(
            4, scale_bits=scale_bits, slots=64, range_bits=10, degree=small.degree, security=None
        )

    with pytest.raises(ParameterError, match="lacks"):
        hm.compile(study, spec, share=True, params=params(bits - 2), precision_bits=12)
    plan = hm.compile(study, spec, share=True, params=params(bits), precision_bits=12)
    assert plan.params.scale == 2.0**bits


def test_bootstraps_and_too_much_depth_are_refused():
    spec = hm.ArraySpec((8,), range=(-1, 1))
    with pytest.raises(ParameterError, match="bootstraps can not be shown"):
        hm.compile(lambda x: x**2, spec, share=True, params=hm.ckks.Parameters.for_bootstrapping("test-40"))

    def deep(x):
        for _ in range(40):
            x = x * x * 0.5
        return x

    with pytest.raises(ParameterError, match=r"share=True: .*scale of \d+ bits at a depth of \d+"):
        hm.compile(deep, spec, share=True)


@pytest.mark.parametrize("shares", [0, 1 << 41])
def test_numbers_of_shares_out_of_range_are_refused(shares):
    with pytest.raises(ParameterError, match="shares"):
        hm.compile(study, hm.ArraySpec((8,), range=(0, 20)), share=True, shares=shares, security=None)


def test_more_shares_take_a_larger_scale():
    spec = hm.ArraySpec((8,), range=(0, 20))
    more = hm.compile(study, spec, share=True, shares=512 << 20, precision_bits=12, security=None)
    assert 9 <= math.log2(more.params._native.scale / shared().params._native.scale) <= 12


def test_a_plan_without_it_says_the_way_out():
    plan = hm.compile(study, hm.ArraySpec((8,), range=(0, 20)), security=None)
    with pytest.raises(ParameterError, match="share=True"):
        _ = plan.sharing
    assert "sharing" not in plan.describe()


def test_files_keep_it_and_old_ones_are_without():
    again = Package.load(shared().package.to_bytes())
    assert again.interface.sharing == shared().sharing
    described = json.loads(json.dumps(shared().describe()))
    assert Interface.from_dict(described).sharing == shared().sharing
    del described["sharing"]
    assert Interface.from_dict(described).sharing is None
    for wrong in (
        {"noise_bounds": [0.0, 1.0]},
        {"noise_bounds": [1.0]},
        {"noise_bounds": [1.0, math.inf]},
        {"shares": 0},
        {"statistical_bits": 65},
        {"shares": 2.5},
    ):
        data = {**shared().sharing.to_data(), **wrong}
        raises(FormatError, "", Interface.from_dict, {**described, "sharing": data})


def answered(local, count):
    """What a server answers, decrypted by a client."""
    model = shared().prepare(local.context)
    keys = local.context.load(local.generate_keys())
    arrays, _ = local.encode(rows(count))
    inputs = [local.context.load(file) for file in local.encrypt(arrays).values()]
    names = [spec.name for spec in local.interface.outputs]
    files = {name: bytes(each) for name, each in zip(names, model.run(keys, inputs), strict=True)}
    return local.decrypt(files)


def test_clients_decrypt_with_noise_and_count_what_they_show(tmp_path):
    interface = shared().package.interface
    local = LocalModel(interface, folder=tmp_path, security=None)
    values = interface.decode(answered(local, 200))
    errors = values["scaled"] - study(rows(200))["scaled"]
    deviation = shared().sharing.deviation(
        0, shared().slots, interface.params.degree, interface.params._native.scale
    )
    assert np.std(errors) == pytest.approx(deviation / math.sqrt(2), rel=0.1)
    # Another process of the folder, whose key is the same one: 400 results were shown.
    other = LocalModel(interface, folder=tmp_path, security=None)
    answered(other, 56)
    raises(SecurityError, r"512 results .* shares=", answered, other, 1)


def test_local_counts_what_it_shows():
    local = shared().local(threads=1)
    local(rows(255))
    local(rows(1)[0])
    raises(SecurityError, "512 results", lambda: local(rows(1)))


def test_a_damaged_count_is_no_count(tmp_path):
    shown = Shown(tmp_path / "shown.json")
    shown.add(3, 4)
    (tmp_path / "shown.json").write_text("{}")
    raises(FormatError, "how many results", shown.add, 1, 4)


def test_a_shared_estimator():
    linear = pytest.importorskip("sklearn.linear_model")
    x = np.random.default_rng(3).normal(size=(60, 4))
    fitted = linear.LinearRegression().fit(x, x @ [1.0, -2.0, 0.5, 0.0])
    model = hm.compile(fitted, calibrate=x, share=True, rows=4, security=None, precision_bits=10)
    assert isinstance(model.sharing, Sharing)
    np.testing.assert_allclose(model.local().predict(x[:4]), fitted.predict(x[:4]), atol=0.02)


@pytest.mark.parametrize("times", [1, 9])
def test_polynomials_of_powers_are_bounded_on_the_range_of_their_values(times):
    """They take all values, and have no interval of their own: x^3 + 2x^2 + 3x + 4 changes by 10 at 1, and by
    282 at 9."""
    values = np.linspace(0, times, 4)
    plan = hm.compile(
        lambda x: np.polyval([1.0, 2, 3, 4], x),
        hm.ArraySpec((4,), range=(0, times)),
        share=True,
        security=None,
    )
    assert plan.check(values[None], encrypted=0).bits > 30
    assert plan.expected_bits() > 16
    slope = 3 * times**2 + 4 * times + 3
    line = hm.compile(
        lambda x: x * 3 + x,
        hm.ArraySpec((4,), range=(0, times)),
        share=True,
        security=None,
        params=plan.params,
    )
    assert plan.sharing.noise_bounds[0] > slope / 4 * line.sharing.noise_bounds[0] / 2


@pytest.mark.parametrize(
    ("deviations", "outputs", "bits"),
    [
        ([1.0], [4.0], 10 + math.log2(6 / 4)),
        ([1.0], [2.0**12], 2 + math.log2(6)),  # a quarter is the largest noise
        ([2.0**-12, 1.0, 2.0], [1.0, 1.0, 64.0], 10 + math.log2(6)),
        ([2.0**-10 / 6], [1.0], 0),
    ],
)
def test_bits_that_scales_lack_for_six_deviations(deviations, outputs, bits):
    sharing = SimpleNamespace(deviation=lambda at, *_: deviations[at])
    room = Room(SimpleNamespace(slots=8), (1.0,), tuple(outputs), 10, 4)
    params = hm.ckks.Parameters.for_circuit(1, slots=8, security=None)
    assert room.missing_bits(params, sharing) == pytest.approx(bits, abs=1e-9)
