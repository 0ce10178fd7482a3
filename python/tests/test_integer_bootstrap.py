"""Bootstrapping of BFV and BGV, as a user meets it."""

import re

import numpy as np
import pytest

import hemera as hm
import security_table
from hemera.program.operations import Place
from hemera.program.tracing import Recorder
from hemera.program.values import Form

from .refusals import raises, refuse

N = 2048
T = 65537
SCHEMES = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}


class Party:
    """A client, its plan, and a server's keys."""

    def __init__(self, scheme):
        self.params = SCHEMES[scheme].for_bootstrapping("bfv11-test", plain_modulus=T)
        self.boot = hm.circuits.IntegerBootstrap(self.params)
        self.ctx = hm.Context(self.params)
        self.sk = self.ctx.generate_secret_key()
        self.keys = self.ctx.generate_keys(self.sk, plan=self.boot)


@pytest.fixture(scope="module", params=SCHEMES)
def each(request):
    return Party(request.param)


@pytest.fixture(scope="module")
def party():
    return Party("bfv")


def integers(seed):
    return np.random.default_rng(seed).integers(0, T, N)


def test_what_the_page_says_works(each):
    ev = each.ctx.bind(each.keys, bootstrap=each.boot, automatic=True)
    values = integers(1)
    x = ev.encrypt(values)
    y = x * x + 3
    z = y.bootstrap()
    assert z.guaranteed_noise_budget == pytest.approx(each.boot.budget_left)
    assert each.ctx.noise_budget(z, each.sk) >= int(each.boot.budget_left)
    np.testing.assert_array_equal(each.ctx.decrypt(z, each.sk) % T, (values**2 + 3) % T)
    np.testing.assert_array_equal(each.ctx.decrypt(each.boot(y), each.sk), each.ctx.decrypt(z, each.sk))
    assert ev.bootstraps == 2
    assert repr(each.boot) == f"<IntegerBootstrap of 2 passes, {each.boot.budget_left:.1f} bits left>"


def test_without_automatic_nothing_bootstraps_by_itself(party):
    ev = party.ctx.bind(party.keys, bootstrap=party.boot)
    x = ev.encrypt(integers(5))
    with pytest.warns(hm.errors.NoiseWarning):
        x = x**64
    assert ev.bootstraps == 0
    refuse((lambda: x.bootstrap(), hm.errors.NoiseError, r"0\.0 bits of guaranteed noise budget.*needs 8\.5"))
    assert ev.bootstraps == 0


def test_parameters_and_keys_load_elsewhere(party):
    with pytest.warns(hm.errors.SecurityWarning):
        params = type(party.params).load(party.params.to_bytes())
    assert (params, params.to_bytes()) == (party.params, party.params.to_bytes())
    boot = hm.circuits.IntegerBootstrap(params)
    assert boot.as_dict() == party.boot.as_dict()
    server = hm.Context(params)
    keys = server.load(party.keys.to_bytes())
    assert keys.to_bytes() == party.keys.to_bytes()
    ev = server.bind(keys, bootstrap=boot)
    values = integers(6)
    fresh = ev.encrypt(values).bootstrap()
    back = party.ctx.load(fresh.to_bytes())
    assert party.ctx.noise_budget(back, party.sk) >= int(boot.budget_left)
    np.testing.assert_array_equal(party.ctx.decrypt(back, party.sk) % T, values)


def test_the_report_has_what_decides(party):
    report = party.boot.report()
    for part in ("2 passes", "needs 8.5 bits", f"{party.boot.budget_left:.1f}", "2^-40", "relinearization"):
        assert part in report
    found = party.boot.as_dict()
    assert found["passes"] == party.boot.passes == 2
    assert found["bytes"]["keys"] == party.boot.key_bytes == sum(key["bytes"] for key in found["keys"])
    assert found["products"] == party.boot.products >= 1
    assert party.boot.memory_bytes(2) > party.boot.memory_bytes() > party.boot.key_bytes
    party.boot.require_memory(party.ctx)
    small = hm.Context(party.params, "cpu", memory_limit=2**20)
    raises(hm.errors.OutOfMemoryError, f"{2**20}|bytes are needed", party.boot.require_memory, small)


