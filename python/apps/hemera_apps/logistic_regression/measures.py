"""Measures of the quality of weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Quality:
    """The quality of one model on samples."""

    accuracy: float
    """The part of the samples whose class is the sign of their logit."""
    auc: float
    """The area under the receiver operating characteristic."""


def quality(logits: Floats, labels: Integers) -> Quality:
    """The quality of logits of shape (samples,), with labels 0 or 1."""
    return Quality(float(np.mean((logits > 0) == (labels == 1))), area_under_curve(logits, labels))


def area_under_curve(logits: Floats, labels: Integers) -> float:
    """The probability that a sample of class 1 has a larger logit than one of class 0; equal logits count
    half (the rank sum of F. Wilcoxon, and of H. Mann and D. Whitney)."""
    _, places, counts = np.unique(logits, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    ones = int(labels.sum())
    zeros = len(labels) - ones
    return float((ranks[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def loss(logits: Floats, labels: Integers) -> float:
    """The mean of log(1 + exp(-y logit)), y = -1 or 1."""
    return float(np.mean(np.logaddexp(0, -(2 * labels - 1) * logits)))
