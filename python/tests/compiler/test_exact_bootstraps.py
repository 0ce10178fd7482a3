"""Exact programs that are too deep for their noise budget: they bootstrap, and their results are NumPy's."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import hemera as hm
from hemera import _core
from hemera._noise_warning import budgets_are_known
from hemera.compiler.exact_bootstraps import all_passes, placed_with
from hemera.errors import MismatchError, NoiseError, ParameterError
from hemera.multiparty.bounds import Bounds
from hemera.package.dry_run import keys_of_a_run
from hemera.package.package import Package
from hemera.program import operations as op
from hemera.program.program import Program
from hemera.program.values import Form
from hemera.serving.home import Home

from ..serving.conftest import client_of
from ..serving.conftest import serving as running

Spec = hm.ArraySpec
KINDS = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}
T = 12289
"""The least prime that is 1 modulo 2N at N = 2^11."""
both_schemes = pytest.mark.parametrize("scheme", KINDS)


def preset(scheme, t=T):
    return KINDS[scheme].for_bootstrapping("bfv11-test", plain_modulus=t)


def compiled(function, *specs, scheme="bfv", **options):
    return hm.compile(function, *specs, scheme=scheme, **{"params": preset(scheme), **options})


def bootstraps(plan):
    program = plan.program if isinstance(plan, Package) else plan.package.program
    return program.operations.get("exact bootstrap", 0)


def looked_up(x, table):
    return np.array(table)[x] if isinstance(x, np.ndarray) else np.choose(x, table)


# --- Programs. ---


def life(board):
    """Two generations of Conway's game of life on a torus."""
    rule = [int(k == 3 or k in (9 + 2, 9 + 3)) for k in range(18)]
    for _ in range(2):
        turned = [np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        board = looked_up(sum(turned) + 8 * board, rule)
    return board


def products(x, y, count=40):
    """A loop of products of signs."""
    found = x
    for step in range(count):
        found = found * (y if step % 3 else x) if step % 5 else found * found * y
    return found


def few_products(x, y):
    return products(x, y, 7)


def machine(state, word):
    """Three steps of a machine of four states, that reads a letter of two at each."""
    after = [1, 3, 0, 2, 2, 0, 1, 3]
    for step in range(3):
        state = looked_up(state + 4 * word[..., step], after)
    return {"state": state, "ends": (state == 2) * 10 + 1}


SIGNS = (Spec((3,), (-1, 1)), Spec((3,), (-1, 1)))
PROGRAMS = {
    "life": (life, (Spec((6, 7), (0, 1)),), "bfv"),
    "forty products": (products, SIGNS, "bfv"),
    "products": (few_products, SIGNS, "bgv"),
    "machine": (machine, (Spec((4,), (0, 3)), Spec((4, 3), (0, 1))), "bgv"),
}


def drawn(specs, *batch):
    random = np.random.default_rng(7)
    return [
        random.integers(int(low), int(high) + 1, (*batch, *spec.shape))
        for spec in specs
        for low, high in [spec.range or (0, 0)]
    ]


class Counting(hm.Context):
    """A context whose backend notes the operations that it computes."""

    _times_operations = True

    def operations(self):
        """Operations by kind, as of `hm.cost`."""
        counted = _core.counted_cost(self._native)
        kinds = ("products", "plain_products", "key_products", "mod_ups", "divisions", "rescales")
        return {kind: getattr(counted, kind) for kind in kinds}


@pytest.mark.parametrize("name", PROGRAMS)
def test_deep_programs_are_exact_and_bootstrap_as_often_as_they_say(name):
    function, specs, scheme = PROGRAMS[name]
    requests = 2 if name == "products" else 1
    plan = compiled(function, *specs, scheme=scheme)
    count = bootstraps(plan)
    assert count >= 3
    assert f"{count} bootstraps of " in plan.report()
    # The server's side, with the keys that the client makes.
    model = Package.load(bytes(plan.package))
    ctx = Counting(plan.params, "cpu", threads=1)
    secret = ctx.generate_secret_key()
    keys = plan.generate_keys(ctx, secret)
    model.check(ctx, keys)
    prepared = model.prepare(ctx)
    ev = prepared.bind(keys)
    values = drawn(specs, requests)
    inputs = [ctx.encrypt(each, secret) for each in model.interface.encode(values)]
    _core.clear_ledger(ctx._native)
    results = prepared.run(ev, inputs)
    assert ctx.operations() == {kind: requests * each for kind, each in plan.cost().operations.items()}
    assert ev.bootstraps == requests * count
    assert all(ctx.noise_budget(y, secret) > 0 for y in results)
    found = model.interface.decode([ctx.decrypt(y, secret) for y in results], requests)
    for at in range(requests):
        expected = function(*(each[at] for each in values))
        for key, value in expected.items() if isinstance(expected, dict) else [("output", expected)]:
            own = found[key] if isinstance(expected, dict) else found
            np.testing.assert_array_equal(own[at], value)


def without(program, left_out):
    """The program without one of its bootstraps."""
    result = Program(program.scheme, program.inputs)
    own = list(range(len(program.inputs)))
    seen = 0
    for node in program.nodes:
        is_bootstrap = node.operation.name == "exact bootstrap"
        if is_bootstrap and seen == left_out:
            own.append(own[node.operands[0]])
        else:
            own.append(result.add(node.operation, *(own[at] for at in node.operands)))
        seen += is_bootstrap
    for at in program.outputs:
        result.give(own[at])
    return result


@pytest.mark.parametrize("name", ["life", "machine"])
def test_no_bootstrap_can_be_left_out(name):
    function, specs, scheme = PROGRAMS[name]
    model = compiled(function, *specs, scheme=scheme).package
    for at in range(bootstraps(model)):
        other = without(model.program, at)
        with pytest.raises(NoiseError), budgets_are_known():
            Package(replace(model.interface, keys=keys_of_a_run(model.interface, other)), other).cost()


def test_a_run_has_the_fewest_passes():
    """One pass is best for a table, and two for a product of many, whose sums of products keep room."""
    params = preset("bfv")
    programs = [
        (lambda x: x % 7, Spec((6,), (0, 63)), [5, 8]),
        (lambda x: x.prod(), Spec((64,), (0, 1)), [12, 8]),
    ]
    for function, spec, most in programs:
        plan = compiled(function, spec)
        without_any = plan.package.program
        while "exact bootstrap" in without_any.operations:
            without_any = without(without_any, 0)
        found = [
            all_passes(placed_with(without_any, params, hm.circuits.IntegerBootstrap(params, passes=passes)))
            for passes in (1, 2)
        ]
        assert all(have <= bound for have, bound in zip(found, most, strict=True))
        assert all_passes(plan.package.program) == min(found) < max(found)


def test_the_fewest_bootstraps_are_taken_wherever_they_stand(monkeypatch):
    """Before one operation there may be several."""
    program, plan = Program("bfv", [Form(64)] * 3), hm.circuits.IntegerBootstrap(preset("bfv"))
    program.give(program.add(op.Add(), program.add(op.Add(), 0, 1), 2))
    for answers in (
        [{0: [0, 1], 1: [2]}, {1: [2, 3]}],
        [{1: [2, 3]}, {0: [0], 1: [2, 3]}],
        [{0: [0, 1, 2]}, {0: [0], 1: [3]}],
    ):
        placings = iter([SimpleNamespace(found=lambda answer=each: answer) for each in answers])
        monkeypatch.setattr("hemera.compiler.exact_bootstraps._Placing", lambda *_, own=placings: next(own))
        assert all_passes(placed_with(program, preset("bfv"), plan)) == 2


def test_the_last_product_needs_no_budget_of_a_bootstrap():
    """What no bootstrap takes any more may have less than it needs."""
    plan = compiled(lambda x: x**4, Spec((3,), (-1, 1)))
    assert bootstraps(plan) == 0 < bootstraps(compiled(lambda x: x**64, Spec((3,), (-1, 1))))


@both_schemes
def test_a_shallow_program_has_no_bootstraps_and_none_of_their_keys(scheme):
    plan = compiled(lambda x: (3 * x).sum() - 2, Spec((5,), (-9, 9)), scheme=scheme)
    assert bootstraps(plan) == 0
    assert plan.describe()["keys"]["bootstraps"] == []
    assert " bootstrap" not in plan.report()
    x = np.array([1, -2, 3, -4, 9])
    assert plan.local(threads=1)(x) == 3 * x.sum() - 2


def test_cost_and_report_have_the_bootstraps():
    plan = compiled(few_products, *SIGNS)
    count, passes = bootstraps(plan), plan.describe()["keys"]["bootstraps"][0]["passes"]
    boot = hm.circuits.IntegerBootstrap(preset("bfv"), passes=passes)
    cost = plan.cost("nvidia-h200")
    assert cost.operations["key_products"] >= count * boot.operations["key_products"]
    assert cost.key_bytes > boot.key_bytes
    of_all = hm.cost(lambda x: boot(x), 2048, params=plan.params, device="nvidia-h200").seconds
    assert cost.seconds is not None
    assert of_all is not None
    assert count * of_all < cost.seconds < 2 * count * of_all
    assert f"a probability of 2^{boot.failure_log2 + np.log2(count):.1f}" in plan.report()


def test_samples_share_the_bootstraps():
    plan = compiled(few_products, *SIGNS, samples=8)
    assert bootstraps(plan) == bootstraps(compiled(few_products, *SIGNS))
    x, y = drawn(SIGNS, 7)
    np.testing.assert_array_equal(plan.local(threads=1)(x, y), few_products(x, y))


def test_a_deep_program_is_served(tmp_path):
    plan = compiled(few_products, *SIGNS, name="signs")
    plan.save(tmp_path / "signs.hemera-model")
    home = Home(tmp_path / "home")
    home.add_model(tmp_path / "signs.hemera-model")
    token = home.clients.add("alice")
    x, y = drawn(SIGNS)
    with running(home) as server, client_of(server.url, token) as client:
        np.testing.assert_array_equal(client.predict("signs", [x, y]), few_products(x, y))


# --- Parameters. ---


def test_the_least_modulus_with_slots():
    def is_prime(n):
        return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))

    for degree, least in ((2**11, 1), (2**11, 12290), (2**16, 1), (2**16, 786434), (2**12, 40961)):
        expected = next(t for t in range(least, 10**8) if t % (2 * degree) == 1 and is_prime(t))
        assert _core.least_plain_modulus(least, degree) == expected
    assert _core.least_plain_modulus(1, 2**16) == 786433
    assert _core.least_plain_modulus(2**60 - 5, 2**16) == 0


