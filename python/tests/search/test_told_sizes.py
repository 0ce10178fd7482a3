"""Sizes that indexes tell servers, against the messages that they send, whole rows and blocks of them."""

from __future__ import annotations

import numpy as np
import pytest

from hemera.search import Client, EncryptedIndex, Index

from .search_cases import DEGREE, Metric, bytes_of

HEADER = 600  # bytes, at most


@pytest.mark.parametrize("metric", ["dot", "l2"])
@pytest.mark.parametrize("encrypted", [False, True])
def test_answers_take_what_is_announced(encrypted: bool, metric: Metric) -> None:
    """By docs/search.md: 32,768 bytes for each query and 4,096 rows, once more for encrypted norms; 8 for an
    id, and 4 for a norm in the clear."""
    rows = bytes_of(DEGREE + 3, 2)
    client = Client.owning(rows, metric) if encrypted else None
    index: Index | EncryptedIndex
    index = Index(rows, metric) if client is None else EncryptedIndex(client.encrypt(rows))
    asking = client or Client(index.settings)
    for removed in (None, np.arange(3, DEGREE), [1, 2, DEGREE]):
        if removed is not None:
            index.remove(removed)
        blocks = 2 if encrypted or len(index) > DEGREE else 1
        for count in (1, 2):
            query = asking.query(bytes_of(count, 2, seed=count))
            assert index.count(query) == count
            length, told = len(index.query(query, asking.keys)), index.answer_bytes(count)
            numbers = 32_768 * blocks * (count + (encrypted and metric == "l2"))
            assert told == numbers + 12 * DEGREE * blocks
            assert numbers < length <= told + HEADER


@pytest.mark.parametrize("encrypted", [False, True])
def test_keys_take_what_is_announced(encrypted: bool) -> None:
    rows = bytes_of(2, 2)
    client = Client.owning(rows, "dot") if encrypted else None
    index = Index(rows, "dot") if client is None else EncryptedIndex(client.encrypt(rows))
    keys = index.load_keys((client or Client(index.settings)).keys)
    index.require_keys(keys)
    one = index.settings.params.switching_key_bytes
    assert 0 <= index.key_bytes - keys.memory_bytes <= 2 * one
