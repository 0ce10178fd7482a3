"""Compiled functions that are deeper than their parameters: where they bootstrap, and by which keys."""

import copy
import functools
from dataclasses import replace

import numpy as np
import pytest

import hemera as hm
from hemera.arrays import conv
from hemera.program.operations import Bootstraps

from .compile_cases import assert_gives, compiled, deep, shallow


def test_deep_programs_bootstrap():
    rng = np.random.default_rng(5)
    matrices = rng.normal(size=(9, 16, 16)) / 16

    def long(x):
        for matrix in matrices:
            x = matrix @ x
            x = 3 * x + x * x
        return x

    samples = rng.uniform(-4, 4, (20, 16))
    plan = assert_gives(long, samples, bits=10, params=deep())
    names = [node.operation.name for node in plan.package.program.nodes]
    assert names.count("bootstrap") >= 1
    report = plan.report()
    assert f"{names.count('bootstrap')} bootstrap" in report
    assert "placed by dynamic programming: no placement takes less time" in report
    found = plan._lowered.placement
    assert found is not None
    half = replace(found, exact=False, bound=found.time / 2, method="beam")
    guessed = copy.copy(plan)
    guessed._lowered = replace(plan._lowered, placement=half)
    assert "placed by beam: the least time is at most 50 % less" in guessed.report()
    assert "placed" not in compiled(lambda x: x * x, samples, params=shallow()).report()
    assert plan.package.interface.keys.bootstraps
    # Values up to 4 are scaled: no magnitude of 1 is taken for granted.
    magnitudes = [
        node.operation.magnitude
        for node in plan.package.program.nodes
        if isinstance(node.operation, Bootstraps)
    ]
    assert all(each >= 1 for each in magnitudes)


@pytest.mark.fact_of_the_cpu("bytes that the CPU's pool hands out")
def test_alike_bootstraps_share_matrices_which_prepare_encodes():
    def chain(x, times):
        for _ in range(times):
            x = (x * x - 0.5) * 1.25
        return x

    samples = np.random.default_rng(3).uniform(-1, 1, (4, 8))
    # Squares one after the other, whose scales drift apart from those of their levels.
    plans = [
        assert_gives(functools.partial(chain, times=times), samples, bits=10, params=deep(), name="chain")
        for times in (14, 24)
    ]
    counts = [plan.package.program.operations.get("bootstrap", 0) for plan in plans]
    assert counts[1] > counts[0] >= 1
    one = hm.circuits.Bootstrap(deep(), 8, real=True)._native.cost.plaintext_bytes
    for plan in plans:
        ctx = hm.Context(deep(), threads=1)
        before = ctx.memory_used
        model = plan.prepare(ctx)
        # There are no other matrices, and all values are up to 1.
        assert 0.9 * one <= ctx.memory_used - before < 1.5 * one
        del model


@pytest.mark.parametrize(("width", "bootstrapped"), [(8, False), (96, True)])
def test_bootstraps_are_taken_where_they_take_less_time(width, bootstrapped):
    """At N = 2^16 a program of 33 levels has the choice; those of wide maps cost most at high levels."""
    rng = np.random.default_rng(16)
    matrices = rng.normal(size=(16, width, width)) / width**0.5 / 1.2

    def network(x):
        for matrix in matrices:
            x = (x @ matrix) ** 2 / 8 + x @ matrix * 0.9  # values stay of a size
        return x

    samples = rng.uniform(-1, 1, (20, width))
    options = {"calibrate": samples, "precision_bits": 10, "device": "nvidia-h200"}
    plan = hm.compile(network, samples[0], **options)
    assert plan.params.degree == 1 << 16
    assert bool(plan.package.program.operations.get("bootstrap")) == bootstrapped
    others = [
        hm.ckks.Parameters.for_circuit(33, scale_bits=34, slots=plan.slots, range_bits=6),
        hm.ckks.Parameters.for_bootstrapping("n16-40", levels=14, digits=4),
    ]
    for params in others:
        other = hm.compile(network, samples[0], params=params, **options)
        assert plan.cost("nvidia-h200").seconds <= 1.05 * other.cost("nvidia-h200").seconds


