"""What a server tells of an index, and takes for it: by formulas of its limits."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

import hemera as hm
from hemera import errors, search
from hemera._inspect import HEMERA
from hemera.objects.devices import DeviceOptions
from hemera.serving.served import ServedIndex
from hemera.serving.session_cache import IndexSession
from hemera.serving.settings import Settings

from ...refusals import raises
from .index_cases import DIMS, ROWS, VECTORS, queries

EXPANDED = DIMS * 262_144
"""Bytes of a query in memory."""


def served(path: Path, **limits: Any) -> ServedIndex:
    found = ServedIndex("documents", path, Settings(device="cpu", **limits))
    found.prepare(0, DeviceOptions("cpu", 1))
    return found


@pytest.mark.parametrize("batch", [1, 2, 3, 32])
@pytest.mark.parametrize("at_once", [1, 2, 32])
def test_a_request_has_as_many_queries_as_a_batch_and_a_pass(
    files: Path, monkeypatch: pytest.MonkeyPatch, batch: int, at_once: int
) -> None:
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
        assert (refused.value.status, refused.value.code) == (422, "too_many")  # type: ignore[attr-defined]


@pytest.mark.parametrize("given", [1, 1 << 20, 1 << 40])
def test_what_is_told_of_an_index(files: Path, given: int) -> None:
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
def test_copies_and_keys_of_devices(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
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
def test_prepared_answers_have_their_room(files: Path, prepared: int) -> None:
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


def test_requests_run_together_where_they_may(files: Path) -> None:
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
    for files_of in ({}, {"query": b"", "preparation": b""}):
        raises(errors.FormatError, "one file", sessions[0].load, files_of)
