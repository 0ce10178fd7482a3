"""The server: it owns a model, and gets parameters, keys and encrypted rows as bytes, but no secret key."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

import hemera
from hemera_apps.demo.layout import Layout
from hemera_apps.demo.model import IntegerModel, LogisticModel


class Server:
    """Scores encrypted rows with a clear model."""

    def __init__(
        self,
        model: LogisticModel | IntegerModel,
        parameters: bytes,
        keys: bytes,
        *,
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        params = hemera.load_parameters(parameters)
        self._model = model
        self._layout = Layout.of(params)
        context = hemera.Context(params, device, threads=threads)
        self._evaluator = context.bind(context.load(keys))

    def score(self, request: bytes) -> bytes:
        """The encrypted scores of an encrypted request, in the smallest ciphertexts that hold them."""
        rows = self._evaluator.load(request)
        if isinstance(self._model, LogisticModel):
            answer = self._logistic(self._model, rows)
        else:
            answer = self._inner_product(rows, self._model.weights) + self._model.bias
        return bytes(answer.shrink())

    def _inner_product(self, rows: hemera.Ciphertext, weights: NDArray[Any]) -> hemera.Ciphertext:
        """Every slot of a row becomes the sum of weight times feature."""
        total = rows * self._layout.spread(weights)
        for steps in self._layout.rotations:
            total += total.rotate(steps)
        return total

    def _logistic(self, model: LogisticModel, rows: hemera.Ciphertext) -> hemera.Ciphertext:
        """1/2 + z (c1 + c3 z^2 + z^4 (c5 + c7 z^2)) with z = (w x + b) / bound: five levels."""
        z = self._inner_product(rows, model.weights / model.bound) + model.bias / model.bound
        c1, c3, c5, c7 = model.coefficients
        square = z.square()
        high = square.square() * (square * c7 + c5)
        score: hemera.Ciphertext = z * (high + square * c3 + c1) + 0.5
        return score
