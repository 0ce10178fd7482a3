"""Served indexes that compare scores: with thresholds, or with each other."""

import argparse
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hemera import search
from hemera.client.problems import ServerError
from hemera.commands.client import _found
from hemera.errors import NoiseError, ParameterError
from hemera.search import wire
from hemera.serving.home import Home

from ...refusals import raises
from ...search.threshold_cases import in_small_rings
from ..conftest import BOUND, serving, wait_until
from ..server_requests import code
from .index_cases import client_of, held

MARGIN = 2.0**-3
ROWS, DIMS = 24, 6
VECTORS = np.random.default_rng(11).normal(size=(ROWS, DIMS))
NUMBERS = np.random.default_rng(12).integers(-50, 51, (ROWS, 2))
X = np.random.default_rng(13).normal(size=DIMS)
SCORES = VECTORS @ X / np.linalg.norm(VECTORS, axis=1) / np.linalg.norm(X)
FEW = np.argsort(-SCORES)[::4]
"""Rows of the index that ranks: no two scores are near."""


def require_right(found, threshold):
    """Rows beyond the margin are as NumPy has them."""
    got = np.isin(np.arange(ROWS), found.ids)
    assert got[threshold + MARGIN < SCORES].all()
    assert not got[threshold - MARGIN > SCORES].any()


@pytest.fixture(scope="module")
def rings():
    """Small rings, for the servers and clients of these tests."""
    with in_small_rings():
        yield


@pytest.fixture(scope="module")
def owner(rings):  # noqa: ARG001
    return search.Client.owning(VECTORS, answers=search.Threshold(margin=MARGIN), payloads=NUMBERS)


@pytest.fixture(scope="module")
def files(owner, tmp_path_factory):
    """A folder with a file of each kind."""
    folder = tmp_path_factory.mktemp("files")
    search.Index(VECTORS, answers=search.Threshold(margin=MARGIN), payloads=NUMBERS).save(
        folder / "near.index"
    )
    hidden = search.Index(owner.encrypt(VECTORS, payloads=NUMBERS))
    hidden.save(folder / "hidden.index")
    search.Index(VECTORS[FEW], answers=search.Top(margin=2.0**-2), payloads=NUMBERS[FEW], ids=FEW).save(
        folder / "few.index"
    )
    owner.secret_key.save(folder / "owner.key")
    return folder


@pytest.fixture
def home(tmp_path, files):
    made = Home(tmp_path / "home")
    for name in ("near", "hidden", "few"):
        assert made.add_index(files / f"{name}.index") == name
    return made


def test_each_kind_answers_its_clients(server, home, files):
    with client_of(server, home.clients.add("alice"), security=None) as client:
        told = {each["name"]: each for each in client.indexes()}
        facts = {"dims": DIMS, "metric": "cosine", "margin": 2.0**-2, "payload": 2}
        assert told["few"] == {"name": "few", "kind": "top index", "rows": len(FEW), **facts}
        kinds = [told[name]["kind"] for name in ("near", "hidden")]
        assert kinds == ["threshold index", "encrypted threshold index"]
        near = client.index("near")
        assert client.index("near") is near
        assert repr(near) == "<RemoteIndex 'near': threshold index of 6 numbers, 'cosine'>"
        hidden = client.index("hidden", secret_key=files / "owner.key")
        for index in (near, hidden):
            require_right(index.query(X, threshold=0.2), 0.2)
            found = index.query(X, threshold=0.2, payloads=True)
            require_right(found, 0.2)
            sure = ~np.isin(found.ids, found.doubtful)
            assert found.payloads is not None
            assert np.array_equal(found.payloads[sure].round(), NUMBERS[found.ids[sure]])
            count = index.count(X, 0.2)
            assert count.shape == ()
            assert (SCORES > 0.2 + MARGIN).sum() - 0.01 < count < (SCORES > 0.2 - MARGIN).sum() + 0.01
            best = index.query(X, k=3)
            assert np.isin(np.argsort(-SCORES)[:3], best.ids).all()
            assert len(best) < ROWS
        assert server.metric("hemera_key_uploads_total", status="201") == 2
        first = client.index("few").query(X, k=2, payloads=True)
        before = (SCORES[FEW][None] > SCORES[FEW][:, None] + 2.0**-2).sum(axis=1)
        near_rows = (np.abs(SCORES[FEW][None] - SCORES[FEW][:, None]) <= 2.0**-2).sum(axis=1) - 1
        assert set(FEW[before + near_rows < 2]) <= set(first.ids.tolist()) <= set(FEW[before < 2])
        best, worst = client.index("few").query(np.stack([X, -X]), 1)
        assert (best.ids.tolist(), worst.ids.tolist()) == ([FEW[0]], [FEW[-1]])
        described = near.describe()
        local = search.Index.load(home.index_file("near"))
        assert described["expected_error"]["noise"] == local.expected_error.noise
        assert described["limits"]["key_bytes"] > len(near._client.keys)


def test_more_thresholds_than_a_request_may_have(home):
    with serving(home, batch=2) as server:
        token = home.clients.add("alice")
        with client_of(server, token, security=None) as client:
            index = client.index("near")
            copies = index._client.settings.program.layout.copies
            levels = np.linspace(-1, 1, 5 * copies)  # three requests
            counts = index.count(X, levels)
            above = (SCORES[None] > levels[:, None] + MARGIN).sum(axis=1)
            at_most = (SCORES[None] > levels[:, None] - MARGIN).sum(axis=1)
            assert ((above - 0.01 < counts) & (counts < at_most + 0.01)).all()
            assert server.metric("hemera_requests_total", model="near", status="200") == 3
            with server.http(token) as http:
                sent = index._client.query(X, levels, "count")
                assert code(http.post("/v1/indexes/near/query", content=sent)) == (422, "too_many")


