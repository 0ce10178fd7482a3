"""Errors of encrypted scores beside those that indexes and clients expect."""

import math

import numpy as np
import pytest

from hemera.search import Client, Index, Threshold, Top
from hemera.search.comparisons import circuit

from .threshold_cases import MARGIN, floats


def scores_of(index, client, x):
    """The decrypted halves of scores as they are compared: [slots] of each block."""
    program = index.settings.program
    ev = index._context.bind(index.load_keys(client.keys))
    is_ranked = isinstance(index.settings.answers, Top)
    sent = client.query(x, k=1) if is_ranked else client.query(x, 0.0)
    found, blocks = [], index._rows._blocks
    parts = circuit.products(ev, [program.unpack(sent, ev).x], blocks, program)
    for halves in circuit.scores(ev, parts, program):
        here = client._context.load(halves.rescale().to_bytes())
        found.append(client._context.decrypt(here, client.secret_key, dtype=np.float64))
    return found


def units(metric, bound):
    """Scores over numbers from -1 to 1, for a query of norm 1."""
    return {"cosine": 1.0, "dot": bound, "l2": bound * (2 + bound)}[metric]


def queries(count, dims, seed):
    found = floats(count, dims, seed)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def scores_by_numpy(vectors, x, metric):
    """[row], of which the largest is the nearest row's."""
    if metric == "l2":
        return np.asarray(2 * vectors @ x - (vectors**2).sum(axis=1))
    norms = np.linalg.norm(vectors, axis=1) if metric == "cosine" else 1.0
    return np.asarray(vectors @ x / norms)


def kept_scores(index, x):
    """The same of the rows as the index has them: in float32, over the bound."""
    entries, bound = index._rows._tables[1].astype(np.float64), index.settings.program.row_bound
    products = bound * entries[:, : len(x)] @ x
    return np.asarray(2 * products - bound**2 * entries[:, -1] if index.settings.metric == "l2" else products)


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.parametrize(("rows", "dims"), [(64, 60), (1000, 60)])
@pytest.mark.usefixtures("small_rings")
def test_scores_are_off_by_the_expected_error(metric, rows, dims, encrypted):
    """With several copies of the rows, and with one, where a query is rotated by two steps."""
    vectors = floats(rows, dims, seed=21)
    if encrypted:  # of rows of the largest norm
        vectors *= np.linalg.norm(vectors[:1]) / np.linalg.norm(vectors, axis=1, keepdims=True)
        client = Client.owning(vectors, metric, answers=Threshold(margin=MARGIN))
        index = Index(client.encrypt(vectors))
    else:
        index = Index(vectors, metric, answers=Threshold(margin=MARGIN))
        client = Client(index.settings)
    noise, rounding = [], []
    for x in queries(6, dims, seed=22):
        (halves,) = scores_of(index, client, x)
        exact = scores_by_numpy(vectors, x, metric)
        kept = exact if encrypted else kept_scores(index, x)
        noise.append(2 * units(metric, index.settings.program.row_bound) * halves[:rows] - kept)
        rounding.append(kept - exact)
    told = index.expected_error
    assert abs(math.log2(float(np.std(noise)) / told.noise)) < 0.3
    if encrypted:
        assert told.quantization == 0
    else:
        assert abs(math.log2(float(np.std(rounding)) / told.quantization)) < 0.3
    assert told.noise <= client.expected_error.noise * (1 + 1e-9)
    assert client.expected_error.bits == -math.log2(client.expected_error.noise)


@pytest.mark.parametrize("metric", ["cosine", "l2"])
@pytest.mark.usefixtures("small_rings")
def test_few_blocks_are_turned_and_more_are_not(metric):
    """The same keys give right scores while blocks come and go; 8 babies and 8 giants, that
    rotate the query for all, or sums of products of each block."""
    vectors, dims = floats(2050, 60, seed=27), 60
    index = Index(vectors[:1024], metric, answers=Threshold(margin=MARGIN))
    client, (x,) = Client(index.settings), queries(1, dims, seed=28)
    key_products = {}
    for blocks, rows in ((1, 1024), (2, 2048), (3, 2050), (2, 2048), (1, 1024)):
        if rows > len(index):
            index.add(vectors[len(index) : rows])
        else:
            index.remove(index.ids[rows:])
        found = scores_of(index, client, x)
        assert len(found) == index._rows.blocks_count == blocks
        scale = 2 * units(metric, index.settings.program.row_bound)
        noise = scale * np.concatenate(found)[:rows] - kept_scores(index, x)
        assert abs(math.log2(float(np.std(noise)) / index.expected_error.noise)) < 0.3
        key_products[blocks] = index.cost().as_dict()["operations"]["key_products"]
    # Besides those: of each block's comparison, and the sum over 1,024 rows of a count.
    of_block = key_products[1] - (7 + 7 + 10)
    assert key_products[2] == 7 + 2 * 7 + 10 + 2 * of_block
    assert key_products[3] == 7 + 8 * 7 + 10 + 3 * of_block


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.usefixtures("small_rings")
def test_differences_of_scores_are_off_by_the_expected_error(metric):
    vectors, errors = floats(30, 6, seed=23), []
    index = Index(vectors, metric, answers=Top(margin=MARGIN))
    client = Client(index.settings)
    settings = index.settings.program
    bound = settings.row_bound
    for x in queries(3, 6, seed=24):
        pairs = np.concatenate([each[: settings.layout.rows] for each in scores_of(index, client, x)])
        found = 2 * units(metric, bound) * pairs.reshape(settings.rows, settings.rows)[:30, :30]
        scores = scores_by_numpy(vectors, x, metric)
        errors.append((found - (scores[None] - scores[:, None]))[~np.eye(30, dtype=bool)])
    told = index.expected_error.noise
    assert abs(math.log2(float(np.std(errors)) / told)) < 0.3
    assert told < client.expected_error.noise


@pytest.mark.usefixtures("small_rings")
def test_removed_rows_have_no_part_in_errors():
    vectors = floats(40, 6, seed=25)
    vectors[7] *= 30
    index = Index(vectors, "dot", answers=Threshold(margin=MARGIN))
    before = index.expected_error.noise
    index.remove([7])
    left = Index(
        np.delete(vectors, 7, axis=0),
        "dot",
        answers=Threshold(margin=MARGIN, row_bound=index.settings.program.row_bound),
    )
    assert index.expected_error.noise < before
    assert math.isclose(index.expected_error.noise, left.expected_error.noise, rel_tol=1e-9)
    assert math.isclose(index.expected_error.quantization, left.expected_error.quantization, rel_tol=1e-6)
    index.remove(index.ids)
    assert index.expected_error.quantization == 0
