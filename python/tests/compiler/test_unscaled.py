"""Matrices that are not rescaled: NumPy's results in smaller rings, and where they stay rescaled."""

import itertools

import numpy as np
import pytest

import hemera as hm
from hemera.errors import FormatError, ParameterError
from hemera.program.operations import MatrixRows
from hemera.serving import Package

RNG = np.random.default_rng(51)
SIZES = (30, 20, 12, 6)
WEIGHTS = [RNG.normal(size=size) / size[0] ** 0.5 for size in itertools.pairwise(SIZES)]
BIASES = [RNG.normal(size=size) / 4 for size in SIZES[1:]]
OTHERS = RNG.normal(size=(30, 20)) / 16
SAMPLES = RNG.uniform(-1, 1, (2048, SIZES[0]))


def layer(x, at):
    return x @ WEIGHTS[at] + BIASES[at]


def two_layers(x):
    return layer(layer(x, 0) ** 2, 1)


def three_layers(x):
    return layer(two_layers(x) ** 2, 2)


def compiled(program, samples, **options):
    own = {"calibrate": SAMPLES[:100], "precision_bits": 6, "layout": "ciphertexts", **options}
    return hm.compile(program, hm.ArraySpec((SIZES[0],), range=(-1, 1)), samples=samples, **own)


def is_unscaled(plan):
    operations = [node.operation for node in plan.package.program.nodes]
    return any(isinstance(each, MatrixRows) and not each.rescaled for each in operations)


def bits_of(plan, program, x=SAMPLES):
    wanted = program(x)
    return float(-np.log2(np.abs(plan.local(threads=1)(x) - wanted).max() / np.abs(wanted).max()))


