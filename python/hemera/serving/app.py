"""The server's HTTP interface: the application of a service, and what requests pass before its routes."""

from __future__ import annotations

import asyncio
import functools
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI, Request
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import hemera
from hemera import _machine
from hemera.client.problems import Refused
from hemera.client.wire import KEYS_HEADER, MODEL_HEADER, NONCE_HEADER, OFFSET_HEADER, is_nonce
from hemera.errors import Error, FileError
from hemera.serving.api import describe, operation_id
from hemera.serving.logs import log
from hemera.serving.refusals import refuse, refuse_http
from hemera.serving.routes import ROUTERS, evaluate
from hemera.serving.routes.answering import bearer, client_of, make_state
from hemera.serving.service import Service
from hemera.serving.settings import WORK_BYTES

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider


class HotPath:
    """Gives requests for the routes of a router to their functions without the steps of the framework, which
    take longer than all else that is done for a request of a small model.

    The router is the table of both ways: its routes' paths and methods are matched here, the framework
    describes them, and a request that comes to either calls the same function.

    Args:
        app: what gets all other requests.
        router: its routes' functions take the path's parameters, `request` and `client`.
    """

    def __init__(self, app: ASGIApp, router: APIRouter) -> None:
        self._app = app
        self._routes = [
            (method, route.path_regex.fullmatch, route)
            for route in router.routes
            if isinstance(route, APIRoute)
            for method in route.methods or ()
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for method, match, route in self._routes:
                if scope["method"] == method and (found := match(scope["path"])):
                    await self._answer(route, found.groupdict(), scope, receive, send)
                    return
        await self._app(scope, receive, send)

    async def _answer(
        self, route: APIRoute, params: dict[str, str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        scope["path_params"] = params
        scope["route"] = route  # for the log
        request = Request(scope, receive, send)
        try:
            client = await client_of(request, await bearer(request))
            response = await route.endpoint(**params, request=request, client=client)
        except Refused as refused:
            response = await refuse(request, refused)
        await response(scope, receive, send)


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
        nonce = _one_of(scope, NONCE_HEADER.lower(), is_nonce)
        asked = _one_of(scope, "x-request-id", _REQUEST_ID.fullmatch)
        trace = _one_of(scope, "traceparent", _TRACE.fullmatch)
        told = {"hemera-request": identity, NONCE_HEADER.lower(): nonce, "x-request-id": asked}
        headers = [(name.encode(), value.encode()) for name, value in told.items() if value is not None]

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


def _one_of(scope: Scope, name: str, fits: Callable[[str], object]) -> str | None:
    """The value of a header that came once and has its form, or None."""
    found = [value.decode("latin-1") for header, value in scope["headers"] if header == name.encode()]
    return found[0] if len(found) == 1 and fits(found[0]) else None


_HEADERS = {
    # Scripts, the worker and what they ask are this server's alone; WebAssembly may be compiled.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
        "style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_TYPES = {".mjs": "text/javascript", ".wasm": "application/wasm"}


class Page(StaticFiles):
    """The files of a folder, with `index.html` at its address, for anyone: they hold no secret.

    Args:
        folder: as the npm package `hemera-client` is unpacked.

    Raises:
        FileError: for a folder without `index.html`.
    """

    def __init__(self, folder: str) -> None:
        if not (Path(folder) / "index.html").is_file():
            raise FileError(f"there is no index.html in {folder}: unpack the npm package hemera-client there")
        super().__init__(directory=folder, html=True)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file, with headers that let scripts of this server alone run."""
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        own = _TYPES.get(Path(path).suffix)  # whatever the system's table says
        if own is not None and response.status_code == 200:
            response.headers["Content-Type"] = own
        return response


def log_sizes(service: Service) -> None:
    """Write the sizes into the log, a line for the server and one for each model, as runs without values
    count them. The server's is a warning where it may need more than there is."""
    settings = service.settings
    there, loaded = _machine.memory_bytes(), settings.loaded_of_device
    on_host = 0 if "cuda" in service.device else loaded * len(service.caches)
    needed = WORK_BYTES + settings.waiting_of_all + on_host
    log(
        "sizing",
        level=logging.WARNING if needed > there else logging.INFO,
        memory_bytes=there,
        needed_bytes=needed,
        work_bytes=WORK_BYTES,
        waiting_bytes=settings.waiting_of_all,
        loaded_key_bytes=loaded,
    )
    for model in service.models.values():
        try:
            cost = model.package.cost()
        except Error as error:
            log("sizing", level=logging.WARNING, model=model.name, why=str(error))
            continue
        log(
            "sizing",
            model=model.name,
            key_bytes=cost.key_bytes,
            plaintext_bytes=cost.plaintext_bytes,
            workspace_bytes=cost.workspace_bytes,
            loaded_clients=loaded // max(1, cost.key_bytes),
        )


_OWN_HEADERS = (KEYS_HEADER, MODEL_HEADER, NONCE_HEADER, OFFSET_HEADER)


def make_app(service: Service, spans: TracerProvider | None = None) -> FastAPI:
    """The application of a service, which it starts and stops. `spans` takes those of requests."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.scheduler.start()
        await asyncio.to_thread(service.prepare)
        log(
            "ready",
            device=service.device,
            models=sorted(service.models),
            indexes=sorted(service.indexes) or None,
            key_sets=len(service.store),
        )
        sweeping = asyncio.create_task(_sweep(service))
        sizing = asyncio.create_task(asyncio.to_thread(log_sizes, service))
        yield
        await sizing
        sweeping.cancel()
        await asyncio.to_thread(service.scheduler.stop)
        log("stopped")

    app = FastAPI(
        title="Hemera",
        version=hemera.__version__,
        description="Computes on encrypted numbers: keys once, then ciphertexts there and back.",
        lifespan=lifespan,
        redirect_slashes=False,  # to an absolute address, which is this side's of a proxy
        generate_unique_id_function=lambda route: operation_id(route.name, route.path_format),
        servers=[{"url": ".", "description": "The folder that this document is in"}],
        docs_url=None,
        redoc_url=None,
    )
    app.state.hemera = make_state(service)
    for router in ROUTERS:
        app.include_router(router)
    app.openapi = functools.cache(functools.partial(describe, app))  # type: ignore[method-assign]
    if service.settings.page is not None:
        app.mount("/page", Page(service.settings.page))
    app.add_exception_handler(Refused, refuse)
    app.add_exception_handler(HTTPException, refuse_http)
    app.add_middleware(HotPath, router=evaluate.router)
    app.add_middleware(ExactAddresses)
    if service.settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(service.settings.origins),
            allow_methods=["GET", "PUT", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", *_OWN_HEADERS],
            expose_headers=[KEYS_HEADER, MODEL_HEADER, NONCE_HEADER, "Retry-After"],
        )
    app.add_middleware(RequestLog)  # around it
    if spans is not None:
        from hemera.serving.telemetry import Spans

        app.add_middleware(Spans, provider=spans)
    return app


async def _sweep(service: Service) -> None:
    while True:
        await asyncio.sleep(service.settings.sweep_seconds)
        try:
            await asyncio.to_thread(service.sweep)
            await asyncio.to_thread(service.sweep_indexes)
        except Exception as error:
            log("failure", level=logging.ERROR, error=error)
