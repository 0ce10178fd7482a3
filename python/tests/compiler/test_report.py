"""The lines of reports, and budgets of bits: each told number by its formula."""

from types import SimpleNamespace

import numpy as np
import pytest

import hemera as hm
from hemera.compiler import bootstraps, report, samples
from hemera.compiler.attempts import NotPossibleError
from hemera.compiler.draws import Draws
from hemera.compiler.lowering import Step
from hemera.compiler.placement import Placement
from hemera.compiler.precision import Budget, _Tried
from hemera.compiler.result_errors import Recording, ResultError
from hemera.program import operations as op
from hemera.program.operations import ExactBootstraps
from hemera.program.program import Program
from hemera.program.values import Form

CKKS = hm.ckks.Parameters.for_circuit(2, slots=8, security=None)
EXACT = hm.bfv.Parameters.for_circuit(1, slots=8, plain_bits=14, security=None)


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0, "about 0 bits, each"),
        (11.6, "about 12 bits, each result relative to its own largest value"),
        (-0.1, "no bits: errors are larger than results"),
        (float("nan"), "no bits"),
        (float("-inf"), "no bits"),
    ],
)
def test_bits(bits, words):
    assert report._bits_line(bits, CKKS).startswith(words)
    assert report._bits_line(bits, EXACT) == "exact results"


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([Step(0, diagonals=(3, 0, 5))], "3+0+5"),
        ([Step(0, diagonals=(1, 2)), Step(0, diagonals=(3, 4))], "1+2+3+4"),
        ([Step(0, diagonals=(1, 2)), Step(0, diagonals=(3, 4, 5))], "15"),
        ([Step(0, matrices=((3, 4), (5, 6)))], "3x4+5x6"),
        ([Step(0, matrices=((3, 4),) * 4)], "3x4+3x4+3x4+3x4"),
        ([Step(0, matrices=((3, 4),) * 3), Step(0, matrices=((3, 4),) * 2)], "5 of them"),
        ([Step(0)], ""),
    ],
)
def test_diagonals_and_matrices(steps, words):
    assert report._diagonals(steps) == words


@pytest.mark.parametrize("count", [0, 1, 5])
def test_placements_say_how_far_they_may_be_from_the_best(count):
    program = SimpleNamespace(operations={"bootstrap": count} if count else {})
    exact = Placement((), (), (), 8.0, 8.0, exact=True, method="beam")
    other = Placement((), (), (), 8.0, 6.0, exact=False, method="beam")
    start = f"{count} bootstrap{'' if count == 1 else 's'}, placed by beam: "
    assert report._placed(exact, program) == start + "no placement takes less time"
    assert report._placed(other, program) == start + "the least time is at most 25 % less"


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("count", [1, 2, 8])
def test_failures_of_several_exact_bootstraps_add_up(count, passes, monkeypatch):
    plan = SimpleNamespace(passes=passes, failure_log2=-41.5)
    monkeypatch.setattr(report, "exact_bootstrap", lambda *_: plan)
    program, value = Program("bfv", [Form(EXACT.max_slots)]), 0
    assert report._exactly_placed(program, EXACT) == []
    for _ in range(count):
        value = program.add(ExactBootstraps(passes), value)
    (line,) = report._exactly_placed(program, EXACT)
    assert line.startswith(
        f"{count} bootstrap{'s' * (count > 1)} of {passes} pass{'es' * (passes > 1)}, each"
    )
    assert 2.0 ** float(line.rpartition("2^")[2]) == pytest.approx(count * 2.0**-41.5, rel=0.04)


def test_layouts_and_their_seconds():
    seconds = {"pairs": 0.0123, "slots": 4.567, "ciphertexts": 8.0}
    line, other = report.layout_lines("pairs", seconds, {"sequences": "no tokens"})
    words = "and at least 4.6 s with elements in slots, 8 s with an element in each ciphertext"
    assert line == f"matrices as pairs: about 0.012 s, {words}"
    assert other == "not possible: no tokens"
    (line,) = report.layout_lines("slots", {"slots": 2.0, "pairs": 3.0}, {})
    assert line == "elements in slots: about 2 s, and 3 s with matrices as pairs"
    assert report.layout_lines("slots", {}, {}) == []
    assert report.layout_lines("pairs", {}, {}) == ["matrices as pairs"]
    assert report.layout_lines("slots", {}, {"pairs": "no"}) == ["elements in slots", "not possible: no"]