def test_queries_of_one_tenant_are_compared_together(server, home):
    tokens = [home.clients.add(name) for name in ("alice", "bob")]
    settings = search.Index.load(home.index_file("near")).settings
    alice, bob = (search.Client(settings) for _ in tokens)
    route = "/v1/indexes/near"
    with server.http(tokens[0]) as first, server.http(tokens[1]) as second:
        for http, client in ((first, alice), (second, bob)):
            assert http.put(f"{route}/keys", content=client.keys).status_code == 201
        asks = [(first, alice, 0.3), (first, alice, -0.2), (second, bob, 0.1), (first, alice, 0.0)]
        sent = [(http, client.query(X, level)) for http, client, level in asks]
        with ThreadPoolExecutor(len(asks)) as pool:
            with held(server):
                waiting = [pool.submit(http.post, f"{route}/query", content=data) for http, data in sent]
                wait_until(lambda: server.service.scheduler.waiting == len(asks))
            answers = [each.result(BOUND) for each in waiting]
        assert [answer.headers["Hemera-Batch"] for answer in answers] == ["3", "3", "1", "3"]
        for answer, (_, client, level) in zip(answers, asks, strict=True):
            require_right(client.decrypt(answer.content), level)


def test_what_is_not_for_an_index_is_refused(server, home):
    token = home.clients.add("alice")
    with client_of(server, token, security=None) as client:
        raises(ParameterError, "'few' is none", client.index("few").query, X, threshold=0.1)
        raises(ParameterError, "no index with thresholds", client.index("few").count, X, 0.1)
        raises(ParameterError, "key of its owner", client.index, "hidden")
        raises(ServerError, "no index", client.index, "others")
        raises(ParameterError, "k must be", client.index("few").query, X, 0)
    near = search.Client(search.Index.load(home.index_file("near")).settings)
    few = search.Client(search.Index.load(home.index_file("few")).settings)
    keys, query = "/v1/indexes/near/keys", "/v1/indexes/near/query"
    with server.http(token) as http:
        assert code(http.post(query, content=near.query(X, 0.1))) == (409, "no_keys")
        assert code(http.put(keys, content=bytes(near.secret_key))) == (422, "secret_key")
        assert code(http.put(keys, content=few.keys))[0] == 422
        lacking = near._context.generate_keys(near.secret_key, public_key=False).to_bytes()
        assert code(http.put(keys, content=lacking)) == (422, "missing_key")
        no_products = near._context.generate_keys(
            near.secret_key, public_key=False, relinearization=False, rotations=[1 << i for i in range(10)]
        )
        assert code(http.put(keys, content=no_products.to_bytes())) == (422, "missing_key")
        assert http.put(keys, content=near.keys).status_code == 201
        right = near.query(X, 0.1)
        assert http.post(query, content=right).status_code == 200
        damaged = right[:-40] + bytes([right[-40] ^ 1]) + right[-39:]
        for body, expected in (
            (damaged, "format"),
            (b"", "format"),
            (few.query(X, k=1), "format"),
            (bytes(near.secret_key), "secret_key"),
        ):
            assert code(http.post(query, content=body)) == (422, expected)
        for thresholds in (0, -1, 5000, "1"):
            header = {"settings": near.settings.digest, "want": "count", "thresholds": thresholds}
            body = wire.pack("threshold query", header, bytes(100))
            assert code(http.post(query, content=body))[0] == 422
        seeds = wire.pack("preparation", {"settings": near.settings.digest, "count": 1}, bytes(32))
        assert code(http.post("/v1/indexes/near/prepare", content=seeds)) == (422, "mismatch")
        other = search.Client(search.Index(VECTORS, answers=search.Threshold(margin=MARGIN / 2)).settings)
        assert code(http.post(query, content=other.query(X, 0.1))) == (422, "mismatch")


def test_a_server_does_not_learn_that_a_count_can_not_be_read(server, home):
    """All rounds of a search for the nearest come, whatever the first answer was."""
    with client_of(server, home.clients.add("alice"), security=None) as client:
        index = client.index("near")
        index.query(X, k=2)
        rounds = server.metric("hemera_requests_total", model="near", status="200")
        index._client._secret_key = index._client._context.generate_secret_key()
        raises(NoiseError, "", index.query, X, k=2)
        assert server.metric("hemera_requests_total", model="near", status="200") == 2 * rounds
        assert index._client._waiting == {}


def test_the_command_line(server, home, files, tmp_path):
    """All of `hemera client search` but the client, which takes no small rings."""
    np.savetxt(tmp_path / "queries.csv", [X, -X], delimiter=",")
    with client_of(server, home.clients.add("alice"), security=None) as client:

        def found(index, threshold=None, key=None):
            options = {"index": index, "k": 2, "threshold": threshold, "secret_key": key}
            told = _found(client, argparse.Namespace(queries=tmp_path / "queries.csv", **options))
            json.dumps(told)
            return told

        assert np.isin(np.argsort(-SCORES)[:2], found("near")["ids"][0]).all()
        near = found("near", 0.2)
        require_right(search.Matches(near["ids"][0], near["doubtful"][0]), 0.2)
        assert FEW[0] in found("few")["ids"][0]
        assert FEW[-1] in found("few")["ids"][1]
        hidden = found("hidden", -0.3, files / "owner.key")
        require_right(search.Matches(hidden["ids"][0], hidden["doubtful"][0]), -0.3)
        raises(ParameterError, "'few' is none", found, "few", 0.1)
        raises(ServerError, "no index", found, "others")
