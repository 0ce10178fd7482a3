"""Indexes on a server: clients search them by encrypted queries."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

from hemera import search
from hemera.client.problems import ServerError
from hemera.errors import MismatchError, NoiseError, ParameterError, SecurityError
from hemera.search import wire
from hemera.search.answers import Scores
from hemera.serving.home import Home

from ...refusals import raises
from ..conftest import Running, serving
from ..server_requests import code
from .index_cases import DIMS, ROWS, VECTORS, best, client_of, found, queries


def test_an_own_key_is_the_one_of_its_object_alone(server: Running, home: Home, tmp_path: Path) -> None:
    keys = [tmp_path / "first", tmp_path / "second"]
    with client_of(server, home.clients.add("alice")) as client:
        shared = client.index("rows")
        for path in keys:
            search.Client(shared.settings).secret_key.save(path)
        own = [client.index("rows", secret_key=key) for key in keys]
        assert client.index("rows") is shared
        assert len({id(each) for each in (shared, *own)}) == 3
        for each in (shared, *own):
            assert found(each.query(queries(1), k=3)) == best(queries(1), 3)


def test_all_rows_and_many_queries(home: Home) -> None:
    """More queries than a request may have, and scores of all rows in the index's order."""
    with serving(home, batch=4) as server, client_of(server, home.clients.add("alice")) as client:
        index = client.index("rows")
        assert client.index("rows") is index
        x = queries(10)
        assert found(index.query(x, k=3)) == best(x, 3)
        scores, ids = index.query(x[:9], k=None)
        assert scores.tolist() == (x[:9] @ VECTORS.astype(np.int64).T).tolist()
        assert ids.tolist() == [list(range(ROWS))] * 9
        assert index.query(x[:1]).__getitem__(0).shape == (1, 10)
        assert server.metric("hemera_requests_total", model="rows", status="200") == 3 + 3 + 1
        assert server.metric("hemera_key_uploads_total", status="201") == 1
        raises(MismatchError, "has 16 numbers", index.query, np.empty((0, DIMS), np.int64))
        raises(MismatchError, "has 16 numbers", index.query, np.ones((1, 2, DIMS), np.int64))


