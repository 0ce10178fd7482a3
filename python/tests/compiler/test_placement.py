"""Levels and bootstraps of programs: what a placement may be, and errors."""

import pytest

from hemera.compiler.placement import Input, Step, place
from hemera.errors import LevelError

from ..refusals import raises
from .placement_cases import INF, Program, check, table


def test_a_bootstrap_before_a_level_is_missing_serves_two_branches():
    """Late, each branch bootstraps for itself after its map, for which the level is enough."""
    steps = [Step((0,), 1, lambda level: level, 50) for _ in range(2)]
    steps += [Step((1 + branch,), 2, lambda level: level, 50) for branch in range(2)]
    found = place([Input(1, 50)], steps, result_level=3)
    assert (found.levels, found.bootstrapped) == ((3, 3, 2, 2), (0,))
    assert found.time == 50 + 2 * (3 + 2)


def test_the_same_value_serves_before_and_after_its_bootstrap():
    """The cheap map takes the value at the level where it comes; the deep function takes it bootstrapped."""
    steps = [
        Step((0,), 2, lambda _: 1, 10, "square"),
        Step((1,), 1, lambda level: 100 * level, name="map"),
        Step((1,), 3, lambda level: level, name="function"),
        Step((2, 3), 0, lambda _: 1, name="sum"),
    ]
    program = Program([Input(3)], steps, result_level=4)
    found = program.place()
    assert found.levels == (3, 1, 3, 0)
    assert found.results == (3, 1, 0, 0, 0)
    assert found.bootstrapped == (1,)
    assert found.time == 1 + 100 + 3 + 1 + 10
    assert [found.from_bootstrap(1, found.levels[s]) for s in (1, 2)] == [False, True]


def test_a_bootstrap_serves_all_users_and_is_paid_once():
    steps = [Step((0,), 2, lambda _: 0), Step((0,), 3, lambda _: 0), Step((0, 0), 1, lambda _: 0)]
    found = place([Input(0, 7)], steps, result_level=3)
    assert (found.time, found.bootstrapped) == (7, (0,))


def test_a_value_above_the_result_level_is_not_bootstrapped_down():
    steps = [Step((0,), 1, lambda _: 1, 9), Step((1,), 4, lambda _: 1)]
    assert place([Input(6, 9)], steps, result_level=3).bootstrapped == ()
    with pytest.raises(LevelError, match=r"step 1 takes 4 levels, but a bootstrap gives level 3"):
        place([Input(4, 9)], steps, result_level=3)


@pytest.mark.parametrize("method", ["dynamic programming", "integer program"])
def test_a_use_above_the_result_level_is_not_served_by_a_bootstrap(method):
    """The second step is cheap at level 4 alone. A bootstrap from level 2 is cheap, but it gives level 3."""
    if method == "integer program":
        pytest.importorskip("scipy", reason="the integer program needs SciPy, which is not a dependency")
    first = Step((0,), 0, table([INF, INF, 1, INF, INF, INF, 100]), 1)
    second = Step((1,), 0, table([INF, INF, INF, 500, 1, INF, INF]))
    found = place([Input(6)], [first, second], result_level=3, method=method)
    assert (found.levels, found.bootstrapped, found.time) == ((6, 4), (), 101)


def test_levels_count_from_the_lowest():
    steps = [Step((0,), 1, lambda level: level, 3), Step((1,), 2, lambda level: level)]
    found = place([Input(6)], steps, result_level=8, lowest=5)
    assert (found.levels, found.results) == ((6, 7), (6, 5, 5))
    assert (found.bootstrapped, found.time) == ((1,), 6 + 3 + 7)


def test_a_cost_is_called_once_a_level():
    called = []

    def cost(level):
        called.append(level)
        return float(level)

    place([Input(4, 2)], [Step((0,), 1, cost, 2)], result_level=4)
    assert called == [1, 2, 3, 4]


def test_steps_are_taken_in_an_order_with_few_values_between_them():
    """Sixty branches that are given side by side: one after the other, three values are there at a time."""
    branches = 60
    steps = [Step((0,), 1, lambda level: 3 + level, 9) for _ in range(branches)]
    steps += [Step((1 + i,), 2, lambda level: 5 + level, 9) for i in range(branches)]
    total = 1 + branches
    for i in range(1, branches):
        steps.append(Step((total, 1 + branches + i), 0, lambda _: 1, 9))
        total = len(steps)
    program = Program([Input(4)], steps, result_level=4)
    found = program.place()
    check(program, found)
    assert (found.exact, found.method) == (True, "dynamic programming")
    assert found.time == branches * (3 + 3 + 5 + 2) + branches - 1


def test_the_same_program_gets_the_same_placement():
    """Costs without differences leave many placements of one time."""
    for method in (None, "beam"):
        steps = [Step((max(0, i - 1), i), 1, lambda _: 1, 1) for i in range(30)]
        found = [Program([Input(3, 1)], list(steps), 3).place(method) for _ in range(3)]
        assert found[0] == found[1] == found[2]


def test_a_step_without_placement_is_named():
    def one(depth, bootstrap=1.0, **settings):
        steps = [Step((0,), 1, lambda _: 1, bootstrap, "fc"), Step((1,), depth, lambda _: 1, name="act")]
        place([Input(3)], steps, result_level=4, **settings)

    one(4)
    raises(LevelError, r"step 1 \(act\) takes 5 levels, but a bootstrap gives level 4", one, 5)
    raises(LevelError, r"gives level 4 and the lowest is 1; .* level 5 at least", one, 4, lowest=1)
    one(2, INF)
    raises(LevelError, r"level 3 at least; step 0 \(fc\) comes at 2 at most and can not be", one, 3, INF)


def test_a_step_that_can_run_nowhere_is_named():
    step = Step((0,), 1, lambda level: INF if level < 4 else 1, name="act")
    assert place([Input(0, 1)], [step], result_level=4).levels == (4,)
    with pytest.raises(LevelError, match=r"step 0 \(act\) can not run at the levels .*, 1 to 3"):
        place([Input(3)], [step], result_level=3)
    with pytest.raises(LevelError, match=r"step 0 \(act\) can not run at the levels .*, 2 to 3: its time"):
        place([Input(3)], [step], result_level=3, lowest=1)
    fast = [Step((0,), 1, lambda _: 1, INF, "fc"), Step((1,), 3, lambda _: 1, name="act")]
    with pytest.raises(
        LevelError, match=r"so its operands need level 5 at least; step 0 \(fc\) comes at 4 at most"
    ):
        place([Input(5)], fast, result_level=6, lowest=2)
