"""The noise that encrypted runs of a CKKS program are expected to have, drawn at random, in the clear.

Slots get normal errors after each operation, of the deviation that a rescale, a key switch or an encoding
adds, or of the model of the operation's own plan (`hemera.circuits.Plan.expected_error`). Operations that
follow scale and add errors as they do values, so the program itself is the rule of propagation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hemera.circuits import Function, LinearTransform, PlainMatrixProduct
from hemera.errors import ParameterError
from hemera.parameters import Parameters
from hemera.program import operations as op
from hemera.program.program import Program
from hemera.program.values import Array

__all__ = ["ExpectedNoise"]

_EXACT = (op.Add, op.Subtract, op.Negate, op.AddNumber, op.Take, op.Lower, op.Reordered, op.Joined)
"""These add nothing that counts."""
_OF_ZERO = 0.06
"""The part of a bootstrap's squared error that is left where all values are 0: measured, 0.03 to 0.09."""
_WITH_A_PLAN = (op.OfMatrix, op.OfPolynomial, op.OfNamedFunction, op.Bootstraps)


class ExpectedNoise:
    """Draws of the noise of one program's values.

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
        self._scale: float = params._native.scale
        self._random = np.random.default_rng(seed)

    @staticmethod
    def of_rescale(params: Parameters, slots: int) -> float:
        """The root mean square of the complex error that a rescale or a rotation adds to a slot."""
        weight = params._native.secret_weight or 2 * params.degree / 3
        return math.sqrt(2 * slots * (1 + weight) / 12) / float(params._native.scale)

    def added(self, value: int, x: Array, operands: Sequence[Array]) -> Array:
        """A value of the program with the noise of the operation that made it.

        Args:
            value: its number: inputs first.
            operands: what the operation took; none for inputs.
        """
        x = self.rounded(value, x, operands)
        deviation = self._deviation(value, operands)
        if np.ndim(deviation) == 0 and deviation == 0:
            return x
        # Half of the variance is in the imaginary part, which real values do not keep.
        part = deviation / math.sqrt(2)
        noisy: Array = x + part * self._random.standard_normal(x.shape)
        return noisy + 1j * part * self._random.standard_normal(x.shape) if np.iscomplexobj(x) else noisy

    def rounded(self, value: int, x: Array, operands: Sequence[Array]) -> Array:
        """A value of the program without noise, but with the rounded weights of a matrix. Arguments as of
        `added`."""
        matrix = self._matrix(value)
        return x if matrix is None else matrix[0].rounded(matrix[1], operands[0])

    def _matrix(self, value: int) -> tuple[op.MatrixRows, tuple[PlainMatrixProduct, ...]] | None:
        """The matrix that a value is made by, with its plans, where its rows are ciphertexts."""
        first = len(self._program.inputs)
        node = self._program.nodes[value - first] if value >= first else None
        if node is None or not isinstance(node.operation, op.MatrixRows):
            return None
        return node.operation, node.operation.plan(self._program.place(node, self._params, self._levels))

    def _deviation(self, value: int, operands: Sequence[Array]) -> Any:
        """The root mean square of the complex errors that are new, for all slots or for each."""
        slots = self._program.forms[value].slots
        rounding = self.of_rescale(self._params, slots)
        modelled = encoding = math.sqrt(2 * slots / 12) / self._scale
        first = len(self._program.inputs)
        if value < first:
            return math.hypot(encoding, math.sqrt(2 * slots) * self._params._native.sigma / self._scale)
        node = self._program.nodes[value - first]
        operation = node.operation
        arrays = getattr(operation, "values", ())
        if not any(map(np.iscomplexobj, arrays if isinstance(arrays, tuple) else (arrays,))):
            # Polynomials of real numbers are symmetric, and so are their errors: real, with all the variance.
            encoding *= math.sqrt(2)
        matrix = self._matrix(value)
        if matrix is not None:
            # Rounding of the weights is known, and not drawn.
            own_errors = (
                each.expected_error(0.0)[0] ** 2 - each._native.rounding_of_weights**2 for each in matrix[1]
            )
            return math.sqrt(sum(max(0.0, each) for each in own_errors))
        if isinstance(operation, _WITH_A_PLAN):
            place = self._program.place(node, self._params, self._levels)
            plan = operation.plan(place)
            if isinstance(plan, Function):
                plan = plan.plan(self._params, level=place.level, slots=place.form.slots)
            own = plan.expected_error(0.0)[0]
            # Encoded numbers are as wrong as values are large, of which the models suppose something.
            squares: Any = np.mean(np.abs(operands[0]) ** 2)
            if isinstance(operation, op.Bootstraps):
                # Values are scaled to the interval from -1 to 1, where the model has uniform ones.
                size = min(1.0, 3 * squares / operation.magnitude**2)
                own *= operation.magnitude * math.sqrt(_OF_ZERO + (1 - _OF_ZERO) * size)
                return own * math.sqrt(2) if operation.real else own
            if isinstance(plan, LinearTransform):
                own = math.sqrt(own**2 + plan.diagonals * max(0.0, encoding**2 * squares - modelled**2))
            return own
        if isinstance(operation, op.PairProducts):
            # A slot is a sum of as many entries as a matrix has rows.
            place = self._program.place(node, self._params, self._levels)
            return operation.plan(place).expected_error(0.0)[0] * math.sqrt(place.form.shape[0])
        if isinstance(operation, _EXACT):
            return 0.0
        if isinstance(operation, op.AddArray):
            return encoding
        if isinstance(operation, op.MultiplyNumber):
            # The number is rounded too: by the same part of each slot.
            off = math.sqrt(2 / 12) / self._scale
            return operation.depth * np.hypot(rounding, off * np.abs(operands[0]))
        if isinstance(operation, op.MultiplyArray):
            return np.hypot(rounding, encoding * np.abs(operands[0]))
        if isinstance(operation, op.DotArrays):
            squares = sum(np.abs(each) ** 2 for each in operands)
            return np.sqrt(rounding**2 + encoding**2 * squares)
        if isinstance(operation, op.Sum):
            return rounding * math.sqrt(slots - 1)
        if isinstance(operation, op.Power):
            # The last square's, and those before it, as the power grows with them.
            grown = np.abs(operands[0]) ** max(0, operation.exponent // 2) * operation.exponent / 2
            return rounding * np.hypot(1.0, grown if operation.depth > 1 else 0.0)
        return rounding  # products of values, rotations
