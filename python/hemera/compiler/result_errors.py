"""For each result of a program its size, its errors by approximations of functions and by noise, on draws.

Errors are relative to the result's own largest value, on the samples, or on draws from the inputs' ranges.
docs/compile-algorithms.md#precision has the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.arrays.operations import Affine
from hemera.arrays.recorder import Recorder
from hemera.arrays.sparse_map import RepeatedMap, SparseMap
from hemera.arrays.tensor import TensorProgram
from hemera.compiler.draws import draws, exact_values
from hemera.compiler.specs import ArraySpec
from hemera.parameters import Parameters
from hemera.program.expected_noise import ExpectedNoise

Values = NDArray[Any]

_FEW_DRAWS = 4
_FAR = 6
"""So many bits more than what was asked for are enough, whatever else is drawn."""
_NEAR = 2
"""Where noise has less than so many bits more, the draw with the most is drawn again."""
_LEAST_RUNS, _MORE_RUNS = 8, 24
"""Runs on that draw, and of all such ones."""
_NOISE_VALUES = 8
"""Elements of a result whose noise is drawn, at least."""
_ROUNDING = 2.0**-44
"""A result that is so small next to its summands may be 0 but for the rounding of float64."""
_TOWARDS_MIDDLE = 2.0**-20
"""The part of the way to the middles of ranges that changes a value little, and what is rounding wholly."""
_MOST_GROUPS = 32
"""Functions that are looked at one by one."""
MOST_SLOTS_DRAWN = 1 << 26
"""The most slots of all values of a program on slots, whose noise is drawn there."""
_NUDGE = 2.0**-30
"""The change of values that shows what is sensitive to them."""


@dataclass(frozen=True)
class ResultError:
    """The expected errors of one result."""

    name: str
    size: float
    """The largest magnitude in a few draws."""
    approximations: float
    """The largest error by approximations of functions."""
    noise: float
    """The root mean square of the largest errors by noise."""

    @property
    def bits(self) -> float:
        """The bits of the result, relative to its size."""
        error = self.approximations + self.noise
        if self.size == 0 or error == 0:
            return math.inf
        return -math.log2(error / self.size) if math.isfinite(error) else -math.inf

    def has_little_noise(self, asked: float) -> bool:
        """Whether the noise is far below these bits, even where it is estimated without slots."""
        return bool(self.noise <= 2.0 ** -(asked + 2 * _FAR) * self.size)


def roughly_noisy(program: TensorProgram, params: Parameters, slots: int) -> Callable[..., list[Values]]:
    """A run of one draw in the clear, where each operation adds the noise of a rescale, and maps that of
    their rounded weights: for programs whose slots are too many to be computed."""
    deviation = ExpectedNoise.of_rescale(params, slots) / math.sqrt(2)  # the real part's
    of_weights = ExpectedNoise.of_encoding(params, slots) * math.sqrt(2)  # real, with all the variance
    random = np.random.default_rng(0)
    found: list[Values] = []

    def changed(at: int, values: Values) -> Values:
        node, variance = program.nodes[at], np.full(values.shape, deviation**2)
        if isinstance(node.operation, Affine):
            squares = _squares_of_rounded(node.operation, [found[each] for each in node.operands])
            variance += of_weights**2 * squares.reshape(values.shape)
        found.append(values + np.sqrt(variance) * random.standard_normal(values.shape))
        return found[-1]

    def run(*inputs: Values) -> list[Values]:
        found.clear()
        with np.errstate(all="ignore"):
            values = program.values([each[np.newaxis] for each in inputs], clip=True, changed=changed)
        return [values[at][0] for _, at in program.outputs]

    return run


def _squares_of_rounded(own: Affine, operands: Sequence[Values]) -> Values:
    """For each element of maps the sum of squares of what is multiplied by weights that are not whole."""
    total = np.zeros((len(operands[0]), own.maps[0].outputs))
    for each, x in zip(own.maps, operands, strict=True):
        if (each.weights % 1).any():
            total = total + _with_ones(each).apply(x.reshape(len(x), -1) ** 2)
    return total


def _with_ones(own: SparseMap) -> SparseMap:
    """A map with the same entries, which are 1."""
    if isinstance(own, RepeatedMap):
        return RepeatedMap(own.before, _with_ones(own.one), own.after)
    return replace(own, values=np.ones(len(own.values)))


class Recording:
    """A program as it was recorded, next to the functions' own formulas, on draws of its inputs."""

    def __init__(
        self, recorder: Recorder, specs: Sequence[ArraySpec], examples: Sequence[Values | None]
    ) -> None:
        self.recorder = recorder
        self._program = recorder.program
        pruned = self._program.pruned()
        self._draws = draws(pruned, specs, examples)
        self.one = [each[0] for each in self._draws.inputs]
        """An array for each input."""
        inputs = self._draws.inputs
        exact = values = exact_values(pruned, inputs)
        if pruned.approximated:
            with np.errstate(all="ignore"):
                values = pruned.values(inputs, clip=True)
        self._quiet = [values[at] for _, at in pruned.outputs]
        self.errors = []
        """The error of each result by approximations alone."""
        for name, at in pruned.outputs:
            # A mask that few values make true is 0 in all draws, and has a size nevertheless.
            size = _size(exact[at][: self._draws.sized_by]) or max(map(abs, pruned.nodes[at].range))
            if size <= _ROUNDING * _largest_summand(pruned, at, exact) and self._is_rounding(
                at, exact[at], specs
            ):
                size = 0.0
            self.errors.append(ResultError(name, size, magnitude(values[at] - exact[at]), 0.0))

    def _is_rounding(self, at: int, exact: Values, specs: Sequence[ArraySpec]) -> bool:
        """Whether a small value of a node differs for inputs that are nearly the same, or never."""
        nearly = []
        for spec, x in zip(specs, self._draws.inputs, strict=True):
            assert spec.range is not None
            nearly.append(x + _TOWARDS_MIDDLE * (sum(spec.range) / 2 - x))
        change = magnitude(exact_values(self._program.pruned(), nearly)[at] - exact)
        return change == 0 or change > magnitude(exact) / 2

    def with_noise(self, noisy: Callable[..., Any], asked: float) -> list[ResultError]:
        """The errors with the root mean square of the largest ones of runs on a draw: of draws next to
        bends, of the first one, and of ends of ranges, whichever has the largest.

        Args:
            noisy: a run of one draw in the clear, with noise.
            asked: bits of each result. Noise that is far less next to bends and on the first draw is drawn no
                more, where functions are approximated after draws at both ends of ranges.
        """
        sizes = np.array([each.size for each in self.errors])
        enough, near = (2.0 ** -(asked + far) * sizes for far in (_FAR, _NEAR))
        runs = math.ceil(_NOISE_VALUES / min([each[0].size for each in self._quiet]))
        rows = self._draws.extremes
        squares, counts = np.zeros((len(rows), len(self._quiet))), np.zeros((len(rows), 1))

        def draw(at: int) -> None:
            row = rows[at]
            pairs = zip(listed(noisy(*(each[row] for each in self._draws.inputs))), self._quiet, strict=True)
            with np.errstate(over="ignore"):  # what is beyond all numbers is refused
                squares[at] += np.square([_difference(a, b[row]) for a, b in pairs])
            counts[at] += 1

        for run in range(max(runs, len(rows))):
            draw(run % len(rows))
            if run == self._draws.first_enough and (squares <= enough**2).all():
                break
        means = squares / np.maximum(1, counts)
        for _ in range(_MORE_RUNS):  # where the largest errors may be near enough by chance
            few = [at for at in means.argmax(0) if counts[at] < _LEAST_RUNS and (means[at] > near**2).any()]
            if not few:
                break
            draw(few[0])
            means = squares / np.maximum(1, counts)
        noise = np.sqrt(means.max(0))
        return [replace(each, noise=float(own)) for each, own in zip(self.errors, noise, strict=True)]

    @cached_property
    def groups(self) -> list[list[int]]:
        """Functions by their places among those that are approximated: equal ones together, as they become
        one. All together where there are many."""
        nodes = self._program.approximated
        found: dict[Any, list[int]] = {}
        for place, at in enumerate(nodes):
            found.setdefault(self._program.nodes[at].operation.identity, []).append(place)
        return list(found.values()) if len(found) <= _MOST_GROUPS else [list(range(len(nodes)))]

    def contributions(self) -> Iterator[tuple[list[int], dict[str, float]]]:
        """For each group of functions the errors of results where no other function has any."""
        inputs = self._draws.inputs
        nodes = self._program.approximated
        exact = exact_values(self._program, inputs) if nodes else []
        for places in self.groups:
            others = set(nodes) - {nodes[place] for place in places}
            with np.errstate(all="ignore"):
                values = self._program.values(inputs, clip=True, formulas=others)
            yield (places, {name: magnitude(values[at] - exact[at]) for name, at in self._program.outputs})

    def roughest(self, name: str) -> str:
        """The function whose approximation costs a result most."""
        places, _ = max(self.contributions(), key=lambda each: each[1][name])
        node = self._program.nodes[self._program.approximated[places[0]]]
        low, high = node.range
        return f"{node.title} at {node.where}, with values from {low:.3g} to {high:.3g}"

    def noisiest(self, name: str) -> str:
        """The operation whose noise costs a result most: that of which it changes most where values change
        by as much."""
        program = self._program
        inputs = [each[:1] for each in self._draws.inputs]
        exact = exact_values(program, inputs)
        output = dict(program.outputs)[name]
        random = np.random.default_rng(0)
        effects = []
        for each in program.needed([output]):
            noise = _NUDGE * random.standard_normal(exact[each].shape)

            def changed(at: int, values: Values, each: int = each, noise: Values = noise) -> Values:
                return values + noise if at == each else values

            with np.errstate(all="ignore"):
                values = program.values(inputs, clip=True, formulas=program.approximated, changed=changed)
            effects.append((magnitude(values[output] - exact[output]), each))
        return f"noise of {program.nodes[max(effects)[1]].where or 'the inputs'}"


