"""The line of the log for each request, around an application of the test's own."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any

import pytest

from hemera.serving.app import RequestLog
from hemera.serving.logs import _FIELDS

NAME = b"0123456789abcdef" * 2
ROUTE = type("Route", (), {"path": "/v1/indexes/{index}/query"})()
TOLD = {"client": "alice.1", "code": "rate", "digest": "ab", "batch": 3, "received": 20}


def asked(app: Any, headers: list[tuple[bytes, bytes]], bodies: list[tuple[bytes, bool]]) -> Any:
    """The messages that were sent, and the scope after it."""
    sent: list[Any] = []
    came = [{"type": "http.request", "body": body, "more_body": more} for body, more in bodies]
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/secret", "headers": headers}

    async def receive() -> Any:
        return came.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    try:
        asyncio.run(RequestLog(app)(scope, receive, send))
    except ZeroDivisionError:
        sent.append("failed")
    return sent, scope


@pytest.mark.parametrize("parts", [[b"abc"], [b"a", b"", b"bcd"], []])
@pytest.mark.parametrize("status", [200, 429, None])
@pytest.mark.parametrize("place", [{"index": "rows"}, {"model": "scores"}, {}])
def test_a_line_has_what_is_known(
    caplog: pytest.LogCaptureFixture, parts: list[bytes], status: int | None, place: dict[str, str]
) -> None:
    """The status is 500 where there was no answer."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["path_params"], scope["route"] = place, ROUTE
        scope["state"].update(TOLD)
        await receive()
        if status is None:
            raise ZeroDivisionError
        await send({"type": "http.response.start", "status": status, "headers": [(b"a", b"b")]})
        for part in parts:
            await send({"type": "http.response.body", "body": part})

    with caplog.at_level(logging.INFO, logger="hemera.serving"):
        sent, _ = asked(app, [], [(b"x", False)])
    (record,) = caplog.records
    fields = dict(getattr(record, _FIELDS))
    assert 0 <= fields.pop("seconds") < 1
    request = fields.pop("request")
    assert re.fullmatch("[0-9a-f]{16}", request)
    count = 0 if status is None else sum(map(len, parts))
    assert fields == {
        **TOLD,
        **place,
        "method": "POST",
        "path": ROUTE.path,
        "status": status or 500,
        "sent": count,
    }
    if status is not None:
        assert sent[0]["headers"] == [(b"a", b"b"), (b"hemera-request", request.encode())]


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ([], None),
        ([(b"hemera-nonce", NAME)], NAME),
        ([(b"hemera-nonce", NAME), (b"hemera-nonce", NAME)], None),
        ([(b"hemera-nonce", NAME[1:])], None),
        ([(b"hemera-nonce", NAME.upper())], None),
        ([(b"x", NAME), (b"hemera-nonce", NAME[::-1])], NAME[::-1]),
    ],
)
@pytest.mark.parametrize("bodies", [[(b"", False)], [(b"a", True), (b"b", False)], [(b"a", True)]])
def test_names_are_repeated_and_whole_bodies_noted(
    headers: list[tuple[bytes, bytes]], told: bytes | None, bodies: list[tuple[bytes, bool]]
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        for _ in bodies:
            assert "hemera.received" not in scope
            await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    (start,), scope = asked(app, headers, bodies)
    assert dict(start["headers"]).get(b"hemera-nonce") == told
    assert scope.get("hemera.received", False) == (not bodies[-1][1])
