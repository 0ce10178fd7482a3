"""When a client sends its keys, and when it does not: by the requests that a server of the test sees."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from hemera import errors
from hemera.client.problems import ServerError
from hemera.client.remote_keys import RemoteKeys

from ..refusals import raises

KEYS = b"evaluation keys"
DIGEST = hashlib.sha256(b"4:keys" + KEYS).hexdigest()


class Server:
    """A transport, and what there is behind it."""

    def __init__(self, digest: str | None = None) -> None:
        self.digest = digest
        self.seen: list[str] = []
        self.url = "http://x"
        self.held: Any = 0
        self.progress = lambda *_: None

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        self.seen.append(method)
        if method == "PUT":
            assert re.fullmatch("/v1/models/m/keys/[0-9a-f]{32}", path)
            begin, headers, pieces = body()
            data = b"".join(pieces)
            assert options == {"headers": {"Hemera-Model": "ab"}}
            self.digest = hashlib.sha256(b"4:keys" + data).hexdigest()
            told = {"Upload-Offset": "0", "Hemera-Keys": self.digest, "Content-Length": str(len(data))}
            assert (begin, headers) == (0, told)
            return httpx.Response(201, request=httpx.Request("PUT", "http://x", headers=headers))
        assert path == "/v1/models/m/keys"
        if self.digest is None:
            raise ServerError("there are none", 404, "no_keys")
        self.digest = None
        return None

    def json(self, method: str, path: str) -> dict[str, Any]:
        if path.count("/") == 5:  # no bytes of any upload
            return {"bytes": self.held}
        assert (method, path) == ("GET", "/v1/models/m/keys")
        self.seen.append("GET")
        if self.digest is None:
            raise ServerError("there are none", 404, "no_keys")
        return {"digest": self.digest}


def keys_of(server: Server, secret: bytes = b"secret", expected: int = 0, **options: Any) -> RemoteKeys:
    given: dict[str, Any] = {"limit": None, "folder": None, "headers": {"Hemera-Model": "ab"}, **options}
    make = lambda write, _: write(KEYS)  # noqa: E731
    return RemoteKeys(server, "/v1/models/m", "m", secret, make, expected=lambda: expected, **given)  # type: ignore[arg-type]


def answers(*told: str | Exception | None) -> Callable[[], tuple[str, str | None]]:
    """Requests whose answers name these keys, or fail."""
    left = list(told)

    def send() -> tuple[str, str | None]:
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return f"{len(left)} left", found

    return send


NONE = ServerError("there are none", 409, "no_keys")
LACKING = errors.MissingKeyError("other keys")
LOW = errors.LevelError("keys of a lower level")
ACTIONS: dict[str, Callable[[RemoteKeys], Any]] = {
    "ensure": lambda keys: keys.ensure(),
    "anew": lambda keys: keys.ensure(anew=True),
    "remove": lambda keys: keys.remove(),
    "own": lambda keys: keys.answer(answers(DIGEST)),
    "untold": lambda keys: keys.answer(answers(None)),
    "lost": lambda keys: keys.answer(answers(NONE, DIGEST)),
    "others": lambda keys: keys.answer(answers("cd", "cd", DIGEST)),
    "others thrice": lambda keys: keys.answer(answers("cd", "cd", "cd")),
    "lacking": lambda keys: keys.answer(answers(LACKING, DIGEST)),
    "low": lambda keys: keys.answer(answers(LOW, DIGEST)),
    "busy": lambda keys: keys.answer(answers(ServerError("busy", 503, "busy"))),
}


@pytest.mark.parametrize(
    ("there", "noted", "steps", "seen"),
    [
        # What the server has, whether another process noted its own; then the requests, and the error.
        (None, False, ["ensure", "ensure"], "PUT"),
        (None, True, ["ensure", "own"], "GET PUT"),
        (DIGEST, False, ["ensure"], "PUT"),  # nobody knows whose they are
        (DIGEST, True, ["ensure", "own", "untold"], "GET"),
        ("cd", True, ["ensure"], "GET PUT"),
        (DIGEST, True, ["anew"], "PUT"),
        (None, False, ["ensure", "remove", "ensure"], "PUT DELETE GET PUT"),
        (None, False, ["ensure", "remove", "remove"], "PUT DELETE DELETE no_keys"),
        (None, False, ["ensure", "lost"], "PUT GET"),
        (None, False, ["ensure", "others"], "PUT GET GET"),
        (None, False, ["ensure", "others thrice"], "PUT GET GET other_keys"),
        (None, False, ["ensure", "lacking"], "PUT MissingKeyError"),  # they were made for this model
        (DIGEST, True, ["ensure", "lacking"], "GET PUT"),  # for a model before
        (DIGEST, True, ["ensure", "low", "own"], "GET PUT"),
        (None, False, ["ensure", "busy"], "PUT busy"),
    ],
)
def test_keys_are_sent_where_the_server_has_none_of_this_secret_key(
    tmp_path: Path, there: str | None, noted: bool, steps: list[str], seen: str
) -> None:
    if noted:
        keys_of(Server(), folder=tmp_path).ensure()
    server = Server(there)
    keys = keys_of(server, folder=tmp_path)
    for step in steps:
        try:
            ACTIONS[step](keys)
        except errors.Error as error:
            server.seen.append(error.code if isinstance(error, ServerError) else type(error).__name__)
    assert " ".join(server.seen) == seen


@pytest.mark.parametrize("limit", [len(KEYS) - 1, len(KEYS), None])
def test_no_more_bytes_are_sent_than_the_server_takes(tmp_path: Path, limit: int | None) -> None:
    server = Server()
    keys = keys_of(server, limit=limit, folder=tmp_path)
    if limit != len(KEYS) - 1:
        keys.ensure()
        assert server.digest == DIGEST
        return
    for _ in range(2):
        with pytest.raises(ServerError, match=f"of 'm' have {len(KEYS)} bytes, .* takes {limit}") as refused:
            keys.ensure()
        assert (refused.value.status, refused.value.code) == (413, "too_large")
    assert server.seen == []


@pytest.mark.parametrize("secret", [b"secret", b"another"])
def test_keys_of_a_model_before_are_known_by_their_secret_key(secret: bytes) -> None:
    before = keys_of(Server())
    before.ensure()
    server = Server(DIGEST)
    keys_of(server, secret, before=before).ensure()
    assert server.seen == (["GET"] if secret == b"secret" else ["PUT"])


def test_the_newest_thousand_are_noted(tmp_path: Path) -> None:
    keys = keys_of(Server(), folder=tmp_path)
    (path,) = [keys._notes]
    assert path is not None
    path.write_text(json.dumps({"digests": [str(at) for at in range(1000)]}))
    keys._note("new")
    assert json.loads(path.read_bytes())["digests"] == [*map(str, range(1, 1000)), "new"]
    for damaged in (b"", b"[]", b"{}", b'{"digests": 5}', b"\xff"):
        path.write_bytes(damaged)
        server = Server(DIGEST)
        keys_of(server, folder=tmp_path).ensure()
        assert server.seen == ["PUT"]  # then they are sent again
        assert json.loads(path.read_bytes()) == {"digests": [DIGEST]}


@pytest.mark.parametrize("held", [-1, len(KEYS) + 1, 1 << 80, "0", 1.0, None, True, [0]])
def test_a_server_that_has_more_than_there_is_is_not_believed(held: Any) -> None:
    server = Server()
    server.held = held
    raises(errors.FormatError, "says that it has", keys_of(server).ensure)
    assert server.seen == []
