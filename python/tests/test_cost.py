"""The counted needs and costs of functions, compared with those of a real run."""

import numpy as np
import pytest

import hemera as hm
from hemera.objects.context import Context
from hemera.objects.cost import DryRun, FreshInput

from .refusals import refuse

CKKS = hm.ckks.Parameters.for_circuit(depth=4, scale_bits=40, slots=512, digits=2)
BFV = hm.bfv.Parameters.for_circuit(depth=2, plain_bits=20)
BGV = hm.bgv.Parameters.for_circuit(depth=2, plain_bits=20)

MATRIX = np.random.default_rng(5).normal(size=(512, 8))
TRANSFORM = hm.circuits.LinearTransform(MATRIX.T, CKKS, level=3)
FUNCTIONS = {
    "product": (CKKS, lambda x, y: x * y),
    "polynomial": (CKKS, lambda x, y: (x * x + 2) * y - x),
    "rotations": (CKKS, lambda x, y: x.rotate(3) + y.rotate(-5).conjugate()),
    "matrix": (CKKS, lambda x, y: (x + y) @ MATRIX),
    "transform": (CKKS, lambda x, y: {"result": [TRANSFORM(x * y)]}),
    "sum of a product": (BFV, lambda x, y: (x * y).sum()),
    "several products": (BGV, lambda x, y: (x * y + x, (x * x).swap_rows())),
}


def run(params, function, threads=1):
    """The function on a CPU with the keys that its cost names, and the peak of its memory."""
    counted = hm.cost(function, 512, (2, 512), params=params, threads=threads)
    ctx = hm.Context(params, "cpu", threads=threads)
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, relinearization=False, plan=counted))
    rng = np.random.default_rng(7)
    values = [rng.integers(0, 4, shape) for shape in ((512,), (2, 512))]
    x, y = (ev.encrypt(given) for given in values)
    function(x, y)  # constants of levels and keys are made at the first run
    ctx._native.reset_memory_peak()
    before = ctx.memory_used
    results = function(x, y)
    return counted, ctx._native.memory_peak - before, results, (ctx, sk, values)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.fact_of_the_cpu("bytes of the CPU's workspaces")
def test_the_workspace_is_the_peak_of_a_run(name):
    counted, peak, _, _ = run(*FUNCTIONS[name])
    assert counted.workspace_bytes == peak


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_keys_are_enough_and_none_is_spare(name):
    params, function = FUNCTIONS[name]
    counted = hm.cost(function, 512, (2, 512), params=params)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    keys = ctx.generate_keys(sk, relinearization=False, plan=counted)
    public = ctx.generate_keys(sk, relinearization=False)
    assert keys.memory_bytes - public.memory_bytes == counted.key_bytes
    missing = 0
    for left_out in range(min(len(counted.needed_keys), 3)):
        needs = counted.needed_keys
        del needs[left_out]
        some = hm.Keys(public._native.merged(hm._core.generate_needed_keys(sk._native, needs)), ctx)
        ev = ctx.bind(some)
        with pytest.raises(hm.errors.MissingKeyError):
            function(ev.encrypt(np.ones(512, int)), ev.encrypt(np.ones((2, 512), int)))
        missing += 1
    assert missing == min(len(counted.needed_keys), 3)


def test_results_with_these_keys_are_those_of_numpy():
    _, _, product, (ctx, sk, (x, y)) = run(*FUNCTIONS["polynomial"])
    np.testing.assert_allclose(ctx.decrypt(product, sk), (x * x + 2) * y - x, atol=1e-3)
    _, _, total, (ctx, sk, (x, y)) = run(*FUNCTIONS["sum of a product"])
    assert np.array_equal(np.asarray(ctx.decrypt(total, sk))[:, 0], (x * y).sum(axis=-1))


def test_levels_are_those_of_the_results():
    counted = hm.cost(lambda x: (x * x) * (x * x), 512, params=CKKS)
    assert (counted.level, counted.result_level, counted.depth) == (4, 2, 2)
    for several in (
        lambda x: (x, x * x, [(x * x) * x]),
        lambda x: ([(x * x) * x, x], x * x),
        lambda x: {"least": (x * x) * x, "most": x},
    ):
        told = hm.cost(several, 512, params=CKKS)
        assert (told.level, told.result_level, told.depth) == (4, 2, 2)


