"""Linear and logistic models as packages: scores of many features, several rows in a ciphertext (CKKS).

Each row lies in a block of slots. One score is a product by the weights and a sum of the block by doubling. K
scores are the block-diagonal matrix of the weights, by its K + F - 1 diagonals with baby and giant steps
(S. Halevi and V. Shoup, ePrint 2014/106), and come in the first K slots of the block: one level either way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import ckks
from hemera.errors import FileError, FormatError, MismatchError, ParameterError
from hemera.serving.encodings import READINGS, Rows
from hemera.serving.exporting import package
from hemera.serving.package import Package
from hemera.serving.specs import InputSpec, OutputSpec
from hemera.serving.tracing import Symbol, dot, record
from hemera.serving.values import Form

__all__ = ["LinearModel", "export_linear"]

Floats = NDArray[np.float64]
CLIP = 16.0
"""Standardised features are brought into [-CLIP, CLIP]."""


@dataclass(frozen=True)
class LinearModel:
    """scores = ((x - mean) / deviation) @ coefficients.T + intercept, and what they stand for."""

    coefficients: Floats
    """Shape (scores, features)."""
    intercept: Floats
    """Shape (scores,)."""
    mean: Floats
    """Shape (features,)."""
    deviation: Floats
    """Shape (features,), above 0."""
    read: str = "values"
    """How clients read the scores: "values" (a regression), "sigmoid" (two classes), "softmax", "sign",
    "argmax"."""
    names: tuple[str, ...] = ()
    """Of the features."""

    @classmethod
    def of(
        cls,
        coefficients: ArrayLike,
        intercept: ArrayLike = 0.0,
        *,
        mean: ArrayLike = 0.0,
        deviation: ArrayLike = 1.0,
        read: str = "values",
        names: Sequence[str] = (),
    ) -> LinearModel:
        """From arrays, checked. MismatchError for shapes that do not fit, ParameterError for values that are
        not finite or a deviation of 0."""
        weights = np.atleast_2d(np.asarray(coefficients, np.float64))
        scores, features = weights.shape if weights.ndim == 2 else (0, 0)
        try:
            found = cls(
                weights,
                np.array(np.broadcast_to(np.asarray(intercept, np.float64), (scores,))),
                np.array(np.broadcast_to(np.asarray(mean, np.float64), (features,))),
                np.array(np.broadcast_to(np.asarray(deviation, np.float64), (features,))),
                read,
                tuple(map(str, names)),
            )
        except ValueError:
            raise MismatchError(
                f"coefficients of shape {weights.shape} do not fit the intercept, mean or deviation"
            ) from None
        if features == 0 or len(found.names) not in (0, features):
            raise MismatchError(f"{len(found.names)} names and {features} features")
        parts = (found.coefficients, found.intercept, found.mean, found.deviation)
        if not all(np.isfinite(part).all() for part in parts) or (found.deviation <= 0).any():
            raise ParameterError("coefficients must be finite, and deviations above 0")
        if read not in READINGS:
            raise ParameterError(f"scores are read as one of {', '.join(READINGS)}, not {read!r}")
        return found

    @classmethod
    def of_sklearn(cls, model: Any) -> LinearModel:
        """From a fitted linear model of scikit-learn (LogisticRegression, LinearRegression, Ridge, LinearSVC,
        ...), or a Pipeline of a StandardScaler and one. ParameterError for anything else."""
        steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
        last = steps[-1]
        scalers = steps[:-1]
        if not hasattr(last, "coef_") or len(scalers) > 1 or any(not hasattr(s, "scale_") for s in scalers):
            named = " and ".join(type(step).__name__ for step in steps)
            raise ParameterError(
                f"{named}: a linear model of scikit-learn that is fitted is needed, or a Pipeline of a "
                "StandardScaler and one"
            )
        mean, deviation = 0.0, 1.0
        if scalers:
            mean = 0.0 if getattr(scalers[0], "mean_", None) is None else scalers[0].mean_
            deviation = 1.0 if scalers[0].scale_ is None else scalers[0].scale_
        scores = np.atleast_2d(last.coef_).shape[0]
        if hasattr(last, "predict_proba"):
            read = "sigmoid" if scores == 1 else "softmax"
        elif hasattr(last, "classes_"):
            read = "sign" if scores == 1 else "argmax"
        else:
            read = "values"
        names = getattr(steps[0], "feature_names_in_", ())
        return cls.of(last.coef_, last.intercept_, mean=mean, deviation=deviation, read=read, names=names)

    @classmethod
    def from_json(cls, path: str | Path) -> LinearModel:
        """From a JSON file: {"coefficients": [...] or [[...], ...], "intercept", "mean", "deviation", "read",
        "names"}; all but the first may be missing.

        Raises:
            FileError: when it can not be read.
            FormatError: when it is something else.
        """
        try:
            fields = json.loads(Path(path).read_text(encoding="utf-8"))
            given = {str(key): value for key, value in fields.items()}
            return cls.of(given.pop("coefficients"), given.pop("intercept", 0.0), **given)
        except OSError as error:
            raise FileError(f"cannot read {path}: {error.strerror or error}") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"{path}: no linear model: {error}") from None

    @property
    def features(self) -> int:
        """How many a row has."""
        return int(self.coefficients.shape[1])

    def scores(self, rows: ArrayLike) -> Floats:
        """The scores in the clear, shape (rows, scores)."""
        scaled = (np.asarray(rows, np.float64) - self.mean) / self.deviation
        return np.asarray(scaled @ self.coefficients.T + self.intercept)


def export_linear(
    model: LinearModel | Any,
    *,
    name: str,
    description: str = "",
    clip: float = CLIP,
    scale_bits: int = 40,
    degree: int = 0,
    security: int | None = 128,
) -> Package:
    """Package a linear or logistic model: one product by plain weights, and a sum over each row's block of
    slots. Clients standardise their rows, and read probabilities of the decrypted scores.

    Args:
        model: a `LinearModel`, or a fitted one of scikit-learn (`LinearModel.of_sklearn`).
        clip: standardised features are brought into [-clip, clip].
        scale_bits, degree, security: of `hemera.ckks.Parameters.for_circuit`.
    """
    linear = model if isinstance(model, LinearModel) else LinearModel.of_sklearn(model)
    if not clip > 0:
        raise ParameterError(f"clip must be above 0, not {clip}")
    block = 1 << (max(linear.coefficients.shape) - 1).bit_length()
    # As large as any sum of a block may be, of this row and the next one.
    largest = 2 * clip * float(np.abs(linear.coefficients).sum(axis=1).max())
    largest += clip + float(np.abs(linear.intercept).max())
    params = ckks.Parameters.for_circuit(
        1, scale_bits=scale_bits, slots=block, largest=largest, degree=degree, security=security
    )
    slots = params.max_slots

    def circuit(x: Symbol) -> Symbol:
        if len(linear.coefficients) == 1:
            return _one_score(x, linear.coefficients[0], block) + float(linear.intercept[0])
        return _many_scores(x, linear.coefficients, block) + _everywhere(linear.intercept, block, slots)

    program, _ = record(circuit, "ckks", [Form(slots)])
    return package(
        program,
        [InputSpec("rows", slots, slots, low=-clip, high=clip)],
        [OutputSpec("scores", slots, read=linear.read)],
        params,
        name=name,
        description=description,
        encoding=Rows(
            tuple(linear.mean.tolist()),
            tuple(linear.deviation.tolist()),
            clip,
            block,
            len(linear.coefficients),
            linear.names,
        ),
    )


def _everywhere(values: Floats, block: int, slots: int) -> Floats:
    """Values in the first slots of every block, zeros in the others."""
    return np.tile(np.pad(values, (0, block - len(values))), slots // block)


def _one_score(x: Symbol, weights: Floats, block: int) -> Symbol:
    """Sums of blocks in their first slots; the others have sums that run on into the next block."""
    return (x * _everywhere(weights, block, x.slots)).inner_sum(block)


def _many_scores(x: Symbol, weights: Floats, block: int) -> Symbol:
    """Score k in slot k of each block, and 0 in the others."""
    scores, features = weights.shape
    count = scores + features - 1
    # With slots turned to the right by scores - 1, diagonal d takes feature k + d - (scores - 1) to score k.
    turned = x.rotate(1 - scores)
    diagonals = []
    for d in range(count):
        of_scores = np.arange(scores) + d - (scores - 1)
        there = (of_scores >= 0) & (of_scores < features)
        taken = np.where(there, weights[np.arange(scores), np.clip(of_scores, 0, features - 1)], 0.0)
        diagonals.append(_everywhere(taken, block, x.slots))
    baby = 1 << (count.bit_length() // 2)
    steps = [turned.rotate(i) for i in range(min(baby, count))]
    total: Symbol | None = None
    for giant in range(0, count, baby):
        own = [np.roll(diagonal, giant) for diagonal in diagonals[giant : giant + baby]]
        part = dot(steps[: len(own)], own).rotate(giant)
        total = part if total is None else total + part
    assert total is not None
    return total
