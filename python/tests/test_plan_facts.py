"""What plans tell of themselves as numbers and texts: each by a formula, of all kinds of plans."""

import math
import re
from collections import Counter

import numpy as np
import pytest

import hemera as hm
from hemera import circuits
from hemera.circuits.bootstrap import prepared_for
from hemera.circuits.needs import size_text
from hemera.errors import NoiseError, RangeWarning

from .conftest import CIRCUIT_SLOTS as SLOTS
from .refusals import raises, refuse

RNG = np.random.default_rng(6)
WEIGHTS = RNG.uniform(-1, 1, (3, 5))
KEPT = np.arange(SLOTS) % 3 == 0
BLOCK = {0: 0.5, 3: RNG.uniform(-1, 1, SLOTS)}
PLANS = {
    "transform": lambda params: circuits.LinearTransform(WEIGHTS, params),
    "transform of few keys": lambda params: circuits.LinearTransform(WEIGHTS, params, fewest_keys=True),
    "transform with keys of its own": lambda params: circuits.LinearTransform(
        WEIGHTS, params, level=3, own_keys=True
    ),
    "grid": lambda params: circuits.TransformGrid([[BLOCK, None], [{1: 1}, BLOCK]], params, slots=SLOTS),
    "sum": lambda params: circuits.InnerSum(params, SLOTS, 8, everywhere=True),
    "copy": lambda params: circuits.Replication(params, SLOTS, 4, position=1),
    "mask": lambda params: circuits.Mask(KEPT, params, level=2),
    "encrypted matrix": lambda params: circuits.MatrixVectorProduct(params, 3, 5),
    "encrypted matrices": lambda params: circuits.MatrixProduct(params, 4),
    "pairs": lambda params: circuits.MatrixBatchProduct(params, 4),
    "rows of 8 bits": lambda params: circuits.PlainMatrixProduct(WEIGHTS, params, bits=8),
    "rows of 16 bits": lambda params: circuits.PlainMatrixProduct(WEIGHTS, params, rescaled=False),
    "packed rows": lambda params: circuits.PackedRowsProduct(WEIGHTS, params, 40),
    "vectors in slots": lambda params: circuits.PeriodicTransform(WEIGHTS, params, 8),
    "polynomial": lambda params: circuits.Polynomial([1, 2, 3, 4.5]).plan(params, slots=SLOTS),
    "function": lambda params: circuits.sigmoid((-4, 4), bits=8).plan(params, level=5, own_keys=True),
    "exact bootstrap": lambda _: circuits.IntegerBootstrap(
        hm.bfv.Parameters.for_bootstrapping("bfv11-test", plain_modulus=65537)
    ),
    "bootstrap": lambda _: circuits.Bootstrap(
        hm.ckks.Parameters.for_bootstrapping("test-40"), slots=16, iterations=2
    ),
}
TITLES = {
    "transform": "matrix of 3 x 5 over 8 slots, 4 diagonals",
    "grid": "grid of 2 x 2 transforms over 32 slots, 5 diagonals",
    "sum": "sum of 8 slots, of 32 slots: depth 1",
    "copy": "copy to 4 slots, of 32 slots: depth 1",
    "mask": "mask, of 32 slots: depth 1",
    "encrypted matrix": "encrypted matrix of 3 x 5 times a vector",
    "encrypted matrices": "product of encrypted matrices of 4 x 4",
    "pairs": "products of 128 pairs of encrypted matrices of 4 x 4",
    "rows of 8 bits": "matrix of 3 x 5, 8 bits, times encrypted rows",
    "rows of 16 bits": "matrix of 3 x 5, 16 bits, times encrypted rows",
    "packed rows": "matrix of 3 x 5, times 40 encrypted vectors in packed rows",
    "vectors in slots": "matrix of 3 x 5 times vectors in slots, 8 entries a ciphertext",
    "polynomial": "polynomial of degree 3: depth 2",
    "bootstrap": "bootstrap of 16 complex slots, slots first",
    "exact bootstrap": "bootstrap of BFV modulo 65537, N = 2048",
}