def test_floats(home: Home, tmp_path: Path) -> None:
    """Queries of a second index on the server, whose rows have names of their own."""
    vectors = np.random.default_rng(3).normal(size=(500, 40)).astype(np.float32)
    index = search.Index(vectors, "l2", ids=np.arange(500) * 3)
    index.save(tmp_path / "second.hemera-index")
    home.add_index(tmp_path / "second.hemera-index")
    x = np.random.default_rng(4).normal(size=40)
    expected = ((vectors.astype(np.float64) - x) ** 2).sum(axis=1)
    with serving(home) as server, client_of(server, home.clients.add("alice")) as client:
        assert [each["name"] for each in client.indexes()] == ["rows", "second"]
        remote = client.index("second")
        scores, ids = remote.query(x, k=500)
        told = remote.describe()["expected_error"]
        assert told == vars(index.expected_error)
        error = 8 * (told["quantization"] + told["noise"]) * np.linalg.norm(x)
        assert np.abs(scores - expected[ids // 3]).max() < error + 0.2  # that of the squared norms as well
        assert ids[0] == 3 * np.argmin(expected)
        assert found(client.index("rows").query(queries(1), k=2)) == best(queries(1), 2)


def test_an_encrypted_index(home: Home, tmp_path: Path) -> None:
    owner = search.Client.owning(VECTORS, "dot", exact=True)
    search.Index(owner.encrypt(VECTORS)).save(tmp_path / "vault.hemera-index")
    home.add_index(tmp_path / "vault.hemera-index")
    owner.secret_key.save(tmp_path / "owner.key")
    x = queries(3)
    token = home.clients.add("alice")
    with serving(home) as server, client_of(server, token, folder=tmp_path / "mine") as client:
        vault = client.index("vault", secret_key=tmp_path / "owner.key")
        assert "encrypted" in repr(vault)
        assert found(vault.query(x, k=4)) == best(x, 4)
        raises(ParameterError, "no prepared queries", vault.prepare, 1)
        raises(ParameterError, "only the key of its owner", client.index, "vault")
        # Somebody else's key, and keys that are not for products.
        other = client.index(
            "vault", secret_key=bytes(search.Client(search.Settings(DIMS, "dot", Scores(True))).secret_key)
        )
        raises(NoiseError, "not the secret key", other.query, x, k=None)
        with server.http(token) as http:
            plain = search.Client(search.Settings(DIMS, "dot", Scores(True)))
            assert code(http.put("/v1/indexes/vault/keys", content=plain.keys)) == (422, "missing_key")
            # A message of the other kind.
            kept = search.Client(owner.settings, bytes(owner.secret_key))
            assert http.put("/v1/indexes/vault/keys", content=kept.keys).status_code == 201
            seeds = wire.pack("preparation", {"settings": owner.settings.digest, "count": 1}, bytes(32))
            assert code(http.post("/v1/indexes/vault/prepare", content=seeds)) == (422, "mismatch")
        # The folder has no key of an owner, and the clear index's key is made there.
        assert not list((tmp_path / "mine").glob("secret-*"))
        client.index("rows")
        assert len(list((tmp_path / "mine").glob("secret-*"))) == 1
    with serving(home) as server, client_of(server, token) as client:
        vault = client.index("vault", secret_key=bytes(owner.secret_key))
        assert found(vault.query(x[0], k=1))[1] == best(x[:1], 1)[1][0]


def test_descriptions(server: Running, home: Home) -> None:
    with client_of(server, home.clients.add("alice")) as client:
        told = {"name": "rows", "kind": "index", "rows": ROWS, "dims": DIMS, "metric": "dot", "exact": True}
        assert client.indexes() == [told]
        described = client.index("rows").describe()
        assert (described["limits"]["queries"], described["degree"]) == (32, 8192)
        assert described["security"] == ">=192"
        assert client.index("rows").settings == search.Index.load(home.index_file("rows")).settings
        assert client.models() == []
        with pytest.raises(ServerError, match="no index") as error:
            client.index("other")
        assert (error.value.status, error.value.code) == (404, "unknown_index")
        raises(ServerError, "no model", client.predict, "rows", np.ones((1, DIMS)))
    with (
        client_of(server, home.clients.add("bob"), security=256) as client,
        pytest.raises(SecurityError, match="256"),
    ):
        client.index("rows")
    health = httpx.get(server.url + "/health", trust_env=False).json()
    assert (health["status"], health["models"], health["indexes"]) == ("ok", [], ["rows"])


def test_two_devices(home: Home) -> None:
    """Each has the index; a client's queries go where its keys are."""
    with serving(home, device="cpu,cpu") as server, contextlib.ExitStack() as stack:
        indexes = [
            stack.enter_context(client_of(server, home.clients.add(f"client{i}"))).index("rows")
            for i in range(4)
        ]
        for seed, index in enumerate(indexes):
            assert found(index.query(queries(2, seed), k=2)) == best(queries(2, seed), 2)
        assert [len(cache) for cache in server.service.caches] == [2, 2]
        with ThreadPoolExecutor(8) as pool:
            asked = [(index, queries(1, seed)) for seed, index in enumerate(indexes * 6)]
            for answer, (_, x) in zip(
                pool.map(lambda each: each[0].query(each[1], k=2), asked), asked, strict=True
            ):
                assert found(answer) == best(x, 2)


def test_secrets_do_not_pickle(server: Running, home: Home) -> None:
    import pickle

    with client_of(server, home.clients.add("alice")) as client, pytest.raises(TypeError, match="secret key"):
        pickle.dumps(client.index("rows"))