# --- Budgets. ---


def test_budgets_are_above_by_a_bit_somewhere():
    low = Budget(10, 10, more_bits={1: 2.0, 3: 1.0})
    for noise, more, above in (
        (11, {}, False),
        (11.01, {}, True),
        (10, {1: 2.99, 3: 1}, False),
        (10, {1: 3.0}, True),
        (10, {2: 0.99}, False),
        (10, {2: 1.0, 1: -5.0}, True),
    ):
        assert Budget(noise, 10, more_bits=more).is_above(low) == above
    high = Budget(14, 10, True, {1: 6.0, 2: 3.0})
    assert high.between(low, 0.5) == Budget(12, 10, True, {1: 4.0, 2: 1.5})
    assert high.between(low, 0.125) == Budget(10.5, 10, True, {1: 2.5, 2: 0.5})  # upwards by a quarter


@pytest.mark.parametrize(
    ("errors", "noise_bits"),
    [
        # 0.3 of the allowed error is for noise.
        ([(1.0, 0.3 * 2.0**-10)], 10),
        ([(1.0, 0.3 * 2.0**-8)], 12),
        ([(4.0, 0.3 * 2.0**-8)], 10),
        ([(4.0, 0.3 * 2.0**-8), (0.25, 0.3 * 2.0**-8)], 14),
        ([(0.0, 5.0)], 10),
        ([(1.0, float("inf"))], 74),
    ],
)
def test_budgets_rise_by_what_noise_is_above_its_part(errors, noise_bits):
    recording = SimpleNamespace(contributions=lambda: iter(()))
    own = [ResultError(str(at), size, 0.0, noise) for at, (size, noise) in enumerate(errors)]
    found = _Tried(recording, own).raised(Budget(10, 10), 10)
    assert found.noise_bits == pytest.approx(noise_bits)
    assert found.more_bits == {}


def test_functions_get_the_bits_that_their_results_lack():
    """0.7 of the allowed error is for approximations, and equal functions share it."""
    allowed = 0.7 * 2.0**-10
    found = [([0, 2], {"a": 4 * allowed}), ([1], {"a": allowed / 100})]
    recording = SimpleNamespace(contributions=lambda: iter(found))
    own = [ResultError("a", 1.0, 4.01 * allowed, 0.0)]
    more = _Tried(recording, own).raised(Budget(10, 10, more_bits={2: 1.0}), 10).more_bits
    assert more[0] == 2.25  # in steps of a quarter, upwards
    assert more[2] == more[0] + 1
    assert 1 not in more
    assert _Tried(recording, [ResultError("a", 1.0, allowed, 0.0)]).has(10)
    for lacking, enough in ((0.5, True), (0.51, False)):
        assert _Tried(recording, [ResultError("a", 1.0, 2.0 ** (lacking - 10), 0.0)]).has(10) == enough


def test_noise_is_the_root_mean_square_of_runs():
    """Eight runs where they decide; runs far below what is asked for are enough."""
    for errors, asked, wanted in (([3.0, 4.0] * 4, 10, 12.5**0.5), ([2.0**-17, 1.0], 10, 2.0**-17)):
        recording = Recording.__new__(Recording)
        recording._draws = Draws([np.zeros((1, 4))], 1, 1)
        recording._quiet = [np.ones((1, 4))]
        recording.errors = [ResultError("a", 1.0, 0.25, 0.0)]
        runs = iter(errors)
        found = recording.with_noise(lambda _, own=runs: [np.array([1, 1 - next(own), 1, 1])], asked)
        assert found == [ResultError("a", 1.0, 0.25, pytest.approx(wanted))]
        assert len(list(runs)) == (0 if asked == 10 and errors[0] > 1 else 1)