@pytest.mark.parametrize("name", PLANS)
def test_keys_and_bytes_are_those_of_the_needs(params, name):
    """A key has two polynomials of 8 bytes a coefficient for each digit and prime."""
    plan = PLANS[name](params)
    own, report = plan._params, plan.report()
    told = plan.as_dict()
    assert told["plan"] == report.splitlines()[0] == TITLES.get(name, plan._title)
    gadgets = Counter()
    for need, key in zip(plan.needed_keys, told["keys"], strict=True):
        gadget = len(need.primes), len(need.special_primes), need.digits
        assert (key["primes"], key["special_primes"], key["digits"]) == gadget
        assert key["bytes"] == 2 * 8 * need.digits * (gadget[0] + gadget[1]) * own.degree
        assert (key["kind"] in ("rotation", "conjugation")) == (need.kind == "galois")
        assert (key["rotation"] is None) == (key["kind"] != "rotation")
        if key["kind"] == "rotation":  # 5^steps, as slots are turned
            assert pow(5, key["rotation"], 2 * own.degree) == need.galois_element
        gadgets[gadget] += 1
    assert told["bytes"]["keys"] == plan.key_bytes == sum(key["bytes"] for key in told["keys"])
    report = re.sub(", [0-9.]+ [KMGT]?i?B to upload", "", report)  # of files: test_bootstrap.py has them
    lines = [line for line in report.splitlines() if " primes in " in line]
    assert {tuple(map(int, re.findall(r"\d+", line.rpartition(": ")[2]))) for line in lines} == set(gadgets)
    sizes = (plan.key_bytes, plan.plaintext_bytes, plan.workspace_bytes)
    assert (
        "{} keys of {}, plaintexts of {}, workspace of {}".format(
            len(plan.needed_keys), *map(size_text, sizes)
        )
        in report
    )
    assert (told["bytes"]["plaintexts"], told["bytes"]["workspace"]) == sizes[1:]
    assert plan.memory_bytes() == sum(sizes) or name == "exact bootstrap"  # which has more for itself
    counts = {kind: count for kind, count in told["operations"].items() if count}
    assert counts == {kind: count for kind, count in plan.operations.items() if count}
    assert list(counts.values()) == [int(each.split()[0]) for each in report.splitlines()[-1].split(", ")]


@pytest.mark.parametrize("name", [each for each in PLANS if each != "exact bootstrap"])
def test_levels_scales_and_errors_are_told(params, name):
    plan = PLANS[name](params)
    told, report = plan.as_dict(), plan.report()
    mean, worst = plan.expected_error()
    assert told["expected_error"] == {"mean": mean, "worst": worst}
    assert (told["level"], told["result_level"]) == (plan.level, plan.result_level)
    assert told["depth"] == plan.depth == plan.level - plan.result_level
    assert told["scale_bits"] == math.log2(plan.scale)
    assert told["result_scale_bits"] == math.log2(plan.result_scale)
    assert (
        f"level {plan.level} to {plan.result_level}, scale 2^{math.log2(plan.scale):.2f} to "
        f"2^{math.log2(plan.result_scale):.2f}"
    ) in report
    assert f"noise in a slot: 2^{math.log2(mean):.1f}, 2^{math.log2(worst):.1f} at the worst" in report
    assert str(plan.level) in repr(plan)


@pytest.mark.parametrize("name", ["transform", "mask", "pairs", "polynomial"])
def test_simulations_have_the_expected_noise(params, name):
    """Its mean, in both parts alike, and another one for another seed."""
    plan = PLANS[name](params)
    given = {"pairs": [RNG.uniform(-1, 1, (128, 4, 4))] * 2, "transform": [RNG.uniform(-1, 1, (400, 5))]}
    values = given.get(name, [RNG.uniform(-1, 1, (64, SLOTS))])
    noise = plan.simulate(*values, seed=3) - plan.evaluate_clear(*values)
    for part in (noise.real, noise.imag):
        assert np.sqrt(2 * (part**2).mean()) == pytest.approx(plan.expected_error()[0], rel=0.1)
        assert abs(part.mean()) < 5 * part.std() / math.sqrt(part.size)
    assert abs(np.corrcoef(noise.real.ravel(), noise.imag.ravel())[0, 1]) < 0.2
    np.testing.assert_array_equal(plan.simulate(*values, seed=3), plan.simulate(*values, seed=3))
    assert (plan.simulate(*values, seed=4) != plan.simulate(*values, seed=3)).all()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        *((0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1024**2 - 1024, "1023.0 KiB")),
        *((1024**2, "1.0 MiB"), (1023 * 1024**2, "1023.0 MiB"), (1024**3, "1.00 GiB")),
        (1024**4, "1024.00 GiB"),
    ],
)
def test_bytes_for_people(count, text):
    assert size_text(count) == text


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (1, 7)])
def test_weights_in_memory(params, shape, bits):
    """Rounded to the integers of so many bits: the largest is as large as can be."""
    weights = RNG.uniform(-1, 1, shape)
    rows = circuits.PlainMatrixProduct(weights, params, bits=bits)
    packed = circuits.PackedRowsProduct(weights, params, 32, bits=bits)
    assert rows.weight_bytes == packed._native.weight_bytes == weights.size * bits // 8
    assert f"weights of {weights.size * bits // 8} B in memory" in rows.report()
    assert (rows.shape, rows.bits, packed.shape) == (shape, bits, shape)
    assert np.abs(rows.integers).max() == 2 ** (bits - 1) - 1
    assert rows.factor == pytest.approx((2 ** (bits - 1) - 1) / np.abs(weights).max())
    np.testing.assert_array_equal(rows.integers, np.rint(weights * rows.factor))
    x = RNG.uniform(-1, 1, (shape[1], 32))
    for plan in (rows, packed):
        np.testing.assert_allclose(plan.evaluate_clear(x), rows.integers / rows.factor @ x, atol=1e-12)