@pytest.mark.parametrize("failure", [2**-40, 3e-13, 2**-128])
def test_failures_are_no_likelier_than_asked_for(party, failure):
    """Also for probabilities that are no powers of two, too; nor rarer by half, which takes budget."""
    own = hm.circuits.IntegerBootstrap(party.params, passes=1, failure=failure)
    recorder = Recorder("bfv", [Form(N)])
    recorder.inputs[0].bootstrap(passes=1, failure=failure)
    recorded = recorder.program.nodes[0].operation.plan(Place(party.params, 0, Form(N)))
    for boot in (own, recorded):
        assert np.log2(failure) - 1 < boot.failure_log2 <= np.log2(failure) + 0.01
        assert f"2^{boot.failure_log2:.0f}" in boot.report()
    for beyond in (2**-40 * 1.001, 2**-128 * 0.999):
        with pytest.raises(hm.errors.ParameterError, match="failure"):
            hm.circuits.IntegerBootstrap(party.params, failure=beyond)
        raises(hm.errors.ParameterError, "failure", recorder.inputs[0].bootstrap, failure=beyond)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"passes": 0}, hm.errors.ParameterError),
        ({"passes": 5}, hm.errors.ParameterError),
        ({"budget": 500}, hm.errors.ParameterError),
        ({"budget": float("nan")}, hm.errors.ParameterError),
        ({"passes": 1, "budget": 10}, hm.errors.ParameterError),
        ({"failure": 0.5}, hm.errors.ParameterError),
        ({"passes": 1.5}, hm.errors.ParameterError),
    ],
)
def test_plans_that_are_not_possible_are_refused(party, options, error):
    refuse((lambda: hm.circuits.IntegerBootstrap(party.params, **options), error, None))


def test_other_parameters_are_refused(party):
    usual = hm.bfv.Parameters.for_circuit(depth=1, plain_modulus=T)
    refuse((lambda: hm.circuits.IntegerBootstrap(usual), hm.errors.ParameterError, "for_bootstrapping"))
    with pytest.raises(hm.errors.ParameterError, match="for_bootstrapping"):
        hm.circuits.IntegerBootstrap(hm.ckks.Parameters.for_bootstrapping("test-40"))
    for arguments in ({"plain_modulus": 1}, {"plain_modulus": T, "lvels": 3}, {"plain_modulus": 2**55}):
        raises(hm.errors.ParameterError, "", hm.bfv.Parameters.for_bootstrapping, "bfv11-test", **arguments)
    with pytest.raises(hm.errors.ParameterError, match="bfv16-32"):
        hm.bgv.Parameters.for_bootstrapping("n16-40", plain_modulus=T)
    with pytest.raises(hm.errors.ParameterError, match="magnitude"):
        party.ctx.bind(party.keys, bootstrap=party.boot, magnitude=2)
    keyless = party.ctx.bind(party.ctx.generate_keys(party.sk), bootstrap=party.boot).encrypt(integers(7))
    refuse((lambda: keyless.bootstrap(), hm.errors.MissingKeyError, None))


# Each scheme once.
@pytest.mark.parametrize(
    ("scheme", "preset", "degree", "left", "net"),
    [("bgv", "bfv16-32", 2**16, 37, 28.5), ("bfv", "bfv15-22", 2**15, 28, 18)],
)
def test_presets_are_secure(scheme, preset, degree, left, net):
    params = SCHEMES[scheme].for_bootstrapping(preset, plain_modulus=T)
    assert params.degree == degree
    assert params.security_bits >= 128
    boot = hm.circuits.IntegerBootstrap(params, passes=1)
    needs = {need.kind: need for need in boot.needed_keys}
    bits = sum(np.log2(needs["to ephemeral"].primes + needs["to ephemeral"].special_primes))
    estimated = security_table.derive(security_table.load())
    limit = security_table.look_up(estimated, degree.bit_length() - 1, 32, 128)  # of the ephemeral secret
    assert limit is not None
    assert bits < limit == hm.parameters.max_log_modulus(degree, 128, 32)
    widest = max(sum(np.log2(need.primes + need.special_primes)) for need in boot.needed_keys)
    assert widest <= hm.parameters.max_log_modulus(degree, 128)
    assert left < boot.budget_left < left + 1
    assert net < boot.budget_left - boot.needed_budget < net + 1
    assert boot.key_bytes < 8e9
    assert boot.failure_log2 == pytest.approx(-40, abs=0.01)


def test_the_key_to_the_ephemeral_secret_needs_an_estimate():
    """At N = 2^15 the estimates end at 2^100: q_0 of 50 bits and a special prime of 50 have it, 51 not."""
    fields = {"plain_modulus": T, "levels": 1, "ratio_bits": 11, "eval_mod_error": -33}
    params = hm.bfv.Parameters.for_bootstrapping("bfv15-22", last_bits=50, **fields)
    assert params.security_bits >= 128
    for last_bits in (51, 52):
        with pytest.raises(hm.errors.ParameterError, match=r"do not have 128 bits.*no level of this scale"):
            hm.bfv.Parameters.for_bootstrapping("bfv15-22", last_bits=last_bits, **fields)
        weak = hm.bfv.Parameters.for_bootstrapping("bfv15-22", last_bits=last_bits, security=None, **fields)
        needs = hm.circuits.IntegerBootstrap(weak, passes=1).needed_keys
        bits = {need.kind: sum(np.log2(need.primes + need.special_primes)) for need in needs}
        assert 100 < bits.pop("to ephemeral") < 103
        assert max(bits.values()) < hm.parameters.max_log_modulus(2**15, 128)  # of uniform secrets


