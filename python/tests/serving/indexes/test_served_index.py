"""An index on a server: queries, prepared ones and what clients see of it."""

import base64
import contextlib
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

import hemera as hm
from hemera import errors, search
from hemera._inspect import HEMERA
from hemera.client.problems import ServerError
from hemera.errors import MismatchError, NoiseError, ParameterError, SecurityError
from hemera.objects.devices import DeviceOptions
from hemera.search import wire
from hemera.search.answers import Scores
from hemera.serving.served import ServedIndex
from hemera.serving.session_cache import IndexSession
from hemera.serving.settings import Settings

from ...refusals import raises, refuse_each
from ..conftest import serving
from ..server_requests import code
from .index_cases import DIMS, KEYS, PREPARE, QUERY, ROWS, VECTORS, best, client_of, found, local, queries

EXPANDED = DIMS * 262_144
"""Bytes of a query in memory."""


def served(path, **limits):
    found = ServedIndex("documents", path, Settings(device="cpu", **limits))
    found.prepare(0, DeviceOptions("cpu", 1))
    return found


@pytest.mark.parametrize("batch", [1, 2, 3, 32])
@pytest.mark.parametrize("at_once", [1, 2, 32])
def test_a_request_has_as_many_queries_as_a_batch_and_a_pass(files, monkeypatch, batch, at_once):
    monkeypatch.setattr("hemera.search.scores.program._EXPANDED_BYTES", at_once * EXPANDED)
    index = served(files / "rows.index", batch=batch)
    most = min(batch, at_once)
    assert index.queries == index.describe()["limits"]["queries"] == most
    client = search.Client(index._index.settings)
    query = client.query(queries(most))
    assert index.memory_of(HEMERA, {"query": query}) == 2 * len(query) + index._index.answer_bytes(most)
    assert index.memory_of(HEMERA, {"preparation": client.prepare(most)}) == 0
    for name, data in (("query", client.query(queries(most + 1))), ("preparation", client.prepare(most + 1))):
        with pytest.raises(Exception, match=f"{most} evaluations at most") as refused:
            index.memory_of(HEMERA, {name: data})
        assert (refused.value.status, refused.value.code) == (422, "too_many")


@pytest.mark.parametrize("given", [1, 1 << 20, 1 << 40])
def test_what_is_told_of_an_index(files, given):
    index = served(files / "rows.index", key_bytes=given, request_bytes=12_345)
    settings = index._index.settings
    params = settings.params
    fields = {
        "name": "documents",
        "kind": "index",
        "rows": ROWS,
        "dims": DIMS,
        "metric": "dot",
        "exact": True,
    }
    assert index.entry() == fields
    told = index.describe()
    assert fields.items() <= told.items()
    assert told["settings"] == settings.to_fields()
    assert told["version"] == index._index.version
    assert (told["degree"], told["log_modulus"]) == (params.degree, params.log_modulus)
    assert (told["fingerprint"], told["security"]) == (params.fingerprint, params.security)
    assert hm.load_parameters(base64.b64decode(told["parameters"])) == params
    assert told["expected_error"] == {"noise": 0.0, "quantization": 0.0}
    needed = (params.degree.bit_length() + 1) * params.switching_key_bytes
    assert told["limits"]["key_bytes"] == index.key_limit == min(given, 2 * needed + (1 << 20))
    assert told["limits"]["request_bytes"] == 12_345


