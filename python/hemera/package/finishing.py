"""A client's last steps from decrypted scores to results: data that JSON keeps, by name, and no code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hemera.errors import Error, FormatError, MismatchError
from hemera.package.specs import MAX_LABELS, READINGS, Labels, class_numbers
from hemera.program.values import Array, integer, real

Floats = NDArray[np.float64]

_MOST_STEPS = 16
_MOST_PARTS = 4096
_MOST_VALUES = 1 << 24
_MOST_DEPTH = 8


class Step(ABC):
    """A step from an array of shape (rows, ...) to another one."""

    kind: ClassVar[str]

    @abstractmethod
    def __call__(self, values: Array) -> Array:
        """The result of the values. MismatchError where they do not fit."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Data for JSON, with its kind."""


Steps = tuple[Step, ...]


def finished(values: Array, steps: Sequence[Step]) -> Array:
    """The values after all steps."""
    for step in steps:
        values = step(values)
    return values


def _log_softmax(values: Array) -> Array:
    less = values - values.max(axis=-1, keepdims=True)
    return np.asarray(less - np.log(np.exp(less).sum(axis=-1, keepdims=True)))


def _classes_of_pairs(pairs: int) -> int:
    classes: int = round((1 + (1 + 8 * pairs) ** 0.5) / 2)
    if classes * (classes - 1) // 2 != pairs or classes < 2:
        raise MismatchError(f"{pairs} scores are not those of all pairs of classes")
    return classes


def _pairs(values: Array) -> tuple[Floats, Floats]:
    """Votes and sums of confidences of each class, of the pairs (0, 1), (0, 2), ..., (1, 2), ...; a score
    above 0 is for the second class."""
    classes = _classes_of_pairs(values.shape[-1])
    votes = np.zeros((*values.shape[:-1], classes))
    sums = np.zeros_like(votes)
    first, second = np.triu_indices(classes, 1)
    for at, (one, other) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        score = values[..., at]
        sums[..., one] -= score
        sums[..., other] += score
        votes[..., one] += score <= 0
        votes[..., other] += score > 0
    return votes, sums


def _pair_scores(values: Array) -> Array:
    votes, sums = _pairs(values)
    return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))


_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    **READINGS,
    "argmin": lambda values: values.argmin(axis=-1),
    "both": lambda values: np.concatenate([1 - values, values], axis=-1),
    "difference": lambda values: values[..., 1:2] - values[..., 0:1],
    "log-softmax": _log_softmax,
    "negative": lambda values: -values,
    "not-negative": lambda values: (values >= 0).astype(np.int64),
    "pair-scores": _pair_scores,
    "pair-votes": lambda values: _pairs(values)[0].argmax(axis=-1),
    "root": lambda values: np.sqrt(np.maximum(values, 0)),
}
"""Readings, and what estimators need beside them. "both": of the probability of the second of two classes
those of both; "pair-votes", "pair-scores": of a score for each pair of classes the class with most votes, and
scores of classes as one-against-one classifiers of scikit-learn give them."""


@dataclass(frozen=True)
class Apply(Step):
    """A function by its name: one of READINGS, "argmin", "both", "difference", "log-softmax",
    "not-negative", "pair-scores", "pair-votes" or "root"."""

    kind: ClassVar[str] = "apply"
    name: str

    def __post_init__(self) -> None:
        if self.name not in _FUNCTIONS:
            raise FormatError(f"a step of results is named {self.name!r}, which this Hemera does not know")

    def __call__(self, values: Array) -> Array:
        return _FUNCTIONS[self.name](values)

    def to_data(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name}


@dataclass(frozen=True)
class Label(Step):
    """The labels of classes by their numbers."""

    kind: ClassVar[str] = "label"
    labels: Labels

    def __call__(self, values: Array) -> Array:
        return np.asarray(self.labels.array()[class_numbers(values, len(self.labels))])

    def to_data(self) -> dict[str, Any]:
        return {"kind": self.kind, "labels": self.labels.to_data()}


@dataclass(frozen=True)
class Columns(Step):
    """Some of the scores."""

    kind: ClassVar[str] = "columns"
    start: int
    stop: int

    def __call__(self, values: Array) -> Array:
        if self.stop > values.shape[-1]:
            raise MismatchError(f"columns up to {self.stop} of {values.shape[-1]} scores")
        return values[..., self.start : self.stop]

    def to_data(self) -> dict[str, Any]:
        return {"kind": self.kind, "start": self.start, "stop": self.stop}


