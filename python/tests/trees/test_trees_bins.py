"""Bins of features, judged by NumPy's digitize."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hemera.errors import MismatchError, ParameterError
from hemera.trees import Ensemble, Quantiser
from hemera.trees.ensemble import Node

pytestmark = pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")


def stump(threshold: float, *, feature_count: int = 1, **options: Any) -> Ensemble:
    """1 where feature 0 is at the threshold or above, else 0."""
    tree = Node(threshold=threshold, left=Node(0.0), right=Node(1.0), **options)
    return Ensemble.of([[tree]], [0.0], feature_count=feature_count, single=False, classes=0)


@pytest.mark.parametrize("below", [0.0, 0.5])  # xgboost compares with whole bins, others in the middle
@pytest.mark.parametrize("split", [1, 2, 3, 4])
def test_a_model_of_bins_is_one_of_values_at_every_split(split: int, below: float) -> None:
    edges = np.array([-1.5, 0.0, 2.0])
    rows = np.array([-9.0, -1.5, -1.0, 0.0, 1.0, 2.0, 9.0])
    wanted = np.digitize(rows, edges) >= split  # 4: no bin goes right
    model = Quantiser((edges,)).of_values(stump(split - below))
    np.testing.assert_array_equal(model.scores(rows[:, None])[:, 0], wanted)


def test_models_that_are_none_of_these_bins() -> None:
    quantiser = Quantiser((np.array([1.0]),))
    with pytest.raises(ParameterError, match="bin of feature 0 with 0, below all of them"):
        quantiser.of_values(stump(0.0))
    with pytest.raises(MismatchError, match="model has 2 features, and the quantiser 1"):
        quantiser.of_values(stump(1.0, feature_count=2))
