"""Sizes that indexes tell servers, against the messages that they send, whole rows and blocks of them."""

from __future__ import annotations

import numpy as np
import pytest

from hemera.search import Client, Index, Settings
from hemera.search.answers import Scores

from .search_cases import DEGREE, Metric, bytes_of

HEADER = 600  # bytes, at most


@pytest.mark.parametrize("metric", ["dot", "l2"])
@pytest.mark.parametrize("encrypted", [False, True])
def test_answers_take_what_is_announced(encrypted: bool, metric: Metric) -> None:
    """As in docs/search.md: 32,768 bytes for each query and 4,096 rows, once more for encrypted norms; 8 for
    an id, and 4 for a norm in the clear."""
    rows = bytes_of(DEGREE + 3, 2)
    client = Client.owning(rows, metric) if encrypted else None
    index = Index(rows, metric) if client is None else Index(client.encrypt(rows))
    asking = client or Client(index.settings)
    for removed in (None, np.arange(3, DEGREE), [1, 2, DEGREE]):
        if removed is not None:
            index.remove(removed)
        blocks = 2 if encrypted or len(index) > DEGREE else 1
        for count in (1, 2):
            query = asking.query(bytes_of(count, 2, seed=count))
            assert index.settings.program.count(query) == count
            length, told = len(index.query(query, asking.keys)), index.answer_bytes(count)
            numbers = 32_768 * blocks * (count + (encrypted and metric == "l2"))
            assert told == numbers + 12 * DEGREE * blocks
            assert numbers < length <= told + HEADER


@pytest.mark.parametrize(("exact", "of_a_number"), [(False, 65_536), (True, 262_144)])
@pytest.mark.parametrize("dims", [1, 100, 4096, 8192])
def test_queries_at_once_fit_a_gibibyte_or_are_one(exact: bool, of_a_number: int, dims: int) -> None:
    """As in docs/search.md: the bytes of each number of an expanded query."""
    if not exact and dims > DEGREE:
        return
    settings = Settings(dims, "dot", Scores(exact))
    assert settings.program.expanded_bytes == of_a_number * dims
    assert settings.program.queries_at_once == max(1, 2**30 // (of_a_number * dims))