@dataclass(frozen=True, eq=False)
class Neighbours(Step):
    """Means of the targets of the nearest neighbours, from squared distances of shape (rows, neighbours).

    Where classes is above 0, targets are numbers of classes, and the results their shares, of shape
    (rows, classes).
    """

    kind: ClassVar[str] = "neighbours"
    targets: Floats
    """Shape (neighbours, outputs)."""
    count: int
    """How many are near."""
    weighted: bool
    """Whether each counts by the inverse of its distance."""
    classes: int = 0
    least: float = 0.0
    """The error of squared distances: those up to it are of rows that are equal."""

    def __call__(self, values: Array) -> Array:
        if values.shape[-1] != len(self.targets):
            raise MismatchError(f"{values.shape[-1]} distances to {len(self.targets)} neighbours")
        near = np.argsort(values, axis=-1, kind="stable")[:, : self.count]
        weights = np.ones(near.shape)
        if self.weighted:
            squares = np.take_along_axis(values, near, axis=-1)
            same = squares <= self.least
            weights = 1 / np.sqrt(np.where(same, 1.0, squares))
            weights = np.where(same.any(axis=-1, keepdims=True), same, weights)
        weights = weights / weights.sum(axis=-1, keepdims=True)
        targets = self.targets[near]
        if not self.classes:
            return np.asarray((weights[..., None] * targets).sum(axis=1))
        shares = np.zeros((len(values), self.classes))
        np.add.at(shares, (np.arange(len(values))[:, None], targets[..., 0].astype(np.int64)), weights)
        return shares

    def tied(self, values: Array, room: float) -> NDArray[np.bool_]:
        """Marks rows that have the last near neighbour and the next one at one squared distance, but for
        `room`, with other targets: either may count."""
        if self.count >= values.shape[-1]:
            return np.zeros(len(values), np.bool_)
        ordered = np.sort(values, axis=-1)
        last, next_one = ordered[:, self.count - 1], ordered[:, self.count]
        found = np.asarray(next_one - last <= room)
        for row in np.flatnonzero(found):
            alike = self.targets[np.abs(values[row] - last[row]) <= room]
            found[row] = (alike != alike[0]).any()
        return found

    def to_data(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "targets": self.targets.tolist(),
            "count": self.count,
            "weighted": self.weighted,
            "classes": self.classes,
            **({"least": self.least} if self.least else {}),
        }


@dataclass(frozen=True)
class Parts(Step):
    """Several estimators' results, each of its own columns, joined.

    join: "mean" of the results, "majority" of numbers of classes, or "stack" of columns.
    """

    kind: ClassVar[str] = "parts"
    join: str
    parts: tuple[tuple[int, int, Steps], ...]
    """The first column, the one after the last, and the steps of each."""
    weights: tuple[float, ...]
    """The weight of each; "stack" takes none into account."""
    classes: int = 0
    """The number of classes of "majority"."""

    def __call__(self, values: Array) -> Array:
        found = [finished(Columns(start, stop)(values), steps) for start, stop, steps in self.parts]
        if self.join == "stack":
            return np.stack([each.reshape(len(values)) for each in found], axis=1)
        if self.join == "mean":
            return np.asarray(np.average(np.stack(found), axis=0, weights=self.weights))
        votes = np.zeros((len(values), self.classes))
        for each, weight in zip(found, self.weights, strict=True):
            chosen = class_numbers(each, self.classes).reshape(len(values))
            votes[np.arange(len(values)), chosen] += weight
        return np.asarray(votes.argmax(axis=-1))

    def to_data(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "join": self.join,
            "parts": [[start, stop, [step.to_data() for step in steps]] for start, stop, steps in self.parts],
            "weights": list(self.weights),
            "classes": self.classes,
        }


def with_error(steps: Steps, error: float) -> Steps:
    """The same steps, of scores with an error: neighbours take distances up to it for none."""

    def of_step(step: Step) -> Step:
        if isinstance(step, Parts):
            parts = tuple((start, stop, with_error(own, error)) for start, stop, own in step.parts)
            return replace(step, parts=parts)
        return replace(step, least=error) if isinstance(step, Neighbours) and step.weighted else step

    return tuple(map(of_step, steps))


def undecided(steps: Steps, values: Array, room: float) -> NDArray[np.bool_]:
    """Marks rows whose nearest neighbours are not told by scores with errors of half the room: see
    `Neighbours.tied`."""
    found = np.zeros(len(values), np.bool_)
    for step in steps:
        if isinstance(step, Neighbours):
            found |= step.tied(values, room)
        elif isinstance(step, Parts):
            for start, stop, own in step.parts:
                found |= undecided(own, values[..., start:stop], room)
    return found


