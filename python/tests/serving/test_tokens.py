"""Clients, their names and their tokens: files that several processes read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hemera import errors
from hemera.serving.clients import Clients


@pytest.mark.parametrize("name", ["a", "7", "team.alice", "a.b-c_d.2", "A" * 64, "a..b", "x-"])
def test_names_that_are_taken_are_recognised_by_their_tokens(tmp_path: Path, name: str) -> None:
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
def test_names_that_are_not_taken(tmp_path: Path, name: str) -> None:
    clients = Clients(tmp_path / "clients")
    for ask in (clients.add, clients.remove):
        with pytest.raises(errors.ParameterError, match="needs a name of 1 to 64 letters"):
            ask(name)
    assert clients.of_token(f"{name}.secret") is None
    assert clients.names() == []


def test_tokens(tmp_path: Path) -> None:
    clients = Clients(tmp_path / "clients")
    token = clients.add("alice")
    other = clients.add("bob")
    name = clients.of_token(token)
    assert name is not None
    assert name.startswith("alice.")
    assert clients.of_token(other) != name
    assert clients.names() == ["alice", "bob"]
    secret = token.partition(".")[2]
    assert secret not in (tmp_path / "clients" / "alice.json").read_text()
    for wrong in (
        "",
        "alice",
        "alice.",
        token + "x",
        token[:-1],
        f"bob.{secret}",
        f"../alice.{secret}",
        "\udcff.a",
    ):
        assert clients.of_token(wrong) is None
    with pytest.raises(errors.MismatchError, match="already"):
        clients.add("alice")
    assert clients.remove("alice") == name
    assert clients.of_token(token) is None
    with pytest.raises(errors.MismatchError, match="no client"):
        clients.remove("alice")
    # Who comes later with the same name is somebody else.
    assert clients.of_token(clients.add("alice")) != name


def test_of_operators_who_add_one_client_at_once_one_gets_a_token(tmp_path: Path) -> None:
    operators = [Clients(tmp_path / "clients") for _ in range(4)]
    together = threading.Barrier(len(operators))

    def add(operator: Clients, name: str) -> str | None:
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
    with pytest.raises(errors.FileError, match="cannot write"):
        Clients(tmp_path / "file").add("alice")


def test_a_replaced_client_has_another_token(tmp_path: Path) -> None:
    """A server's process, which knows the first token, sees that another process replaced the client, with no
    request in between."""
    serving_process, operator = Clients(tmp_path / "clients"), Clients(tmp_path / "clients")
    first = operator.add("alice")
    identity = serving_process.of_token(first)
    assert identity is not None
    operator.remove("alice")
    second = operator.add("alice")
    assert serving_process.of_token(first) is None
    assert serving_process.of_token(second) not in (None, identity)
    operator.remove("alice")
    assert serving_process.of_token(second) is None


@pytest.mark.parametrize("seed", range(4))
def test_any_calls_in_any_order(tmp_path: Path, seed: int) -> None:
    """Two processes share the folder: a dictionary of the tokens that count is the judge."""
    rng, processes = random.Random(seed), [Clients(tmp_path / "clients") for _ in range(2)]
    tokens: dict[str, str] = {}
    known: dict[str, str] = {}
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


def test_tokens_of_one_client(tmp_path: Path) -> None:
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
    with pytest.raises(errors.MismatchError, match="has no token"):
        clients.end_token("alice", ids[0])
    clients.end_token("alice", ids[2])
    clients.end_token("alice", ids[1])
    assert (clients.tokens("alice"), other.of_token(narrow)) == ((), None)
    assert clients.identity("alice") == identity
    for seconds in (0, -1.0, float("inf"), float("nan")):
        with pytest.raises(errors.ParameterError, match="above 0"):
            clients.add_token("alice", seconds=seconds)
    with pytest.raises(errors.ParameterError, match="needs a name"):
        clients.add_token("alice", allow=["../m"])
    with pytest.raises(errors.MismatchError, match="no client 'bob'"):
        clients.add_token("bob")
    last = [clients.add_token("alice", seconds=5) for _ in range(16)]
    with pytest.raises(errors.MismatchError, match="has 16 tokens"):
        clients.add_token("alice")
    now[0] += 5  # those that have ended make room
    assert other.of_token(clients.add_token("alice")) == identity
    assert [other.of_token(each) for each in last] == [None] * 16
    assert len(clients.tokens("alice")) == 1


def test_a_clients_file_of_an_earlier_version(tmp_path: Path) -> None:
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
        with pytest.raises(errors.FileError, match="cannot read the client's file"):
            clients.of_token("alice.secret")
