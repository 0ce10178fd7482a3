"""Answers of a server that refuses a request."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from http import HTTPStatus
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from hemera.client.problems import Refused, refusal_of
from hemera.serving.logs import log
from hemera.serving.metrics import Metrics
from hemera.serving.reasons import HUNG_UP, TOO_SLOW

_BODILESS = ("GET", "HEAD", "DELETE")
_READ_ON = 1 << 20
"""Bytes of a body that are read although nobody wants them."""


def answer_to(error: Exception, metrics: Metrics) -> Refused:
    """The answer to what a request led to; failures of the server itself are logged."""
    if isinstance(error, ClientDisconnect):
        metrics.hung_up.inc()
        return HUNG_UP.refused()
    refused = refusal_of(error)
    if refused.code == "internal":
        log("failure", level=logging.ERROR, error=error)
    return refused


async def refuse(request: Request, error: Exception) -> Response:
    """The response of a `Refused`. A connection whose body was not read is closed."""
    assert isinstance(error, Refused)
    request.state.code = error.code
    if (app := request.scope.get("app")) is not None:
        app.state.hemera.service.metrics.refused.labels(error.code).inc()
    headers = error.headers
    if request.method in ("POST", "PUT") and not request.scope.get("hemera.received"):
        headers["Connection"] = "close"
        # A client that asked whether it may go on (Expect: 100-continue) has sent nothing yet.
        asked = "expect" in request.headers
        if not asked and error.status not in (TOO_SLOW.status, HUNG_UP.status):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(_read_on(request), 1.0)
    return JSONResponse(error.body, error.status, headers)


async def refuse_http(request: Request, error: Exception) -> Response:
    """The response to what the framework refuses: addresses and methods that there are not."""
    assert isinstance(error, HTTPException)
    path: str = request.scope["path"]
    name = re.search("([^/]+)/$", path)
    if error.status_code == HTTPStatus.NOT_FOUND and request.method in _BODILESS and name:
        # Relative: scheme, host and prefix are those that the client knows, before any proxy.
        place = "../" + quote(name[1]) + (request.url.query and f"?{request.url.query}")
        return Response(status_code=HTTPStatus.TEMPORARY_REDIRECT, headers={"Location": place})
    code = {404: "unknown_address", 405: "unknown_method"}.get(error.status_code, "format")
    message = f"{error.detail}: /openapi.json tells what there is"
    return await refuse(request, Refused(error.status_code, code, message))


async def _read_on(request: Request) -> None:
    """Reads what is left of a body, if it is short: a connection that is closed with bytes unread may lose
    the answer."""
    left = _READ_ON
    while left > 0 and not request.scope.get("hemera.received"):
        message = await request.receive()
        if message["type"] == "http.disconnect":
            return
        left -= len(message.get("body", b""))
