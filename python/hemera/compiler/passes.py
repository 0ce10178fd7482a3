"""The passes of `compile`, stage by stage. A pass takes a program in one form and gives it in the same form,
or the next; after each the program is checked for what must hold of its form.

    trace       the user's function is called with encrypted arrays; chains of functions of one variable are
                one function from the beginning (`hemera.arrays.chains`)
    ARRAYS      on the user's arrays
    layouts     elements in slots, samples in slots, tokens in slots, or pairs: each that is possible goes
                through the stages below, and the cheapest is taken (`hemera.compiler.layouts`)
    SLOTS       on the slots of ciphertexts
    LEVELS      with parameters
    package     what a server runs, and what clients encode and decode (`hemera.compiler.candidates`)

`hemera.compiler.precision` goes through all of them again with other budgets until each result has its bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from hemera.arrays.array import Array
from hemera.arrays.folding import folded, with_squares
from hemera.arrays.layout import Layout
from hemera.arrays.recorded import kind_of, number_of, recorder_of
from hemera.arrays.recorder import Recorder
from hemera.arrays.tensor import TensorProgram
from hemera.arrays.tiling import SplitProgram
from hemera.compiler.attempts import told
from hemera.compiler.bootstraps import bootstrap_of, placed
from hemera.compiler.exact_bootstraps import exact_bootstrap_of, exactly_placed
from hemera.compiler.lowering import InSlots, Lowered, Maps
from hemera.compiler.room import require_levels
from hemera.compiler.samples import in_parts, interleaved
from hemera.compiler.scaling import Scaled, scaled
from hemera.compiler.specs import ArraySpec
from hemera.inputs.arguments import require_different
from hemera.integer_parameters import IntegerParameters
from hemera.parameters import Parameters
from hemera.program.values import SchemeName

_R = TypeVar("_R", bound=Recorder)
_S = TypeVar("_S")

_BITS_BELOW_ONE = 4
"""Bits after the point that integers need: errors of 1/16, which are drawn, are far from 1/2."""


@dataclass(frozen=True)
class OnArrays:
    """A program on the user's arrays."""

    program: TensorProgram
    specs: Sequence[ArraySpec]
    scheme: SchemeName = "ckks"
    scales: bool = False
    """Whether clients scale inputs and results."""
    scaled: Scaled | None = None
    """The clients' steps with inputs and results; None: nothing."""
    unfolded: TensorProgram | None = None
    """The program before its maps were folded."""


@dataclass(frozen=True)
class OnSlots:
    """A program on tiles, in layouts, on its way to slots."""

    cut: SplitProgram
    layouts: tuple[Layout, ...] = ()
    slots: int = 0
    """Slots of one sample; with BFV and BGV of both rows."""
    samples: int = 1
    """The number of samples that each ciphertext holds."""
    halves: bool = False
    """Whether half of the samples lie in the imaginary parts of slots."""
    scheme: SchemeName = "ckks"
    params: Parameters | None = None
    """Known before with BFV and BGV, whose programs are modulo their prime."""
    device: str = ""
    """The table of times by which bootstraps are placed."""
    narrow: bool = False
    """Whether places of bootstraps are searched for about a second only."""
    openings: Any = None
    """The openings of a group that opens the results, of BFV and BGV."""
    lowered: Lowered | None = None
    maps: Maps = field(default_factory=dict)
    """What is known of maps from other layouts of the program."""

    @property
    def steps(self) -> Lowered:
        """The program on slots, once it is lowered."""
        assert self.lowered is not None
        return self.lowered


def traced(
    what: Callable[..., Any],
    specs: Sequence[ArraySpec],
    recorder: _R,
    examples: Sequence[NDArray[Any] | None] = (),
) -> _R:
    """The program of a function on encrypted arrays, by a recorder.

    Args:
        specs: of its arguments, with ranges.
        examples: samples of each; (): there are none.

    Raises:
        TypeError: when the function depends on values; see `named_results`.
    """
    arguments = []
    for spec, own in zip(specs, examples or [None] * len(specs), strict=True):
        assert spec.range is not None
        number = recorder.input(spec.name, spec.shape, *spec.range, own, spec.step)
        arguments.append(Array(recorder, number, spec.kind)._as_argument())
    told("trace", 0, 1)
    results = named_results(what(*arguments), recorder)
    recorder.program.outputs = [(name, number_of(each)) for name, each in results.items()]
    recorder.kinds = {name: kind_of(each) for name, each in results.items()}
    told("trace", 1, 1)
    return recorder


def named_results(result: Any, recorder: Recorder) -> dict[str, Array]:
    """The arrays of a result by their names: of an array, a sequence or a dict of them.

    Raises:
        TypeError: for nothing, and for anything else than arrays of this recorder.
        MismatchError: for two of one name, as 1 and "1" are.
    """
    if isinstance(result, Mapping):
        require_different(result, "results")
        named = {str(key): value for key, value in result.items()}
    elif isinstance(result, (list, tuple)) and len(result) != 1:
        named = {f"output{at}": value for at, value in enumerate(result)}
    else:
        named = {"output": result[0] if isinstance(result, (list, tuple)) else result}
    for name, value in named.items():
        if isinstance(value, Array) and recorder_of(value) is not recorder:
            raise TypeError(f"the function returns an array of another call as {name!r}; let it keep none")
        if not isinstance(value, Array):
            raise TypeError(
                f"the function returns {type(value).__name__} as {name!r}; return arrays that come of its "
                "arguments"
            )
    if not named:
        raise TypeError("the function returns nothing; return arrays that come of its arguments")
    return named