def test_noise_is_that_of_the_draw_where_it_is_largest():
    """The first draw and the ends count, which come after those that sizes are of."""
    recording = Recording.__new__(Recording)
    recording._draws = Draws([np.array([[1.0], [9.0], [2.0], [4.0], [3.0], [8.0]])], 2, 6)
    recording._quiet = [np.zeros((6, 16))]
    recording.errors = [ResultError("a", 1.0, 0.0, 0.0)]
    (found,) = recording.with_noise(lambda x: [np.full(16, x[0])], 10)
    assert found.noise == 4.0
    assert Draws([np.zeros((7, 1))], 7, 7).extremes == [0, 2, 4, 6]


@pytest.mark.parametrize(
    ("is_approximated", "bent", "wanted"), [(False, (), 0), (True, (), 2), (False, (5,), 3)]
)
def test_noise_is_drawn_at_ends_where_functions_are(is_approximated, bent, wanted):
    """And next to bends, even where the first draw has none."""
    recording = Recording.__new__(Recording)
    inputs = np.array([[0.0], [1.0], [2.0], [9.0], [9.0], [3.0]])
    recording._draws = Draws([inputs], 1, 5, bent, is_approximated)
    recording._quiet = [np.zeros((6, 16))]
    recording.errors = [ResultError("a", 2.0**20, 0.0, 0.0)]
    (found,) = recording.with_noise(lambda x: [np.full(16, x[0])], 4)
    assert found.noise == wanted


def test_halves_of_operations_for_imaginary_parts():
    """What has numbers is halved, but for whole factors, which take no level; sums are of both parts."""
    for operation, halved in ((op.MultiplyNumber(0.5), 0.25), (op.MultiplyNumber(3), 3)):
        assert samples._for(operation, "half").number == halved
        assert samples._for(operation, "both").number == operation.number
    assert samples._for(op.MultiplyArray(np.array([1.0, 3])), "half").values.tolist() == [0.5, 1.5]
    assert samples._for(op.AddNumber(3.0), "both").values.tolist() == [3 + 3j]
    assert samples._for(op.AddNumber(3.0), "half").values.tolist() == [1.5 + 1.5j]
    assert samples._for(op.AddNumber(3.0), "apart").number == 3
    with pytest.raises(NotPossibleError, match="'power' is not done for samples in imaginary parts"):
        samples._for(op.Power(3), "both")


def test_groups_of_operations_take_the_levels_of_their_longest_way():
    """x * 0.5 takes a level, and the sum with x is after it; a product of both another one."""
    program = Program("ckks", [Form(64)] * 2)
    half = program.add(op.MultiplyNumber(0.5), 0)
    for operands in ((half, 0), (0, half)):
        total = program.add(op.Add(), *operands)
        nodes = [half - 2, total - 2]
        found = bootstraps._group(program, nodes)
        assert (found.depth, found.before, found.operands, found.result) == (1, (0, 1), (0,), total)
    last = program.add(op.Multiply(), total, 1)
    found = bootstraps._group(program, [half - 2, total - 2, last - 2])
    assert (found.depth, found.before, found.operands, found.result) == (2, (0, 1, 1), (0, 1), last)


def test_alike_tiles_have_one_number_among_the_values_of_a_placement():
    """Tiles of one array, one depth, and operands of the same numbers."""
    given = [
        (2, 1, (0,)),
        (3, 2, (0,)),
        (4, 1, (1,)),
        (5, 1, (2,)),
        (6, 1, (4,)),
        (7, 1, (0,)),
        (8, 1, (0, 3)),
    ]
    groups = [bootstraps._Group((result - 2,), own, depth, result, (0,)) for result, depth, own in given]
    arrays = [7, 7, 5, 5, 5, 6, 6, None, 5]
    found = bootstraps._numbers(2, groups, arrays)
    assert [found[value] for value in range(9)] == [0, 0, 1, 2, 1, 3, 3, 4, 5]
    assert len(set(bootstraps._numbers(2, groups, [None] * 9).values())) == 9
    other = bootstraps._numbers(2, groups, [7, 8, *arrays[2:]])
    assert other[2] != other[4]
