"""The parameters that clients and servers have for encrypted comparisons."""

import numpy as np
import pytest

from hemera.search import Client, Index, Settings, Threshold, Top
from hemera.search.comparisons.slots import RING, SCORE_NOISE, Ring


@pytest.mark.parametrize("margin", [1.0, 2.0**-5, 2.0**-11])
@pytest.mark.parametrize(("kind", "rows"), [(Threshold, 16), (Top, 8), (Top, 1024)])
def test_all_have_128_bits_of_security(kind, rows, margin):
    settings = Settings(6, "cosine", kind(margin, rows=rows))
    assert settings.params.security == ">=128"


def test_the_cost_is_told_before_a_query():
    vectors = np.random.default_rng(1).normal(size=(6, 4))
    for index in (Index(vectors, answers=Threshold()), Index(vectors, answers=Top(margin=2.0**-2))):
        cost = index.cost("nvidia-h200")
        assert cost.seconds is not None
        assert 0 < cost.seconds < 1


def test_errors_are_below_what_comparisons_leave_to_them():
    """Eight deviations of half a score: rows beyond the margin do not come out wrong."""
    assert Ring(1 << 15, 128) == RING
    vectors = np.random.default_rng(2).normal(size=(3, 6))
    owner = Client.owning(vectors, answers=Threshold())
    few = Client(Settings(6, "cosine", Top(rows=1024)))
    assert (owner.settings.params.degree, few.settings.params.degree) == (1 << 15, 1 << 16)
    for client in (owner, few):
        assert 8 * client.expected_error.noise / 2 < SCORE_NOISE
    assert Index(vectors).expected_error.bits < owner.expected_error.bits
