"""Placements of ResNet-20. Times in us are fitted to the rows of bench/results/gpu-h200.json (n16-40, graphs,
one ciphertext) within 20 %. The known results were found by a shortest path over (operation, level), by a
program of its own."""

import importlib
import math

import pytest

from hemera.compiler.placement import Input, Step

from .placement_cases import Program, check


def limbs(level):
    return math.ceil((147 + 40 * level) / 48)


def transform(babies, giants, megabytes):
    def cost(level):
        n = limbs(level)
        return (82 + 6.7 * n) + babies * (1 + 1.08 * n) + giants * (8 + 7.7 * n) + megabytes * (n + 8) / 4

    return 1, cost


def activation(depth, products):
    return depth, lambda level: sum(products / depth * (95 + 6 * limbs(level - i)) for i in range(depth))


CONVOLUTIONS = [
    *[transform(17, 7, 37.7)] * 7,
    transform(25, 15, 84),
    *[transform(48, 7, 51.4)] * 5,
    transform(50, 25, 111),
    *[transform(59, 15, 59)] * 5,
]


LAST = transform(10, 6, 5)


def chain_of(act, levels):
    layers = [layer for convolution in CONVOLUTIONS for layer in (convolution, act)] + [LAST]
    bootstrap = 7300 * 1.06 ** (levels - 13)
    steps = [Step((i,), depth, cost, bootstrap) for i, (depth, cost) in enumerate(layers)]
    return Program([Input(levels, bootstrap)], steps, levels)


def residual(act, levels):
    """With its nine shortcuts, of which two are 1 x 1 convolutions."""
    bootstrap = 7300 * 1.06 ** (levels - 13)
    steps = []

    def add(operands, layer):
        steps.append(Step(operands, *layer, bootstrap))
        return len(steps)

    x = add((add((0,), CONVOLUTIONS[0]),), act)
    for block in range(9):
        first, second = CONVOLUTIONS[1 + 2 * block : 3 + 2 * block]
        y = add((add((add((x,), first),), act),), second)
        shortcut = add((x,), transform(8, 8, 20)) if block in (3, 6) else x
        x = add((add((shortcut, y), (0, lambda level: 5 + limbs(level))),), act)
    add((x,), LAST)
    return Program([Input(levels, bootstrap)], steps, levels)


def late(program):
    """The time of a chain whose bootstraps stand where a level is missing, and their number."""
    level, total, count = program.inputs[0].level, 0.0, 0
    for step in program.steps:
        if level < step.depth:
            assert isinstance(step.bootstrap, float)
            level, total, count = program.result_level, total + step.bootstrap, count + 1
        total, level = total + step.cost(level), level - step.depth
    return total, count


@pytest.mark.parametrize(
    ("act", "levels", "bootstraps", "milliseconds", "of_late"),
    [
        (activation(12, 19), 13, 19, 211, 237),
        (activation(14, 22), 15, 19, 239, 270),
        (activation(16, 28), 17, 19, 279, 315),
        (activation(6, 8), 13, 12, 137, 147),
        (activation(2, 1), 13, 4, 60, 64),
    ],
)
def test_the_chain_of_resnet_20_takes_its_known_time(act, levels, bootstraps, milliseconds, of_late):
    program = chain_of(act, levels)
    found = program.place()
    check(program, found)
    assert (found.exact, found.method) == (True, "dynamic programming")
    assert (round(found.time / 1000), len(found.bootstrapped)) == (milliseconds, bootstraps)
    assert (round(late(program)[0] / 1000), late(program)[1]) == (of_late, bootstraps)


@pytest.mark.parametrize("act", [activation(16, 28), activation(6, 8)], ids=["ReLU", "SiLU"])
def test_resnet_20_with_shortcuts_is_solved_exactly_by_both_methods(act):
    pytest.importorskip("scipy", reason="the integer program needs SciPy, which is not a dependency")
    program = residual(act, 17)
    found = program.place()
    check(program, found)
    solved = program.place("integer program")
    check(program, solved)
    assert found.exact
    assert solved.exact
    assert found.time == pytest.approx(solved.time, rel=1e-9)
    assert len(program.steps) == 50


def test_maps_are_cheaper_at_a_lower_level_than_late_placement_has_them():
    """A map costs 40 a level. Late placement bootstraps before each map, which runs at level 3 then."""
    steps = [
        Step((0,), 2, lambda _: 1, 50.0),
        Step((1,), 1, lambda level: 40 * level, 50.0),
        Step((2,), 2, lambda _: 1, 50.0),
        Step((3,), 1, lambda level: 40 * level, 50.0),
    ]
    program = Program([Input(2)], steps, result_level=3)
    found = program.place()
    assert late(program) == (1 + 50 + 120 + 1 + 50 + 120, 2)
    assert (found.levels, found.bootstrapped) == ((2, 1, 3, 1), (1, 2))
    assert found.time == 1 + 50 + 40 + 50 + 1 + 40


def test_without_scipy_the_integer_program_is_refused(monkeypatch):
    import_module = importlib.import_module

    def without(name):
        if name.startswith("scipy"):
            raise ModuleNotFoundError("No module named 'scipy'")
        return import_module(name)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(ModuleNotFoundError, match="scipy"):
        chain_of(activation(2, 1), 13).place("integer program")
    assert chain_of(activation(2, 1), 13).place().exact
