"""Samples in the imaginary parts of slots: NumPy's results for each, with half as many ciphertexts."""

import functools

import numpy as np
import pytest

import hemera as hm
from hemera.arrays import conv
from hemera.compiler.samples import in_parts
from hemera.program import operations as op

from .compile_cases import deep

RNG = np.random.default_rng(8)


MOST = deep().max_slots


def full(program, *, samples=2, inputs=1, **options):
    """A program of vectors of which a ciphertext holds half of the samples."""
    spec = hm.ArraySpec((2 * MOST // samples,), (-1, 1))
    return hm.compile(program, *[spec] * inputs, samples=samples, **{"params": deep(), **options})


def assert_gives(plan, program, *inputs, bits=9, encrypted=True):
    """NumPy's results for each sample, in the clear and encrypted."""
    wanted = [program(*each) for each in zip(*inputs, strict=True)]
    runs = [plan.evaluate_clear, plan.local(threads=2)] if encrypted else [plan.evaluate_clear]
    for run in runs:
        found = run(*inputs)
        if not isinstance(wanted[0], dict):
            np.testing.assert_allclose(found, wanted, rtol=0, atol=2.0**-bits)
            continue
        for name in wanted[0]:
            expected = [each[name] for each in wanted]
            np.testing.assert_allclose(found[name], expected, rtol=0, atol=2.0**-bits, err_msg=name)


def blocks(x):
    """Residual blocks: moves, products, sums with what came before them."""
    for at in range(4):
        y = (x + 0.75 * np.roll(x, 3)) / 2 - 0.125
        y = y * y - 0.25
        y = np.roll(y, -5) * 0.5 + x / 2
        x = y**2 - 0.5 * x + 0.1 * at
    return x


@pytest.mark.parametrize("samples", [2, 8])
def test_residual_blocks(samples):
    plan = full(blocks, samples=samples)
    assert len(plan.package.inputs) == 1
    assert (plan.samples, plan.slots) == (samples, MOST)
    operations = [node.operation for node in plan.package.program.nodes]
    boots = [own for own in operations if isinstance(own, op.Bootstraps)]
    assert boots
    assert not any(own.real for own in boots)
    one = hm.compile(blocks, hm.ArraySpec((2 * MOST // samples,), (-1, 1)), params=deep())
    counts = [each.package.program.operations for each in (one, plan)]
    assert counts[0]["map"] == counts[1]["map"]
    assert counts[0]["bootstrap"] == counts[1]["bootstrap"]
    assert f"{samples} samples in each ciphertext, half of them in imaginary parts" in plan.report()
    for count in (1, samples, samples + 1):
        x = RNG.uniform(-1, 1, (count, 2 * MOST // samples))
        assert_gives(plan, blocks, x, encrypted=count > samples)


def test_functions_after_functions_take_no_joints():
    def chain(x):
        for _ in range(20):
            x = (x * x - 0.5) * 1.25
        return x

    plan = full(chain)
    program = plan.package.program
    assert program.operations["parts"] == program.operations["join"] == 1
    boots = [node for node in program.nodes if isinstance(node.operation, op.Bootstraps)]
    assert boots
    for node in boots:
        assert isinstance(node.operation, op.Bootstraps)
        assert node.operation.real == (program.forms[node.operands[0]].shape == (2,))
    assert_gives(plan, chain, RNG.uniform(-1, 1, (2, MOST)), bits=3)
    # Sums with what is not apart join the others.
    mixed = full(lambda x: x * x + np.roll(x, 1) / 2).package.program.operations
    assert mixed["parts"] == mixed["join"] == 1


def test_half_as_many_ciphertexts_as_without():
    """One sample more than fits takes no second ciphertext; more take as many tiles as half of them."""
    for samples, wanted in ((1, 1), (2, 1), (4, 2), (8, 4)):
        plan = hm.compile(lambda x: x * x, hm.ArraySpec((MOST,), (-1, 1)), samples=samples, params=deep())
        assert len(plan.package.inputs) == wanted
    # Without bootstraps, the tiles are more.
    shallow = hm.ckks.Parameters.for_circuit(1, scale_bits=40, degree=1024, security=None)
    plan = hm.compile(lambda x: x * x, hm.ArraySpec((512,), (-1, 1)), samples=2, params=shallow)
    assert len(plan.package.inputs) == 2
    # Where slots are free, they are taken first.
    plan = hm.compile(lambda x: x * x, hm.ArraySpec((MOST // 2,), (-1, 1)), samples=2, params=deep())
    assert "join" not in plan.package.program.operations


KERNEL = RNG.uniform(-1, 1, (4, 2, 3, 3)) / 5


def image(x):
    y = conv(x.reshape(2, 16, MOST // 32), KERNEL, np.arange(4.0) / 8, padding=1, stride=2)
    return {"squares": y**2, "mean": (y * y - y).mean(), "places": y[1, ::2, 1:]}


KINDS = {
    "square of an input": lambda x: x * x,
    "nothing": lambda x: x,
    "linear": lambda x: 3 * x - np.roll(x, 1) / 2 + 1,
    "constants": lambda x: {"a": (x * 0.5 + 0.25) ** 2, "b": 0.75 - x, "c": x - x},
    "used in each form": lambda x: {"a": x / 2, "b": (x / 2) ** 2, "c": np.roll(x / 2, 4) * (x / 2)},
    "products after products": lambda x: ((x * x - 0.5) * 3 + 0.25) * (x * x),
    "joined and moved": lambda x: np.roll(x * x, 7) * x + np.roll(x * x, 7),
    "polynomials by slot": lambda x: np.where(np.arange(MOST) % 2 == 0, x**3, 1 - x),
    "masks": lambda x: x**2 * (np.arange(MOST) % 3 == 0) - x * (np.arange(MOST) % 5),
    "function": lambda x: np.exp(x / 2) * x,
    "of several values": lambda x: np.maximum(x, np.roll(x, 1)) * x,
    "sums": lambda x: {"mean": x.mean(), "centred": (x - x.mean()) ** 2, "spread": x.var()},
    "image": image,
}


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_numpys(kind):
    program = KINDS[kind]
    plan = full(program, precision_bits=6 if kind == "of several values" else 10)
    assert len(plan.package.inputs) == 1
    assert_gives(
        plan, program, RNG.uniform(-1, 1, (3, MOST)), bits={"masks": 4, "of several values": 3}.get(kind, 7)
    )


def test_several_inputs_and_functions_of_several():
    def both(x, y):
        z = x * y
        return {"z": z, "sum": x + np.roll(y, 2), "more": (z - x) * (x + y / 2) / 2}

    plan = full(both, inputs=2)
    assert len(plan.package.inputs) == 2
    assert_gives(plan, both, *RNG.uniform(-1, 1, (2, 3, MOST)))


def test_random_graphs():
    """Programs of all operations, with values that are used in several forms."""

    def values_of(seed, x):
        random = np.random.default_rng(seed)
        values = [x]
        for _ in range(50):
            a, b = (values[at] for at in random.integers(max(0, len(values) - 3), len(values), 2))
            number = round(float(random.uniform(-1, 1)), 2)
            values.append(
                [
                    lambda a=a, b=b: (a + b) / 2,
                    lambda a=a, b=b: a - b * 0.25,
                    lambda a=a, b=b: a * b,
                    lambda a=a, number=number: a * number,
                    lambda a=a, number=number: (a + number) / 2,
                    lambda a=a: -a,
                    lambda a=a: np.roll(a, 11) * 0.5 - np.roll(a, 3) * 0.5,
                    lambda a=a: a * (np.arange(MOST) % 2),
                    lambda a=a: a * a,
                ][random.integers(9)]()
            )
        return values

    def graph(seed, x):
        # Noise would leave no bits of values that products make ever smaller.
        some = np.random.default_rng(1).uniform(-1, 1, MOST)
        sizes = [np.abs(each).max() for each in values_of(seed, some)]
        places = [at for at, size in enumerate(sizes) if size > 1e-3]
        values = values_of(seed, x)
        return {"last": values[places[-1]], "other": values[places[len(places) // 2]]}

    kinds = set()
    for seed in range(8):
        program = functools.partial(graph, seed)
        plan = full(program)
        kinds |= plan.package.program.operations.keys()
        x = RNG.uniform(-1, 1, (2, MOST))
        assert_gives(plan, program, x, bits=40, encrypted=False)
    assert {"join", "parts", "bootstrap", "map", "add array", "multiply by number"} <= kinds


def test_what_placement_is_told_of_values():
    """Halves have half the range, and all that is made of an array belongs to it."""

    def program(x, y):
        z = np.roll(x, 5) * 3 + y * 0.75
        return {"last": (z * z + z) * x, "z": z}

    spec = hm.ArraySpec((1024,), (-1, 1))
    shallow = hm.ckks.Parameters.for_circuit(4, scale_bits=40, degree=1024, security=None)
    steps = in_parts(hm.compile(program, spec, spec, params=shallow)._lowered)
    found = steps.program
    assert len(found.inputs) == 4
    assert len(steps.arrays) == len(found.forms)
    assert steps.arrays[0] == steps.arrays[1] != steps.arrays[2] == steps.arrays[3]
    halved = 0
    for at, node in enumerate(found.nodes, len(found.inputs)):
        own = node.operation
        if isinstance(own, op.Join) or own == op.MultiplyNumber(0.5):
            assert steps.arrays[at] == steps.arrays[node.operands[0]]
        if own == op.MultiplyNumber(0.5) and at in steps.magnitudes:
            halved += 1
            assert steps.magnitudes[at] == steps.magnitudes[node.operands[0]] / 2
        if isinstance(own, op.Join) and at in steps.magnitudes:
            assert steps.magnitudes[at] == steps.magnitudes[node.operands[0]]
    assert halved


@pytest.mark.parametrize(
    ("program", "most"),
    [(KINDS["products after products"], 1.5), (KINDS["joined and moved"], 1.5), (blocks, 3)],
)
def test_expected_bits_are_those_of_runs(program, most):
    plan = full(program)
    x = RNG.uniform(-1, 1, (2, MOST))
    expected = plan.expected_bits(x)
    assert abs(plan.check(x, encrypted=2, threads=2).bits - expected) < most
