"""Models whose encoded matrices do not fit into memory, and models of integers that bootstrap."""

import warnings

import numpy as np
import pytest

import hemera as hm
from hemera import serving
from hemera.cli import main
from hemera.errors import (
    FormatError,
    HemeraWarning,
    MismatchError,
    MissingKeyError,
    NoiseError,
    ParameterError,
)
from hemera.program.operations import Place
from hemera.program.values import Form
from hemera.serving import Interface, Package

from ..refusals import raises

RNG = np.random.default_rng(12)
SIZE = 128
MATRICES = RNG.uniform(-1, 1, (3, SIZE, SIZE)) / SIZE
X = RNG.uniform(-1, 1, SIZE)


def network(x):
    for matrix in MATRICES:
        x = (matrix @ x + 0.5) ** 2
    return x


@pytest.fixture(scope="module")
def plan():
    params = hm.ckks.Parameters.for_circuit(6, scale_bits=40, range_bits=8, degree=2048, security=None)
    return hm.compile(network, hm.ArraySpec((SIZE,), (-1, 1)), params=params)


def results(plan, model, context, runs=2):
    secret = context.generate_secret_key()
    evaluator = model.bind(plan.generate_keys(context, secret))
    (values,) = plan.package.interface.encode(X)
    x = context.encrypt(context.encode(values), secret)
    for _ in range(runs):
        (result,) = model.run(evaluator, [x])
    return plan.package.interface.decode([context.decrypt(result, secret)])


@pytest.mark.parametrize("part", [0.0, 0.4, 0.7, 1.0])
@pytest.mark.fact_of_the_cpu("bytes that the CPU's pool hands out")
def test_given_memory_is_kept(plan, part):
    context = hm.Context(plan.params, threads=1)
    whole = sum(context_free(plan).encoded_bytes)
    allowed = int(part * whole)
    before = context.memory_used
    model = plan.prepare(context, weights_memory=allowed)
    assert context.memory_used - before <= allowed
    assert model.streamed_bytes >= whole - allowed
    assert model.streamed_bytes == 0 or part < 1
    encoded = context.memory_used
    np.testing.assert_allclose(results(plan, model, context), network(X), atol=1e-6)
    # Numbers that are added are kept; what was streamed is not.
    assert context.memory_used - encoded < min(own for own in model.encoded_bytes if own)


def context_free(plan):
    """The model without anything encoded."""
    return plan.prepare(hm.Context(plan.params, threads=1), weights_memory=0)


def test_streamed_matrices_have_no_graph(plan):
    context = hm.Context(plan.params, threads=1)
    model = plan.prepare(context, weights_memory=0)
    assert not model.captures
    secret = context.generate_secret_key()
    (values,) = plan.package.interface.encode(X)
    x = context.encrypt(context.encode(values), secret)
    with pytest.raises(MismatchError, match=r"MiB of matrices are encoded at each run"):
        model.capture(model.bind(plan.generate_keys(context, secret)), [x])


def test_a_limit_of_memory_is_kept(plan):
    """With all matrices in memory, keys or runs would not fit."""
    cost = plan.cost()
    everything = cost.key_bytes + cost.workspace_bytes + cost.plaintext_bytes
    room = hm.Context(plan.params, threads=1, memory_limit=2 * everything)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plan.prepare(room).streamed_bytes == 0
    limit = everything - max(context_free(plan).encoded_bytes) // 2
    small = hm.Context(plan.params, threads=1, memory_limit=limit)
    assert small.memory_limit == limit
    with pytest.warns(HemeraWarning, match=r"'network' take .* MiB, and beside the keys there is room for"):
        model = plan.prepare(small)
    own = model.encoded_bytes
    assert 0 < model.streamed_bytes < sum(own)
    # One of those that are left out is in memory at a time.
    needed = everything - model.streamed_bytes + max(own)
    assert needed <= limit < needed + 2 * max(own)
    np.testing.assert_allclose(results(plan, model, small), network(X), atol=1e-6)


