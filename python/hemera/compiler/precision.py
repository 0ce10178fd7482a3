"""Whether each result of a compiled program has the bits that were asked for, and what gives it more.

Errors of a result are relative to its own largest value, on the samples, or on draws from the inputs' ranges.
Two kinds add up: approximations of functions, which the program on arrays shows next to the functions' own
formulas, and noise, which a run in the clear draws. Each has its remedy: functions of more bits, and a larger
scale. docs/compile-algorithms.md#precision has the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.arrays.folding import identity
from hemera.arrays.tensor import Affine, Apply, TensorProgram
from hemera.compiler.agreement import listed, magnitude
from hemera.compiler.specs import ArraySpec
from hemera.errors import LevelError, ParameterError, PrecisionError, RangeError
from hemera.parameters import Parameters
from hemera.serving.noise import ExpectedNoise

__all__ = [
    "MOST_SLOTS_DRAWN",
    "Budget",
    "Draws",
    "ResultError",
    "draws",
    "precise",
    "result_errors",
    "roughly_noisy",
]

Values = NDArray[Any]


class _Plan(Protocol):
    """What is asked of a compiled program."""

    @property
    def _draws(self) -> Draws: ...
    def _result_errors(self, asked: float) -> list[ResultError]: ...


_P = TypeVar("_P", bound=_Plan)

_TOLERANCE = 0.5
"""Bits that a result may lack: errors are drawn, and a few draws differ from others."""
_OF_APPROXIMATIONS = 0.7
"""The part of the allowed error that approximations may take where they are made again; noise has the
rest."""
_TRIES = 4
_MORE_FOR_RANGES = (0, 6, 12)
"""Bits of functions of the first program."""
_MOST_DRAWS = 64
_FEW_DRAWS = 4
_DRAWS_OF_SIZES = 16
"""Where no function is approximated."""
_MOST_VALUES = 1 << 18
"""Of all nodes and draws together, unless a single draw has more."""
_FAR = 6
"""So many bits more than what was asked for are enough, whatever else is drawn."""
_NOISE_VALUES = 8
"""Elements of a result whose noise is drawn, at least."""
_ROUNDING = 2.0**-44
"""A result that is so small next to what it is the sum of is 0 but for the rounding of float64."""
_MOST_GROUPS = 32
"""Functions that are looked at one by one."""
_MOST_MORE = 64.0
"""Bits that a function gets at once."""
MOST_SLOTS_DRAWN = 1 << 26
"""Of all values of a program on slots, whose noise is drawn there."""
_SMALL = 2.0**-4
"""Results below gain by being scaled."""
_NUDGE = 2.0**-30
"""By which values change to see what is sensitive to them."""


@dataclass(frozen=True)
class ResultError:
    """What is expected of one result."""

    name: str
    size: float
    """The largest magnitude in a few draws."""
    approximations: float
    """The largest error by approximations of functions."""
    noise: float
    """The root mean square of the largest errors by noise."""

    @property
    def bits(self) -> float:
        """Of the result, relative to its size."""
        error = self.approximations + self.noise
        if self.size == 0 or error == 0:
            return math.inf
        return -math.log2(error / self.size) if math.isfinite(error) else -math.inf


@dataclass(frozen=True)
class Budget:
    """What a program is compiled with."""

    noise_bits: float
    """By these the scale is chosen."""
    function_bits: float
    """The bits of functions that are approximated."""
    scaled: bool = False
    """Whether clients scale inputs and results: see `hemera.compiler.scaling`."""
    more_bits: Mapping[int, float] = field(default_factory=dict)
    """By how many bits functions are more precise than what was asked for: see `Recorder`."""

    def is_above(self, other: Budget) -> bool:
        """Whether it has a bit more than another one somewhere."""
        return (
            max(self._more_than(other).values(), default=0.0) >= 1 or self.noise_bits > other.noise_bits + 1
        )

    def halfway_from(self, other: Budget) -> Budget:
        """The budget in the middle between another one and this one."""
        more = {
            place: other.more_bits.get(place, 0.0) + bits / 2
            for place, bits in self._more_than(other).items()
        }
        return replace(self, noise_bits=(self.noise_bits + other.noise_bits) / 2, more_bits=more)

    def _more_than(self, other: Budget) -> dict[int, float]:
        return {place: bits - other.more_bits.get(place, 0.0) for place, bits in self.more_bits.items()}


@dataclass(frozen=True)
class Draws:
    """Inputs by which errors of results are told."""

    inputs: list[Values]
    """Each of shape (draws, *shape)."""
    sized_by: int
    """How many of the draws, the first ones, sizes of results are of."""


def draws(program: TensorProgram, specs: Sequence[ArraySpec], examples: Sequence[Values | None]) -> Draws:
    """Samples, if there are some; else uniform draws, and after them the ends of ranges."""
    total = sum(node.size for node in program.nodes)
    most = _MOST_DRAWS if program.approximated else _DRAWS_OF_SIZES
    count = max(1, min(most, _MOST_VALUES // total))
    given = [each for each in examples if each is not None]
    if len(given) == len(specs):
        places = np.linspace(0, len(given[0]) - 1, min(count, len(given[0]))).astype(int)
        return Draws([each[places] for each in given], len(places))
    random = np.random.default_rng(0)
    ends = count // 4
    return Draws([_drawn(spec, count, ends, random) for spec in specs], count)


def _drawn(spec: ArraySpec, count: int, ends: int, random: np.random.Generator) -> Values:
    """Uniform draws, and ends of the range: all at one end first, then each element at any."""
    assert spec.range is not None
    low, high = spec.range
    inside = random.uniform(low, high, (count, *spec.shape))
    at_ends = random.choice([low, high], (ends, *spec.shape))
    at_ends[:1], at_ends[1:2] = low, high
    found = np.concatenate([inside, at_ends])
    if spec.step is not None:
        least, most = math.ceil(low / spec.step), math.floor(high / spec.step)
        found = spec.step * np.clip(np.rint(found / spec.step), least, most)
    return found


def result_errors(
    program: TensorProgram,
    drawn: Draws,
    noisy: Callable[..., Any],
    asked: float,
) -> list[ResultError]:
    """Of each result, by draws of the inputs.

    Args:
        program: on arrays, with the functions' formulas.
        noisy: a run of one draw in the clear, with noise.
        asked: bits of each result: noise that is far less is drawn once.
    """
    inputs = drawn.inputs
    exact = _exact(program, inputs)
    approximated = program.approximated
    with np.errstate(all="ignore"):
        values = program.values(inputs, clip=True) if approximated else exact
    sizes = []
    for _, at in program.outputs:
        size = _size(exact[at][: drawn.sized_by])
        sizes.append(size if size > _ROUNDING * _largest_term(program, at, exact) else 0.0)
    noise = _noise(program, values, lambda: listed(noisy(*(each[0] for each in inputs))), sizes, asked)
    return [
        ResultError(name, size, magnitude(values[at] - exact[at]), own)
        for (name, at), size, own in zip(program.outputs, sizes, noise, strict=True)
    ]


def roughly_noisy(program: TensorProgram, params: Parameters, slots: int) -> Callable[..., list[Values]]:
    """A run of one draw in the clear, where each operation adds the noise of a rescale: for programs whose
    slots are too many to be computed."""
    deviation = ExpectedNoise.of_rescale(params, slots) / math.sqrt(2)  # the real part's
    random = np.random.default_rng(0)

    def changed(_: int, values: Values) -> Values:
        return values + deviation * random.standard_normal(values.shape)

    def run(*inputs: Values) -> list[Values]:
        with np.errstate(all="ignore"):
            values = program.values([each[np.newaxis] for each in inputs], clip=True, changed=changed)
        return [values[at][0] for _, at in program.outputs]

    return run


def _size(values: Values) -> float:
    """How large a result is: the largest magnitude in a few draws, as a few others will have it, too; at
    least a quarter of the largest in all."""
    of_draws = np.abs(values).reshape(len(values), -1).max(axis=1)
    few = [float(each.max()) for each in np.array_split(of_draws, max(1, len(of_draws) // _FEW_DRAWS))]
    return max(float(np.median(few)), 0.25 * max(few))


def _noise(
    program: TensorProgram,
    values: Sequence[Values],
    run: Callable[[], list[Values]],
    sizes: Sequence[float],
    asked: float,
) -> list[float]:
    """Of each result the root mean square of the largest errors of runs on the first draw."""
    quiet = [values[at][0] for _, at in program.outputs]
    squares = np.zeros(len(quiet))
    runs = math.ceil(_NOISE_VALUES / min(each.size for each in quiet))
    for count in range(1, runs + 1):
        squares += [magnitude(a - b) ** 2 for a, b in zip(run(), quiet, strict=True)]
        noise = np.sqrt(squares / count)
        if (noise <= 2.0 ** -(asked + _FAR) * np.asarray(sizes)).all():
            break
    found: list[float] = noise.tolist()
    return found


def _exact(program: TensorProgram, inputs: Sequence[Values]) -> list[Values]:
    """The values of all nodes by formulas."""
    with np.errstate(all="ignore"):
        return program.values(inputs, clip=True, formulas=program.approximated)


def _largest_term(program: TensorProgram, at: int, values: Sequence[Values]) -> float:
    """The largest magnitude of what a node is a sum of; 0 where it is no sum."""
    node = program.nodes[at]
    if not isinstance(node.operation, Affine):
        return 0.0
    return max(magnitude(values[each]) for each in node.operands)


def precise(
    make: Callable[[Budget], tuple[_P, TensorProgram]], asked: float, *, far: bool, scales: bool
) -> _P:
    """The program with the precision that was asked for.

    Args:
        make: compiles with a budget; gives the program as it was recorded, too.
        asked: bits of each result.
        far: whether inputs are far from 0, so that clients scale them from the beginning.
        scales: whether clients may.

    Raises:
        PrecisionError: where a result has not the bits, with what it can have, and the line that costs most.
        ParameterError, LevelError, RangeError: of the first program.
    """
    budget, first = _first(make, asked, far and scales)
    best: _Tried[_P] | None = None
    had = budget
    """The budget of the best program."""
    reason: Exception | None = None
    unscaled: list[Budget] = []
    for tries in range(_TRIES):
        try:
            plan, recorded = make(budget) if tries else first
        except (ParameterError, LevelError, RangeError) as error:
            reason = error
            if unscaled:
                budget = unscaled.pop()
            elif best is not None and budget.is_above(had):
                budget = budget.halfway_from(had)
            else:
                break
            continue
        tried = _Tried(plan, recorded, plan._result_errors(asked))
        if tried.worst.bits >= asked - _TOLERANCE:
            return plan
        if best is None or tried.worst.bits > best.worst.bits:
            best, had = tried, budget
        more = tried.raised(budget, asked)
        if more == budget:
            break
        if scales and not more.scaled and tried.has_small(more, budget):
            unscaled.append(more)
            more = replace(more, noise_bits=budget.noise_bits, scaled=True)
        budget = more
    assert best is not None
    raise best.refusal(asked, reason) from reason


def _first(
    make: Callable[[Budget], tuple[_P, TensorProgram]], asked: float, scaled: bool
) -> tuple[Budget, tuple[_P, TensorProgram]]:
    """The first program. Ranges have the errors of approximations in them: where a function is not for such
    values, as 1 / x of a sum of exponentials that come near 0, others are made more precise first."""
    errors: list[RangeError] = []
    for more in _MORE_FOR_RANGES:
        budget = Budget(asked, asked + more, scaled)
        try:
            return budget, make(budget)
        except RangeError as error:
            errors.append(error)
    raise errors[0]


@dataclass(frozen=True)
class _Tried(Generic[_P]):
    """A program that lacks bits."""

    plan: _P
    recorded: TensorProgram
    errors: Sequence[ResultError]

    @property
    def worst(self) -> ResultError:
        return min(self.errors, key=lambda each: each.bits)

    def has_small(self, more: Budget, budget: Budget) -> bool:
        """Whether noise is large next to a small result, in a program that lacks bits by noise."""
        sizes = [each.size for each in self.errors if each.size]
        return more.noise_bits > budget.noise_bits and min(sizes, default=1.0) < _SMALL

    def raised(self, budget: Budget, asked: float) -> Budget:
        """A budget with more bits where results lack them; the same one where nothing gives them more."""
        allowed = {each.name: 2.0**-asked * each.size for each in self.errors if each.size}
        noise_bits = budget.noise_bits
        for each in self.errors:
            if each.size:
                part = (1 - _OF_APPROXIMATIONS) * allowed[each.name]
                noise_bits = max(noise_bits, budget.noise_bits + _bits_above(each.noise, part))
        more = dict(budget.more_bits)
        for places, contributions in self._contributions():
            lacking = max(
                (
                    _bits_above(error, _OF_APPROXIMATIONS * allowed[name] / len(self._groups))
                    for name, error in contributions.items()
                    if name in allowed
                ),
                default=0.0,
            )
            for place in places if lacking > 0 else ():
                more[place] = more.get(place, 0.0) + lacking
        return replace(budget, noise_bits=noise_bits, more_bits=more)

    @cached_property
    def _groups(self) -> list[list[int]]:
        """Functions by their places among those that are approximated: equal ones together, as they become
        one. All together where there are many."""
        nodes = self.recorded.approximated
        found: dict[Any, list[int]] = {}
        for place, at in enumerate(nodes):
            found.setdefault(identity(self.recorded.nodes[at].operation), []).append(place)
        return list(found.values()) if len(found) <= _MOST_GROUPS else [list(range(len(nodes)))]

    def _contributions(self) -> Iterator[tuple[list[int], dict[str, float]]]:
        """For each group of functions the errors of results where no other function has any."""
        inputs = self.plan._draws.inputs
        nodes = self.recorded.approximated
        exact = _exact(self.recorded, inputs) if nodes else []
        for places in self._groups:
            others = set(nodes) - {nodes[place] for place in places}
            with np.errstate(all="ignore"):
                values = self.recorded.values(inputs, clip=True, formulas=others)
            yield (
                places,
                {name: magnitude(values[at] - exact[at]) for name, at in self.recorded.outputs},
            )

    def refusal(self, asked: float, reason: Exception | None) -> PrecisionError:
        """What can be had, and what costs most."""
        worst = self.worst
        bits = f"{worst.bits:.1f} of" if worst.bits > 0 else "none of"
        by_noise = worst.noise >= worst.approximations
        return PrecisionError(
            f"result {worst.name!r}, of values up to {worst.size:.3g}, would have {bits} the {asked:g} bits "
            f"that were asked for: most is lost by {self._noisiest() if by_noise else self._roughest()}. Ask "
            "for fewer bits (precision_bits=), give the inputs narrower ranges (range=, or calibrate=), or "
            "compute it in another way" + (f" ({reason})" if reason else "")
        )

    def _roughest(self) -> str:
        """The function whose approximation costs most."""
        name = self.worst.name
        places, _ = max(self._contributions(), key=lambda each: each[1][name])
        node = self.recorded.nodes[self.recorded.approximated[places[0]]]
        assert isinstance(node.operation, Apply)
        low, high = node.range
        return f"{node.operation.function.name} at {node.where}, with values from {low:.3g} to {high:.3g}"

    def _noisiest(self) -> str:
        """The operation whose noise costs most: that of which the result changes most where values change by
        as much."""
        inputs = [each[:1] for each in self.plan._draws.inputs]
        exact = _exact(self.recorded, inputs)
        output = dict(self.recorded.outputs)[self.worst.name]
        random = np.random.default_rng(0)
        effects = []
        for each in self.recorded.needed([output]):
            noise = _NUDGE * random.standard_normal(exact[each].shape)

            def changed(at: int, values: Values, each: int = each, noise: Values = noise) -> Values:
                return values + noise if at == each else values

            with np.errstate(all="ignore"):
                values = self.recorded.values(
                    inputs, clip=True, formulas=self.recorded.approximated, changed=changed
                )
            effects.append((magnitude(values[output] - exact[output]), each))
        node = self.recorded.nodes[max(effects)[1]]
        return f"noise of {node.where or 'the inputs'}"


def _bits_above(error: float, allowed: float) -> float:
    """By how many bits an error is above what is allowed; 0 where it is not."""
    if not error > allowed:
        return 0.0
    return min(_MOST_MORE, math.log2(error / allowed)) if math.isfinite(error) else _MOST_MORE
