"""Searches of random and of odd numbers beside NumPy on the same numbers."""

import numpy as np
import pytest

import hemera as hm
from hemera.search import Client, Index

from ..refusals import raises
from .search_cases import ask, bytes_of

METRICS = ("cosine", "dot", "l2")
DIMS = 6
ROWS = 60


def clear_scores(rows, query, metric):
    """NumPy's scores, of rows and a query that are divided by the largest of their numbers, as squares of
    numbers around 1e200 are none; times its square."""
    unit = float(max(np.abs(rows).max(), np.abs(query).max()))
    x, q = rows / unit, query / unit
    if metric == "cosine":
        x, q = x / np.abs(x).max(axis=1, keepdims=True), q / np.abs(q).max()
        return np.asarray(x @ q / np.linalg.norm(x, axis=1) / np.linalg.norm(q))
    found = x @ q if metric == "dot" else ((x - q) ** 2).sum(axis=1)
    return np.asarray(found * unit * unit)


def rows_of(kind, random):
    rows = random.normal(size=(ROWS, DIMS))
    if kind == "unlike columns":
        return rows * 10.0 ** random.uniform(-3, 3, DIMS)
    if kind == "constant columns":
        rows[:, :4] = [3, 0, -1, 100]
    if kind == "zero rows":
        rows[::7] = 0
    if kind == "duplicates":
        rows[ROWS // 2 :] = rows[: ROWS // 2]
    if kind == "far from the origin":
        rows += 1000
    return rows * {"around 1e140": 1e140, "around 1e-140": 1e-140}.get(kind, 1.0)


def made(rows, metric, encrypted, exact=False):
    """An index of rows, of plain or of encrypted ones, and a client of it."""
    if encrypted:
        client = Client.owning(rows, metric, exact=exact)
        return Index(client.encrypt(rows)), client
    index = Index(rows, metric, exact=exact)
    return index, Client(index.settings)


KINDS = [
    "alike",
    "unlike columns",
    "constant columns",
    "zero rows",
    "duplicates",
    "far from the origin",
    "around 1e140",
    "around 1e-140",
]


def largest_errors(index, rows, query, metric):
    """The largest error of each row's score: at most half a step in each number by rounding, and less than
    eight deviations by noise."""
    settings, told = index.settings, index.expected_error
    step = 1 / (settings.program.scale * settings.program.row_scale)
    length = np.sqrt(DIMS) * step / 2
    unit = float(np.abs(query).max()) or 1.0
    norm = 1.0 if metric == "cosine" else float(np.linalg.norm(query / unit)) * unit
    noise = 8 * told.noise * max(norm, 1 / settings.program.scale if settings.owner and metric == "l2" else 0)
    if metric != "l2":
        return np.full(len(rows), noise + length * norm)
    distances = np.sqrt(clear_scores(rows, query, "l2"))
    return np.asarray(noise + 2 * distances * length + length**2)


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::hemera.errors.PrecisionWarning")
def test_scores_are_within_the_errors_that_are_told(kind, metric, encrypted):
    if metric == "cosine" and kind == "zero rows":
        raises(hm.errors.ParameterError, "zero", Index, rows_of(kind, np.random.default_rng(1)))
        return
    for seed in range(2):
        random = np.random.default_rng(seed)
        rows = rows_of(kind, random)
        index, client = made(rows, metric, encrypted)
        for query in (rows[3], random.permutation(rows[5]), np.eye(DIMS)[2] * np.abs(rows).max()):
            expected = clear_scores(rows, query, metric)
            allowed = largest_errors(index, rows, query, metric)
            found, _ = ask(index, client, query)
            assert np.isfinite(found).all()
            assert (np.abs(found - expected) <= allowed).all()
            best, ids = ask(index, client, query, k=1)
            wanted = expected.min() if metric == "l2" else expected.max()
            assert abs(expected[ids[0]] - wanted) <= allowed[ids[0]] + allowed.max()
            assert abs(best[0] - expected[ids[0]]) <= allowed[ids[0]]


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.filterwarnings("ignore::hemera.errors.PrecisionWarning")
@pytest.mark.parametrize("types", [("f8", "i1"), ("i1", "f4"), ("f4", "f8"), ("i1", "i1")])
def test_rows_of_another_type_are_added(types, metric, encrypted):
    """In the integers of the index, whose scale is that of the first rows."""
    random = np.random.default_rng(8)
    first, added = (random.uniform(-99, 99, (9, DIMS)).astype(each) for each in types)
    first[0] = 99
    index, client = made(first, metric, encrypted)
    index.add(client.encrypt(added) if encrypted else added)
    rows, query = np.concatenate([first, added]).astype(np.float64), random.normal(size=DIMS)
    found, _ = ask(index, client, query)
    allowed = largest_errors(index, rows, query, metric)
    assert (np.abs(found - clear_scores(rows, query, metric)) <= allowed).all()


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_query_of_zeros(encrypted):
    """Its inner products are 0, its distances squared norms, and none is negative."""
    rows = np.random.default_rng(2).normal(size=(ROWS, DIMS)) * 3
    rows[:5] = [[0.0], [1e-6], [1e-3], [0.0], [-1e-6]]
    for metric in ("dot", "l2"):
        index, client = made(rows, metric, encrypted)
        found, _ = ask(index, client, np.zeros(DIMS))
        if metric == "dot":
            assert found.tolist() == [0.0] * ROWS
            continue
        assert (found >= 0).all()
        norms = (rows**2).sum(axis=1)
        step = 1 / (index.settings.program.scale * index.settings.program.row_scale)
        assert (
            np.abs(found - norms).max()
            < 2 * np.sqrt(norms.max() * DIMS) * step + 16 * index.expected_error.noise
        )


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e30, 1e200])
def test_queries_of_any_size(size):
    random = np.random.default_rng(4)
    rows, query = random.normal(size=(ROWS, DIMS)), random.normal(size=DIMS)
    for metric in ("cosine", "dot"):
        index = Index(rows, metric)
        client = Client(index.settings)
        factor = size if metric == "dot" else 1.0
        near, _ = ask(index, client, query)
        found, ids = ask(index, client, query * size)
        assert np.allclose(found / factor, near, rtol=0, atol=1e-3)
        assert ids[np.argmax(found)] == ids[np.argmax(near)]
        owner = Client.owning(rows, metric)
        clear, _ = owner.decrypt(Index(owner.encrypt(rows)).query(query * size))
        assert np.allclose(clear / factor, near, rtol=0, atol=0.1)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_rows_of_any_size(size):
    random = np.random.default_rng(5)
    rows, query = random.normal(size=(ROWS, DIMS)), random.normal(size=DIMS)
    cosines, near = Index(rows * size), Index(rows)
    assert (
        np.array_equal(cosines._rows._vectors, near._rows._vectors)
        or np.abs(cosines._rows._vectors.astype(int) - near._rows._vectors).max() <= 1
    )  # where half a step is rounded
    found, _ = ask(cosines, Client(cosines.settings), query)
    assert np.abs(found - clear_scores(rows, query, "cosine")).max() < 0.02
    if 1e-290 < size < 1e290:
        products = Index(rows * size, "dot")
        found, _ = ask(products, Client(products.settings), query)
        assert np.abs(found / size - rows @ query).max() < 0.1