@pytest.fixture
def no_circuits(monkeypatch):
    """No circuit fits a ring, and bootstraps have the small one of tests."""
    for kind in KINDS.values():
        make = kind.for_bootstrapping

        def refuse(*_, **__):
            raise ParameterError("no parameters hold a circuit of this depth")

        def small(plain_modulus, security, openings=None, make=make):
            assert security == 128
            return make("bfv11-test", plain_modulus=plain_modulus, openings=openings)

        monkeypatch.setattr(kind, "for_circuit", refuse)
        monkeypatch.setattr(kind, "for_bootstrapping", small)


@both_schemes
@pytest.mark.usefixtures("no_circuits")
def test_programs_that_fit_no_ring_get_parameters_with_bootstraps(scheme):
    plan = hm.compile(lambda x: (100 * x) ** 2 * x**20, Spec((3,), (-1, 1)), scheme=scheme)
    assert plan.params.plain_modulus == 40961  # the least beyond 20,001 that is 1 modulo 4096
    assert bootstraps(plan) >= 2
    np.testing.assert_array_equal(plan.local(threads=1)(np.array([1, 0, -1])), [10_000, 0, 10_000])
    # A group's results keep what its openings take, and its parameters have its pieces.
    openings = _core.Openings(3, 20, 40)
    opened = hm.compile(
        lambda x: (100 * x) ** 2 * x**20, Spec((3,), (-1, 1)), scheme=scheme, openings=openings
    )
    assert opened.params._native.secret_terms == 3
    (result,) = Bounds.of(opened.package).outputs
    assert result.guaranteed_noise_budget >= openings.budget(2048)
    (result,) = Bounds.of(plan.package).outputs
    assert result.guaranteed_noise_budget < openings.budget(2048)
    # Multiples of 40961 are no different values of a table: another modulus is taken.
    table = hm.compile(lambda x: (40961 * x > 0) * 20000, Spec((3,), (-1, 1)), scheme=scheme)
    assert table.params.plain_modulus == _core.least_plain_modulus(40962, 2048)
    np.testing.assert_array_equal(table.local(threads=1)(np.array([1, 0, -1])), [20_000, 0, 0])