def listed(result: Any) -> list[Values]:
    """The results of a function: an array, or a sequence or a dict of them."""
    if isinstance(result, dict):
        return [np.asarray(each) for each in result.values()]
    if isinstance(result, (list, tuple)):
        return [np.asarray(each) for each in result]
    return [np.asarray(result)]


def magnitude(values: Values) -> float:
    """The largest one that is no NaN."""
    # The magnitude of an array of objects without axes is a plain number.
    sizes = np.asarray(np.abs(values))
    return float(sizes[sizes == sizes].max(initial=0.0))


def _difference(a: Values, b: Values) -> float:
    """The largest one; infinity where one number alone is NaN."""
    return math.inf if ((a != a) != (b != b)).any() else magnitude(a - b)


def _size(values: Values) -> float:
    """How large a result is: the largest magnitude in a few draws, as a few others will have it, too; at
    least a quarter of the largest in all."""
    of_draws = np.abs(values).reshape(len(values), -1).max(axis=1)
    few = [float(each.max()) for each in np.array_split(of_draws, max(1, len(of_draws) // _FEW_DRAWS))]
    middle = sorted(few)[(len(few) - 1) // 2 : len(few) // 2 + 1]  # np.median would import numpy.ma
    return max(sum(middle) / len(middle), 0.25 * max(few))


def _largest_summand(program: TensorProgram, at: int, values: Sequence[Values]) -> float:
    """The magnitude of the terms of a sum that a node may be; 0 for other nodes."""
    node = program.nodes[at]
    if not isinstance(node.operation, Affine):
        return 0.0
    pairs = zip(node.operands, node.operation.maps, strict=True)
    return max(magnitude(own.values) * magnitude(values[each]) for each, own in pairs)