def test_scores_that_are_no_doubles_are_refused():
    rows = np.eye(DIMS) + 0.5
    refused = pytest.raises(hm.errors.RangeError, match="no doubles: multiply")
    for metric, large, small in (("dot", 1e299, 1e-290), ("l2", 1e149, 1e-310)):
        index = Index(rows, metric)
        client = Client(index.settings)
        client.query(np.full(DIMS, large))
        with refused:
            client.query(np.full(DIMS, large * 100))
        if metric == "dot":
            client.query(np.full(DIMS, small))
            with refused:
                client.query(np.full(DIMS, small / 100))
        else:  # the distance is the norm of the row
            assert np.allclose(ask(index, client, np.full(DIMS, small))[0], (rows**2).sum(axis=1), rtol=0.02)
    for size in (1e-160, 1e160):
        with refused:
            Index(rows * size, "l2")
        with refused:
            Client.owning(rows * size, "l2")
        with refused:
            hm.search.Index(rows * size, "l2", answers=hm.search.Threshold())
    with refused:
        hm.search.Index(rows * 1e160, "dot", answers=hm.search.Threshold())
    assert len(Index(np.ldexp(rows, 300).astype(np.longdouble), "dot")) == DIMS
    raises(hm.errors.RangeError, "not finite", Index, np.ldexp(rows.astype(np.longdouble), 3000), "dot")


@pytest.mark.parametrize(("metric", "exact"), [*((m, False) for m in METRICS), ("dot", True), ("l2", True)])
@pytest.mark.parametrize("rows", [1, 4096])
def test_answers_by_wrong_keys_are_noise(metric, exact, rows):
    database = bytes_of(rows, DIMS, 9) if exact else bytes_of(rows, DIMS, 9).astype(np.float32)
    index = Index(database, metric, exact=exact)
    first, second = Client(index.settings), Client(index.settings)
    x = database[0].astype(int) // 2
    for _ in range(3):
        query = first.query(x)
        raises(hm.errors.NoiseError, "another client", first.decrypt, index.query(query, second.keys), 1)
        with pytest.raises(hm.errors.MismatchError, match="no query"):  # it is answered
            first.decrypt(index.query(query, first.keys), 1)
    owner = Client.owning(database, metric, exact=exact)
    thief = Client(owner.settings, second.secret_key.to_bytes())
    vault = Index(owner.encrypt(database))
    for answer in (vault.query(thief.query(x), thief.keys), vault.query(thief.query(x), owner.keys)):
        raises(hm.errors.NoiseError, "", thief.decrypt, answer)
    raises(hm.errors.NoiseError, "", thief.decrypt, vault.query(x))
    assert len(owner.decrypt(vault.query(owner.query(x), owner.keys))[1]) == rows


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_largest_scores_are_no_noise(exact, sign):
    """Rows of the longest vectors of int8, and queries along them."""
    for dims in (1, 31) if exact else (1, 31, 512):
        database = np.full((3, dims), -128, np.int8)
        database[2] = 0
        index = Index(database, "dot", exact=exact)
        client = Client(index.settings)
        x = np.full(dims, 127 * sign)
        expected = database.astype(int) @ x
        found, _ = ask(index, client, x)
        assert np.abs(found - expected).max() <= 8 * index.expected_error.noise * np.linalg.norm(x)
        owner = Client.owning(database, "l2", exact=exact)
        vault = Index(owner.encrypt(database))
        distances = ((database.astype(int) - x) ** 2).sum(axis=1)
        found, _ = ask(vault, owner, x)
        assert np.abs(found - distances).max() <= 16 * vault.expected_error.noise * np.linalg.norm(x)


def test_an_answer_whose_norms_are_no_numbers():
    database = bytes_of(3, DIMS, 9)
    owner = Client.owning(database, "dot")
    index = Index(owner.encrypt(database))
    for wrong in (np.nan, np.inf, -1.0):
        draft = index._rows._draft({**index._header(""), "count": 1, "is_single": True}, [wrong])
        for part in (0, 1):
            draft.part(part)[:] = 0
        raises(hm.errors.FormatError, "norms", owner.decrypt, draft.finish())
