"""Inputs by which errors of results are estimated: samples or uniform draws, ends of ranges, inputs next to
where functions bend, as `numpy.maximum` does where its operands are equal, and those of a search for errors.
The band between two bends may be so narrow a part of a range that no draw is in it, and all results be the
same elsewhere. Sums of many elements are never near their least by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.facts import distinct, multiples_within
from hemera.arrays.operations import Affine, Apply
from hemera.arrays.tensor import TensorProgram
from hemera.compiler.specs import ArraySpec

Values = NDArray[Any]

_MOST_DRAWS = 64
_DRAWS_OF_SIZES = 16
"""Where no function is approximated."""
_MOST_VALUES = 1 << 18
"""The most values of all nodes and draws together, unless a single draw has more."""
_AT_ZERO = ("abs", "leaky_relu", "maximum", "relu")
"""Functions that bend where their operand, or the difference of their operands, is 0."""
_BISECTIONS = 44
_DISTANCES = np.array([0.0, *(sign * 4.0**-at for at in range(1, 23) for sign in (-1, 1))])
"""From a bend, as parts of the way between two draws on its sides."""
_MOST_NOISY = 3
"""Bends next to which noise is drawn."""
_ROUNDS, _KEPT = 4, 4
"""Times that inputs are changed in a search, and how many of the worst of each kind go on."""
_NUDGE = 2.0**-36
"""The change of values that shows where results are sensitive to it."""


@dataclass(frozen=True)
class Draws:
    """Inputs by which errors of results are estimated."""

    inputs: list[Values]
    """Each of shape (draws, *shape)."""
    sized_by: int
    """How many of the draws, the first ones, sizes of results are of."""
    plain: int
    """How many of them are samples, uniform, or at ends of ranges; others are next to bends, or searched."""
    worst: tuple[int, ...] = ()
    """Numbers of some of the others, where errors are largest."""
    is_approximated: bool = False
    """Whether functions are approximated: their slopes, and so noise, are often largest at ends of ranges."""

    @property
    def extremes(self) -> list[int]:
        """The numbers of some draws that differ: the worst, the first one, and those at the ends of ranges;
        of samples some of them."""
        ends = range(self.sized_by, min(self.sized_by + 3, self.plain))
        plain = [0, *ends] if ends else sorted({at * (self.plain - 1) // 3 for at in range(4)})
        return [*self.worst, *plain]

    @property
    def first_enough(self) -> int:
        """The number of the extreme up to which noise is drawn at least."""
        return len(self.worst) + (min(2, self.plain - self.sized_by) if self.is_approximated else 0)


def draws(program: TensorProgram, specs: Sequence[ArraySpec], examples: Sequence[Values | None]) -> Draws:
    """Samples, or uniform draws, ends of ranges and those of a search; and draws next to bends."""
    total = sum([math.prod(node.shape) for node in program.nodes])
    most = _MOST_DRAWS if program.approximated else _DRAWS_OF_SIZES
    count = max(1, min(most, _MOST_VALUES // total))
    given = [each for each in examples if each is not None]
    if len(given) == len(specs):
        places = np.linspace(0, len(given[0]) - 1, min(count, len(given[0]))).astype(int)
        found = Draws([each[places] for each in given], len(places), len(places))
    else:
        random = np.random.default_rng(0)
        ends = count // 4
        found = Draws([_drawn(spec, count, ends, random) for spec in specs], count, count + ends)
    found = _with_bends(program, replace(found, is_approximated=bool(program.approximated)), specs)
    has_ends = found.plain > found.sized_by + 1
    return _with_searched(program, found, specs) if found.is_approximated and has_ends else found


def one_draw(specs: Sequence[ArraySpec]) -> list[Values]:
    """An array for each input, uniform in its range; of int64 where the step is whole."""
    random = np.random.default_rng(0)
    found = [_drawn(spec, 1, 0, random)[0] for spec in specs]
    return [
        np.asarray(x, np.int64 if own.step is not None and own.step % 1 == 0 else np.float64)
        for x, own in zip(found, specs, strict=True)
    ]


def draws_of_equal(specs: Sequence[ArraySpec]) -> list[Values]:
    """Uniform draws in which all elements of an input are equal, at the upper end of its range: of each input
    in turn, and then of all. Truth values are never equal."""
    random, count = np.random.default_rng(0), len(specs) + 1
    found = [_drawn(spec, count, 0, random) for spec in specs]
    for at, (own, spec) in enumerate(zip(found, specs, strict=True)):
        if spec.range != (0, 1) or spec.step != 1:
            own[[at, -1]] = _on_step(np.full(own.shape[1:], (spec.range or (0, 0))[1]), spec)
    return found


def _drawn(spec: ArraySpec, count: int, ends: int, random: np.random.Generator) -> Values:
    """Uniform draws, and ends of the range: all at one end first, then each element at any."""
    assert spec.range is not None
    low, high = spec.range
    inside = random.uniform(low, high, (count, *spec.shape))
    at_ends = random.choice([low, high], (ends, *spec.shape))
    at_ends[:1], at_ends[1:2] = low, high
    return _on_step(np.concatenate([inside, at_ends]), spec)


def _on_step(values: Values, spec: ArraySpec) -> Values:
    """The nearest multiples of the step of an input, if it has one."""
    if spec.step is None:
        return values
    assert spec.range is not None
    return np.clip(spec.step * np.rint(values / spec.step), *multiples_within(*spec.range, spec.step))


@dataclass(frozen=True)
class _Bend:
    """Where a function bends: the difference of its operands, or its operand, less a number is 0 there."""

    operands: tuple[int, ...]
    number: float

    @classmethod
    def all_of(cls, program: TensorProgram) -> Iterator[_Bend]:
        """The bends of all functions."""
        for node in program.nodes:
            function = node.operation.function if isinstance(node.operation, Apply) else None
            if function is None or function.recipe is None:
                continue
            if function.name in _AT_ZERO:
                yield cls(node.operands, 0.0)
            elif function.name == "clip" or "clip" in function.recipe:
                yield from (cls(node.operands, function.recipe[end]) for end in ("low", "high"))

    def distances(self, values: Sequence[Values]) -> Values:
        """From the bend, with signs, of shape (draws, size), for the values of all nodes."""
        found, *others = (values[at].reshape(len(values[at]), -1) for at in self.operands)
        return np.asarray(found - (others[0] if others else 0.0) - self.number)


def _with_bends(program: TensorProgram, found: Draws, specs: Sequence[ArraySpec]) -> Draws:
    """More draws, next to bends that lie between two of those that there are, element by element. Bends may
    be met in draws next to others alone."""
    inputs, left = found.inputs, list(_Bend.all_of(program))
    ways: list[tuple[_Bend, int, int, int]] = []
    while left:
        values = exact_values(program, inputs)
        more, far = list[tuple[_Bend, int, int, int]](), list[_Bend]()
        for bend in left:
            crossed = list(_crossed(bend.distances(values)))
            more += [(bend, *each) for each in crossed]
            far += [] if crossed else [bend]
        if not more:
            break
        rows = _next_to(program, inputs, more, specs)
        inputs = [np.concatenate(each) for each in zip(inputs, rows, strict=True)]
        ways, left = ways + more, far
    bent = _worst(program, inputs, found.plain, len(ways)) if ways else ()
    return replace(found, inputs=inputs, worst=bent)


def _crossed(distances: Values) -> Iterator[tuple[int, int, int]]:
    """Some elements that are on both sides of a bend, each with the draws that are nearest on each side."""
    below, above = (np.where(each < 0, each, -np.inf) for each in (distances, -distances))
    elements = np.flatnonzero(np.isfinite(below).any(0) & np.isfinite(above).any(0))
    for element in distinct(elements[[0, -1]]) if len(elements) else ():
        yield int(element), int(below[:, element].argmax()), int(above[:, element].argmax())


def _next_to(
    program: TensorProgram,
    inputs: Sequence[Values],
    ways: Sequence[tuple[_Bend, int, int, int]],
    specs: Sequence[ArraySpec],
) -> list[Values]:
    """Inputs at bends, and at distances from them, each on the way from one draw to another one: of shape
    (ways * distances, *shape)."""
    _, _, lows, highs = zip(*ways, strict=True)
    ends = [(each[list(lows)], each[list(highs)]) for each in inputs]

    def between(parts: Values) -> list[Values]:
        """At these parts of each way, of shape (ways, count)."""
        found = []
        for (low, high), spec in zip(ends, specs, strict=True):
            own = parts.reshape(*parts.shape, *[1] * (low.ndim - 1))
            values = low[:, None] + own * (high - low)[:, None]
            found.append(_on_step(values.reshape(-1, *low.shape[1:]), spec))
        return found

    least, most = np.zeros((len(ways), 1)), np.ones((len(ways), 1))
    for _ in range(_BISECTIONS):
        middle = (least + most) / 2
        values = exact_values(program, between(middle))
        for way, (bend, element, _, _) in enumerate(ways):
            is_below = bend.distances(values)[way, element] < 0
            (least if is_below else most)[way] = middle[way]
    return between(np.clip(least + _DISTANCES, 0, 1))


def _worst(program: TensorProgram, inputs: Sequence[Values], first: int, ways: int) -> tuple[int, ...]:
    """Some of the draws from `first` on, as many next to each bend: where results have the largest error by
    approximations, and where small changes of values and of weights change them most."""
    errors, changes = _errors_and_changes(program, [each[first:] for each in inputs])
    changes = changes.reshape(ways, -1)
    order = np.argsort(-changes.max(1), kind="stable")[:_MOST_NOISY]
    sensitive = order * changes.shape[1] + changes.argmax(1)[order]
    return tuple(first + at for at in dict.fromkeys([int(errors.argmax()), *sensitive.tolist()]))


def _errors_and_changes(program: TensorProgram, inputs: Sequence[Values]) -> tuple[Values, Values]:
    """The largest error of each draw by approximations, and the largest change by small ones of values and of
    weights, as parts of those of all draws."""
    exact = exact_values(program, inputs)
    random = np.random.default_rng(0)

    def changed(at: int, values: Values) -> Values:
        node = program.nodes[at]
        weighed = isinstance(node.operation, Affine) and node.operation.depth
        operands = [_largest_of_each(exact[each]) for each in node.operands] if weighed else []
        size = np.maximum.reduce([np.ones(len(values)), *operands]).reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(values + _NUDGE * size * random.standard_normal(values.shape))

    def errors(**options: Any) -> Values:
        with np.errstate(all="ignore"):
            values = program.values(inputs, clip=True, **options)
            of_results = [_largest_of_each(values[at] - exact[at]) for _, at in program.outputs]
            parts = [np.nan_to_num(own / (own.max() or 1.0), nan=1.0) for own in of_results]
        return np.asarray(np.max(parts, axis=0))

    return errors(), errors(formulas=program.approximated, changed=changed)


def _with_searched(program: TensorProgram, found: Draws, specs: Sequence[ArraySpec]) -> Draws:
    """More draws, where errors are large: elements are changed, and of the worst ones again. The first ones
    have all elements at an end, or next to 0, or are uniform."""
    random, count = np.random.default_rng(1), found.sized_by
    inputs = [each[[count, count + 1, 0, 0]] for each in found.inputs]
    for each, spec in zip(inputs, specs, strict=True):
        each[2:3] = _on_step(np.clip(np.zeros_like(each[2:3]), *(spec.range or (0, 0))), spec)
    for _ in range(_ROUNDS):
        parents = random.integers(len(inputs[0]), size=count)
        more = [_changed(each[parents], spec, random) for each, spec in zip(inputs, specs, strict=True)]
        inputs = [np.concatenate(each) for each in zip(inputs, more, strict=True)]
        orders = [np.argsort(-each, kind="stable")[:_KEPT] for each in _errors_and_changes(program, inputs)]
        kept = list(dict.fromkeys(np.ravel(orders, order="F").tolist()))
        inputs = [each[kept] for each in inputs]
    first = len(found.inputs[0])
    rows = [np.concatenate(each) for each in zip(found.inputs, inputs, strict=True)]
    return replace(found, inputs=rows, worst=(*found.worst, first, first + 1))


def _changed(draws: Values, spec: ArraySpec, random: np.random.Generator) -> Values:
    """Draws with elements of some of these changed, few or many, a little or to anything in the range."""
    low, high = spec.range or (0, 0)
    each = (len(draws), *[1] * (draws.ndim - 1))
    steps = 4.0 ** -random.integers(1, 12, size=each) * random.standard_normal(draws.shape)
    others = np.clip(draws + (high - low) * steps, low, high)
    others = np.where(random.integers(2, size=each), others, random.uniform(low, high, draws.shape))
    are_changed = random.uniform(size=draws.shape) < 0.5 ** random.integers(7, size=each)
    return _on_step(np.where(are_changed, others, draws), spec)


def _largest_of_each(values: Values) -> Values:
    """The largest magnitude of each draw."""
    found = np.abs(values).reshape(len(values), -1).max(axis=1)
    return np.asarray(np.where(found == found, found, np.inf))


def exact_values(program: TensorProgram, inputs: Sequence[Values]) -> list[Values]:
    """The values of all nodes by formulas."""
    with np.errstate(all="ignore"):
        return program.values(inputs, clip=True, formulas=program.approximated)