def readings_of(recorder: Recorder, bits: float) -> dict[str, str]:
    """Readings of results that clients do not take as they are decrypted, by name: those of truth values, and
    of integers that results of so many bits are near enough to. Exact programs have integers as they are.
    """
    found = {name: "truth" for name, kind in recorder.kinds.items() if kind == "b"}
    if recorder.is_exact:
        return found
    for name, at in recorder.program.outputs:
        largest = max(map(abs, recorder.range(at)))
        if recorder.kinds[name] == "i" and largest <= 2.0 ** (bits - _BITS_BELOW_ONE):
            found[name] = "integer"
    return found


def squares(at: OnArrays) -> OnArrays:
    """Quadratic polynomials as one square, where that takes fewer levels."""
    found = with_squares(at.program) if at.scheme == "ckks" else at.program
    return at if found is at.program else replace(at, program=found)


def units(at: OnArrays) -> OnArrays:
    """All values about 1: clients scale inputs and results, the program what is in between."""
    if not at.scales:
        return at
    by_clients = scaled(at.program, at.specs)
    return replace(at, program=by_clients.program, scaled=by_clients)


def fold(at: OnArrays) -> OnArrays:
    """Linear maps that follow each other as one; equal operations once; none that no result takes."""
    found = folded(at.program, exact=at.scheme != "ckks")
    return replace(at, program=found, unfolded=at.program)


def lower(at: OnSlots) -> OnSlots:
    """Maps as diagonals, rotations and folds; look-ups as polynomials modulo the prime."""
    modulus = at.params.plain_modulus if isinstance(at.params, IntegerParameters) else None
    steps = InSlots(at.cut, at.layouts, at.slots, at.scheme, modulus, at.maps).run()
    return replace(at, lowered=steps)


def samples(at: OnSlots) -> OnSlots:
    """Several samples beside each other in each ciphertext."""
    count = at.samples // (1 + at.halves)
    return at if count == 1 else replace(at, lowered=interleaved(at.steps, count))


def imaginary_parts(at: OnSlots) -> OnSlots:
    """As many samples again in the imaginary parts of slots."""
    return replace(at, lowered=in_parts(at.steps)) if at.halves else at


def bootstraps(at: OnSlots) -> OnSlots:
    """Bootstraps where they cost least, with parameters that have some."""
    assert at.params is not None
    if at.scheme != "ckks":
        has_none = exact_bootstrap_of(at.params) is None
        return at if has_none else replace(at, lowered=exactly_placed(at.steps, at.params, at.openings))
    if bootstrap_of(at.params, at.steps.slots) is None:
        return at
    return replace(at, lowered=placed(at.steps, at.params, device=at.device, narrow=at.narrow))


@dataclass(frozen=True)
class Stage(Generic[_S]):
    """Passes on programs of one form, in their order."""

    name: str
    passes: tuple[Callable[[_S], _S], ...]
    check: Callable[[_S], None]
    """AssertionError for a program that is none of the form, a fault of the pass before; TooDeepError for
    levels that there are not."""

    def run(self, at: _S) -> _S:
        """The program after all passes. What each makes is checked."""
        checked: _S | None = None
        for each in self.passes:
            at = each(at)
            if at is not checked:
                self.check(at)
            checked = at
        return at


def require_arrays(made: OnArrays) -> None:
    """Operands come before what takes them; results are there, by different names; ranges have an order."""
    program = made.program
    for at, node in enumerate(program.nodes):
        known = min(node.operands, default=0) >= 0 and max(node.operands, default=-1) < at
        assert known, f"node {at} takes what comes after it"
        assert node.range[0] <= node.range[1], f"node {at} has the range {node.range}"
    results = dict(program.outputs)
    assert len(results) == len(program.outputs) > 0, f"results are named {program.outputs}"
    assert 0 <= min(results.values()) <= max(results.values()) < len(program.nodes), "a result is no node"


def require_slots(made: OnSlots) -> None:
    """A ciphertext for each tile of inputs and results, of a power of two of slots; a step for each node;
    sizes of values that are there."""
    steps = made.steps
    program, arrays, sizes = steps.program, made.cut.program, steps.magnitudes
    counts = (len(program.inputs), len(program.outputs), len(steps.steps))
    wanted = (len(arrays.inputs), len(arrays.outputs), len(arrays.nodes))
    assert counts == wanted, f"inputs, results and steps are {counts}, and those of tiles are {wanted}"
    assert steps.slots & (steps.slots - 1) == 0, f"{steps.slots} slots are no power of two"
    assert {form.slots for form in program.forms} == {steps.slots}, "values have different slots"
    assert sizes.keys() <= set(range(len(program.forms))), "a size is of no value"
    assert not any(map(math.isnan, sizes.values())), "a size is no number"


def _require_levels(at: OnSlots) -> None:
    assert at.params is not None
    require_levels(at.steps, at.params)


ARRAYS = Stage("arrays", (squares, units, fold), require_arrays)
SLOTS = Stage("slots", (lower, samples, imaginary_parts), require_slots)
LEVELS = Stage("levels", (bootstraps,), _require_levels)
