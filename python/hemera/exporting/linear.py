"""Linear and logistic models of arrays: what `hemera.compile` takes where there is no estimator."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import FileError, MismatchError, ParameterError
from hemera.exporting.estimators import Scaled
from hemera.inputs.fields import damaged
from hemera.inputs.plain import plain_array
from hemera.package.specs import READINGS, Labels, read_as
from hemera.program.values import Array

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LinearModel:
    """scores = ((clip(x, low, high) - mean) / deviation) @ coefficients.T + intercept, and what they stand
    for."""

    coefficients: Floats
    """Shape (scores, features)."""
    intercept: Floats
    """Shape (scores,)."""
    mean: Floats
    """Shape (features,)."""
    deviation: Floats
    """Shape (features,), above 0."""
    read: str = "values"
    """How clients read the scores: a name of `hemera.package.specs.READINGS`, like "values" (a
    regression), "sigmoid" (two classes), "softmax", "sign", "argmax"."""
    names: tuple[str, ...] = ()
    """The names of the features."""
    labels: Labels | None = None
    """The names of the classes of "sign" and "argmax"; None: numbers from 0."""
    low: Floats | None = None
    """Shape (features,): what the model itself clips features to, as MinMaxScaler(clip=True) does; None: it
    does not."""
    high: Floats | None = None

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
        labels: ArrayLike | None = None,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
    ) -> LinearModel:
        """A model from arrays, checked. MismatchError for shapes that do not fit, ParameterError for values
        that are not finite or a deviation of 0."""
        weights = np.atleast_2d(plain_array(coefficients, "coefficients", np.float64))
        scores, features = weights.shape if weights.ndim == 2 else (0, 0)

        def spread(values: ArrayLike | None, count: int) -> Any:
            return None if values is None else np.array(np.broadcast_to(np.asarray(values, float), (count,)))

        try:
            found = cls(
                weights,
                spread(intercept, scores),
                spread(mean, features),
                spread(deviation, features),
                read,
                tuple(map(str, names)),
                None if labels is None else Labels.of(labels),
                spread(low, features),
                spread(high, features),
            )
        except ValueError as error:
            if isinstance(error, ParameterError):
                raise
            raise MismatchError(
                f"coefficients of shape {weights.shape} do not fit the intercept, mean, deviation or limits"
            ) from None
        if features == 0 or len(found.names) not in (0, features):
            raise MismatchError(f"{len(found.names)} names and {features} features")
        if read not in READINGS:
            raise ParameterError(f"scores are read as one of {', '.join(READINGS)}, not {read!r}")
        found._check()
        return found

    def _check(self) -> None:
        parts = (self.coefficients, self.intercept, self.mean, self.deviation)
        if not all(np.isfinite(part).all() for part in parts) or (self.deviation <= 0).any():
            raise ParameterError("coefficients must be finite, and deviations above 0")
        if self.low is not None or self.high is not None:
            low, high = self.low, self.high
            if low is None or high is None or not np.isfinite((low, high)).all() or (low > high).any():
                raise ParameterError("a model that clips has finite limits, of which low is not above high")
        classes = {"sign": 2, "argmax": len(self.coefficients)}.get(self.read, 0)
        if self.labels is not None and len(self.labels) != classes:
            raise MismatchError(
                f"{len(self.labels)} labels for {classes} classes of {len(self.coefficients)} scores that "
                f"are read as {self.read!r}"
            )

    @classmethod
    def from_json(cls, path: str | Path) -> LinearModel:
        """A model from a JSON file: {"coefficients": [...] or [[...], ...], "intercept", "mean", "deviation",
        "read", "names", "labels", "low", "high"}; all but the first may be missing.

        Raises:
            FileError: when it can not be read.
            FormatError: when it is something else.
        """
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise FileError(f"cannot read {path}: {error.strerror or error}") from None
        with damaged(f"{path}: no linear model: it"):
            given = {str(key): value for key, value in json.loads(text).items()}
            return cls.of(given.pop("coefficients"), given.pop("intercept", 0.0), **given)

    @property
    def n_features_in_(self) -> int:
        """How many features a row has, by scikit-learn's name."""
        return int(self.coefficients.shape[1])

    @property
    def feature_names_in_(self) -> tuple[str, ...]:
        """The names of the features, by scikit-learn's name."""
        return self.names

    @property
    def scaled(self) -> Scaled:
        """What a client makes of a row."""
        low, high = (
            np.broadcast_to(end, self.mean.shape) if own is None else own
            for own, end in ((self.low, -np.inf), (self.high, np.inf))
        )
        return Scaled(self.mean, self.deviation, low, high)

    def scores(self, rows: ArrayLike) -> Floats:
        """The scores in the clear, shape (rows, scores)."""
        values = plain_array(rows, "rows", np.float64)
        if self.low is not None:
            values = np.clip(values, self.low, self.high)
        return np.asarray((values - self.mean) / self.deviation @ self.coefficients.T + self.intercept)

    def predict(self, rows: ArrayLike) -> Array:
        """What clients read: values or labels of shape (rows,), of several scores that are no classes of
        shape (rows, scores)."""
        found = self.scores(rows)
        return read_as(found[:, 0] if found.shape[1] == 1 else found, self.read, self.labels)