def _columns(start: Any, stop: Any) -> tuple[int, int]:
    first = integer(start, "a column", 0, _MOST_VALUES)
    return first, integer(stop, "a column", first + 1, _MOST_VALUES)


def _neighbours(data: Mapping[str, Any]) -> Neighbours:
    targets = np.asarray(data["targets"], np.float64)
    if targets.ndim != 2 or not 0 < targets.size <= _MOST_VALUES or not np.isfinite(targets).all():
        raise FormatError("neighbours have a table of targets")
    classes = integer(data["classes"], "classes", 0, MAX_LABELS)
    numbers = targets[:, 0]
    if classes and not (targets.shape[1] == 1 and numbers.min() >= 0 and numbers.max() < classes):
        raise FormatError(f"the classes of neighbours are numbers from 0 to {classes - 1}")
    count = integer(data["count"], "neighbours", 1, len(targets))
    return Neighbours(targets, count, bool(data["weighted"]), classes, real(data.get("least", 0), "least"))


def _parts(data: Mapping[str, Any], depth: int) -> Parts:
    parts, weights = data["parts"], tuple(real(weight, "a weight") for weight in data["weights"])
    if not 1 <= len(parts) <= _MOST_PARTS or len(weights) != len(parts) or not sum(weights) > 0:
        raise FormatError(f"results are joined of 1 to {_MOST_PARTS} parts with a weight each")
    if data["join"] not in ("mean", "majority", "stack"):
        raise FormatError(f"results are joined by {data['join']!r}, which this Hemera does not know")
    read = tuple((*_columns(start, stop), _steps(own, depth + 1)) for start, stop, own in parts)
    return Parts(data["join"], read, weights, integer(data["classes"], "classes", 0, MAX_LABELS))


def _step(data: Mapping[str, Any], depth: int) -> Step:
    kind = data["kind"]
    if kind == Apply.kind:
        return Apply(str(data["name"]))
    if kind == Label.kind:
        return Label(Labels.from_data(data["labels"]))
    if kind == Columns.kind:
        return Columns(*_columns(data["start"], data["stop"]))
    if kind == Neighbours.kind:
        return _neighbours(data)
    if kind == Parts.kind:
        return _parts(data, depth)
    raise FormatError(f"a step of results is of kind {kind!r}, which this Hemera does not know")


def _steps(data: Any, depth: int = 0) -> Steps:
    if not isinstance(data, list) or len(data) > _MOST_STEPS or depth > _MOST_DEPTH:
        raise FormatError(f"results have at most {_MOST_STEPS} steps")
    return tuple(_step(each, depth) for each in data)


@dataclass(frozen=True)
class Method:
    """One method of an estimator: the steps to its results, and their type and shape."""

    steps: Steps
    kind: str
    """The kind of the array: "str", "object", or a type of numbers, like "int64"."""
    shape: tuple[int, ...]
    """The shape of one row's result: () or (columns,)."""

    def __call__(self, scores: Array) -> Array:
        """Results of scores of shape (rows, scores). MismatchError where they do not fit."""
        try:
            found = finished(scores, self.steps)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, Error):
                raise
            raise MismatchError(f"the steps to results do not fit the scores: {error}") from error
        if found.size != len(scores) * int(np.prod(self.shape)):
            raise MismatchError(f"results of shape {found.shape} for {len(scores)} rows of {self.shape}")
        shaped = found.reshape((len(scores), *self.shape))
        if self.kind in ("str", "object"):
            return shaped
        is_noisy = shaped.dtype.kind == "f" and not self.kind.startswith("float")
        return (np.rint(shaped) if is_noisy else shaped).astype(self.kind)

    def with_error(self, error: float) -> Method:
        """The same method of scores with an error."""
        return replace(self, steps=with_error(self.steps, error))

    def to_data(self) -> dict[str, Any]:
        """Data for JSON."""
        return {
            "steps": [step.to_data() for step in self.steps],
            "type": self.kind,
            "shape": list(self.shape),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Method:
        """The method of `to_data`. FormatError for another type; raises as the parts do."""
        shape = tuple(integer(extent, "an extent", 1, _MOST_VALUES) for extent in data["shape"])
        kind = data["type"]
        if kind not in KINDS or len(shape) > 1:
            raise FormatError(
                f"results are of type {kind!r} and shape {shape}, which this Hemera does not know"
            )
        return cls(_steps(data["steps"]), kind, shape)


KINDS = (
    *("bool", "str", "object", "float16", "float32", "float64"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
"""Types of results."""