def test_maps_between_bootstraps_have_keys_of_their_levels():
    """Keys and weights are shorter than with keys for all levels; files, clients and checks know them."""
    rng = np.random.default_rng(15)
    matrices = rng.normal(size=(5, 16, 16)) / 16

    def long(x):
        for matrix in matrices:
            x = np.tanh(matrix @ x)
        return x

    plan = compiled(long, rng.uniform(-1, 1, (20, 16)), precision_bits=10, params=deep())
    keys = plan.package.interface.keys
    assert len({key.level for key in keys.own}) > 1
    loaded = hm.serving.Package.load(bytes(plan.package))
    assert loaded.interface.keys == keys

    ctx = hm.Context(plan.params, threads=2)
    secret = ctx.generate_secret_key()
    made = loaded.generate_keys(ctx, secret)
    loaded.check(ctx, made)
    # The same rotations for all levels do not do.
    steps = sorted({key.steps for key in keys.own})
    others = [
        ctx.generate_keys(secret, rotations=[*keys.rotations, *steps], relinearization=True),
        *(ctx.generate_keys(secret, plan=bootstrap) for bootstrap in keys.plans(plan.params)),
    ]
    with pytest.raises(hm.errors.MissingKeyError, match=f"rotation by {steps[0]} at level"):
        loaded.check(ctx, functools.reduce(lambda a, b: a | b, others))
    need = keys.own[0].need(ctx.params, ctx._native)
    usual = hm._core.key_need(plan.params._native, 1, need.galois_element, keys.own[0].level)
    assert len(need.primes) + len(need.special_primes) < len(usual.primes) + len(usual.special_primes)


def test_magnitudes_of_bootstraps():
    """Values of 100 through a bootstrap: without their magnitude its sine would lose them (1e-2)."""
    rng = np.random.default_rng(6)
    samples = rng.uniform(-100, 100, (20, 16))

    def long(x):
        for _ in range(8):
            x = 0.7 * np.roll(x, 3) + x * x / 500
        return x

    plan = assert_gives(long, samples, bits=12, params=deep())
    found = [node.operation for node in plan.package.program.nodes if node.operation.name == "bootstrap"]
    assert found
    assert max(each.magnitude for each in found) > 1


def test_programs_with_bootstraps_have_no_slots_for_copies():
    """Copies in slots save rotations here, and bootstraps of more slots would take longer than that."""
    rng = np.random.default_rng(18)
    first, second = rng.normal(size=(8, 4, 3, 3)) / 36, rng.normal(size=(8, 8, 3, 3)) / 72

    def network(x):
        return conv(conv(x, first, stride=2, padding=1) ** 2, second, padding=1)

    spec = hm.ArraySpec((4, 8, 8), (-1, 1))
    without = hm.compile(network, spec, params=shallow())
    assert hm.compile(network, spec, params=deep()).slots == 4 * 8 * 8 <= without.slots


@pytest.mark.parametrize(("bits", "preset"), [(16, "n16-40"), (19, "n16-40-precise"), (22, "n16-45")])
def test_presets_of_deep_programs_have_the_precision(bits, preset):
    matrix = np.linalg.qr(np.random.default_rng(4).normal(size=(8, 8)))[0]  # values stay of a size

    def network(x):
        for _ in range(14):
            x = np.tanh(x @ matrix)
        return x

    plan = hm.compile(network, hm.ArraySpec((8,), range=(-1, 1)), precision_bits=bits)
    assert plan.package.program.operations["bootstrap"] > 0
    boot = hm.circuits.Bootstrap(plan.params, plan.slots, real=True)
    of = hm.ckks.Parameters.for_bootstrapping
    assert plan.params == of(preset, levels=boot.levels_left, digits=4)
    assert boot.expected_precision()[1] >= bits + 2