@pytest.mark.fact_of_the_cpu("bytes of its memory pool")
def test_what_a_context_holds_already_takes_from_the_room(plan):
    """As other models' matrices do: fewer of this one's fit by so much."""
    cost = plan.cost()
    own = context_free(plan).encoded_bytes
    limit = cost.key_bytes + cost.workspace_bytes + cost.plaintext_bytes
    context = hm.Context(plan.params, threads=1, memory_limit=limit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plan.prepare(context).streamed_bytes == 0  # exactly what there is room for
    before = context.memory_used
    held = context.encode(np.zeros((1, SIZE)))
    taken = context.memory_used - before
    assert taken > 0
    with pytest.warns(HemeraWarning, match="there is room for"):
        model = plan.prepare(context)
    kept = sum(own) - model.streamed_bytes
    others = limit - sum(own)
    # One of those that are left out is in memory at a time.
    assert kept + max(own) + others + taken <= limit < kept + 3 * max(own) + others + taken
    del held, model
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plan.prepare(context).streamed_bytes == 0


def test_matrices_are_encoded_anew_for_other_memory(plan):
    """More room than before, or less: as a model that was made with it at once."""
    context = hm.Context(plan.params, threads=1)
    model = plan.prepare(context, weights_memory=0)
    own = model.encoded_bytes
    assert model.streamed_bytes == sum(own)
    largest = max(own)
    for memory in (largest, np.inf, 0, sum(own), sum(own) - 1, largest - 1, np.inf):
        model.encode(memory)
        at_once = plan.prepare(hm.Context(plan.params, threads=1), weights_memory=min(memory, 1 << 60))
        assert model.streamed_bytes == at_once.streamed_bytes
        assert (model.streamed_bytes == 0) == (memory >= sum(own))
        assert sum(own) - model.streamed_bytes <= memory
    assert model.encoded_bytes == own
    np.testing.assert_allclose(results(plan, model, context), network(X), atol=1e-6)


@pytest.mark.fact_of_the_cpu("no limit of memory")
def test_wrong_memory(plan):
    raises(ParameterError, "0 bytes or more", plan.prepare, hm.Context(plan.params), weights_memory=-1)
    assert hm.Context(plan.params).memory_limit is None


N, T = 2048, 65537
KINDS = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}


def powers(bits, squares, **settings):
    """x^(2^bits), with a bootstrap after every `squares` of them; a second result that is less deep."""

    def function(x):
        y = x
        for bit in range(1, bits + 1):
            y = y.square()
            if bit % squares == 0 and bit < bits:
                y = y.bootstrap(**settings)
        return {"power": y, "near": 3 * x - 1}

    return function


@pytest.fixture(scope="module", params=KINDS)
def package(request):
    params = KINDS[request.param].for_bootstrapping("bfv11-test", plain_modulus=T)
    squares, bits = (2, 6) if request.param == "bfv" else (1, 3)
    model = serving.export(
        powers(bits, squares), inputs=N, name="power", params=params, description=str(bits)
    )
    return Package.load(bytes(model))


def test_a_power_without_an_end(package):
    """The client reads the server's description; two requests at once."""
    bits = int(package.description)
    interface = Interface.from_dict(package.describe())
    ctx = hm.Context(interface.params, "cpu", threads=1)
    secret = ctx.generate_secret_key()
    keys = interface.generate_keys(ctx, secret)
    server = hm.Context(package.params, "cpu", threads=1)
    given = server.load(keys.to_bytes())
    package.check(server, given)
    model = package.prepare(server)
    ev = model.bind(given)
    x = np.random.default_rng(3).integers(0, T, (2, N))
    results = model.run(
        ev, [server.load(ctx.encrypt(each, secret).to_bytes()) for each in interface.encode(x)]
    )
    count = package.program.operations["exact bootstrap"]
    assert count == 2  # so that what a bootstrap leaves is bootstrapped
    assert ev.bootstraps == 2 * count
    found = [ctx.decrypt(ctx.load(y.to_bytes()), secret) % T for y in results]
    np.testing.assert_array_equal(found[0], [[pow(int(v), 2**bits, T) for v in row] for row in x])
    np.testing.assert_array_equal(found[1], (3 * x - 1) % T)
    clear = package.evaluate_clear(x)
    np.testing.assert_array_equal(clear["power"] % T, found[0])


