"""The parameters that clients and servers have for encrypted comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hemera.search import ThresholdIndex, ThresholdSettings, TopIndex, TopSettings


@pytest.mark.parametrize("margin", [1.0, 2.0**-5, 2.0**-11])
@pytest.mark.parametrize(("kind", "rows"), [(ThresholdSettings, 16), (TopSettings, 8), (TopSettings, 1024)])
def test_all_have_128_bits_of_security(kind: Any, rows: int, margin: float) -> None:
    settings = kind(6, "cosine", margin, rows)
    assert settings.params.security == ">=128"


def test_the_cost_is_told_before_a_query() -> None:
    vectors = np.random.default_rng(1).normal(size=(6, 4))
    for index in (ThresholdIndex(vectors), TopIndex(vectors, margin=2.0**-2)):
        cost = index.cost("nvidia-h200")
        assert cost.seconds is not None
        assert 0 < cost.seconds < 1
