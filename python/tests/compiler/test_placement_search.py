"""Placements beside exhaustive search over levels and bootstraps, by each method."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from hemera.compiler.placement import Input, Step, choosing, frontier, integer_program

from .placement_cases import INF, Program, check, exhaustive, least_or_none, random_program, table


@pytest.mark.parametrize("part", range(10))
def test_it_equals_exhaustive_search_on_a_thousand_programs(part):
    """A hundred of them, of which ten have 12 steps, and those between them that have no placement."""
    found = 0
    for seed in itertools.count(1_000_000 * part):
        program = random_program(seed, least_steps=12 if found % 10 == 0 else 1)
        least = exhaustive(program)
        assert least_or_none(program) == least, seed
        if least < INF:
            placed = program.place()
            assert (placed.exact, placed.method) == (True, "dynamic programming")
            found += 1
        if found == 100:
            break


def test_an_integer_program_equals_exhaustive_search():
    pytest.importorskip("scipy", reason="the integer program needs SciPy, which is not a dependency")
    bootstraps = 0
    for seed in range(7_000_000, 7_000_080):
        program = random_program(seed, most_steps=9)
        least = exhaustive(program)
        assert least_or_none(program, "integer program") == least, seed
        if least < INF:
            found = program.place("integer program")
            assert (found.method, found.exact) == ("integer program", True)
            bootstraps += len(found.bootstrapped)
    assert bootstraps > 50


@pytest.mark.parametrize("grid", [True, False])
def test_a_narrow_beam_never_claims_too_much(monkeypatch, grid):
    """With few states the placement may be slower, but its bound holds and `exact` is true."""
    monkeypatch.setattr(frontier, "NARROW", 1)
    monkeypatch.setattr(choosing, "_BEAM", 1)
    monkeypatch.setattr(frontier, "_GRID", frontier._GRID if grid else 0)
    slower = proven = 0
    for seed in range(8_000_000, 8_000_200):
        program = random_program(seed, most_steps=9)
        least = exhaustive(program)
        if least == INF:
            continue
        found = program.place("beam")
        check(program, found)
        assert found.method == "beam"
        assert found.bound <= least <= found.time
        assert not found.exact or found.time == least
        slower += found.time > least
        proven += found.exact
    assert slower
    assert proven


def test_a_wider_search_proves_what_a_narrow_one_found(monkeypatch):
    """With one state a step at first: the next search has a ceiling, and keeps all that may be below."""
    monkeypatch.setattr(frontier, "NARROW", 1)
    for seed in range(10_000_000, 10_000_080):
        program = random_program(seed, most_steps=9)
        least = exhaustive(program)
        assert least_or_none(program, "dynamic programming") == least, seed
        if least < INF:
            found = program.place("dynamic programming")
            assert (found.exact, found.method) == (True, "dynamic programming"), seed


def test_states_without_a_table_are_compared_with_the_fastest(monkeypatch):
    monkeypatch.setattr(frontier, "_GRID", 0)
    monkeypatch.setattr(frontier, "_RIVALS", 2)
    for seed in range(9_000_000, 9_000_100):
        program = random_program(seed, most_steps=9)
        assert least_or_none(program) == exhaustive(program), seed


def wide(seed, size):
    """A program whose values live long."""
    rng = np.random.default_rng(seed)
    steps = []
    for s in range(size):
        operands = tuple(int(v) for v in rng.integers(0, s + 1, 2))
        rising = np.cumsum(rng.random(9)).tolist()
        steps.append(Step(operands, int(rng.integers(1, 4)), table(rising), float(rng.uniform(1, 20))))
    return Program([Input(8, 5.0)], steps, 8)


def test_a_wide_program_is_solved_by_an_integer_program_or_a_beam(monkeypatch):
    program = wide(3, 30)
    monkeypatch.setattr(frontier, "NARROW", 4)
    monkeypatch.setattr(choosing, "_BEAM", 8)
    monkeypatch.setattr(choosing, "_WIDEST", 16)
    monkeypatch.setattr(choosing, "has_scipy", lambda: False)
    beam = program.place()
    check(program, beam)
    assert (beam.method, beam.exact) == ("beam", False)
    assert program.place("dynamic programming").method == "beam"
    monkeypatch.undo()
    pytest.importorskip("scipy", reason="the integer program needs SciPy, which is not a dependency")
    monkeypatch.setattr(frontier, "NARROW", 4)
    monkeypatch.setattr(choosing, "_BEAM", 8)
    monkeypatch.setattr(choosing, "_WIDEST", 16)
    solved = program.place()
    check(program, solved)
    assert (solved.method, solved.exact) == ("integer program", True)
    assert beam.bound <= solved.time <= beam.time


@pytest.mark.parametrize("seed", range(3, 9))
def test_a_beam_of_few_states_comes_within_three_percent(monkeypatch, seed):
    """Kept by their bounds alone, the states lead to placements that are up to 31 % slower than the best."""
    pytest.importorskip("scipy", reason="the integer program needs SciPy, which is not a dependency")
    monkeypatch.setattr(frontier, "NARROW", 8)
    monkeypatch.setattr(choosing, "_BEAM", 16)
    program = wide(seed, 30)
    best = program.place("integer program")
    beam = program.place("beam")
    check(program, beam)
    assert best.exact
    assert beam.bound <= best.time <= beam.time <= 1.03 * best.time


@pytest.mark.parametrize("seed", range(3, 9))
def test_windows_come_within_five_percent(monkeypatch, seed):
    """The narrow search does not; the whole integer program finds the best placement."""
    pytest.importorskip("scipy", reason="the integer program needs SciPy, which is not a dependency")
    monkeypatch.setattr(frontier, "NARROW", 2)
    program = wide(seed, 40)
    best, narrow = program.place("integer program"), program.place(narrow=True)
    monkeypatch.setattr(integer_program, "_FRACTIONS", -1)
    monkeypatch.setattr(integer_program, "_WINDOW", 24)
    found = program.place()
    for each in (best, narrow, found):
        check(program, each)
    assert (best.exact, narrow.method, found.method) == (True, "beam", "integer program")
    assert narrow.bound == found.bound <= best.time <= found.time <= min(1.05 * best.time, narrow.time)
    assert narrow.time > 1.05 * best.time


def test_a_solver_that_stopped_early_claims_no_more_than_it_proved(monkeypatch):
    optimize = pytest.importorskip("scipy.optimize", reason="the integer program needs SciPy")
    milp, program = optimize.milp, wide(3, 30)
    best = program.place("integer program")

    def stopped(*arguments, **named):
        solved = milp(*arguments, **named)
        return SimpleNamespace(x=solved.x, status=1, mip_dual_bound=0.9 * solved.fun)

    monkeypatch.setattr(optimize, "milp", stopped)
    found = program.place("integer program")
    check(program, found)
    assert (found.method, found.exact, found.time) == ("integer program", False, best.time)
    assert 0.9 * best.time < found.bound < best.time
    monkeypatch.setattr(optimize, "milp", lambda *_, **__: SimpleNamespace(x=None))
    found = program.place("integer program")
    check(program, found)
    assert (found.method, found.exact) == ("beam", False)


def test_an_integer_program_without_choices_or_with_a_prohibitive_cost_is_left_to_the_search():
    pytest.importorskip("scipy", reason="the integer program needs SciPy, which is not a dependency")
    only = Program([Input(1)], [Step((0,), 1, lambda _: 2)], 1)
    assert only.place("integer program").time == 2
    free = Program([Input(3)], [Step((0,), 1, lambda level: 4 - level)], 3)
    assert (free.place("integer program").levels, free.place("integer program").time) == ((3,), 1)
    nothing = Program([Input(3)], [], 3)
    assert nothing.place("integer program").time == 0
    steps = [Step((i,), 1, table([1, 1, 1, 1e60]), 1) for i in range(4)]
    huge = Program([Input(3)], steps, 3)
    found = huge.place("integer program")
    assert (found.time, found.method) == (5, "dynamic programming")
