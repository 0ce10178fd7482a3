"""The inputs and the outputs of a packaged model, and clients' readings of outputs: links, and labels of
classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.program.values import Array, Form

MAX_LABELS = 1 << 17
_MIDDLE = 0.5
"""The number between 0 and 1, by which decrypted truth values are told apart."""


def _sigmoid(values: Array) -> Array:
    # Also exact where it is far below 2^-53, which `_one_against_rest` divides by.
    return np.asarray(np.exp(-np.logaddexp(0.0, -values)))


def _softmax(values: Array) -> Array:
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _one_against_rest(values: Array) -> Array:
    each = _sigmoid(values)
    total = each.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(total > 0, each, 1.0) / np.where(total > 0, total, values.shape[-1]))


def _exponential(values: Array) -> Array:
    with np.errstate(over="ignore"):  # infinite, as the libraries have it
        return np.asarray(np.exp(values))


def _truth(values: Array) -> Array:
    # A value that can not be decrypted is NaN, which is neither true nor false.
    missing = np.isnan(values)
    return np.where(missing, values, values > _MIDDLE) if missing.any() else values > _MIDDLE


def _integer(values: Array) -> Array:
    if values.dtype.kind != "f":
        return values
    whole = np.rint(values)
    return whole if np.isnan(values).any() else whole.astype(np.int64)


READINGS: dict[str, Callable[[Array], Array]] = {
    "values": lambda values: values,
    "sigmoid": _sigmoid,
    "sign": lambda values: (values > 0).astype(np.int64),
    "softmax": _softmax,
    "argmax": lambda values: values.argmax(axis=-1),
    "exp": _exponential,
    "one-against-rest": _one_against_rest,
    "clipped": lambda values: (np.clip(values, -1, 1) + 1) / 2,
    "truth": _truth,
    "integer": _integer,
}
"""A client's readings of the values of an output, along its last axis. "one-against-rest": sigmoids whose sum
is 1; "clipped": (clip(x, -1, 1) + 1) / 2, the probability of modified Huber losses; "truth": whether values
are above 1/2; "integer": the nearest integers, as int64. Both of these leave results as floats where one is
NaN, since it can not be decrypted."""

CLASSES = ("sign", "argmax")
"""Readings whose results are classes, which may have labels."""


@dataclass(frozen=True)
class Labels:
    """The labels of classes, in the order of their numbers; results have their type."""

    values: tuple[bool | int | float | str | None, ...]
    kind: str
    """The kind of the array: "str", "object", or a type of numbers, like "int64"."""

    @classmethod
    def of(cls, labels: ArrayLike) -> Labels:
        """Labels of an array of one axis. ParameterError unless they are truth values, numbers or texts."""
        array = np.asarray(labels)
        kind = {"U": "str", "O": "object"}.get(array.dtype.kind, array.dtype.name)
        values = [value.item() if isinstance(value, np.generic) else value for value in array.tolist()]
        try:
            return cls.from_data({"kind": kind, "values": values})
        except FormatError as error:
            raise ParameterError(f"{error}; train the model on such labels") from None

    def __len__(self) -> int:
        return len(self.values)

    def array(self) -> Array:
        """An array of one axis."""
        if self.kind == "object":
            found = np.empty(len(self.values), object)
            found[:] = self.values
            return found
        return np.asarray(self.values, str if self.kind == "str" else np.dtype(self.kind))

    def to_data(self) -> dict[str, Any]:
        """Data for JSON."""
        return {"kind": self.kind, "values": list(self.values)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Labels:
        """The labels that `to_data` told. FormatError for anything else."""
        kind, values = data["kind"], data["values"]
        plain = (bool, int, float, str, type(None))
        if (
            not isinstance(values, (list, tuple))
            or not 1 <= len(values) <= MAX_LABELS
            or not all(type(value) in plain for value in values)
            or kind not in ("str", "object", *_NUMBERS)
            or (kind == "str" and not all(isinstance(value, str) for value in values))
            or (kind in _NUMBERS and not all(isinstance(value, (bool, int, float)) for value in values))
        ):
            raise FormatError(f"labels are 1 to {MAX_LABELS} truth values, numbers or texts")
        found = cls(tuple(values), kind)
        try:
            found.array()
        except (OverflowError, ValueError) as error:
            raise FormatError(f"labels do not fit their type {kind}: {error}") from None
        return found


_NUMBERS = (
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64"),
)


def read_as(values: Array, read: str, labels: Labels | None) -> Array:
    """Results of values, along their last axis. MismatchError for a class without a label."""
    found = READINGS[read](values)
    if labels is None or read not in CLASSES:
        return found
    return np.asarray(labels.array()[class_numbers(found, len(labels))])


def class_numbers(values: Array, count: int) -> NDArray[np.int64]:
    """Numbers of classes. MismatchError for others than 0 to count - 1."""
    classes = np.asarray(values, np.int64)
    beyond = classes[(classes < 0) | (classes >= count)]
    if beyond.size:
        raise MismatchError(f"a result is class {beyond[0]}, and {count} classes have labels")
    return classes


@dataclass(frozen=True)
class InputSpec:
    """An input: what a client encrypts for one request."""

    name: str
    width: int
    """Values of each vector."""
    slots: int = 0
    """Slots of each ciphertext, a power of two for CKKS; 0: as few as all inputs fit in."""
    shape: tuple[int, ...] = ()
    """The shape of the batch of ciphertexts that one request has; () for a single one."""
    level: int | None = None
    """CKKS: that they are encrypted at; None: the highest."""
    low: float | None = None
    """The least value that the model is for; None: any."""
    high: float | None = None
    """The largest."""

    @property
    def form(self) -> Form:
        return Form(self.slots, self.shape)


@dataclass(frozen=True)
class OutputSpec:
    """An output: what a client decrypts of one request."""

    name: str
    width: int
    """How many slots have values: the first ones."""
    shape: tuple[int, ...] = ()
    """The shape of the batch of ciphertexts."""
    read: str = "values"
    """The client's reading of the values: a name of `hemera.package.specs.READINGS`."""
    labels: Labels | None = None
    """Labels as results of "sign" and "argmax", in place of numbers of classes."""
    column: bool = False
    """Whether results of a table's rows with one score have the shape (rows, 1), not (rows,)."""
    watched: str = ""
    """The line whose function takes these values. They are no result: clients see whether they lie between
    `low` and `high`, outside of which results are wrong. "": a result."""
    low: float | None = None
    """The least value where results are right; None: not known."""
    high: float | None = None
    """The largest."""
    reach: float | None = None
    """The largest magnitude that inputs in their ranges can lead to, as it is decrypted: results have room
    for it. None: that of the parameters' range_bits."""