def test_presets_have_the_passes_of_the_page():
    """And the fingerprints of before: keys and files belong to them."""
    for name, passes, fingerprint in (
        ("bfv16-32", 2, "86485a1a787071dc"),
        ("bfv16-40", 1, "d8abea8395c6b091"),
        ("bfv15-22", 2, "fc1614662e76f6cb"),
    ):
        params = hm.bfv.Parameters.for_bootstrapping(name, plain_modulus=T)
        boot = hm.circuits.IntegerBootstrap(params)
        assert (boot.passes, params.fingerprint[:16]) == (passes, fingerprint)
        assert params.security_bits >= 128
        assert passes == 2 or 47 < boot.budget_left < 48


@pytest.mark.parametrize(("scheme", "t"), [("bfv", T), ("bgv", T), ("bfv", 2**20)])
def test_the_settings_of_2_to_the_15_are_exact_many_times_in_a_row(scheme, t):
    """At N = 2^11 squares and bootstraps in turn are Python's; budgets are never below guaranteed ones."""
    params = SCHEMES[scheme].for_bootstrapping("bfv15-22", plain_modulus=t, degree=N, security=None)
    boot = hm.circuits.IntegerBootstrap(params)
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, plan=boot), bootstrap=boot)
    encoding = "slots" if params.max_slots else "coefficients"
    expected = [int(value) for value in np.random.default_rng(15).integers(0, t, N)]
    x = ev.encrypt(np.array(expected), encoding=encoding)
    for _ in range(4):
        if encoding == "slots":
            x, expected = x * x, [value * value % t for value in expected]
        else:
            x, expected = x + x, [2 * value % t for value in expected]
        x = x.bootstrap()
        assert x.guaranteed_noise_budget == pytest.approx(boot.budget_left)
        assert ctx.noise_budget(x, sk) >= int(boot.budget_left)
        assert (ctx.decrypt(x, sk) % t).tolist() == expected


def deep(boot):
    return lambda x, y: (boot(x * y) * x, boot(boot(y * y)))


@pytest.mark.fact_of_the_cpu("bytes of the CPU's keys")
def test_the_cost_of_a_function_has_its_bootstraps(party):
    """Its keys are enough, and the workspace is the peak of a run."""
    function = deep(party.boot)
    counted = hm.cost(function, N, (2, N), params=party.params, device="nvidia-h200")
    assert {repr(need) for need in party.boot.needed_keys} < {repr(need) for need in counted.needed_keys}
    keys = party.ctx.generate_keys(party.sk, relinearization=False, plan=counted)
    public = party.ctx.generate_keys(party.sk, relinearization=False)
    assert keys.memory_bytes - public.memory_bytes == counted.key_bytes
    ctx = hm.Context(party.params, "cpu", threads=1)
    ev = ctx.bind(keys.to(ctx))
    rows = [integers(8), np.stack([integers(9), integers(10)])]
    x, y = (ev.encrypt(each) for each in rows)
    function(x, y)  # constants of levels and keys are made at the first run
    ctx._native.reset_memory_peak()
    before, bootstraps = ctx.memory_used, ev.bootstraps
    first, second = function(x, y)
    assert ctx._native.memory_peak - before == counted.workspace_bytes
    assert ev.bootstraps - bootstraps == 6  # of two rows each
    np.testing.assert_array_equal(
        party.ctx.decrypt(first.to(party.ctx), party.sk) % T, rows[0] ** 2 % T * rows[1] % T
    )
    np.testing.assert_array_equal(party.ctx.decrypt(second.to(party.ctx), party.sk) % T, rows[1] ** 2 % T)


def test_counts_are_those_of_the_plan(party):
    """A plan's own counts, and its time, are those of a run that is counted."""
    for passes in (1, 2):
        boot = hm.circuits.IntegerBootstrap(party.params, passes=passes)
        counted = hm.cost(lambda x, boot=boot: boot(x), N, params=party.params, device="nvidia-h200")
        assert counted.operations == boot.operations
        assert counted.key_bytes == boot.key_bytes == party.boot.key_bytes
        assert counted.workspace_bytes == boot.workspace_bytes
        found = re.search(
            r"about ([\d.]+) ms a pass.*times of operations on nvidia-h200", boot.report("nvidia-h200")
        )
        assert float(found[1]) == pytest.approx(1000 * counted.seconds / passes, rel=1e-2)
        assert ("ms in all" in boot.report("nvidia-h200")) == (passes == 2)
        assert "ms" not in boot.report()
    refuse((lambda: party.boot.report("abacus"), hm.errors.DeviceError, "no table of times"))
