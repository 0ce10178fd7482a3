"""Addresses that no route has, although the framework's patterns match them."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from hemera.serving.refusals import refuse_http


class ExactAddresses:
    """Refuses requests whose path ends with a newline (`%0A`): status 404. The framework's patterns end with
    `$`, which also matches before a newline at the end.

    Args:
        app: gets all other requests.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("\n"):
            response = await refuse_http(Request(scope, receive, send), HTTPException(HTTPStatus.NOT_FOUND))
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)
