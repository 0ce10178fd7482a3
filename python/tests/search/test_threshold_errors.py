"""Errors of encrypted scores beside those that indexes and clients expect."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from hemera.search import EncryptedThresholdIndex, ThresholdClient, ThresholdIndex, TopClient, TopIndex
from hemera.search.any_settings import Metric
from hemera.search.ranks.messages import unpack_query as unpack_top_query
from hemera.search.thresholds import circuit
from hemera.search.thresholds.messages import unpack_query

from .threshold_cases import MARGIN, floats

AnyKind = ThresholdIndex | EncryptedThresholdIndex | TopIndex


def scores_of(index: AnyKind, client: Any, x: NDArray[Any]) -> list[NDArray[np.float64]]:
    """The decrypted halves of scores as they are compared: [slots] of each block."""
    settings: Any = index.settings
    ev = index._context.bind(index.load_keys(client.keys))
    if isinstance(index, TopIndex):
        asked, columns = unpack_top_query(client.query(x, 1), settings, ev).x, index._columns
    else:
        asked = unpack_query(client.query(x, 0.0), settings, ev).x
        columns = [cast(Any, block.columns) for block in index._blocks]
    found = []
    for halves in circuit.scores(ev, circuit.products(ev, [asked], columns, settings), settings):
        here = client._context.load(halves.rescale().to_bytes())
        found.append(client._context.decrypt(here, client.secret_key, dtype=np.float64))
    return found


def units(metric: str, bound: float) -> float:
    """Scores over numbers from -1 to 1, for a query of norm 1."""
    return {"cosine": 1.0, "dot": bound, "l2": bound * (2 + bound)}[metric]


def queries(count: int, dims: int, seed: int) -> NDArray[np.float64]:
    found = floats(count, dims, seed)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def scores_by_numpy(vectors: NDArray[Any], x: NDArray[Any], metric: str) -> NDArray[np.float64]:
    """[row], of which the largest is the nearest row's."""
    if metric == "l2":
        return np.asarray(2 * vectors @ x - (vectors**2).sum(axis=1))
    norms = np.linalg.norm(vectors, axis=1) if metric == "cosine" else 1.0
    return np.asarray(vectors @ x / norms)


def kept_scores(index: ThresholdIndex, x: NDArray[Any]) -> NDArray[np.float64]:
    """The same of the rows as the index has them: in float32, over the bound."""
    entries, bound = index._blocks[0].vectors.astype(np.float64), index.settings.row_bound
    products = bound * entries[:, : len(x)] @ x
    return np.asarray(2 * products - bound**2 * entries[:, -1] if index.settings.metric == "l2" else products)


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.parametrize(("rows", "dims"), [(64, 60), (1000, 60)])
@pytest.mark.usefixtures("small_rings")
def test_scores_are_off_by_the_expected_error(metric: Metric, rows: int, dims: int, encrypted: bool) -> None:
    """With several copies of the rows, and with one, where a query is rotated by two steps."""
    vectors = floats(rows, dims, seed=21)
    index: AnyKind
    if encrypted:  # of rows of the largest norm
        vectors *= np.linalg.norm(vectors[:1]) / np.linalg.norm(vectors, axis=1, keepdims=True)
        client = ThresholdClient.owning(vectors, metric, margin=MARGIN)
        index = EncryptedThresholdIndex(client.encrypt(vectors))
    else:
        index = ThresholdIndex(vectors, metric, margin=MARGIN)
        client = ThresholdClient(index.settings)
    noise, rounding = [], []
    for x in queries(6, dims, seed=22):
        (halves,) = scores_of(index, client, x)
        exact = scores_by_numpy(vectors, x, metric)
        kept = kept_scores(index, x) if isinstance(index, ThresholdIndex) else exact
        noise.append(2 * units(metric, index.settings.row_bound) * halves[:rows] - kept)
        rounding.append(kept - exact)
    told = index.expected_error
    assert abs(math.log2(float(np.std(noise)) / told.noise)) < 0.3
    if encrypted:
        assert told.quantization == 0
    else:
        assert abs(math.log2(float(np.std(rounding)) / told.quantization)) < 0.3
    assert told.noise <= client.expected_error.noise * (1 + 1e-9)
    assert client.expected_error.bits == -math.log2(client.expected_error.noise)


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.usefixtures("small_rings")
def test_differences_of_scores_are_off_by_the_expected_error(metric: Metric) -> None:
    vectors, errors = floats(30, 6, seed=23), []
    index = TopIndex(vectors, metric, margin=MARGIN)
    client = TopClient(index.settings)
    settings, bound = index.settings, index.settings.row_bound
    for x in queries(3, 6, seed=24):
        pairs = np.concatenate([each[: settings.layout.rows] for each in scores_of(index, client, x)])
        found = 2 * units(metric, bound) * pairs.reshape(settings.rows, settings.rows)[:30, :30]
        scores = scores_by_numpy(vectors, x, metric)
        errors.append((found - (scores[None] - scores[:, None]))[~np.eye(30, dtype=bool)])
    told = index.expected_error.noise
    assert abs(math.log2(float(np.std(errors)) / told)) < 0.3
    assert told < client.expected_error.noise


@pytest.mark.usefixtures("small_rings")
def test_removed_rows_have_no_part_in_errors() -> None:
    vectors = floats(40, 6, seed=25)
    vectors[7] *= 30
    index = ThresholdIndex(vectors, "dot", margin=MARGIN)
    before = index.expected_error.noise
    index.remove([7])
    left = ThresholdIndex(
        np.delete(vectors, 7, axis=0), "dot", margin=MARGIN, row_bound=index.settings.row_bound
    )
    assert index.expected_error.noise < before
    assert math.isclose(index.expected_error.noise, left.expected_error.noise, rel_tol=1e-9)
    assert math.isclose(index.expected_error.quantization, left.expected_error.quantization, rel_tol=1e-6)
    index.remove(index.ids)
    assert index.expected_error.quantization == 0
