"""Real features and leaves as integers: bins of features, and leaf scores in steps of a power of two."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import MismatchError, ParameterError
from hemera.package.encodings.trees import MAX_EDGES, OWN_PLANE, Bins, prepared
from hemera.trees.ensemble import LOWEST, Ensemble, Flags, Integers

_ONE_DIGIT = 32
"""The most edges with one ciphertext for each in a comparison. With more edges a bin has two digits."""
_ONE_DIGIT_DEEP = 8
_DEEP = 5
"""The depth from which on two digits are fewer bytes already with fewer edges (_ONE_DIGIT_DEEP)."""


class Quantiser(Bins):
    """The bins of each feature, as models are made for them."""

    @classmethod
    def of_levels(cls, feature_count: int, levels: int) -> Quantiser:
        """The quantiser of integer features from 0 to levels - 1: each value is its own bin."""
        return cls((np.arange(1.0, levels),) * feature_count, integral=True)

    @classmethod
    def of_quantiles(cls, rows: NDArray[Any], bins: int) -> Quantiser:
        """At most `bins` bins a feature, each of about equally many of `rows`. A model trained on
        `bins(rows)` has these edges, which reveal something of the rows and nothing of the model.

        Raises:
            MismatchError: if rows have another shape than (rows, features), or there is none.
            ParameterError: for another number of bins, infinite values, or a feature without any value.
        """
        if not 2 <= bins <= MAX_EDGES + 1:
            raise ParameterError(f"a feature has 2 to {MAX_EDGES + 1} bins, not {bins}")
        values = prepared(rows, single=False, missing=True)
        if values.ndim != 2 or values.size == 0:
            raise MismatchError(f"rows of shape {values.shape} were given; give (rows, features)")
        empty = np.flatnonzero(np.isnan(values).all(axis=0))
        if len(empty):
            raise ParameterError(f"feature {empty[0]} has no value in any row; leave it out")
        cuts = np.nanquantile(values, np.arange(1, bins) / bins, axis=0)
        # If values are missing, a model may separate all others from them: by an edge below these.
        lowest = np.where(np.isnan(values).any(axis=0), LOWEST, cuts[0])
        edges = np.concatenate([lowest[None], cuts])
        return cls(tuple(np.unique(edges[:, f]) for f in range(edges.shape[1])))

    @classmethod
    def of_model(cls, model: Ensemble) -> Quantiser:
        """The thresholds of a model as edges. This is exact, but the client learns the thresholds (not their
        nodes). Missing values go the model's way, if it takes any.

        Raises:
            ParameterError: if a feature has more than MAX_EDGES thresholds.
        """
        edges = []
        for feature in range(model.feature_count):
            own = np.unique(model.thresholds[model.features == feature])
            own = own[np.isfinite(own)]
            if len(own) > MAX_EDGES:
                raise ParameterError(
                    f"the model compares feature {feature} with {len(own)} thresholds, and at most "
                    f"{MAX_EDGES} are evaluated; train it on binned features: "
                    "Quantiser.of_quantiles(rows, bins=8).bins(rows)"
                )
            edges.append(own)
        return cls(tuple(edges), model.single).for_depth(model.depth).with_missing_of(model)

    def for_depth(self, depth: int) -> Quantiser:
        """The same bins, in two digits if, for trees of this depth, the fewer bits are worth one product
        more."""
        edges = self.most_edges
        one = edges <= (_ONE_DIGIT_DEEP if depth >= _DEEP else _ONE_DIGIT)
        return dataclasses.replace(self, digit=1 if one else math.isqrt(edges) + 1)

    def with_missing_of(self, model: Ensemble) -> Quantiser:
        """The same bins, with missing values in the bins where a model of these features takes them.

        Raises:
            ParameterError: if a threshold lies inside of a bin.
        """
        if model.missing is None:
            return dataclasses.replace(self, missing=None)
        # The bin of missing values must go their way in every node. The lowest bin, the highest, and that of
        # 0 (LightGBM's) reveal nothing of the model beyond this choice.
        least, beyond = [0] * len(self.edges), [len(own) + 1 for own in self.edges]
        nodes = (each.flat for each in (model.features, self.splits(model), model.missing))
        for feature, split, right in zip(*nodes, strict=True):
            if right:
                # No bin goes right: missing values alone do.
                least[feature] = max(least[feature], split or len(self.edges[feature]) + 1)
            elif split:
                beyond[feature] = min(beyond[feature], split)
        bins = []
        for own, low, high in zip(self.edges, least, beyond, strict=True):
            usual = (0, len(own), int(np.searchsorted(own, 0.0, side="right")))
            bins.append(next((at for at in usual if low <= at < high), OWN_PLANE))
        return dataclasses.replace(self, missing=tuple(bins))

    def require_features_of(self, model: Ensemble) -> None:
        """MismatchError if the model has other features."""
        if len(self.edges) != model.feature_count:
            raise MismatchError(
                f"the model has {model.feature_count} features, and the quantiser {len(self.edges)}"
            )

    def of_values(self, model: Ensemble) -> Ensemble:
        """A model of values from one that was trained on `bins(rows)`.

        Raises:
            MismatchError: if the model has other features.
            ParameterError: if a threshold is below every bin.
        """
        self.require_features_of(model)
        thresholds = np.full_like(model.thresholds, math.inf)
        for place, feature in np.ndenumerate(model.features):
            threshold = model.thresholds[place]
            if threshold <= 0:
                raise ParameterError(
                    f"the model compares a bin of feature {feature} with {threshold:g}, below all of them; "
                    "train it on quantiser.bins(rows)"
                )
            if threshold <= len(self.edges[feature]):
                thresholds[place] = self.edges[feature][math.ceil(threshold) - 1]
        return dataclasses.replace(model, thresholds=thresholds, single=self.single)

    def splits(self, model: Ensemble) -> Integers:
        """Shape (K, T, 2^D - 1): the least bin that goes right in each node of a model; 0 if none does.

        Raises:
            ParameterError: if a threshold lies inside of a bin.
        """
        nodes = list(zip(model.features.flat, model.thresholds.flat, strict=True))
        known = {node: self.split(*node) for node in set(nodes)}
        return np.reshape([known[node] for node in nodes], model.features.shape)

    def split(self, feature: int, threshold: float) -> int:
        """The same of one threshold."""
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


@dataclass(frozen=True, kw_only=True)
class IntegerEnsemble(Ensemble):
    """An ensemble on bins, which are its thresholds, with whole numbers as leaves and base, in steps of
    1 / scale. Encryption computes it exactly. `missing` marks nodes that go right for a missing value with a
    bit of its own."""

    scale: int
    quantiser: Quantiser

    @property
    def splits(self) -> Integers:
        """Shape (K, T, 2^D - 1): a node goes right from this bin on; 0: never."""
        return np.where(np.isinf(self.thresholds), 0, self.thresholds).astype(np.int64)

    @property
    def nodes(self) -> Integers:
        """The places where some tree has a comparison, ascending; the root at least."""
        used = np.isfinite(self.thresholds)
        used = used if self.missing is None else used | self.missing
        return np.union1d([0], np.flatnonzero(used.any(axis=(0, 1))))

    @property
    def bound(self) -> int:
        """The largest |score| of any row."""
        return int(bound(self.leaves, self.base))

    def scores(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The integer scores of bins in the clear, shape (rows, K)."""
        return super().scores(np.where(rows == OWN_PLANE, np.nan, rows))


