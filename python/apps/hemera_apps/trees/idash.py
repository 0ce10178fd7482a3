"""The model and the labelled samples that the authors of arXiv 2110.11446 published with their prototype.

Both come from the secure genome analysis competition of 2020 (iDASH): eleven classes of tumours, each scored
by 128 trees of depth 2. The 99 samples consist of the values 0, 1 and 2 that the nodes compare, in the order
of the nodes. So the table has a column for each node of each tree, and no names of genes.

Copyright (c) 2020 Ferhat Yaman, under the MIT licence of https://github.com/SU-CISEC/MLwithHE, which stands
in idash_2020/LICENSE.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hemera.trees.ensemble import Ensemble, Integers

CLASSES = 11
LEVELS = 3


def samples() -> tuple[Integers, Integers]:
    """Values of shape (99, 4224), and classes of shape (99,)."""
    with _file() as file:
        return file["values"].astype(np.int64), file["labels"].astype(np.int64)


def model() -> Ensemble:
    """The trees, with the integer leaves of the authors' circuit."""
    with _file() as file:
        trees = file["trees"].astype(np.int64).reshape(CLASSES, -1, 7)
    features = np.arange(3 * trees.shape[0] * trees.shape[1]).reshape(*trees.shape[:2], 3)
    return Ensemble(
        features=features,
        # 1: below 1 goes left; 0: below 2.
        thresholds=np.where(trees[:, :, :3] == 1, 1.0, 2.0),
        leaves=trees[:, :, 3:].astype(float),
        base=np.zeros(CLASSES),
        feature_count=features.size,
        single=False,
        classes=CLASSES,
    )


def _file() -> Any:
    return np.load(Path(__file__).parent / "idash_2020" / "table.npz")
