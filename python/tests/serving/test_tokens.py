"""Clients, their names, tokens and rights."""

import contextlib
import hashlib
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hemera import errors, search
from hemera.cli import main
from hemera.package.local_model import LocalModel
from hemera.serving.clients import Clients
from hemera.serving.sessions import Loader

from ..refusals import raises
from .conftest import ROWS, Process, client_of, require_scores, serving
from .indexes.index_cases import VECTORS
from .server_requests import EVALUATE, KEYS, code, request_of


@pytest.mark.parametrize("name", ["a", "7", "team.alice", "a.b-c_d.2", "A" * 64, "a..b", "x-"])
def test_names_that_are_taken_are_recognised_by_their_tokens(tmp_path, name):
    clients = Clients(tmp_path / "clients")
    others = {each: clients.add(each) for each in ("team", "team.alic", "b")}
    token = clients.add(name)
    for reader in (clients, Clients(tmp_path / "clients")):  # by what it keeps, and from the disk
        for _ in range(2):
            told = reader.of_token(token)
            assert told is not None
            assert told.rpartition(".")[0] == name
    assert clients.names() == sorted([*others, name])
    assert len({clients.of_token(each) for each in [*others.values(), token]}) == 4
    assert clients.remove(name) == told
    assert clients.of_token(token) is None
    assert all(clients.of_token(each) for each in others.values())


@pytest.mark.parametrize("name", ["", ".", ".a", "-a", "_a", "a.", "A" * 65, "a b", "a/b", "a\n", "ä", "a:b"])
def test_names_that_are_not_taken(tmp_path, name):
    clients = Clients(tmp_path / "clients")
    for ask in (clients.add, clients.remove):
        raises(errors.ParameterError, "needs a name of 1 to 64 letters", ask, name)
    assert clients.of_token(f"{name}.secret") is None
    assert clients.names() == []


def test_tokens(tmp_path):
    clients = Clients(tmp_path / "clients")
    token = clients.add("alice")
    clients.add("bob")
    name, secret = token.partition(".")[::2]
    assert secret not in (tmp_path / "clients" / "alice.json").read_text()
    for wrong in ("", name, "alice.", token + "x", token[:-1], f"bob.{secret}", f"../{token}", "\udcff.a"):
        assert clients.of_token(wrong) is None
    raises(errors.MismatchError, "already", clients.add, "alice")
    clients.remove("alice")
    raises(errors.MismatchError, "no client", clients.remove, "alice")


def test_of_operators_who_add_one_client_at_once_one_gets_a_token(tmp_path):
    operators = [Clients(tmp_path / "clients") for _ in range(4)]
    together = threading.Barrier(len(operators))

    def add(operator, name):
        together.wait()
        try:
            return operator.add(name)
        except errors.MismatchError:
            return None

    with ThreadPoolExecutor(len(operators)) as pool:
        for name in ("a", "b", "c", "d", "e", "f"):
            tokens = [each for each in pool.map(add, operators, [name] * len(operators)) if each is not None]
            assert len(tokens) == 1
            assert operators[0].of_token(tokens[0]) is not None
    assert len(list((tmp_path / "clients").iterdir())) == 6  # nothing lies beside them
    (tmp_path / "file").write_bytes(b"")
    raises(errors.FileError, "cannot write", Clients(tmp_path / "file").add, "alice")


@pytest.mark.parametrize("seed", range(4))
def test_any_calls_in_any_order(tmp_path, seed):
    """Two processes share the folder: a dictionary of the tokens that count is the judge."""
    rng, processes = random.Random(seed), [Clients(tmp_path / "clients") for _ in range(2)]
    tokens = {}
    known = {}
    for _ in range(60):
        name, clients = rng.choice(["a", "a.b", "b", "B"]), rng.choice(processes)
        if rng.random() < 0.5:
            with contextlib.nullcontext() if name not in tokens else pytest.raises(errors.MismatchError):
                tokens[name] = clients.add(name)
        else:
            with contextlib.nullcontext() if name in tokens else pytest.raises(errors.MismatchError):
                assert clients.remove(name) == known[tokens.pop(name, "")]
        for token in [*tokens.values(), *known]:
            told = {each.of_token(token) for each in processes}
            assert (told == {None}) == (token not in tokens.values())
            if token in tokens.values():
                assert told == {known.setdefault(token, clients.of_token(token) or "")}
        assert len(set(known.values())) == len(known)
        assert clients.names() == sorted(tokens)