_FINEST = 62
"""The bits of the finest steps of leaves."""


def quantise(model: Ensemble, quantiser: Quantiser, plain_bits: int = 20) -> IntegerEnsemble:
    """The model in integers, with scores below 2^(plain_bits - 2). Leaves are rounded to the finest steps 1 /
    2^s that keep this bound, s to 62. A score of T trees is then off by at most (T + 1) / 2^(s + 1).

    Raises:
        MismatchError: if the quantiser has other features.
        ParameterError: if a threshold lies inside of a bin, if missing values have other bins than the
            model's, or if leaves are too large for any step below 1, or too small for these.
    """
    quantiser.require_features_of(model)
    splits = quantiser.splits(model)
    missing = _missing(model, quantiser, splits)
    largest = (1 << (plain_bits - 2)) - 1
    reach = bound(model.leaves, model.base)
    if 0 < reach < 2.0 ** (plain_bits - _FINEST - 4):
        raise ParameterError(
            f"the model's scores are below {reach:.2g}, too small for steps of 2^-{_FINEST}; train it "
            "on targets in another unit"
        )
    for bits in range(max(0, min(_FINEST, plain_bits - math.frexp(reach)[1])), -1, -1):
        leaves, base = np.rint(model.leaves * 2.0**bits), np.rint(model.base * 2.0**bits)
        if bound(leaves, base) <= largest:
            return IntegerEnsemble(
                model.features,
                np.where(splits == 0, np.inf, splits),
                leaves.astype(np.int64),
                base.astype(np.int64),
                model.feature_count,
                single=False,
                classes=model.classes,
                missing=missing,
                scale=1 << bits,
                quantiser=quantiser,
            )
    raise ParameterError(
        f"the model's scores reach {reach:.0f}, too large for a plaintext modulus of "
        f"{plain_bits} bits; take parameters='auto' (--parameters auto), which have as many as the model "
        "needs"
    )


def _missing(model: Ensemble, quantiser: Quantiser, splits: Integers) -> Flags:
    """The nodes that go right for missing values with a bit of their own. ParameterError if missing values
    have other bins than the model's."""
    if quantiser.missing is None:
        return np.zeros(splits.shape, np.bool_)
    if model.missing is None:
        raise ParameterError(
            "the quantiser has bins for missing values, and the model takes none; take "
            "quantiser.with_missing_of(model)"
        )
    bins = np.asarray(quantiser.missing, np.int64)[model.features]
    own = bins == OWN_PLANE
    if (~own & (model.missing != ((splits > 0) & (bins >= splits)))).any():
        raise ParameterError(
            "the quantiser has missing values in other bins than the model; take "
            "quantiser.with_missing_of(model)"
        )
    return np.asarray(own & model.missing, np.bool_)


def bound(leaves: NDArray[Any], base: NDArray[Any]) -> float:
    """The largest possible |score| of trees with these leaves and this base."""
    per_score: Sequence[float] = (np.abs(leaves).max(axis=2).sum(axis=1) + np.abs(base)).tolist()
    return max(per_score)
