"""The clear side: scikit-learn's breast-cancer table and logistic models trained on half of it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import ParameterError
from hemera_apps._extras import how_to_install

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CLIP = 2.0
"""Standardised features are clipped to [-CLIP, CLIP], so the score of any input has a bound."""
SIGMOID_DEGREE = 7
FEATURE_STEPS = 32
"""The quantisation steps of a feature in a standard deviation."""
LARGEST_WEIGHT = 127


def _sklearn(module: str) -> Any:
    """A module of scikit-learn, which only the demo needs. ParameterError if it is not installed."""
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError:
        raise ParameterError(f"the demo needs scikit-learn: {how_to_install('demo')}") from None


@dataclass(frozen=True)
class Table:
    """A table: half of it for training, half held out."""

    train: Floats
    train_labels: Integers
    held_out: Floats
    labels: Integers

    @classmethod
    def load(cls, seed: int) -> Table:
        """The table that comes with scikit-learn (569 tumours, 30 features), split by `seed`.

        Raises:
            ParameterError: if scikit-learn is not installed.
        """
        data = _sklearn("datasets").load_breast_cancer()
        train, held_out, train_labels, labels = _sklearn("model_selection").train_test_split(
            data.data, data.target, test_size=0.5, random_state=seed, stratify=data.target
        )
        return cls(train, train_labels, held_out, labels)


@dataclass(frozen=True)
class Preparation:
    """The public preparation of a client's rows before encryption."""

    mean: Floats
    deviation: Floats

    def apply(self, rows: Floats) -> Floats:
        """Standardised and clipped features."""
        clipped: Floats = np.clip((rows - self.mean) / self.deviation, -CLIP, CLIP)
        return clipped

    def quantise(self, rows: Floats) -> Integers:
        """Standardised and clipped features as integers, FEATURE_STEPS to a standard deviation."""
        return np.rint(self.apply(rows) * FEATURE_STEPS).astype(np.int64)


@dataclass(frozen=True)
class LogisticModel:
    """score = p((w x + b) / bound). p(z), an odd polynomial plus 1/2, is close to sigmoid(bound z) on [-1,
    1]. `bound` is the largest possible |w x + b|, so no input leaves the range."""

    weights: Floats
    bias: float
    bound: float
    coefficients: Floats
    """The coefficients of z, z^3, z^5, z^7."""

    def logits(self, prepared: Floats) -> Floats:
        """w x + b, shape (rows,)."""
        logits: Floats = prepared @ self.weights + self.bias
        return logits

    def scores(self, prepared: Floats) -> Floats:
        """The polynomial score in the clear. The server computes the same."""
        z = self.logits(prepared) / self.bound
        square = z * z
        c1, c3, c5, c7 = self.coefficients
        scores: Floats = 0.5 + z * (c1 + c3 * square + square * square * (c5 + c7 * square))
        return scores

    def probabilities(self, prepared: Floats) -> Floats:
        """The exact sigmoid of the logits."""
        return 1 / (1 + np.exp(-self.logits(prepared)))


@dataclass(frozen=True)
class IntegerModel:
    """score = w x + b on integers; a tumour is classed by its sign."""

    weights: Integers
    bias: int

    @property
    def bound(self) -> int:
        """The largest |score| of any input."""
        return int(CLIP * FEATURE_STEPS * np.abs(self.weights).sum()) + abs(self.bias)

    def scores(self, quantised: Integers) -> Integers:
        """The integer score in the clear, shape (rows,)."""
        scores: Integers = quantised @ self.weights + self.bias
        return scores


def train(table: Table) -> tuple[Preparation, LogisticModel, IntegerModel]:
    """Fit the models to the training half."""
    preparation = Preparation(table.train.mean(axis=0), table.train.std(axis=0))
    regression = _sklearn("linear_model").LogisticRegression(C=0.05, max_iter=1000)
    regression.fit(preparation.apply(table.train), table.train_labels)
    weights: Floats = regression.coef_[0]
    bias = float(regression.intercept_[0])
    bound = CLIP * float(np.abs(weights).sum()) + abs(bias)
    logistic = LogisticModel(weights, bias, bound, sigmoid_coefficients(bound))

    step = LARGEST_WEIGHT / float(np.abs(weights).max())
    integer = IntegerModel(np.rint(weights * step).astype(np.int64), round(bias * step * FEATURE_STEPS))
    return preparation, logistic, integer


def sigmoid_coefficients(bound: float) -> Floats:
    """Odd coefficients of the polynomial nearest to sigmoid(bound z) - 1/2 at Chebyshev points of [-1, 1]."""
    points = np.cos(np.pi * (np.arange(1000) + 0.5) / 1000)
    values = 1 / (1 + np.exp(-bound * points)) - 0.5
    series = np.polynomial.chebyshev.chebfit(points, values, SIGMOID_DEGREE)
    return np.asarray(np.polynomial.chebyshev.cheb2poly(series)[1::2], dtype=np.float64)