def test_tokens_of_one_client(tmp_path):
    """Several at once, each with its end and what it is for; the identity is the same."""
    now = [1000.0]
    clients = Clients(tmp_path / "clients", clock=lambda: now[0])
    other = Clients(tmp_path / "clients", clock=lambda: now[0])  # another process
    first = clients.add("alice")
    short, narrow = clients.add_token("alice", seconds=10), clients.add_token("alice", allow=["m", "n@2"])
    identity = clients.identity("alice")
    assert len({first, short, narrow}) == 3
    assert {other.of_token(each) for each in (first, short, narrow)} == {identity}
    caller = other.caller(narrow)
    assert caller is not None
    asked = ("m", "m@7", "n", "n@2", "n@3", "o", "")
    assert [caller.may_ask(name) for name in asked] == [True, True, False, True, False, False, False]
    now[0] = 1010 - 2**-10  # the last moment
    assert other.of_token(short) == identity
    now[0] = 1010
    assert other.of_token(short) is None
    ids = [each.id for each in clients.tokens("alice")]
    assert len(set(ids)) == 3
    clients.end_token("alice", ids[0])
    assert other.of_token(first) is None
    assert other.of_token(narrow) == identity
    raises(errors.MismatchError, "has no token", clients.end_token, "alice", ids[0])
    clients.end_token("alice", ids[2])
    clients.end_token("alice", ids[1])
    assert (clients.tokens("alice"), other.of_token(narrow)) == ((), None)
    assert clients.identity("alice") == identity
    for seconds in (0, -1.0, float("inf"), float("nan")):
        raises(errors.ParameterError, "above 0", clients.add_token, "alice", seconds=seconds)
    raises(errors.ParameterError, "needs a name", clients.add_token, "alice", allow=["../m"])
    raises(errors.MismatchError, "no client 'bob'", clients.add_token, "bob")
    last = [clients.add_token("alice", seconds=5) for _ in range(16)]
    raises(errors.MismatchError, "has 16 tokens", clients.add_token, "alice")
    now[0] += 5  # those that have ended make room
    assert other.of_token(clients.add_token("alice")) == identity
    assert [other.of_token(each) for each in last] == [None] * 16
    assert len(clients.tokens("alice")) == 1


def test_a_clients_file_of_an_earlier_version(tmp_path):
    clients = Clients(tmp_path)
    hashed = hashlib.sha256(b"alice.secret").hexdigest()
    (tmp_path / "alice.json").write_text(json.dumps({"id": "0011", "token_sha256": hashed}))
    assert clients.of_token("alice.secret") == "alice.0011"
    assert clients.of_token("alice.wrong") is None
    second = clients.add_token("alice")
    clients.end_token("alice", "first")
    assert [clients.of_token(each) for each in ("alice.secret", second)] == [None, "alice.0011"]
    for damaged in ("", "[]", "{}", '{"id": "1", "tokens": 3}', '{"id": "1", "tokens": [{"id": "x"}]}'):
        (tmp_path / "alice.json").write_text(damaged)
        raises(errors.FileError, "cannot read the client's file", clients.of_token, "alice.secret")