def test_results_are_unpacked_as_many_rows_as_there_are(params):
    """As the matrix has, or as are asked for, up to the last that ciphertexts hold."""
    packed = circuits.PackedRowsProduct(RNG.uniform(-1, 1, (3, 5)), params, 32)
    x = RNG.uniform(-1, 1, (3 + packed.parts, 32))
    own = packed.pack(x[:3])
    np.testing.assert_allclose(packed.unpack(own), x[:3], atol=1e-12)
    assert packed.unpack(own, packed.parts).shape == (packed.parts, 32)
    refuse((lambda: packed.unpack(own, packed.parts + 1), hm.errors.ParameterError, "values"))
    periodic = circuits.PeriodicTransform(WEIGHTS, params, 8)
    y = RNG.uniform(-1, 1, (periodic.vectors, 16))
    own = periodic.pack(y)
    assert own.shape == (2, params.max_slots)
    for entries in (None, 1, 8, 16):
        np.testing.assert_array_equal(periodic.unpack(own, entries), y[:, : entries or 3])
    refuse((lambda: periodic.unpack(own, 17), hm.errors.MismatchError, "2 ciphertexts have no 17 entries"))
    refuse((lambda: periodic.pack(y[1:]), hm.errors.MismatchError, f"has no {periodic.vectors} vectors"))


@pytest.mark.parametrize("iterations", [1, 2])
def test_a_bootstrap_tells_its_iterations(iterations):
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    boot = circuits.Bootstrap(params, slots=16, iterations=iterations)
    assert boot.iterations == iterations
    told, (mean, worst) = boot.as_dict(), boot.expected_precision()
    wanted = {"slots": 16, "real": False, "together": 1, "blocks": 0, "levels_left": boot.levels_left}
    wanted |= {"expected_precision": {"mean": mean, "worst": worst}, "failure_log2": boot.failure_log2}
    assert {name: told[name] for name in wanted} == wanted
    assert f"precision {mean:.1f} bits, {worst:.1f} in the worst slot" in boot.report()
    assert f"fails with a probability of 2^{boot.failure_log2:.0f}" in boot.report()
    assert (boot.input_level, boot.level - boot.depth) == (boot.level, boot.result_level)
    assert boot.report().count("then a bootstrap of the error that is left") == iterations - 1
    assert boot.levels_left == circuits.Bootstrap(params, slots=16).levels_left - (iterations - 1)


def test_a_bootstrap_s_matrices_are_encoded_once_for_each_magnitude():
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    ctx = hm.Context(params, "cpu", threads=1)
    boot = circuits.Bootstrap(params, slots=16)
    for magnitude in (None, 2.0, 8.0):
        first, used = prepared_for(boot, ctx, magnitude), ctx.memory_used
        assert prepared_for(boot, ctx, magnitude) is first
        assert ctx.memory_used == used
    assert len({id(prepared_for(boot, ctx, magnitude)) for magnitude in (None, 2.0, 8.0)}) == 3


@pytest.mark.parametrize(("bits", "is_lost"), [(30, True), (42, False)])
def test_noise_that_iterations_grow_without_bounds_is_told(bits, is_lost):
    """Where it takes the residuals 1 - x y beyond 1, no bit is left."""
    own = hm.ckks.Parameters.for_circuit(19, scale_bits=bits, slots=SLOTS, range_bits=22, security=None)
    plan, ctx = circuits.inverse((1, 1e6), bits=26).plan(own, slots=SLOTS), hm.Context(own, "cpu")
    secret, x = ctx.generate_secret_key(), np.linspace(1, 1e6, SLOTS)
    with pytest.warns(RangeWarning):
        found = plan(ctx.bind(ctx.generate_keys(secret, plan=plan)).encrypt(x))
    if is_lost:
        raises(NoiseError, "", ctx.decrypt, found, secret)
    else:
        np.testing.assert_allclose(ctx.decrypt(found, secret), 1 / x, rtol=0, atol=2.0**-26)
    assert (plan.expected_error()[1] > 0.1) == is_lost
