"""Slots of plaintext moduli that split only partly: n < N of them."""

import numpy as np
import pytest

import hemera as hm

from .refusals import raises, refuse

SCHEMES = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}
N = 2048
MODULI = {5: 2, 257: 128, 65537: N}
"""Slots of each modulus at N: the largest power of two n up to N with t = 1 modulo 2n."""

pytestmark = pytest.mark.filterwarnings("ignore::hemera.errors.NoiseWarning")


def parameters(scheme, t, depth=1):
    return SCHEMES[scheme].for_circuit(depth, plain_modulus=t, degree=N, security=None)


@pytest.mark.parametrize("t", [5, 257, 65537])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_slots_multiply_add_and_turn(scheme, t):
    params = parameters(scheme, t)
    n = params.max_slots
    assert (params.degree, n) == (N, MODULI[t])
    assert f"{n} slots and coefficients" in params.describe()
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, rotations=[1, 3], sum_slots=True))
    a, b = np.random.default_rng(t).integers(0, t, (2, n))
    x, y = ev.encrypt(a), ev.encrypt(b)
    assert (x.slots, x.filled) == (n, n)

    def equal(found, expected):
        np.testing.assert_array_equal(ctx.decrypt(found, sk, dtype=np.uint64), expected % t)

    equal(x, a)
    equal(x * y + x, a * b + a)
    equal(x * b - 7, a * b - 7)
    rows = a.reshape(2, -1)
    for steps in (0, 1, 3, -1, n // 2 + 1):
        if n > 8 or abs(steps) < 2:
            equal(x.rotate(steps), np.roll(rows, -steps, axis=1).ravel())
    equal(x.swap_rows(), rows[::-1].ravel())
    equal(x.sum(), np.full(n, a.sum()))
    equal(x.dot(y), np.full(n, (a * b).sum()))
    equal(ev.dot([x, y, x], [y, y, x]), a * b + b * b + a * a)


def test_refusals_name_the_slots():
    params = parameters("bfv", 257)
    ctx = hm.Context(params)
    raises(hm.errors.ParameterError, r"129 values do not fit in the 128 slots", ctx.encode, np.arange(129))
    assert ctx.encode(np.arange(129), encoding="coefficients").slots == 129
    with pytest.raises(hm.errors.ParameterError, match="257 has 128 slots"):
        hm.bfv.Parameters.for_circuit(1, plain_modulus=257, slots=129)
    assert hm.bfv.Parameters.for_circuit(1, plain_modulus=257, slots=128).max_slots == 128
    none = parameters("bgv", 3)
    assert none.max_slots == 0
    refuse((lambda: hm.Context(none).encode([1]), hm.errors.ParameterError, "no slots"))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_compiled_programs_take_them(scheme):
    values = np.random.default_rng(7).integers(-2, 3, (3, 16))
    plan = hm.compile(
        lambda x: (x * x) @ np.ones((16, 2), np.int64) - x[0],
        hm.ArraySpec((16,), range=(-2, 2)),
        scheme=scheme,
        params=parameters(scheme, 257, depth=2),
        security=None,
    )
    assert plan.slots == 128
    run = plan.local(threads=1)
    for row in values:
        np.testing.assert_array_equal(run(row), [np.sum(row * row) - row[0]] * 2)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_bootstraps_of_slots(scheme):
    t = 7681
    params = SCHEMES[scheme].for_bootstrapping("bfv11-test", plain_modulus=t)
    boot = hm.circuits.IntegerBootstrap(params, encoding="slots")
    whole = hm.circuits.IntegerBootstrap(params)
    assert (boot.encoding, whole.encoding) == ("slots", "coefficients")
    assert "256 slots" in boot.report()
    assert boot.as_dict()["operations"]["products"] < whole.as_dict()["operations"]["products"]
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, plan=boot), bootstrap=boot, automatic=True)
    rng = np.random.default_rng(11)
    values = rng.integers(0, t, 256)
    x = ev.encrypt(values)
    fresh = x.bootstrap()
    assert fresh.guaranteed_noise_budget == pytest.approx(boot.budget_left)
    np.testing.assert_array_equal(ctx.decrypt(fresh, sk) % t, values)
    for _ in range(4):
        factor = rng.integers(0, t, 256)
        x, values = x * ev.encrypt(factor) + x, (values * factor + values) % t
        np.testing.assert_array_equal(ctx.decrypt(x, sk) % t, values)
    before = ev.bootstraps
    y = ev.dot([x, x, x], [x, fresh, x])
    assert ev.bootstraps - before <= 1
    first = ctx.decrypt(fresh, sk) % t
    np.testing.assert_array_equal(ctx.decrypt(y, sk) % t, (2 * values**2 + values * first) % t)
    with pytest.raises(hm.errors.MismatchError, match="slots only"):
        ev.encrypt(values, encoding="coefficients").bootstrap()
    with pytest.raises(hm.errors.ParameterError, match="encoding must be"):
        hm.circuits.IntegerBootstrap(params, encoding="rows")
