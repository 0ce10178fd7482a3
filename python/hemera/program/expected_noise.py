"""Draws of the noise that encrypted runs of a CKKS program are expected to have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hemera.errors import ParameterError
from hemera.parameters import Parameters
from hemera.program.operations import Operation, Place
from hemera.program.operations.places import encoding_of, rounding_of
from hemera.program.program import Node, Program
from hemera.program.values import Array

_MOST_ROUNDINGS = 2.0**12
"""The noise, in roundings, that operands are sure to stay below: it need not be followed."""


class ExpectedNoise:
    """Draws of the noise that encrypted runs of a CKKS program are expected to have, for values in the
    clear.

    Slots get normal errors after each operation, of the deviation that a rescale, a key switch or an encoding
    adds, or of the model of the operation's own plan (`hemera.circuits.Plan.expected_error`). Operations that
    follow scale and add errors as they do values, so the program itself is the rule of propagation.

    Args:
        program: of CKKS.
        params: that it runs with.
        seed: of the draws.

    Raises:
        ParameterError: for another scheme, whose results are exact.
        LevelError: where the parameters have too few levels.
    """

    def __init__(self, program: Program, params: Parameters, seed: int = 0) -> None:
        if program.scheme != "ckks":
            raise ParameterError(
                f"programs of {program.scheme.upper()} are exact: they have no expected noise"
            )
        self._program, self._params = program, params
        self._levels = program.levels(params)
        self._random = np.random.default_rng(seed)
        made = enumerate(program.nodes, len(program.inputs))
        self._watched = {value: node.operands for value, node in made if self._hangs_on_noise(node)}
        """The operands whose noise counts, by the value that is made of them."""
        watched = [each for operands in self._watched.values() for each in operands]
        self._quiet: dict[int, Array | None] = dict.fromkeys(watched)
        """These operands without noise, of the run that follows."""
        self._squares: dict[int, list[float]] = {at: [] for at in watched}
        """Mean squares of the noise that these had in runs."""

    of_rescale = staticmethod(rounding_of)
    of_encoding = staticmethod(encoding_of)

    def _hangs_on_noise(self, node: Node) -> bool:
        """Whether an operation's own noise depends on that of its operands, or they may have too much."""
        place = self._program.place(node, self._params, self._levels)
        most = _MOST_ROUNDINGS * place.rounding * place.copies
        return node.operation.is_frail or node.operation.most_noise < most

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The program's outputs with noise, for inputs in the clear."""
        if self._quiet:
            self._follow(inputs)
        return self._program.evaluate_clear(inputs, changed=self.added, met=self.met, clip=True)

    def _follow(self, inputs: Sequence[Array]) -> None:
        """Note what a run is without noise, on which an operation's own noise depends."""

        def noted(value: int, x: Array, _: Sequence[Array]) -> Array:
            if value in self._quiet:
                self._quiet[value] = x
            return x

        self._program.evaluate_clear(inputs, changed=noted, clip=True)

    def _error_of(self, value: int, x: Array) -> float:
        """The root mean square of the noise of a value in the runs so far."""
        quiet, squares = self._quiet[value], self._squares[value]
        if quiet is not None:
            squares.append(float(np.mean(np.square(np.abs(x - quiet)))))
        return math.sqrt(sum(squares) / max(1, len(squares)))

    def added(self, value: int, x: Array, operands: Sequence[Array]) -> Array:
        """A value of the program with the noise of the operation that made it.

        Args:
            value: its number: inputs first.
            operands: what the operation took; none for inputs.
        """
        operation, place = self._made(value)
        if operation is None:
            of_key = math.sqrt(2 * place.form.slots) * self._params._native.sigma / self._params._native.scale
            deviation: Any = math.hypot(place.complex_encoding, of_key)
        else:
            x = operation.rounded_result(place, x, *operands)
            error = math.hypot(*map(self._error_of, self._watched.get(value, ()), operands))
            # Each copy of a slot has its own noise, of which the value is the mean.
            if error * place.copies > operation.most_noise:  # at least one grows to anything
                deviation = 1 + float(np.abs(x).max(initial=0.0))
            elif operation.is_frail:
                deviation = operation.worst_noise(place, error)
            else:
                deviation = operation.noise(place, *operands)
        return self._with_noise(x, deviation) if np.any(deviation) else x

    def met(self, node: Node, xs: list[Array]) -> list[Array]:
        """The operands of a node with the noise of rescales that bring those of a product to its level. Sums
        have none: their operands may wait for a rescale together."""
        place = self._program.place(node, self._params, self._levels)
        met = (self._levels[at] == place.level or not node.operation.depth for at in node.operands)
        return [x if own else self._with_noise(x, place.rounding) for own, x in zip(met, xs, strict=True)]

    def _with_noise(self, x: Array, deviation: Any) -> Array:
        # Half of the variance is in the imaginary part, which real values do not keep.
        part = deviation / math.sqrt(2)
        noisy: Array = x + part * self._random.standard_normal(x.shape)
        return noisy + 1j * part * self._random.standard_normal(x.shape) if np.iscomplexobj(x) else noisy

    def rounded(self, value: int, x: Array, operands: Sequence[Array]) -> Array:
        """A value of the program without noise, but with the rounded weights of a matrix. Arguments as of
        `added`."""
        operation, place = self._made(value)
        return x if operation is None else operation.rounded_result(place, x, *operands)

    def _made(self, value: int) -> tuple[Operation | None, Place]:
        """The operation that made a value, with its place; none for inputs."""
        at = value - len(self._program.inputs)
        if at < 0:
            return None, Place(self._params, self._levels[value], self._program.forms[value])
        node = self._program.nodes[at]
        return node.operation, self._program.place(node, self._params, self._levels)