@pytest.mark.fact_of_the_cpu("names of devices")
def test_copies_and_keys_of_devices(files, tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(
        search.Index, "load", lambda path, load=search.Index.load, **told: (given.append(told), load(path))[1]
    )
    index = ServedIndex("documents", files / "rows.index", Settings(index_bytes=9 << 20, prepared_bytes=7))
    for number in range(2):
        index.prepare(number, DeviceOptions("cpu", 1 + number))
    assert given == [{"device": "cpu", "threads": threads, "limit": 9 << 20} for threads in (1, 2)]
    assert index.devices == "cpu,cpu"
    keys = tmp_path / "keys"
    keys.write_bytes(search.Client(index._index.settings).keys)
    session = index.session(1, HEMERA, {"keys": keys})
    assert (session._index, session._room, session.is_current) == (index._copies[1], 7, True)
    for wrong in ({}, {"context": keys}, {"keys": keys, "galois": keys}):
        raises(errors.FormatError, "takes keys of Hemera's clients", index.session, 1, HEMERA, wrong)
    index.retire()
    assert not session.is_current


@pytest.mark.parametrize("prepared", [0, 2, 5])
def test_prepared_answers_have_their_room(files, prepared):
    """In several messages, and after some were asked for."""
    index = search.Index.load(files / "rows.index")
    assert isinstance(index, search.Index)
    client = search.Client(index.settings)
    room = prepared * index.ticket_bytes + index.ticket_bytes - 1
    session = IndexSession(
        index, index.load_keys(client.keys), queries=4, prepared_bytes=room, is_current=lambda: True
    )
    own = session.memory_bytes
    kept = 0
    for count in (1, 2, 4, 1):
        inputs = session.load({"preparation": client.prepare(count)})
        assert inputs.count == count
        made = min(count, prepared - kept)
        assert session.run([inputs.values]) == [made]
        kept += made
        assert (session.prepared, session.memory_bytes) == (kept, own + kept * index.ticket_bytes)
    asked = session.load({"query": client.query(queries(1)[0], prepared=True)})
    answer = session.dump(session.run([asked.values])[0], True)["answer"]
    assert client.decrypt(answer, k=None)[0].tolist() == (VECTORS.astype(int) @ queries(1)[0]).tolist()
    assert session.prepared == max(0, kept - 1)
    again = session.load({"preparation": client.prepare(2)})
    assert session.run([again.values]) == [min(2, prepared - max(0, kept - 1))]


def test_requests_run_together_where_they_may(files):
    """Queries of several clients, and of one; preparations do not."""
    index = search.Index.load(files / "rows.index")
    clients = [search.Client(index.settings) for _ in range(2)]
    sessions = [
        IndexSession(
            index, index.load_keys(each.keys), queries=4, prepared_bytes=1 << 30, is_current=lambda: True
        )
        for each in clients
    ]
    asked = [s.load({"query": c.query(queries(2))}) for s, c in zip(sessions, clients, strict=True)]
    ahead = [s.load({"preparation": c.prepare(1)}) for s, c in zip(sessions, clients, strict=True)]
    for one in (*asked, *ahead):
        for other in (*asked, *ahead):
            assert one.fit(other) == (one in asked and other in asked)
    assert [each.count for each in (*asked, *ahead)] == [2, 2, 1, 1]
    with pytest.MonkeyPatch.context() as patch:  # an index whose passes are of one client
        patch.setattr(type(index.settings.program), "queries_at_once", None)
        assert [one.fit(other) for one in asked for other in asked] == [True, False, False, True]
    refuse_each(sessions[0].load, ({}, {"query": b"", "preparation": b""}), errors.FormatError, "one file")


def test_an_own_key_is_the_one_of_its_object_alone(server, home, tmp_path):
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


def test_all_rows_and_many_queries(home):
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


def test_floats(home, tmp_path):
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


def test_an_encrypted_index(home, tmp_path):
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


def test_descriptions(server, home):
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


def test_two_devices(home):
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


def test_secrets_do_not_pickle(server, home):
    import pickle

    with client_of(server, home.clients.add("alice")) as client, pytest.raises(TypeError, match="secret key"):
        pickle.dumps(client.index("rows"))


def test_prepared_queries(home, monkeypatch):
    by_keys = []
    many = search.Index.query_many
    monkeypatch.setattr(
        search.Index, "query_many", lambda self, asked: (by_keys.append(len(asked)), many(self, asked))[1]
    )
    ticket = search.Index.load(home.index_file("rows")).ticket_bytes
    token = home.clients.add("alice")
    x = queries(6)
    with serving(home, batch=2, prepared_bytes=5 * ticket) as server:
        with client_of(server, token) as client:
            index = client.index("rows")
            assert index.prepare(3) == 3  # in two requests
            assert server.metric("hemera_prepared_queries") == 3
            assert found(index.query(x[0], k=2))[1] == best(x[:1], 2)[1][0]
            assert (server.metric("hemera_prepared_queries"), by_keys) == (2, [])
            assert index.prepare(4) == 3  # no room for more than five
            assert server.metric("hemera_prepared_queries") == 5
            for row in x[1:]:
                assert found(index.query(row[None], k=2)) == best(row[None], 2)
            assert (server.metric("hemera_prepared_queries"), by_keys) == (0, [])
            assert index._client.prepared == 1  # its seed the server has no ticket for
            assert found(index.query(x[0], k=2))[1] == best(x[:1], 2)[1][0]
            assert by_keys == [1]
            raises(ParameterError, "1 to 100000", index.prepare, 0)
        # Twice the same message: the second time its keys answer, with the same bits.
        own = local(server, token)
        with server.http(token) as http:
            assert http.post(PREPARE, content=own.prepare(1)).json() == {"prepared": 1}
            sent = own.query(x[0], prepared=True)
            assert http.post(QUERY, content=sent).content == http.post(QUERY, content=sent).content
            assert by_keys == [1, 1]
            # Several queries by the seed of one: keys answer all of them.
            assert http.post(PREPARE, content=own.prepare(2)).status_code == 201
            # Keys of another secret key: tickets of those before are gone.
            assert server.metric("hemera_prepared_queries") == 2
            assert http.put(KEYS, content=own.keys).status_code == 201
            assert server.metric("hemera_prepared_queries") == 0
    # After a restart the client's prepared queries are answered all the same.
    with serving(home) as server, client_of(server, token) as client:
        index = client.index("rows")
        assert index.prepare(1) == 1
        server.service.caches[0].drop(server.service.clients.of_token(token) or "", "rows")
        assert found(index.query(x[0], k=2))[1] == best(x[:1], 2)[1][0]


def test_tickets_are_each_tenants_own(server, home):
    """A seed that another tenant prepared is not answered by that tenant's ticket."""
    tokens = [home.clients.add(name) for name in ("alice", "bob")]
    alice, bob = (local(server, token) for token in tokens)
    with server.http(tokens[0]) as first, server.http(tokens[1]) as second:
        assert first.post(PREPARE, content=alice.prepare(1)).status_code == 201
        sent = alice.query(queries(1)[0], prepared=True)
        assert second.post(QUERY, content=sent).status_code == 200  # by bob's keys: of use to nobody
        assert server.metric("hemera_prepared_queries") == 1
        answer = first.post(QUERY, content=sent)
        assert server.metric("hemera_prepared_queries") == 0
        assert found(alice.decrypt(answer.content, k=2))[1] == best(queries(1), 2)[1][0]
    assert bob.prepared == 0


def test_a_second_query_under_one_seed_is_refused(server, home):
    """Whether its ticket answered the first one, or its client's keys."""
    token = home.clients.add("alice")
    own = local(server, token)
    x = queries(3)
    with server.http(token) as http:
        for prepared in (1, 0):
            message = own.prepare(1)
            if prepared:
                assert http.post(PREPARE, content=message).json() == {"prepared": 1}
            seed, zeros = own._prepared.value[0]
            own._prepared.value.append((seed, zeros.copy()))
            first, second = (own.query(row, prepared=True) for row in x[:2])
            answers = [http.post(QUERY, content=first) for _ in range(2)]  # the second one of a lost answer
            assert answers[0].content == answers[1].content
            assert found(own.decrypt(answers[0].content, k=2))[1] == best(x[:1], 2)[1][0]
            refused = http.post(QUERY, content=second)
            assert code(refused) == (422, "security")
            # Others are answered as before.
            answer = http.post(QUERY, content=own.query(x[2]))
            assert found(own.decrypt(answer.content, k=2))[1] == best(x[2:], 2)[1][0]
