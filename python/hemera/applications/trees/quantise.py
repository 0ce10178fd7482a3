"""From real features and leaves to integers: bins of features, and leaf scores in steps of a power of two."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.applications.trees.ensemble import Ensemble, Floats, Integers, descend, prepared
from hemera.errors import MismatchError, ParameterError

MAX_EDGES = 32
"""Most edges of a feature: a comparison takes one ciphertext for each."""


@dataclass(frozen=True)
class Quantiser:
    """The bins of each feature, which a client must know. Value x is in bin c when c edges are <= x."""

    edges: tuple[Floats, ...]
    """Of each feature, ascending."""
    single: bool = False
    """Whether values are rounded to single precision first."""
    integral: bool = False
    """Whether all values are integers, so that a threshold between two of them is the upper one."""

    @property
    def planes(self) -> int:
        """How many bits say a bin: the most edges of a feature, at least 1."""
        return max(1, *(len(own) for own in self.edges))

    def bins(self, rows: NDArray[Any]) -> Integers:
        """The bin of each value, of the same shape (rows, features).

        Raises:
            MismatchError: for another number of features.
            ParameterError: for missing values, or fractions where integers are promised.
        """
        values = prepared(rows, self.single)
        if values.ndim != 2 or values.shape[1] != len(self.edges):
            raise MismatchError(
                f"rows of shape {values.shape} were given to a model of {len(self.edges)} features; give "
                f"(rows, {len(self.edges)})"
            )
        if self.integral and not np.array_equal(values, np.rint(values)):
            raise ParameterError("the features of this model are integers, but the rows have fractions")
        return np.stack(
            [np.searchsorted(own, values[:, f], side="right") for f, own in enumerate(self.edges)], axis=1
        )

    @classmethod
    def of_levels(cls, feature_count: int, levels: int) -> Quantiser:
        """For features that are integers from 0 to levels - 1: each is its own bin."""
        return cls((np.arange(1.0, levels),) * feature_count, integral=True)

    @classmethod
    def of_quantiles(cls, rows: NDArray[Any], bins: int) -> Quantiser:
        """At most `bins` bins a feature, of about equally many of `rows`. The model is then trained on
        `bins(rows)`, and the edges tell of the rows and not of the model."""
        if not 2 <= bins <= MAX_EDGES + 1:
            raise ParameterError(f"a feature has 2 to {MAX_EDGES + 1} bins, not {bins}")
        cuts = np.quantile(np.asarray(rows, float), np.arange(1, bins) / bins, axis=0)
        return cls(tuple(np.unique(cuts[:, f]) for f in range(cuts.shape[1])))

    @classmethod
    def of_model(cls, model: Ensemble) -> Quantiser:
        """The thresholds of a model as they are: exact, but the client learns them (not where they stand).

        Raises:
            ParameterError: for a feature with more than MAX_EDGES thresholds.
        """
        edges = []
        for feature in range(model.feature_count):
            own = np.unique(model.thresholds[model.features == feature])
            own = own[np.isfinite(own)]
            if len(own) > MAX_EDGES:
                raise ParameterError(
                    f"the model compares feature {feature} with {len(own)} thresholds, and at most "
                    f"{MAX_EDGES} "
                    "are evaluated; train it on binned features: Quantiser.of_quantiles(rows, "
                    "bins=8).bins(rows)"
                )
            edges.append(own)
        return cls(tuple(edges), model.single)

    def of_values(self, model: Ensemble) -> Ensemble:
        """A model that was trained on `bins(rows)`, as one of the rows themselves.

        Raises:
            MismatchError: when it is of other features.
            ParameterError: when it compares with less than every bin.
        """
        if len(self.edges) != model.feature_count:
            raise MismatchError(
                f"the model has {model.feature_count} features, and the quantiser {len(self.edges)}"
            )
        thresholds = np.full_like(model.thresholds, math.inf)
        for place, feature in np.ndenumerate(model.features):
            threshold = model.thresholds[place]
            if threshold <= 0:
                raise ParameterError(
                    f"the model compares a bin of feature {feature} with {threshold:g}, below all of them; "
                    "train it "
                    "on quantiser.bins(rows)"
                )
            if threshold <= len(self.edges[feature]):
                thresholds[place] = self.edges[feature][math.ceil(threshold) - 1]
        return dataclasses.replace(model, thresholds=thresholds, single=self.single)

    def split(self, feature: int, threshold: float) -> int:
        """The least bin that does not go left at this threshold; 0 where none can go right.

        Raises:
            ParameterError: when the threshold lies inside of a bin.
        """
        if threshold == math.inf:
            return 0
        own = self.edges[feature]
        wanted = math.ceil(threshold) if self.integral else threshold
        at = int(np.searchsorted(own, wanted))
        if at < len(own) and own[at] == wanted:
            return at + 1
        if self.integral and at == len(own):
            return 0
        raise ParameterError(
            f"the model compares feature {feature} with {threshold:g}, inside of a bin; train it on "
            "quantiser.bins(rows) and take quantiser.of_values(model), or score with "
            "Quantiser.of_model(model)"
        )


@dataclass(frozen=True)
class IntegerEnsemble:
    """An ensemble on bins, with leaves in steps of 1 / scale: what is computed under encryption, exactly."""

    features: Integers
    splits: Integers
    """Shape (K, T, 2^D - 1): a node goes right for this bin and above; 0: never."""
    leaves: Integers
    base: Integers
    scale: int
    planes: int
    classes: int

    @property
    def depth(self) -> int:
        """D."""
        return int(self.leaves.shape[2]).bit_length() - 1

    @property
    def bound(self) -> int:
        """The largest |score| of any row."""
        return _bound(self.leaves, self.base)

    def scores(self, bins: Integers) -> Integers:
        """The integer scores in the clear, shape (rows, K)."""
        splits = np.where(self.splits == 0, self.planes + 1, self.splits)
        return descend(self.features, self.leaves, self.base, lambda f, nodes: bins[:, f] >= splits[nodes])


def quantise(model: Ensemble, quantiser: Quantiser, plain_bits: int = 20) -> IntegerEnsemble:
    """The model in integers whose scores stay below 2^(plain_bits - 2): leaves are rounded to the finest
    steps 1 / 2^s at which they do, so a score of T trees is off by at most (T + 1) / 2^(s + 1).

    Raises:
        MismatchError: when the quantiser is of other features.
        ParameterError: when a threshold lies inside of a bin, or leaves are too large for any step below 1.
    """
    if len(quantiser.edges) != model.feature_count:
        raise MismatchError(
            f"the model has {model.feature_count} features, and the quantiser {len(quantiser.edges)}"
        )
    known: dict[tuple[int, float], int] = {}
    splits = np.zeros_like(model.features)
    for place, feature in np.ndenumerate(model.features):
        key = (int(feature), float(model.thresholds[place]))
        if key not in known:
            known[key] = quantiser.split(*key)
        splits[place] = known[key]
    largest = (1 << (plain_bits - 2)) - 1
    for bits in range(plain_bits, -1, -1):
        leaves = np.rint(model.leaves * 2.0**bits).astype(np.int64)
        base = np.rint(model.base * 2.0**bits).astype(np.int64)
        if _bound(leaves, base) <= largest:
            return IntegerEnsemble(
                model.features, splits, leaves, base, 1 << bits, quantiser.planes, model.classes
            )
    raise ParameterError(
        f"the model's scores reach {_bound(leaves, base)}, too large for {plain_bits} bits; give more "
        "plain_bits"
    )


def _bound(leaves: Integers, base: Integers) -> int:
    per_score: Sequence[int] = (np.abs(leaves).max(axis=2).sum(axis=1) + np.abs(base)).tolist()
    return max(per_score)
