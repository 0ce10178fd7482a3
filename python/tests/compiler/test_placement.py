"""Levels and bootstraps of programs: what a placement may be, and errors."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from hemera.compiler.placement import Input, Step, place
from hemera.errors import LevelError, ParameterError

from .placement_cases import INF, Program, check, table


def test_a_bootstrap_before_a_level_is_missing_serves_two_branches():
    """Late, each branch bootstraps for itself after its map, for which the level is enough."""
    steps = [Step((0,), 1, lambda level: level, 50) for _ in range(2)]
    steps += [Step((1 + branch,), 2, lambda level: level, 50) for branch in range(2)]
    found = place([Input(1, 50)], steps, [3, 4], result_level=3)
    assert (found.levels, found.bootstrapped) == ((3, 3, 2, 2), {0: 1})
    assert found.time == 50 + 2 * (3 + 2)


def test_the_same_value_serves_before_and_after_its_bootstrap():
    """The cheap map takes the value at the level where it comes; the deep function takes it bootstrapped."""
    steps = [
        Step((0,), 2, lambda _: 1, 10, "square"),
        Step((1,), 1, lambda level: 100 * level, name="map"),
        Step((1,), 3, lambda level: level, name="function"),
        Step((2, 3), 0, lambda _: 1, name="sum"),
    ]
    program = Program([Input(3)], steps, [4], result_level=4)
    found = program.place()
    assert found.levels == (3, 1, 3, 0)
    assert found.results == (3, 1, 0, 0, 0)
    assert found.bootstrapped == {1: 1}
    assert found.time == 1 + 100 + 3 + 1 + 10
    assert [found.from_bootstrap(1, found.levels[s]) for s in (1, 2)] == [False, True]


def test_a_bootstrap_serves_all_users_and_is_paid_once():
    steps = [Step((0,), 2, lambda _: 0), Step((0,), 3, lambda _: 0), Step((0, 0), 1, lambda _: 0)]
    found = place([Input(0, 7)], steps, [1, 2, 3], result_level=3)
    assert (found.time, found.bootstrapped) == (7, {0: 0})


def test_a_value_above_the_result_level_is_not_bootstrapped_down():
    steps = [Step((0,), 1, lambda _: 1, 9), Step((1,), 4, lambda _: 1)]
    assert place([Input(6, 9)], steps, [2], result_level=3).bootstrapped == {}
    with pytest.raises(LevelError, match=r"step 1 takes 4 levels, but a bootstrap gives level 3"):
        place([Input(4, 9)], steps, [2], result_level=3)


@pytest.mark.parametrize("method", ["dynamic programming", "integer program"])
def test_a_use_above_the_result_level_is_not_served_by_a_bootstrap(method):
    """The second step is cheap at level 4 alone. A bootstrap from level 2 is cheap, but it gives level 3."""
    if method == "integer program":
        pytest.importorskip("scipy", reason="the integer program needs SciPy, which is not a dependency")
    first = Step((0,), 0, table([INF, INF, 1, INF, INF, INF, 100]), 1)
    second = Step((1,), 0, table([INF, INF, INF, 500, 1, INF, INF]))
    found = place([Input(6)], [first, second], [2], result_level=3, method=method)
    assert (found.levels, found.bootstrapped, found.time) == ((6, 4), {}, 101)


def test_a_bootstrap_takes_the_cheapest_level_and_the_highest_of_several():
    deep = [Step((0,), 5, lambda _: 0)]
    found = place([Input(4, table([5, 3, 8, 3, 9]))], deep, [1], result_level=5)
    assert (found.bootstrapped, found.time) == ({0: 3}, 3)
    found = place([Input(4, table([5, 2, 8, 3, 9]))], deep, [1], result_level=5)
    assert (found.bootstrapped, found.time) == ({0: 1}, 2)
    found = place([Input(4, 6)], deep, [1], result_level=5)
    assert (found.bootstrapped, found.time) == ({0: 4}, 6)


def test_outputs_come_at_the_level_that_is_asked_for():
    step = [Step((0,), 1, lambda level: level, 20)]
    free = place([Input(3)], step, [1], result_level=4)
    assert (free.levels, free.time) == ((1,), 1)
    high = place([Input(3)], step, [1], result_level=4, output_level=2)
    assert (high.levels, high.time, high.bootstrapped) == ((3,), 3, {})
    higher = place([Input(3)], step, [1], result_level=4, output_level=4)
    assert (higher.levels, higher.time, higher.bootstrapped) == ((1,), 21, {1: 0})
    both = place([Input(3, 5)], [], [0], result_level=4, output_level=4)
    assert (both.time, both.bootstrapped) == (5, {0: 3})
    assert place([Input(3)], [], [0], result_level=4).time == 0


def test_levels_count_from_the_lowest():
    steps = [Step((0,), 1, lambda level: level, 3), Step((1,), 2, lambda level: level)]
    found = place([Input(6)], steps, [2], result_level=8, lowest=5)
    assert (found.levels, found.results) == ((6, 7), (6, 5, 5))
    assert (found.bootstrapped, found.time) == ({1: 5}, 6 + 3 + 7)


def test_shared_costs_are_called_once_a_level():
    called = []

    def cost(level: int) -> float:
        called.append(level)
        return float(level)

    steps = [Step((i,), 1, cost, 2) for i in range(5)]
    place([Input(4, 2)], steps, [5], result_level=4)
    assert sorted(called) == [1, 2, 3, 4]


def test_steps_are_taken_in_an_order_with_few_values_between_them():
    """Sixty branches that are given side by side: one after the other, three values are there at a time."""
    branches = 60
    steps = [Step((0,), 1, lambda level: 3 + level, 9) for _ in range(branches)]
    steps += [Step((1 + i,), 2, lambda level: 5 + level, 9) for i in range(branches)]
    total = 1 + branches
    for i in range(1, branches):
        steps.append(Step((total, 1 + branches + i), 0, lambda _: 1, 9))
        total = len(steps)
    program = Program([Input(4)], steps, [len(steps)], result_level=4)
    found = program.place()
    check(program, found)
    assert (found.exact, found.method) == (True, "dynamic programming")
    assert found.time == branches * (3 + 3 + 5 + 2) + branches - 1


def test_the_same_program_gets_the_same_placement():
    """Costs without differences leave many placements of one time."""
    for method in (None, "beam"):
        steps = [Step((max(0, i - 1), i), 1, lambda _: 1, 1) for i in range(30)]
        found = [Program([Input(3, 1)], list(steps), [30], 3).place(method) for _ in range(3)]
        assert found[0] == found[1] == found[2]


def test_a_step_without_placement_is_named():
    def one(depth: int, bootstrap: float = 1.0, **settings: int) -> None:
        steps = [Step((0,), 1, lambda _: 1, bootstrap, "fc"), Step((1,), depth, lambda _: 1, name="act")]
        place([Input(3)], steps, [2], result_level=4, **settings)

    one(4)
    with pytest.raises(LevelError, match=r"step 1 \(act\) takes 5 levels, but a bootstrap gives level 4"):
        one(5)
    with pytest.raises(LevelError, match=r"gives level 4 and the lowest is 1; .* level 5 at least"):
        one(4, lowest=1)
    one(2, INF)
    with pytest.raises(
        LevelError, match=r"level 3 at least; step 0 \(fc\) comes at 2 at most and can not be"
    ):
        one(3, INF)
    with pytest.raises(LevelError, match=r"an output, the result of step 1 \(act\).* level 3 but reaches 2"):
        one(2, output_level=3)
    with pytest.raises(LevelError, match=r"must have level 4 but reaches 3 at most"):
        place([Input(3, INF, "x")], [], [0], result_level=5, lowest=2, output_level=4)


def test_a_bootstrap_that_takes_no_level_that_occurs_is_none():
    steps = [Step((0,), 2, lambda _: 1)]
    assert place([Input(1, table([INF, 4]))], steps, [1], result_level=2).time == 5
    with pytest.raises(LevelError, match=r"input 0 \(x\) comes at 0 at most and can not be bootstrapped"):
        place([Input(0, table([INF, 4]), "x")], steps, [1], result_level=2)


def test_a_step_that_can_run_nowhere_is_named():
    step = Step((0,), 1, lambda level: INF if level < 4 else 1, name="act")
    assert place([Input(0, 1)], [step], [1], result_level=4).levels == (4,)
    with pytest.raises(LevelError, match=r"step 0 \(act\) can not run at the levels .*, 1 to 3"):
        place([Input(3)], [step], [1], result_level=3)
    with pytest.raises(LevelError, match=r"step 0 \(act\) can not run at the levels .*, 2 to 3: its time"):
        place([Input(3)], [step], [1], result_level=3, lowest=1)
    fast = [Step((0,), 1, lambda _: 1, INF, "fc"), Step((1,), 3, lambda _: 1, name="act")]
    with pytest.raises(
        LevelError, match=r"so its operands need level 5 at least; step 0 \(fc\) comes at 4 at most"
    ):
        place([Input(5)], fast, [2], result_level=6, lowest=2)
    costly = Step((0,), 1, lambda level: -1.0 if level == 5 else 1.0)
    with pytest.raises(ParameterError, match="the time of step 0 at 5 must be from 0"):
        place([Input(5)], [costly], [1], result_level=6, lowest=2)
    with pytest.raises(
        ParameterError, match=r"levels may reach 1000 above the lowest \(2\); one is 1001 above"
    ):
        place([Input(1003)], [fast[0]], [1], result_level=6, lowest=2)


GOOD = Step((0,), 1, lambda _: 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": [replace(GOOD, operands=(1,))]}, "step 0 takes value 1, but before it there are 1"),
        ({"steps": [replace(GOOD, operands=(-1,))]}, "an operand of step 0 must be at least 0, not -1"),
        ({"steps": [replace(GOOD, operands=(0.5,))]}, "an operand of step 0 must be an integer"),
        ({"steps": [replace(GOOD, operands=())]}, "step 0 has no operands"),
        ({"steps": [replace(GOOD, depth=-1)]}, "the depth of step 0 must be at least 0"),
        ({"steps": [replace(GOOD, depth=1.5, name="f")]}, r"the depth of step 0 \(f\) must be an integer"),
        ({"steps": [replace(GOOD, cost=lambda _: -1)]}, "the time of step 0 at 1 must be from 0 to"),
        ({"steps": [replace(GOOD, cost=lambda _: math.nan)]}, "the time of step 0 at 1 must be from 0"),
        ({"steps": [replace(GOOD, cost=lambda _: 1e200)]}, "the time of step 0 at 1 must be from 0"),
        ({"steps": [replace(GOOD, cost=lambda _: "1")]}, "the time of step 0 at 1 must be a number"),
        ({"steps": [replace(GOOD, cost=lambda _: None)]}, "the time of step 0 at 1 must be a number"),
        ({"steps": [replace(GOOD, bootstrap=-2.0)]}, "the time of a bootstrap of step 0 must be from 0"),
        ({"inputs": [Input(-1)]}, "the level of input 0 must be at least 0"),
        (
            {"inputs": [Input(2), Input(1, name="y")], "lowest": 2},
            r"level of input 1 \(y\) must be at least 2",
        ),
        ({"inputs": [Input(2), Input(5000)]}, "levels may reach 1000 above the lowest"),
        ({"result_level": 1 << 40}, "levels may reach 1000 above the lowest"),
        ({"result_level": 1, "lowest": 2}, "result_level must be at least 2, not 1"),
        ({"lowest": -1}, "lowest must be at least 0"),
        ({"lowest": 1, "output_level": 0}, "output_level must be at least 1, not 0"),
        ({"outputs": [2]}, "an output is value 2, but there are 2 values"),
        ({"outputs": [-1]}, "an output must be at least 0"),
        (
            {"method": "magic"},
            "method must be None or one of 'dynamic programming', 'integer program', 'beam'",
        ),
    ],
)
def test_bad_arguments_are_refused(change, message):
    arguments = {"inputs": [Input(3)], "steps": [GOOD], "outputs": [1], "result_level": 3}
    assert place(**arguments).time == 1
    with pytest.raises(ParameterError, match=message):
        place(**{**arguments, **change})
