"""Linear and logistic models as packages: scores of many features, several rows in a ciphertext (CKKS).

Each row lies in a block of slots, and K scores come in its first K slots, at one level. Their sums stay in
place (`hemera.arrays.packing`): one score is a product by the weights and a sum of the block by doubling.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import ckks
from hemera.arrays.layout import FREE, Layout
from hemera.arrays.packing import packed
from hemera.arrays.sparse_map import SparseMap
from hemera.errors import FileError, MismatchError, ParameterError
from hemera.exporting.agreement import of_library, require_agreement, thinned
from hemera.exporting.estimators import Results, read_features, read_scores, steps_of
from hemera.exporting.function import package
from hemera.inputs.fields import damaged
from hemera.inputs.plain import plain_array
from hemera.package.encodings import Rows, column_ranges, finite_rows
from hemera.package.package import Package
from hemera.package.readings import READINGS, Labels
from hemera.package.specs import InputSpec, OutputSpec
from hemera.program.operations import Map
from hemera.program.tracing import Symbol, record
from hemera.program.values import Filling, Form

__all__ = ["LinearModel", "export_linear"]

Floats = NDArray[np.float64]
_GENERATED = 64
"""Rows on which a model is compared with its library when none are given."""
_TOLERANCE = 1e-6
"""Part of the sum of a score's terms, by size, by which a score may differ from the library's, which may have
computed it in single precision."""


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
    """How clients read the scores: a name of `hemera.package.readings.READINGS`, like "values" (a
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
    def features(self) -> int:
        """How many a row has."""
        return int(self.coefficients.shape[1])

    def scores(self, rows: ArrayLike) -> Floats:
        """The scores in the clear, shape (rows, scores)."""
        values = plain_array(rows, "rows", np.float64)
        if self.low is not None:
            values = np.clip(values, self.low, self.high)
        return np.asarray((values - self.mean) / self.deviation @ self.coefficients.T + self.intercept)


def _of_sklearn(model: Any, results: Results) -> tuple[LinearModel, str]:
    """A model, and the method that gives its results in the library."""
    steps = steps_of(model)
    if not steps:
        raise ParameterError("the Pipeline has no steps")
    found = read_scores(steps[-1], results)
    features = read_features(steps[:-1], found.coefficients.shape[1])
    clips = bool(np.isfinite(features.low).all())
    linear = LinearModel.of(
        found.coefficients,
        found.intercept,
        mean=features.mean,
        deviation=features.deviation,
        read=found.read,
        names=getattr(steps[0], "feature_names_in_", ()),
        low=features.low if clips else None,
        high=features.high if clips else None,
    )
    linear = replace(linear, labels=found.labels)
    linear._check()
    return linear, found.method


def export_linear(
    model: LinearModel | Any,
    *,
    name: str,
    description: str = "",
    calibrate: Any = None,
    clip: ArrayLike | None = None,
    results: Results = "auto",
    scale_bits: int = 40,
    degree: int = 0,
    security: int | None = 128,
) -> Package:
    """Package a linear or logistic model: one product by plain weights, and a sum over each row's block of
    slots. Clients bring their rows into the range that the package is for, with a warning for rows beyond it,
    and read labels, probabilities or values of the decrypted scores.

    A model of scikit-learn is compared with its own `predict`, `predict_proba` or `decision_function`, on the
    rows of `calibrate` or generated ones, and refused where they differ.

    Args:
        model: a `LinearModel`, or a fitted one of scikit-learn, also in a Pipeline after scalers;
            docs/serving.md lists which.
        calibrate: rows of shape (rows, features), as the model takes them: the package is for a range twice
            as wide as theirs in each column.
        clip: in place of `calibrate`, a number or one for each feature: the package is for features up to
            `clip` deviations from the mean, of the model's scaler; of rows as they are where it has none.
        results: what clients read: "labels" or "values" (`predict`), "probabilities" (`predict_proba`; of two
            classes that of the second, of shape (rows,)), "scores" (`decision_function`); "auto": values of
            regressors, probabilities of classifiers that are fitted for them, labels of others.
        scale_bits, degree, security: of `hemera.ckks.Parameters.for_circuit`.

    Raises:
        ParameterError: for another type of model, one that is not fitted, results that it has not, or without
            a range.
        MismatchError: for rows that do not fit the model, or a model whose results differ from its own
            library's.
    """
    method = ""
    if isinstance(model, LinearModel):
        if results != "auto":
            raise ParameterError("a LinearModel's results are its `read`; give results= with other models")
        linear = model
    else:
        linear, method = _of_sklearn(model, results)
    checked = None if calibrate is None else finite_rows(calibrate, linear.features, "calibrate")
    centre, half, reach = _range(linear, checked, clip)
    # For features in [-1, 1], so that neither they nor weights lose digits of the scale.
    weights = linear.coefficients * (half / linear.deviation)
    bias = linear.intercept + linear.coefficients @ ((centre - linear.mean) / linear.deviation)
    block = 1 << (max(weights.shape) - 1).bit_length()
    # As large as any sum of a block may be, of this row and the next one.
    largest = 2 * float(np.abs(weights).sum(axis=1).max()) + 1 + float(np.abs(bias).max())
    params = ckks.Parameters.for_circuit(
        1, scale_bits=scale_bits, slots=block, largest=largest, degree=degree, security=security
    )
    slots = params.max_slots

    def circuit(x: Symbol) -> Symbol:
        return _scores(x, weights, block) + _everywhere(bias, block, slots)

    program, _ = record(circuit, "ckks", [Form(slots)])
    encoding = Rows(
        tuple(centre.tolist()),
        tuple(reach.tolist()),
        1.0,
        block,
        len(weights),
        linear.names,
        linear.low is not None,
    )

    def packaged(column: bool) -> Package:
        return package(
            program,
            [InputSpec("rows", slots, slots, low=-1.0, high=1.0)],
            [OutputSpec("scores", slots, read=linear.read, labels=linear.labels, column=column)],
            params,
            name=name,
            description=description,
            encoding=encoding,
        )

    if not method:
        return packaged(False)
    rows = _generated(centre, reach, encoding.saturates) if checked is None else thinned(calibrate)
    sizes = np.abs(encoding.prepared(rows)) @ np.abs(weights).T + np.abs(bias)
    expected = of_library(model, method, rows)
    if linear.read in ("sigmoid", "clipped"):
        expected = expected[:, 1]
    found = packaged(expected.ndim == 2 and expected.shape[1] == 1)
    require_agreement(found, rows, expected, _TOLERANCE * sizes, f"{type(model).__name__}.{method}")
    return found


def _range(linear: LinearModel, rows: Floats | None, clip: ArrayLike | None) -> tuple[Floats, Floats, Floats]:
    """For each feature the middle, half the width on which the scores depend, and half the width that
    clients clip to."""
    if rows is not None and clip is not None:
        raise ParameterError("the range comes from calibrate= or from clip=; give one of them")
    if linear.low is not None and linear.high is not None:
        centre, half = (linear.low + linear.high) / 2, (linear.high - linear.low) / 2
        return centre, half, np.where(half > 0, half, 1.0)
    if rows is not None:
        centre, half = column_ranges(rows, 2)
        return centre, half, half
    if clip is None:
        raise ParameterError(
            "which range are the features in? Give rows like those to come, calibrate=rows (of `hemera "
            "export`: --calibrate FILE), or clip= (--clip), the largest size of a feature after the model's "
            "scaler"
        )
    try:
        half = np.broadcast_to(np.asarray(clip, np.float64), (linear.features,)) * linear.deviation
    except ValueError:
        raise MismatchError(f"clip: one number, or one for each of {linear.features} features") from None
    if not (half > 0).all() or not np.isfinite(half).all():
        raise ParameterError(f"clip must be above 0 and finite, not {clip}")
    return linear.mean, half, half


def _generated(centre: Floats, half: Floats, beyond: bool) -> Floats:
    """Rows within a range, half of them near its middle; of a model that clips also beyond it."""
    random = np.random.default_rng(0)
    near = 4.0 ** -(np.arange(_GENERATED) % 4)[:, np.newaxis]
    rows = random.uniform(-1, 1, (_GENERATED, len(centre))) * near * (2 if beyond else 1)
    return np.asarray(centre + half * rows)


def _everywhere(values: Floats, block: int, slots: int) -> Floats:
    """Values in the first slots of every block, zeros in the others."""
    return np.tile(np.pad(values, (0, block - len(values))), slots // block)


def _scores(x: Symbol, weights: Floats, block: int) -> Symbol:
    """Score k in slot k of each block; the others have sums of parts of this row and the next one."""
    rows, (scores, _) = x.slots // block, weights.shape
    number, feature = np.nonzero(weights)
    if not len(number):
        return x * np.zeros(x.slots)
    each = np.arange(rows)[:, np.newaxis]
    own = SparseMap.of(
        rows * scores,
        rows * block,
        (each * scores + number).ravel(),
        (each * block + feature).ravel(),
        np.tile(weights[number, feature], rows),
    )
    before = Layout.raster((rows, block))
    bits = [(axis, bit) if axis == 0 or 1 << bit < scores else FREE for axis, bit in before.bits]
    found = packed(own, before, Layout((rows, scores), tuple(bits)))
    if found.numbers.tolist() == [0]:
        total = x * np.tile(found.diagonals[0], x.slots // found.period)
    else:
        total = x.note(Map.of(found.numbers.tolist(), found.diagonals), filling=Filling(x.slots))
    for fold in found.folds:
        total = total + total.rotate(fold)
    return total
