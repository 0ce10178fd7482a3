"""A line of the log for each request."""

from __future__ import annotations

import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hemera.serving.logs import log

__all__ = ["RequestLog"]


class RequestLog:
    """One line a request. Nothing of bodies, and no headers."""

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

        async def count(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"hemera-request", identity.encode())]
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
                method=scope["method"],
                path=getattr(route, "path", None),
                model=scope.get("path_params", {}).get("model"),
                index=scope.get("path_params", {}).get("index"),
                client=state.get("client"),
                status=status,
                code=state.get("code"),
                batch=state.get("batch"),
                received=state.get("received"),
                sent=sent,
                seconds=round(time.monotonic() - began, 4),
            )
