"""A line of the log for each request."""

from __future__ import annotations

import re
import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hemera.client.wire import NONCE_HEADER, is_nonce
from hemera.serving.logs import log


class RequestLog:
    """One line a request: nothing of bodies, and of headers the caller's own names of the request alone:
    X-Request-ID, and traceparent (W3C Trace Context). The answer has the line's id, and the names that the
    request came with."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic()
        status = 500
        sent = 0
        identity = secrets.token_hex(8)
        asked = _one_of(scope, "x-request-id", _REQUEST_ID)
        trace = _one_of(scope, "traceparent", _TRACE)
        headers = [(b"hemera-request", identity.encode()), *_nonce_of(scope)]
        if asked is not None:
            headers.append((b"x-request-id", asked.encode()))

        async def count(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *headers]
            else:
                sent += len(message.get("body", b""))
            await send(message)

        async def take() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                scope["hemera.received"] = True
            return message

        scope.setdefault("state", {})
        try:
            await self._app(scope, take, count)
        finally:
            state = scope["state"]
            route = scope.get("route")
            log(
                "request",
                request=identity,
                request_id=asked,
                trace=None if trace is None else trace[3:35],
                span=None if trace is None else trace[36:52],
                method=scope["method"],
                path=getattr(route, "path", None),
                model=scope.get("path_params", {}).get("model"),
                index=scope.get("path_params", {}).get("index"),
                client=state.get("client"),
                status=status,
                code=state.get("code"),
                digest=state.get("digest"),
                batch=state.get("batch"),
                received=state.get("received"),
                sent=sent,
                seconds=round(time.monotonic() - began, 4),
            )


_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
_TRACE = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def _one_of(scope: Scope, name: str, form: re.Pattern[str]) -> str | None:
    """The value of a header that came once and has a form, or None."""
    found = [value.decode("latin-1") for header, value in scope["headers"] if header == name.encode()]
    return found[0] if len(found) == 1 and form.fullmatch(found[0]) else None


def _nonce_of(scope: Scope) -> list[tuple[bytes, bytes]]:
    """The header of the answer for a request's name, if it has one."""
    name = NONCE_HEADER.lower().encode()
    found = [value for header, value in scope["headers"] if header == name]
    if len(found) != 1 or not is_nonce(found[0].decode("latin-1")):
        return []
    return [(name, found[0])]
