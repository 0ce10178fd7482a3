"""Rows of a table for boosted trees: bins of features, and the places of trees and samples in the slots.

A ciphertext has two rows of N/2 slots, which rotations turn. Each row has `lanes` lanes, a power of two. Each
lane holds the K scores of S samples: score k of sample s is slot k S + s of its lane. The trees of a score
are dealt out over the 2 * lanes lanes and, if these do not suffice, over groups of ciphertexts. So one
ciphertext compares one node of many trees for many samples, and groups are added without any rotation. Turns
by the lane's width, twice the width, ..., and an exchange of the rows add the lanes up. The sums are in all
lanes at once, so that no slot shows a part of a sum.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.plain import plain_array
from hemera.package.encodings.base import Encoding, require_columns
from hemera.package.specs import InputSpec, OutputSpec, read_as
from hemera.program.values import Array, integer

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MAX_EDGES = 1023
"""The most edges of a feature."""
OWN_PLANE = -1


def prepared(rows: NDArray[Any], single: bool, *, missing: bool = False) -> Floats:
    """Rows as a library compares them. ParameterError if a value is infinite, or is missing and `missing` is
    False."""
    values = plain_array(rows, "rows", np.float64)
    if np.isinf(values).any():
        raise ParameterError("the rows have infinite values; replace them before training and scoring")
    if not missing and np.isnan(values).any():
        raise ParameterError(
            "the rows have missing values, which have no bin here; fill them in (scikit-learn's "
            "SimpleImputer does), or score with a model that takes them (xgboost's, LightGBM's, "
            "scikit-learn's HistGradientBoosting) and Quantiser.of_model(model) or "
            "quantiser.with_missing_of(model)"
        )
    return np.asarray(values.astype(np.float32), dtype=np.float64) if single else values


@dataclass(frozen=True)
class Bins:
    """The bins of each feature, which a client must know. Value x is in bin c if c edges are <= x."""

    edges: tuple[Floats, ...]
    """The edges of each feature, ascending."""
    single: bool = False
    """Whether values are rounded to single precision first."""
    integral: bool = False
    """Whether all values are integers, so that a threshold between two of them is the upper one."""
    digit: int = 1
    """The base of the lower one of a bin's two digits; 1: bins have one digit."""
    missing: tuple[int, ...] | None = None
    """The bin of a missing value (NaN) of each feature; -1: missing values have a bit of their own, as they
    go right in nodes where every bin goes left. None: missing values are refused."""

    @property
    def most_edges(self) -> int:
        """The most edges of a feature, at least 1."""
        return max(1, *(len(own) for own in self.edges))

    @property
    def tells_missing(self) -> bool:
        """Whether the last bit is 1 for a missing value."""
        return self.missing is not None and OWN_PLANE in self.missing

    @property
    def planes(self) -> int:
        """The number of bits of a bin."""
        return self.most_edges // self.digit + self.digit - 1 + self.tells_missing

    def bits(self, bins: Integers) -> list[Integers]:
        """The bits of bins, 0 or 1, each of the same shape. First [upper digit >= c] for each c above 0, then
        the same for the lower digit, then 1 for a missing value."""
        upper, lower = np.divmod(np.maximum(bins, 0), self.digit)
        found = [upper >= c for c in range(1, self.most_edges // self.digit + 1)]
        found += [lower >= c for c in range(1, self.digit)]
        if self.tells_missing:
            found.append(bins == OWN_PLANE)
        return [bit.astype(np.int64) for bit in found]

    def bins(self, rows: NDArray[Any]) -> Integers:
        """The bin of each value, of the same shape (rows, features); -1 for a missing value with a bit of its
        own.

        Raises:
            MismatchError: if the number of features is another one.
            ParameterError: if a value is infinite, is missing and `missing` is False, or is a fraction where
                integers are promised.
        """
        values = prepared(rows, self.single, missing=self.missing is not None)
        if values.ndim != 2 or values.shape[1] != len(self.edges):
            raise MismatchError(
                f"rows of shape {values.shape} were given to a model of {len(self.edges)} features; give "
                f"(rows, {len(self.edges)})"
            )
        if self.integral and not np.array_equal(values, np.rint(values), equal_nan=True):
            raise ParameterError("the features of this model are integers, but the rows have fractions")
        found = np.stack(
            [np.searchsorted(own, values[:, f], side="right") for f, own in enumerate(self.edges)], axis=1
        )
        if self.missing is None:
            return found
        return np.where(np.isnan(values), np.asarray(self.missing, np.int64), found)

    def binned(self, rows: NDArray[Any]) -> Floats:
        """The bins as numbers to train on, NaN for missing values. Raises as `bins`."""
        own = dataclasses.replace(self, missing=(OWN_PLANE,) * len(self.edges)).bins(rows)
        return np.where(own == OWN_PLANE, np.nan, own)

    def to_data(self) -> dict[str, Any]:
        """Data for JSON."""
        return {**vars(self), "edges": [own.tolist() for own in self.edges]}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Bins:
        """The bins of `to_data`. Raises KeyError, TypeError or ValueError if the data have another form,
        and FormatError if they are no bins."""
        edges = tuple(np.asarray(own, np.float64).reshape(-1) for own in data["edges"])
        digit, missing = data.get("digit", 1), data.get("missing")
        if not edges or max(map(len, edges)) > MAX_EDGES:
            raise FormatError("the features have no bins, or too many edges")
        if not all(np.isfinite(own).all() and (np.diff(own) > 0).all() for own in edges):
            raise FormatError("the edges of the bins do not ascend")
        if type(digit) is not int or not 1 <= digit <= max(1, *map(len, edges)):
            raise FormatError("the digits of the bins are damaged")
        if missing is not None and (
            len(missing) != len(edges)
            or not all(
                type(own) is int and OWN_PLANE <= own <= len(at)
                for own, at in zip(missing, edges, strict=True)
            )
        ):
            raise FormatError("the bins of missing values are damaged")
        return cls(
            edges,
            bool(data["single"]),
            bool(data["integral"]),
            digit,
            None if missing is None else tuple(missing),
        )


@dataclass(frozen=True)
class TreeLayout:
    """The layout of `samples` samples, in `chunks` batches of at most `width` each."""

    degree: int
    scores: int
    trees: int
    samples: int
    lanes: int
    width: int
    """S"""

    @property
    def lane_slots(self) -> int:
        """The number of slots of a lane."""
        return self.degree // 2 // self.lanes

    @property
    def groups(self) -> int:
        """The number of ciphertexts over which the trees of a score are dealt out."""
        return -(-self.trees // (2 * self.lanes))

    @property
    def chunks(self) -> int:
        """The number of ciphertexts over which the samples are dealt out."""
        return -(-self.samples // self.width)

    def pack(self, of_samples: Integers) -> Integers:
        """A number of each sample and tree, shape (samples or fewer, K, T), as slots of shape (groups,
        chunks, N)."""
        padded = np.zeros((self.chunks * self.width, self.scores, self.trees), np.int64)
        padded[: len(of_samples)] = of_samples
        parts = padded.reshape(self.chunks, self.width, self.scores, self.trees)
        return self._placed(parts.transpose(0, 2, 3, 1))

    def _placed(self, values: Integers) -> Integers:
        """Turns shape (chunks, K, T, S) into (groups, chunks, N)."""
        chunks, scores, trees, width = values.shape
        dealt = np.zeros((chunks, scores, self.groups * 2 * self.lanes, width), np.int64)
        dealt[:, :, :trees] = values
        dealt = dealt.reshape(chunks, scores, self.groups, 2 * self.lanes, width).transpose(2, 0, 3, 1, 4)
        slots = np.zeros((self.groups, chunks, 2 * self.lanes, self.lane_slots), np.int64)
        slots[..., : scores * width] = dealt.reshape(self.groups, chunks, 2 * self.lanes, scores * width)
        return slots.reshape(self.groups, chunks, self.degree)

    def unpack(self, slots: NDArray[np.int64]) -> Integers:
        """The scores, shape (samples, K), from slots of shape (chunks, N)."""
        lane = slots[:, : self.scores * self.width].reshape(self.chunks, self.scores, self.width)
        return np.ascontiguousarray(lane.transpose(0, 2, 1).reshape(-1, self.scores)[: self.samples])


@dataclass(frozen=True)
class TreeRows(Encoding):
    """Rows of a table for boosted trees: the bits of each node's comparisons, laid out as
    `hemera.trees` does. Splits and leaves are not in it."""

    kind: ClassVar[str] = "trees"
    takes_rows: ClassVar[bool] = True
    quantiser: Bins
    layout: TreeLayout
    features: NDArray[np.int64]
    """Shape (scores, trees, nodes): what each node compares, where any tree has one."""
    scale: int
    """Integer scores are the model's times this."""
    classes: int
    """0: a regression."""
    names: tuple[str, ...] = ()
    """The names of the features, if they are known."""

    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        del inputs
        require_columns(rows, self.names)
        bins = self.quantiser.bins(rows)
        if len(bins) == 0:
            raise MismatchError(f"score: no rows; give at least one, of {bins.shape[1]} features")
        layout = replace(self.layout, samples=len(bins))
        planes = [
            layout.pack(bit)
            for node in range(self.features.shape[2])
            for bit in self.quantiser.bits(bins[:, self.features[:, :, node]])
        ]
        # From (planes, groups, chunks, N): of each chunk a group's planes one after the other.
        return [np.stack(planes).transpose(2, 1, 0, 3).reshape(layout.chunks, -1, layout.degree)]

    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        slots = values[0].reshape(-1, values[0].shape[-1])
        layout = replace(self.layout, samples=len(slots) * self.layout.width)
        scores = layout.unpack(slots)[:rows]
        spec = outputs[0]
        if scores.shape[1] > 1:
            return read_as(scores / self.scale, spec.read, spec.labels)
        # Packages from before there was "sign" for two classes say "argmax".
        read = "sign" if spec.read == "argmax" else spec.read
        return read_as(scores[:, 0] / self.scale, read, spec.labels)

    def to_data(self) -> dict[str, Any]:
        layout = self.layout
        return {
            "kind": self.kind,
            **self.quantiser.to_data(),
            "degree": layout.degree,
            "lanes": layout.lanes,
            "samples": layout.samples,
            "features": self.features.tolist(),
            "scale": self.scale,
            "classes": self.classes,
            "names": list(self.names),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> TreeRows:
        features = np.asarray(data["features"])
        quantiser = Bins.from_data(data)
        if features.ndim != 3 or features.dtype.kind != "i" or features.size == 0:
            raise FormatError("the trees' features are damaged")
        if features.min() < 0 or features.max() >= len(quantiser.edges):
            raise FormatError("the trees compare features that are not there")
        degree = integer(data["degree"], "degree", 1 << 10, 1 << 17)
        lanes = integer(data["lanes"], "lanes", 1, degree // 2)
        scores, trees = features.shape[:2]
        samples = integer(data["samples"], "samples", 1, max(1, degree // 2 // lanes // scores))
        if degree & (degree - 1) or lanes & (lanes - 1) or samples * scores > degree // 2 // lanes:
            raise FormatError("the trees' layout does not fit its degree")
        # Packages from before there were names are without them.
        names = tuple(map(str, data.get("names", ())))
        if len(names) not in (0, len(quantiser.edges)):
            raise FormatError(f"trees of {len(quantiser.edges)} features have {len(names)} names")
        return cls(
            quantiser,
            TreeLayout(degree, scores, trees, samples, lanes, samples),
            features.astype(np.int64),
            integer(data["scale"], "a scale", 1, 1 << 62),
            integer(data["classes"], "classes", 0, 1 << 20),
            names,
        )