@pytest.mark.parametrize(
    ("allow", "scores", "second", "rows", "listed"),
    [
        (None, 200, 200, 200, "live rows scores scores@2"),
        (["scores"], 200, 200, 403, "scores scores@2"),
        (["scores@2"], 403, 200, 403, "scores@2"),
        (["rows"], 403, 403, 200, "rows"),
        (["live"], 403, 403, 403, "live"),
        ([], 403, 403, 403, ""),
    ],
)
def test_what_a_token_is_for(home, package, tmp_path, allow, scores, second, rows, listed):
    package.save(tmp_path / "scores@2.hemera-model")
    home.add_model(tmp_path / "scores@2.hemera-model")
    home.aliases.put("live", {"scores": 1}, home.models()[0])
    search.Index(VECTORS, "dot", exact=True).save(tmp_path / "rows.index")
    home.add_index(tmp_path / "rows.index")
    home.clients.add("alice")
    token = home.clients.add_token("alice", allow=allow)
    with serving(home, federations=("trial",)) as server, server.http(token) as http:
        found = [each["name"] for each in http.get("/v1/models").json()["models"]]
        found += [each["name"] for each in http.get("/v1/indexes").json()["indexes"]]
        assert " ".join(sorted(found)) == listed
        for path, status in (("models/scores", scores), ("models/scores@2", second), ("indexes/rows", rows)):
            answer = http.get(f"/v1/{path}")
            assert answer.status_code == status
            if status == 403:
                # The same for what is there and what is not, whatever is asked for.
                for asked in (answer, http.put(f"/v1/{path}/keys"), http.post(f"/v1/{path}/evaluate")):
                    assert code(asked)[0] in (403, 404 if "indexes" in path else 403)
                assert code(answer) == (403, "not_allowed")
        unknown = code(http.get("/v1/models/nothing"))
        assert unknown == ((404, "unknown_model") if allow is None else (403, "not_allowed"))
        federation = http.get("/v1/federations/trial/files").status_code
        assert federation == (200 if allow is None else 403)


def test_a_token_takes_the_place_of_another_one(home, tmp_path):
    """While a server in a process of its own runs: no key is sent again, and the old token ends at once."""
    first = home.clients.add("alice")
    with Process(home.root, "--threads", "1") as process:
        folder = tmp_path / "own"
        with client_of(process.url, first, folder=folder) as client:
            require_scores(client)
        second = home.clients.add_token("alice", seconds=3600)
        home.clients.end_token("alice", home.clients.tokens("alice")[0].id)
        sent = []
        with client_of(
            process.url, second, folder=folder, progress=lambda part, *_: sent.append(part)
        ) as client:
            require_scores(client)
        assert "upload" not in sent
        with client_of(process.url, first, patience=0) as client, pytest.raises(Exception, match="401"):
            client.models()
        assert process.stop() == 0


def test_what_operators_do_is_recorded(home, package, tmp_path, capsys):
    """Each command adds its lines after those that are there, with names and digests, and no token."""
    file = home.root / "audit.jsonl"
    package.save(tmp_path / "scores@2.hemera-model")
    search.Index(VECTORS, "dot", exact=True).save(tmp_path / "rows.index")
    steps = [
        (["serve", "--add-client", "alice"], {"what": "add-client", "client": "alice"}),
        (["clients", "token", "alice", "90", "scores"], {"what": "add-token", "allow": ["scores"]}),
        (["serve", "--add-model", str(tmp_path / "scores@2.hemera-model")], {"digest": package.digest}),
        (["models", "scores", "scores=9", "scores@2=1"], {"weights": {"scores": 9.0, "scores@2": 1.0}}),
        (["serve", "--add-index", str(tmp_path / "rows.index")], {"what": "add-index", "index": "rows"}),
        (["serve", "--remove-index", "rows"], {"what": "remove-index", "index": "rows"}),
        (["serve", "--remove-model", "scores@2"], {"what": "remove-model", "model": "scores@2"}),
        (["clients", "end", "alice", "ID"], {"what": "end-token", "client": "alice"}),
        (["serve", "--remove-client", "alice"], {"what": "remove-client", "client": "alice"}),
    ]
    printed = ""
    for (command, *words), told in steps:
        before = file.read_bytes()
        if "ID" in words:
            assert main(["clients", str(home.root), "list"]) == 0
            listed = capsys.readouterr().out
            assert "for scores" in listed
            words[-1] = home.clients.tokens("alice")[1].id
            assert words[-1] in listed
        assert main([command, str(home.root), *words]) == 0
        printed += capsys.readouterr().out
        after = file.read_bytes()
        assert after.startswith(before)
        line = json.loads(after.splitlines()[-1])
        assert told.items() <= line.items()
        assert line["who"]
        assert line["time"].endswith("Z")
    assert file.stat().st_mode & 0o777 == 0o600
    secrets = [word.rpartition(".")[2] for word in printed.split() if word.startswith("alice.")]
    assert len(secrets) == 2
    assert not any(secret in file.read_text() for secret in secrets)
    # What is refused is not recorded.
    before = file.read_bytes()
    for words in (["end", "alice", "x"], ["token", "bob", "1"], ["token", "a b", "never"]):
        assert main(["clients", str(home.root), *words]) == 1
    home.clients.add("bob")
    assert main(["clients", str(home.root), "token", "bob", "0"]) == 1
    assert file.read_bytes().count(b"\n") == before.count(b"\n") + 1