def test_the_passes_are_decided_and_one_bootstrap_is_listed(package):
    boot = hm.circuits.IntegerBootstrap(package.params)
    own = [node.operation for node in package.program.nodes if node.operation.name == "exact bootstrap"]
    assert {each.passes for each in own} == {boot.passes} == {2}
    assert package.describe()["keys"]["bootstraps"] == [{"passes": 2}]
    assert package.interface.depth == (2 if package.scheme == "bfv" else 1)
    # Keys are the same for any number of passes: they are made once.
    params = package.params
    both = serving.export(
        lambda x: x.square().bootstrap(passes=1).bootstrap(passes=2, failure=2**-64),
        inputs=N,
        name="both",
        params=params,
    )
    assert both.describe()["keys"]["bootstraps"] == [{"passes": 2}]
    plans = [node.operation.plan(Place(params, 2, Form(N))) for node in both.program.nodes[1:]]
    assert [plan.failure_log2 for plan in plans] == pytest.approx([-40, -64])
    cost = both.cost()
    assert cost.key_bytes == package.cost().key_bytes > boot.key_bytes
    one, two = (hm.circuits.IntegerBootstrap(params, passes=passes).operations for passes in (1, 2))
    square = hm.cost(lambda x: x.square(), N, params=params).operations
    for kind, expected in square.items():
        if kind != "rescales":  # the ones of levels, which differ
            assert cost.operations[kind] == expected + one[kind] + two[kind]


def test_inspect_names_the_bootstrap(package, tmp_path, capsys):
    package.save(tmp_path / "power.hemera-model")
    assert main(["inspect", str(tmp_path / "power.hemera-model")]) == 0
    told = capsys.readouterr().out
    assert "exact bootstrap of 2 passes" in told
    assert f"{package.program.operations['exact bootstrap']} exact bootstrap" in told


def test_missing_keys_and_other_parameters_are_refused(package):
    ctx = hm.Context(package.params, "cpu", threads=1)
    secret = ctx.generate_secret_key()
    usual = ctx.generate_keys(secret)
    raises(MissingKeyError, "exact bootstrap", package.check, ctx, usual)
    boot = hm.circuits.IntegerBootstrap(package.params)
    package.check(ctx, ctx.generate_keys(secret, plan=boot))
    needs = boot.needed_keys
    galois = [need for need in needs if need.kind == "galois"]
    for left_out in (galois[:1], galois[-1:], [need for need in needs if "ephemeral" in need.kind]):
        some = [need for need in needs if need not in left_out]
        keys = usual | hm.Keys(hm._core.generate_needed_keys(secret._native, some), ctx)
        raises(MissingKeyError, "exact bootstrap", package.check, ctx, keys)
    flat = hm.Context(
        KINDS[package.scheme].for_circuit(2, plain_modulus=T, slots=N, degree=N, security=None), "cpu"
    )
    with pytest.raises(MismatchError, match="takes its own parameters"):
        package.check(flat, flat.generate_keys(flat.generate_secret_key()))
    for passes in (0, 5, 17):
        told = package.describe()
        told["keys"]["bootstraps"] = [{"passes": passes}]
        raises(FormatError, "passes", Interface.from_dict, told)


def test_noise_that_a_bootstrap_does_not_take_is_refused(package):
    params = package.params
    with pytest.raises(NoiseError, match=r"bits of guaranteed noise budget, and a bootstrap needs 8\.5"):
        serving.export(powers(7, 6), inputs=N, name="late", params=params)
    spent = serving.export(powers(6, 9), inputs=N, name="spent", params=params)
    with (
        pytest.raises(NoiseError, match="no noise budget that is certain"),
        pytest.warns(hm.errors.NoiseWarning),
    ):
        spent.cost()


def test_settings_belong_to_a_scheme(package):
    ckks = hm.ckks.Parameters.for_bootstrapping("test-40")

    def exported(params, **settings):
        return serving.export(lambda x: x.bootstrap(**settings), inputs=N // 2, name="m", params=params)

    for settings in ({"real": True}, {"iterations": 2}, {"merge_parts": True}):
        raises(ParameterError, "BFV and BGV have passes", exported, package.params, **settings)
    for settings in ({"passes": 1}, {"failure": 2**-50}):
        raises(ParameterError, "CKKS has iterations", exported, ckks, **settings)
    for settings in ({"passes": 0}, {"failure": 0.5}, {"passes": 17}, {"passes": 5}):
        raises(ParameterError, "pass", exported, package.params, **settings)
    usual = KINDS[package.scheme].for_circuit(2, slots=N, security=None)
    raises(ParameterError, "for_bootstrapping", exported, usual)