@pytest.mark.usefixtures("no_circuits")
def test_both_reasons_are_told_where_no_parameters_do():
    large = Spec((3,), (-(2**28), 2**28))
    with pytest.raises(ParameterError, match=r"no parameters hold.*\. With bootstraps: .*plaintext modulus"):
        hm.compile(lambda x, y: x * y, large, large, scheme="bfv")


def test_what_bootstraps_do_not_hold_is_refused():
    t = _core.least_plain_modulus(2**44, 2048)
    with pytest.raises(NoiseError, match=r"\(operation \d+ of \d+\) takes .* a bootstrap of 1 pass leaves"):
        compiled(products, *SIGNS, params=preset("bgv", t), scheme="bgv")
    slotless = hm.bfv.Parameters.for_bootstrapping(plain_modulus=2**16)
    with pytest.raises(ParameterError, match=r"has no slots; the least one that has, .* is 786433"):
        compiled(lambda x: x * x, Spec((3,), (-1, 1)), params=slotless)
    with pytest.raises(ParameterError, match="need a plaintext modulus from 20001"):
        compiled(lambda x: x * 10_000, Spec((3,), (-1, 1)))
    with pytest.raises(MismatchError, match="takes parameters of BFV"):
        compiled(lambda x: x * x, Spec((3,), (-1, 1)), params=preset("bgv"))
    with pytest.raises(ParameterError, match=r"device= does not go with .* plan\.cost\(device\)"):
        compiled(lambda x: x * x, Spec((3,), (-1, 1)), device="nvidia-h200")


@both_schemes
def test_programs_bootstrap_with_few_slots(scheme):
    params = preset(scheme, 257)  # which has 128 slots at N = 2^11
    assert params.max_slots == 128

    def function(x, y):
        return np.roll(products(x, y, 8), 1) + y

    plan = compiled(function, *(Spec((8,), (-1, 1)) for _ in range(2)), scheme=scheme, params=params)
    assert bootstraps(plan) > 1
    x, y = np.random.default_rng(7).integers(-1, 2, (2, 8))
    np.testing.assert_array_equal(plan.local(threads=1)(x, y), function(x, y))