def test_a_line_that_can_not_be_written_is_an_error(home, monkeypatch):
    (home.root / "audit.jsonl").unlink()
    (home.root / "audit.jsonl").mkdir()
    assert main(["serve", str(home.root), "--add-client", "alice"]) == 1
    monkeypatch.setenv("SUDO_USER", "eve")
    (home.root / "audit.jsonl").rmdir()
    home.clients.add("bob")
    assert json.loads((home.root / "audit.jsonl").read_text())["who"].endswith(" for eve")


def test_keys_of_a_model_that_is_gone_can_be_removed(home, keys, local):
    """They fill their client's share: the refusal names them, and DELETE removes them."""
    token = home.clients.add("alice")
    home.model_file("other").write_bytes(b"")  # damaged, and not served
    with serving(home, client_store_bytes=3 * len(keys) // 2) as server, server.http(token) as http:
        assert http.put(KEYS, content=keys).status_code == 201
        owner = server.service.clients.of_token(token) or ""
        (home.keys / owner / "scores").rename(home.keys / owner / "gone")
    with serving(home, client_store_bytes=3 * len(keys) // 2) as server, server.http(token) as http:
        full = http.put(KEYS, content=keys)
        assert code(full) == (507, "store_full")
        assert f"gone ({len(keys)} bytes)" in full.json()["error"]["message"]
        assert code(http.delete("/v1/models/nothing/keys")) == (404, "unknown_model")
        with client_of(server.url, token) as client:
            client.remove_keys("gone")
        assert code(http.delete("/v1/models/gone/keys")) == (404, "unknown_model")
        assert http.put(KEYS, content=keys).status_code == 201
        assert http.post(EVALUATE, content=request_of(local, ROWS)).status_code == 200


def test_tenants_stay_within_the_memory_for_keys(home, package, monkeypatch):
    """The bytes that the library counts in the context of all keys, when each set has just been loaded, are
    those before any key and at most 1.2 times the limit."""
    used = []
    load = Loader.load

    def noted(self, *given):
        session = load(self, *given)
        used.append(self.context(package).memory_used)
        return session

    monkeypatch.setattr(Loader, "load", noted)
    locals_ = [LocalModel(package.interface, security=None) for _ in range(8)]
    with serving(home) as server, server.http(home.clients.add("first")) as http:
        (context,) = {
            id(each.context(package)): each.context(package) for each in server.service._loaders
        }.values()
        before = context.memory_used
        assert http.put(KEYS, content=locals_[0].generate_keys()).status_code == 201
        each = server.service.caches[0].bytes
        assert each == context.memory_used - before > 0
    used.clear()
    limit = 3 * each
    with serving(home, loaded_key_bytes=limit) as server:
        tokens = [home.clients.add(f"tenant{at}") for at in range(8)]
        context = server.service._loaders[0].context(package)
        before = context.memory_used
        for token, local in zip(tokens, locals_, strict=True):
            with server.http(token) as http:
                assert http.put(KEYS, content=local.generate_keys()).status_code == 201
        for _ in range(2):  # by turns: each set makes room for the next one
            for token, local in zip(tokens, locals_, strict=True):
                with server.http(token) as http:
                    answer = http.post(EVALUATE, content=request_of(local, ROWS))
                    assert answer.status_code == 200
        assert server.service.caches[0].bytes <= limit
        assert len(used) == 24  # none was there when its turn came
    assert max(used) - before <= 1.2 * limit
    assert max(used) - before >= limit  # all of which is used