PROGRAMS = {
    # The program, samples, N, and primes.
    "layer": (lambda x: layer(x, 0), 1024, 2048, 1),
    "square": (lambda x: layer(x, 0) ** 2, 1024, 4096, 2),
    "square first": (lambda x: (x**2) @ WEIGHTS[0], 1024, 4096, 2),
    "two layers": (two_layers, 1024, 4096, 2),
    "products of two scales": (lambda x: (x @ WEIGHTS[0]) * (x @ OTHERS), 1024, 4096, 2),
    "sums of one scale": (lambda x: (layer(x, 0) - layer(x[..., ::-1], 0)) ** 2, 1024, 4096, 2),
    "sums of products": (lambda x: ((x @ WEIGHTS[0]) * (x @ OTHERS)).sum(-1), 1024, 4096, 2),
    "fourth powers": (lambda x: layer(x, 0) ** 4, 1024, 4096, 3),
    "three layers": (three_layers, 2048, 8192, 3),
    "fewer primes of the same ring": (two_layers, 4096, 8192, 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_numpys_in_a_small_ring(name):
    program, samples, degree, primes = PROGRAMS[name]
    plan = compiled(program, samples)
    assert is_unscaled(plan)
    assert (plan.params.degree, len(plan.params.primes[-1])) == (degree, primes)
    assert plan.depth == primes - 1
    assert plan.slots == samples
    assert all(prime < 2**50 for prime in (*plan.params.primes[-1], *plan.params.special_primes))
    bits = bits_of(plan, program)
    assert bits > 5.5  # two bits are those of weights
    assert bits == pytest.approx(plan.expected_bits(SAMPLES[:64]), abs=2)


def test_noise_is_less_than_the_promise():
    """Next to the rounded weights in the clear, results have a bit more than was asked for."""
    plan = compiled(two_layers, 1024)
    first, second = (node.operation for node in plan.package.program.nodes if is_matrix(node.operation))
    integers = [np.rint(each.matrix * each.factor) / each.factor for each in (first, second)]
    assert np.abs(integers[1] * second.factor).max() == pytest.approx(127)
    wanted = (SAMPLES @ integers[0].T + BIASES[0]) ** 2 @ integers[1].T + BIASES[1]
    error = np.abs(plan.local(threads=1)(SAMPLES) - wanted).max()
    assert error < 2.0**-7 * np.abs(wanted).max()


@pytest.mark.parametrize(("noise", "taken"), [(7.0, True), (6.99, False)])
def test_a_bit_more_than_was_asked_for_is_enough(noise, taken, monkeypatch):
    monkeypatch.setattr("hemera.compiler.layouts.bits_of_noise", lambda *_: noise)
    assert is_unscaled(compiled(two_layers, 4096)) == taken


def is_matrix(operation):
    return isinstance(operation, MatrixRows)


@pytest.mark.parametrize(
    ("program", "options"),
    [
        (two_layers, {"precision_bits": 16}),  # weights of 32 bits
        (two_layers, {"precision_bits": 12}),  # of 16 bits, for which a prime below 2^50 is too small
        (lambda x: np.tanh(layer(x, 0)) @ WEIGHTS[1], {}),
        (lambda x: layer(x, 0) ** 3, {}),
        (lambda x: x[..., :20] ** 2 + layer(x, 0) ** 2, {}),  # of two scales
        (lambda x: layer(x, 0) ** 2 + layer(x, 0), {}),  # of two levels
        (lambda x: (x**2 + x) @ WEIGHTS[0], {}),  # of two levels, and one scale
        (lambda x: x**2 + 1, {}),  # no matrix
        (lambda x: x[..., ::-1] @ np.ones((30, 3)), {}),  # an exact one
    ],
)
def test_others_are_rescaled(program, options):
    plan = compiled(program, 4096, **options)
    assert not is_unscaled(plan)
    assert bits_of(plan, program) > 5


def test_given_parameters_are_taken():
    params = hm.ckks.Parameters.for_circuit(3, scale_bits=30, range_bits=9, slots=1024, security=None)
    plan = compiled(two_layers, 1024, params=params)
    assert plan.params == params
    assert not is_unscaled(plan)


def test_results_at_the_ends_of_their_range():
    """All slots alike are one large coefficient, which decryption must not refuse."""
    weights = np.full((30, 2), 1 / 30) * [1, -3.97]
    ends = np.concatenate([np.ones((1, 30)), -np.ones((1, 30))])
    more = np.array([[7.9, 0.1], [0.29, 1]])
    plan = compiled(lambda x: (x @ weights) ** 2 @ more, 1024, calibrate=ends, margin=0.0)
    assert is_unscaled(plan)
    found = plan.local(threads=1)(np.ones((1024, 30)))
    assert np.abs(found - [1, 3.97**2] @ more).max() < 0.6


def test_samples_along_an_axis():
    plan = hm.compile(
        two_layers, hm.ArraySpec(SAMPLES.shape, range=(-1, 1)), precision_bits=6, layout="ciphertexts"
    )
    assert is_unscaled(plan)
    assert plan.params.degree == 4096
    assert bits_of(plan, two_layers) > 5.5


def test_models_keep_it_in_their_files():
    plan = compiled(two_layers, 1024)
    loaded = Package.load(plan.package.to_bytes())
    assert [
        getattr(node.operation, "rescaled", None)
        for node in loaded.program.nodes
        if is_matrix(node.operation)
    ] == [False, False]
    assert loaded.params == plan.params
    scales = [loaded.params._native.scale] * 2
    ctx = hm.Context(loaded.params)
    assert [ctx._native.level_scale(level) for level in (0, 1)] == scales
    usual = compiled(two_layers, 4096, precision_bits=16)
    assert b"rescaled" not in usual.package.to_bytes()  # files as they were
    with pytest.raises((FormatError, ParameterError), match="32 bits are rescaled"):
        MatrixRows(np.eye(3) / 3, np.arange(3)[:, None], 32, rescaled=False).validated("ckks")


def test_scales_of_all_levels_are_equal():
    params = hm.ckks.Parameters.from_bits(
        degree=4096,
        prime_bits=[33, 37, 30],
        special_bits=[40],
        scale_bits=21,
        range_bits=12,
        equal_scales=True,
        security=None,
    )
    ctx = hm.Context(params)
    assert [ctx._native.level_scale(level) for level in range(3)] == [2.0**21] * 3
    assert [len(primes) for primes in params.primes] == [1, 2, 3]
    assert params.range_bits == 12
    assert [round(params.level_bits(level)) for level in range(3)] == [33, 70, 100]
