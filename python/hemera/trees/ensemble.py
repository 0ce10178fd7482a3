"""Ensembles of boosted trees in the clear, each filled up to a complete tree of one depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import ParameterError
from hemera.package.encodings.trees import prepared

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

MAX_DEPTH = 6
"""The largest depth of a tree: its comparisons are multiplied depth - 1 times, one after the other."""

LOWEST = float(np.finfo(np.float64).min)
"""A threshold with no value below it."""


@dataclass(frozen=True)
class Node:
    """A node of a library's tree: a leaf, which has no `left` and `right`, or a comparison, which goes left
    if feature < threshold."""

    value: float = 0.0
    feature: int = 0
    threshold: float = np.inf
    left: Node | None = None
    right: Node | None = None
    missing_right: bool | None = None
    """Whether a missing value (NaN) goes right; None: the library takes no missing values."""

    @property
    def depth(self) -> int:
        """The number of comparisons on the longest way to a leaf."""
        if self.left is None or self.right is None:
            return 0
        return 1 + max(self.left.depth, self.right.depth)


@dataclass(frozen=True)
class Ensemble:
    """K scores, each the sum of T trees and a base: one score for two classes, else one for each class or
    target.

    Trees are complete: node i has the children 2i + 1 and 2i + 2, and leaves are counted from the left. A
    node that the model lacks compares its parent's feature with infinity, and goes left.
    """

    features: Integers
    """Shape (K, T, 2^D - 1): the feature that each node compares."""
    thresholds: Floats
    """Shape (K, T, 2^D - 1): a node goes left if its feature is below."""
    leaves: NDArray[Any]
    """Shape (K, T, 2^D)."""
    base: NDArray[Any]
    """Shape (K,)."""
    feature_count: int
    single: bool
    """Whether the library rounds features to single precision before it compares."""
    classes: int
    """The number of classes that the scores decide between; 0: a regression."""
    missing: Flags | None = None
    """Shape (K, T, 2^D - 1): a node goes right for a missing value (NaN). None: no value may be missing."""

    @property
    def depth(self) -> int:
        """D."""
        return int(self.leaves.shape[2]).bit_length() - 1

    @property
    def trees(self) -> int:
        """T."""
        return int(self.leaves.shape[1])

    def scores(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The scores in the clear, shape (rows, K). ParameterError if a value is missing and `missing` is
        None."""
        exact = prepared(rows, self.single, missing=self.missing is not None)
        right = np.empty((len(exact), *self.features.shape), np.bool_)
        for node in range(right.shape[-1]):
            compared = exact[:, self.features[:, :, node]]
            right[..., node] = compared >= self.thresholds[:, :, node]
            if self.missing is not None:
                right[..., node] |= np.isnan(compared) & self.missing[:, :, node]
        at = np.zeros(right.shape[:-1], np.int64)
        for _ in range(self.depth):
            at = 2 * at + 1 + np.take_along_axis(right, at[..., None], axis=-1)[..., 0]
        scores, trees = np.indices(at.shape[1:])
        # Added up one after the other, as libraries do.
        sums = self.leaves[scores, trees, at - right.shape[-1]].cumsum(axis=2)
        return np.asarray(sums[..., -1] + self.base)

    @classmethod
    def of(
        cls,
        trees: Sequence[Sequence[Node]],
        base: Sequence[float],
        *,
        feature_count: int,
        single: bool,
        classes: int,
    ) -> Ensemble:
        """The ensemble of `trees`, a list for each score.

        Raises:
            ParameterError: if there is no tree, or one is deeper than MAX_DEPTH.
        """
        count = max((len(own) for own in trees), default=0)
        if count == 0:
            raise ParameterError("the model has no trees; train it for at least one round")
        depth = max(1, *(tree.depth for own in trees for tree in own))
        require_depth(depth)
        nodes, scores = (1 << depth) - 1, len(trees)
        features = np.zeros((scores, count, nodes), np.int64)
        thresholds = np.full((scores, count, nodes), np.inf)
        missing = np.zeros((scores, count, nodes), np.bool_)
        leaves = np.zeros((scores, count, nodes + 1))
        takes_missing = True

        def fill(tree: Node, place: tuple[int, int], at: int, inherited: int) -> None:
            nonlocal takes_missing
            feature = inherited if tree.left is None else tree.feature
            if at >= nodes:
                leaves[place][at - nodes] = tree.value
                return
            features[place][at] = feature
            if tree.left is None or tree.right is None:
                fill(tree, place, 2 * at + 1, feature)
                fill(tree, place, 2 * at + 2, feature)
            else:
                thresholds[place][at] = max(tree.threshold, LOWEST)
                missing[place][at] = bool(tree.missing_right)
                takes_missing &= tree.missing_right is not None
                fill(tree.left, place, 2 * at + 1, feature)
                fill(tree.right, place, 2 * at + 2, feature)

        for score, own in enumerate(trees):
            for index, tree in enumerate(own):
                fill(tree, (score, index), 0, 0)
        return cls(
            features,
            thresholds,
            leaves,
            np.asarray(base, float),
            feature_count,
            single,
            classes,
            missing if takes_missing else None,
        )


def require_depth(depth: int) -> None:
    """ParameterError if the depth is above MAX_DEPTH."""
    if not 1 <= depth <= MAX_DEPTH:
        raise ParameterError(
            f"the model has trees of depth {depth}, and at most {MAX_DEPTH} is evaluated under encryption; "
            f"train it with max_depth={MAX_DEPTH} or less (--depth; 2 is fastest), and more rounds"
        )


def predicted(scores: NDArray[Any], classes: int) -> Integers:
    """The classes of scores of shape (rows, K); of equal ones the first, as the libraries have it (but for
    scikit-learn's GradientBoostingClassifier, which takes a score of exactly 0 for the second of two).
    ParameterError if the model is a regression."""
    if classes == 0:
        raise ParameterError("a regression has scores and no classes")
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int64)
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)


def random_ensemble(
    scores: int, trees: int, depth: int, *, feature_count: int, levels: int, seed: int
) -> Ensemble:
    """An ensemble of random comparisons, with integer features from 0 to levels - 1, and random leaves. It
    serves to measure time, which does not depend on a model's numbers."""
    require_depth(depth)
    random = np.random.default_rng(seed)
    nodes = (1 << depth) - 1
    return Ensemble(
        features=random.integers(0, feature_count, (scores, trees, nodes)),
        thresholds=random.integers(1, levels, (scores, trees, nodes)).astype(float),
        leaves=random.normal(0, 0.1, (scores, trees, nodes + 1)),
        base=np.zeros(scores),
        feature_count=feature_count,
        single=False,
        classes=2 if scores == 1 else scores,
    )
