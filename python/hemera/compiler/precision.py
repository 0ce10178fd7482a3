"""The search that gives each result of a compiled program the bits that were asked for.

Two kinds of errors add up (`hemera.compiler.result_errors`), and each has its remedy: approximations get
functions of more bits, before a layout is looked for, and noise a larger scale.
docs/compile-algorithms.md#precision has the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hemera.arrays.near_zero import NearZeroPrecisionError, roots_near_zero
from hemera.compiler.attempts import NotPossibleError
from hemera.compiler.compiled import Compiled
from hemera.compiler.result_errors import Recording, ResultError
from hemera.errors import LevelError, PrecisionError, RangeError

_TOLERANCE = 0.5
"""Bits that a result may lack: errors are drawn, and a few draws differ from others."""
_OF_APPROXIMATIONS = 0.7
"""The part of the allowed error that approximations may take where they are made again; noise has the
rest."""
_MOST_FEWER = 3
"""The most tries of a part of the bits that functions were given more."""
_FIRST_OF_SEVERAL = 0.125
"""The part of these bits that is tried first where several functions lack some."""
_ROUNDING = 1e-9
_STEP_OF_BITS = 0.25
"""More bits are in steps: many functions are approximated alike, and found once."""
_TRIES = 6
_MOST_PLANS = 4
"""The most tries that are laid out; others were only recorded."""
_MORE_FOR_RANGES = (0, 6, 12)
"""Bits of functions of the first program."""
_MOST_MORE = 64.0
"""Bits that a function gets at once."""
_SMALL = 2.0**-4
"""Results below gain by being scaled."""


@dataclass(frozen=True)
class Budget:
    """The bits that a program is compiled with."""

    noise_bits: float
    """The bits of results by which the scale is chosen."""
    function_bits: float
    """The bits of functions that are approximated."""
    scaled: bool = False
    """Whether clients scale inputs and results: see `hemera.compiler.scaling`."""
    more_bits: Mapping[int, float] = field(default_factory=dict)
    """How many bits more precise than asked functions are: see `Recorder`."""

    def is_above(self, other: Budget) -> bool:
        """Whether it has a bit more than another one somewhere."""
        return max(self.more_than(other).values(), default=0.0) >= 1 or self.noise_bits > other.noise_bits + 1

    def between(self, other: Budget, part: float) -> Budget:
        """A budget between another one and this one: `part` of the way from the other one."""
        more = {at: _in_steps(part * bits) for at, bits in self.more_than(other).items()}
        more = {at: other.more_bits.get(at, 0.0) + bits for at, bits in more.items()}
        noise_bits = other.noise_bits + part * (self.noise_bits - other.noise_bits)
        return replace(self, noise_bits=noise_bits, more_bits=more)

    def more_than(self, other: Budget) -> dict[int, float]:
        """How many bits more functions have than with another one."""
        return {place: bits - other.more_bits.get(place, 0.0) for place, bits in self.more_bits.items()}


def precise(
    record: Callable[[Budget], Recording],
    make: Callable[[Recording, Budget], Compiled],
    asked: float,
    *,
    far: bool,
    scales: bool,
) -> Compiled:
    """The program with the precision that was asked for.

    Args:
        record: the function on arrays, with a budget.
        make: compiles what was recorded. It takes most of the time, so that what lacks bits by approximations
            alone is recorded again before.
        asked: bits of each result.
        far: whether inputs are far from 0, so that clients scale them from the beginning.
        scales: whether clients may.

    Raises:
        PrecisionError: where a result has not the bits, with its possible bits, and the line that costs most.
        NotPossibleError, LevelError, RangeError: of the first program.
    """
    start, first = _first(record, asked, far and scales)
    budget, recording = start, first
    best: _Tried | None = None
    had = budget  # of the best program
    reason: Exception | None = None
    unscaled: list[Budget] = []
    plans = 0
    for tries in range(_TRIES):
        try:
            recording = record(budget) if tries else recording
            tried, plan = _Tried(recording, recording.errors), None
            if best is not None and tried.has(asked) and budget.more_bits != had.more_bits:
                budget, recording, tried = _fewer(record, budget, had, best, tried, asked)
            if tried.has(asked):
                plan, plans = make(recording, budget), plans + 1
                tried = _Tried(recording, plan._errors_of(recording, asked))
        except (NotPossibleError, PrecisionError, LevelError, RangeError) as error:
            reason = error
            if unscaled:
                budget = unscaled.pop()
            elif best is not None and budget.is_above(had):
                budget = budget.between(had, 0.5)
            elif best is None:
                raise
            else:
                break
            continue
        if plan is not None and tried.has(asked):
            return plan
        if best is None or tried.worst.bits > best.worst.bits:
            best, had = tried, budget
        more = tried.raised(budget, asked)
        if more == budget or plans == _MOST_PLANS:
            break
        if scales and not more.scaled and tried.has_small(more, budget):
            unscaled.append(more)
            more = replace(more, noise_bits=budget.noise_bits, scaled=True)
        budget = more
    if not plans:
        make(first, start)
    assert best is not None
    raise best.refusal(asked, reason) from reason


def _fewer(
    record: Callable[[Budget], Recording],
    budget: Budget,
    had: Budget,
    lacking: _Tried,
    tried: _Tried,
    asked: float,
) -> tuple[Budget, Recording, _Tried]:
    """About the fewest of the bits that functions were given more with which results have what was asked:
    errors of many functions add up to less than their sum, and few bits more may take a level. Bits of
    results are taken to grow evenly with those of functions, from a try that lacks bits to one that has
    them; of several functions an eighth comes first."""
    part, bits = 0.0, lacking.worst.bits
    steps = max(1, round(max(budget.more_than(had).values()) / _STEP_OF_BITS))
    for tries in range(_MOST_FEWER):
        distance = tried.worst.bits - bits
        share = max(0.0, asked - bits) / distance if 0 < distance < math.inf else 0.5
        least = math.floor(part * steps + _ROUNDING) + 1
        part += (1 - part) * share
        part = min(1.0, max(least, math.floor(part * steps + _ROUNDING)) / steps)
        if not tries and len(budget.more_bits) > 1:
            part = min(part, _FIRST_OF_SEVERAL)
        fewer = replace(budget.between(had, part), noise_bits=budget.noise_bits)
        if fewer == budget:
            break
        recording = record(fewer)
        found = _Tried(recording, recording.errors)
        if found.has(asked + _TOLERANCE):
            return fewer, recording, found
        bits = found.worst.bits
    return budget, tried.recording, tried


def _first(record: Callable[[Budget], Recording], asked: float, scaled: bool) -> tuple[Budget, Recording]:
    """The first program. Ranges have the errors of approximations in them: where a function is not for such
    values, as 1 / x of a sum of exponentials that come near 0, others are made more precise first."""
    errors: list[RangeError] = []
    for more in _MORE_FOR_RANGES:
        budget = Budget(asked, asked + more, scaled)
        try:
            return budget, record(budget)
        except RangeError as error:
            errors.append(error)
    raise errors[0]


@dataclass(frozen=True)
class _Tried:
    """A program that was recorded, and its errors, without those by noise where these are not known."""

    recording: Recording
    errors: Sequence[ResultError]

    def has(self, asked: float) -> bool:
        """Whether all results have the bits."""
        return min([each.bits for each in self.errors]) >= asked - _TOLERANCE

    @property
    def worst(self) -> ResultError:
        return min(self.errors, key=lambda each: each.bits)

    def has_small(self, more: Budget, budget: Budget) -> bool:
        """Whether noise is large next to a small result, in a program that lacks bits by noise."""
        sizes = [each.size for each in self.errors if each.size]
        return more.noise_bits > budget.noise_bits and min(sizes, default=1.0) < _SMALL

    def raised(self, budget: Budget, asked: float) -> Budget:
        """A budget with more bits where results lack them; the same one where nothing gives them more."""
        noise_bits = budget.noise_bits
        for each in self.errors:
            if each.size:
                part = (1 - _OF_APPROXIMATIONS) * 2.0**-asked * each.size
                noise_bits = max(noise_bits, budget.noise_bits + _bits_above(each.noise, part))
        more = dict(budget.more_bits)
        found = list(self.recording.contributions())
        most = {each.name: self._most(each, found, asked) for each in self.errors if each.size}
        for places, errors in found:
            lacking = max((_bits_above(errors[name], most[name]) for name in most), default=0.0)
            for place in places if lacking > 0 else ():
                more[place] = more.get(place, 0.0) + _in_steps(lacking)
        return replace(budget, noise_bits=noise_bits, more_bits=more)

    @staticmethod
    def _most(
        result: ResultError, found: Sequence[tuple[object, Mapping[str, float]]], asked: float
    ) -> float:
        """The error that each function may give to a result, so that all together give what is allowed: as
        much less than their sum as now. Functions that give less leave the rest to others."""
        own = sorted(errors[result.name] for _, errors in found)
        left = _OF_APPROXIMATIONS * 2.0**-asked * result.size
        if 0 < result.approximations < math.inf:
            left *= math.fsum(own) / result.approximations
        for at, error in enumerate(own):
            share: float = left / (len(own) - at)
            if not error < share:
                return share
            left -= error
        return math.inf

    def refusal(self, asked: float, reason: Exception | None) -> PrecisionError:
        """The bits that can be had, and the line that costs most."""
        worst, recording = self.worst, self.recording
        bits = f"{worst.bits:.1f} of" if worst.bits > 0 else "none of"
        by_noise = worst.noise >= worst.approximations
        cause = recording.noisiest(worst.name) if by_noise else recording.roughest(worst.name)
        found = NearZeroPrecisionError(
            f"result {worst.name!r}, of values up to {worst.size:.3g}, would have {bits} the {asked:g} bits "
            f"that were asked for: most is lost by {cause}. Ask "
            "for fewer bits (precision_bits=), give the inputs narrower ranges (range=, or calibrate=), or "
            "compute it in another way" + (f" ({reason})" if reason else "")
        )
        found.places = roots_near_zero(recording.recorder.program)
        return found


def _in_steps(bits: float) -> float:
    return math.ceil(round(bits / _STEP_OF_BITS, 6)) * _STEP_OF_BITS


def _bits_above(error: float, allowed: float) -> float:
    """The bits by which an error is above the allowed one; 0 where it is not."""
    if error <= allowed:
        return 0.0
    if not (allowed > 0 and math.isfinite(error)):
        return _MOST_MORE
    return min(_MOST_MORE, math.log2(error / allowed))