def test_operations_are_counted_by_kind():
    counted = hm.cost(lambda x, y: (x * y).rotate(1) + x.rotate(1), 512, 512, params=CKKS)
    assert counted.operations["products"] == 1
    # The product's relinearization, and two rotations.
    assert (counted.operations["key_products"], counted.operations["mod_ups"]) == (3, 3)
    batch = hm.cost(lambda x: x.rotate(1), (5, 512), params=CKKS)
    assert batch.operations["key_products"] == 5


def test_a_key_serves_the_highest_level_that_asks_for_it():
    counted = hm.cost(lambda x: (x * x).rescale().rotate(1), 512, params=CKKS)
    primes = {need.kind: len(need.primes) for need in counted.needed_keys}
    everywhere = hm.cost(lambda x: (x * x).rescale().rotate(1) + x.rotate(1), 512, params=CKKS)
    assert primes["galois"] < primes["relinearization"]
    assert {len(need.primes) for need in everywhere.needed_keys} == {primes["relinearization"]}


def test_encoded_plaintexts_that_stay_are_counted():
    transform = hm.circuits.LinearTransform(MATRIX.T, CKKS)
    counted = hm.cost(transform, 512, params=CKKS)
    assert counted.plaintext_bytes == transform.plaintext_bytes
    assert hm.cost(lambda x: x + 1, 512, params=CKKS).plaintext_bytes == 0


def test_a_bootstrap_is_counted():
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    plan = hm.circuits.Bootstrap(params, slots=32)
    with pytest.warns(hm.errors.RangeWarning):
        counted = hm.cost(plan, 32, params=params)
    assert counted.key_bytes == plan.key_bytes
    assert {repr(need) for need in counted.needed_keys} == {repr(need) for need in plan.needed_keys}
    assert counted.operations["key_products"] > 30


def test_keys_of_users_levels_beside_those_of_a_bootstrap():
    """A bootstrap conjugates at levels of its own, whose key serves no others."""
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    plan = hm.circuits.Bootstrap(params, slots=32)

    def function(x):
        fresh = plan(x.conjugate() * 0.5)
        return fresh.conjugate(), (fresh * fresh).rescale().conjugate()

    with pytest.warns(hm.errors.RangeWarning):
        counted = hm.cost(function, 32, params=params)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, relinearization=False, plan=counted))
    values = np.exp(1j * np.arange(32)) * 0.9
    with pytest.warns(hm.errors.RangeWarning):
        first, second = function(ev.encrypt(values))
    np.testing.assert_allclose(ctx.decrypt(first, sk, dtype=complex), values / 2, atol=1e-5)
    np.testing.assert_allclose(
        ctx.decrypt(second, sk, dtype=complex), (values.conj() ** 2).conj() / 4, atol=1e-5
    )


def test_one_run_after_another_counts_as_alone():
    """Inputs that differ in the slots, the level or the batch: zeros of one are not those of another."""
    together = DryRun(Context(CKKS, "ledger", threads=1))
    for spec in (
        FreshInput((2, 64), 3),
        FreshInput(64, 3),
        FreshInput(64, 2),
        FreshInput(512),
        FreshInput(64, 3),
    ):
        alone = DryRun(Context(CKKS, "ledger", threads=1))
        found, wanted = (dry.cost(lambda _: lambda x: (x * x).rotate(1), [spec]) for dry in (together, alone))
        assert found.as_dict() == wanted.as_dict()


def test_values_are_not_there():
    ctx = hm.Context(CKKS, "ledger")
    sk = ctx.generate_secret_key()
    x = ctx.encrypt([1.0], sk)
    refuse((lambda: ctx.decrypt(x, sk), hm.errors.DeviceError, "ledger"))
    refuse((lambda: x.to_bytes(), hm.errors.DeviceError, "ledger"))


@pytest.mark.parametrize("shape", [0, -1, 1.5, "512", (), (2, 0), True, None])
def test_shapes_are_whole_numbers(shape):
    refuse((lambda: hm.cost(lambda x: x, shape, params=CKKS), TypeError, "shapes"))


def test_what_is_no_function_of_ciphertexts_is_refused():
    refuse(
        (lambda: hm.cost(512, params=CKKS), TypeError, "function"),
        (lambda: hm.cost(print, 512, params=CKKS), TypeError, "no ciphertext"),
        (lambda: hm.cost(lambda x: x, 512, params=512), TypeError, "parameters"),
        (lambda: hm.cost(lambda x: x.rotate(1 // 0), 512, params=CKKS), ZeroDivisionError, None),
    )
