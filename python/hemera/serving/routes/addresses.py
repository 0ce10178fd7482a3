"""Addresses and methods that the framework takes otherwise."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hemera.serving.refusals import refuse_http


class ExactAddresses:
    """Refuses requests whose path ends with a newline (`%0A`): status 404. The framework's patterns end with
    `$`, which also matches before a newline at the end. HEAD is answered as GET is, without the body.

    Args:
        app: gets all other requests.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope["method"] = "GET"

            async def answer(message: Message) -> None:
                scope["method"] = "HEAD"  # the server, whose scope it is, leaves the body out
                await send(message)

            await self._exact(scope, receive, answer)
        else:
            await self._exact(scope, receive, send)

    async def _exact(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("\n"):
            response = await refuse_http(Request(scope, receive, send), HTTPException(HTTPStatus.NOT_FOUND))
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)
