"""The server's HTTP interface."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import math
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from types import SimpleNamespace
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import hemera
from hemera.serving.bodies import Budget, receive, require_size
from hemera.serving.logs import log
from hemera.serving.metrics import CONTENT_TYPE
from hemera.serving.package import Package
from hemera.serving.problems import Refused, refusal_of
from hemera.serving.scheduler import Evaluation
from hemera.serving.service import Service
from hemera.serving.uploads import OWN, UploadSink, library_of
from hemera.serving.wire import KEYS_HEADER, OCTETS, BodyReader, Memory, is_multipart, write_body

__all__ = ["make_app"]

_CLOSED_BY_CLIENT = 499
"""nginx' status for a client that left: nobody reads it but the log."""
_PIECE = 1 << 20
_EVALUATE = "/v1/models/{model}/evaluate"
_EVALUATIONS = re.compile(_EVALUATE.replace("{model}", "([^/]+)"))

_FILES = {
    OCTETS: {"schema": {"type": "string", "format": "binary"}},
    "multipart/form-data": {
        "schema": {"type": "object", "additionalProperties": {"type": "string", "format": "binary"}}
    },
}
_PROBLEM = {
    "description": "What was wrong and the way out",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "error": {
                        "type": "object",
                        "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
                        "required": ["code", "message"],
                    }
                },
                "required": ["error"],
            }
        }
    },
}


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return dict.fromkeys(statuses, _PROBLEM)


_bearer = HTTPBearer(auto_error=False, description="The token that the server's operator gave you")


async def _client_of(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> str:
    """The client that asks. Refused (401) where it is none, (429) where it asks too often."""
    service: Service = request.app.state.service
    client = service.clients.of_token(given.credentials) if given else None
    if client is None:
        raise Refused(
            HTTPStatus.UNAUTHORIZED,
            "unknown_token",
            "a client's token is needed, Authorization: Bearer TOKEN (`hemera serve HOME --add-client NAME`)",
        )
    request.state.client = client
    service.rates.request(client)
    return client


ClientName = Annotated[str, Depends(_client_of)]


def make_app(service: Service) -> FastAPI:
    """The application of a service, which it starts and stops."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.scheduler.start()
        await asyncio.to_thread(service.prepare)
        log("ready", device=service.device, models=sorted(service.models), key_sets=len(service.store))
        sweeping = asyncio.create_task(_sweep(service))
        yield
        sweeping.cancel()
        await asyncio.to_thread(service.scheduler.stop)
        log("stopped")

    app = FastAPI(
        title="Hemera",
        version=hemera.__version__,
        description="Computes on encrypted numbers: keys once, then ciphertexts there and back.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    app.add_exception_handler(Refused, _refuse)
    app.add_exception_handler(HTTPException, _refuse_http)
    app.add_middleware(_Direct, evaluate=_add_routes(app, service))
    app.add_middleware(_Log)  # around it
    return app


async def _sweep(service: Service) -> None:
    while True:
        await asyncio.sleep(service.settings.sweep_seconds)
        try:
            await asyncio.to_thread(service.sweep)
        except Exception as error:
            log("failure", level=logging.ERROR, error=error)


Evaluate = Callable[[str, Request, str], Awaitable[Response]]


def _add_routes(app: FastAPI, service: Service) -> Evaluate:
    """The function of evaluations, of a model, a request and a client."""
    settings = service.settings
    waiting = Budget(
        settings.waiting_bytes,
        settings.waiting_of_client,
        "busy",
        "the server has as many requests as it takes; try again in a while",
    )
    uploads = Budget(
        settings.uploads,
        settings.client_uploads,
        "busy",
        "the server has as many uploads of keys as it takes; try again in a while",
    )
    service.metrics.watch(
        "hemera_waiting_bytes",
        "Bytes of bodies that arrive, wait or are computed, and of their ciphertexts in memory",
        lambda: waiting.taken,
    )

    @app.get("/health", responses=_problems(503))
    async def health() -> dict[str, Any]:
        """Whether requests are computed."""
        if not service.scheduler.alive:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "stopping", "the server stops", retry_after=10)
        return {
            "status": "ok",
            "version": hemera.__version__,
            "device": service.device,
            "models": sorted(service.models),
            "damaged": sorted(service.damaged),
        }

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Counters for Prometheus."""
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    @app.get("/v1/models", responses=_problems(401, 429))
    async def models(_: ClientName) -> dict[str, Any]:
        """The models that there are."""
        return {
            "models": [
                {"name": package.name, "description": package.description, "digest": package.digest}
                for package in service.models.values()
            ]
        }

    @app.get("/v1/models/{model}", responses=_problems(401, 404, 429))
    async def model_of(model: str, _: ClientName) -> dict[str, Any]:
        """What a client needs to know of a model: parameters, keys, inputs and outputs."""
        package = service.model(model)
        return {
            **package.describe(),
            "limits": {
                "request_bytes": settings.request_bytes,
                "key_bytes": service.key_limit(package),
                "evaluations": settings.batch,
            },
            "rates": {
                "requests_per_second": _finite(settings.requests_per_second),
                "bytes_per_second": _finite(settings.bytes_per_second),
            },
        }

    @app.get("/v1/models/{model}/keys", responses=_problems(401, 404, 429))
    async def keys_of(model: str, client: ClientName) -> dict[str, Any]:
        """The keys that the client has uploaded for a model."""
        service.model(model)
        found = service.store.find(client, model)
        if found is None:
            raise Refused(HTTPStatus.NOT_FOUND, "no_keys", f"the server has no keys of yours for {model!r}")
        return found.describe()

    @app.put(
        "/v1/models/{model}/keys",
        status_code=HTTPStatus.CREATED,
        responses=_problems(401, 404, 408, 413, 422, 429, 503, 507),
        openapi_extra={"requestBody": {"required": True, "content": _FILES}},
    )
    async def put_keys(model: str, request: Request, client: ClientName) -> dict[str, Any]:
        """Upload evaluation keys for a model, in place of those before: one file of Hemera's, or parts
        `context`, `public_key`, `relinearization`, `galois` with files of SEAL or OpenFHE. A secret key is
        refused."""
        status = HTTPStatus.INTERNAL_SERVER_ERROR.value
        try:
            found = await _upload(model, request, client)
            status = HTTPStatus.CREATED.value
            return found
        except Refused as refused:
            status = refused.status
            raise
        finally:
            service.metrics.uploaded(status)

    async def _upload(model: str, request: Request, client: str) -> dict[str, Any]:
        package = service.model(model)
        own = service.key_limit(package)
        several = is_multipart(request.headers.get("content-type"))
        size = require_size(request, settings.key_bytes if several else own)
        came = service.rates.body(client, size)
        with uploads.share(client) as take:
            take(1)
            upload = service.store.begin(client, model, settings.key_bytes)
            try:
                service.store.require_room(upload, size)
                reader = BodyReader(request.headers.get("content-type"), UploadSink(upload, own), OWN)
                pieces: list[bytes] = []
                collected = 0

                async def write() -> None:
                    nonlocal collected
                    data = b"".join(pieces)
                    pieces.clear()
                    collected = 0
                    await asyncio.to_thread(reader.feed, data)

                async def collect(piece: bytes) -> None:
                    nonlocal collected
                    service.metrics.received(len(piece))
                    came(len(piece))
                    pieces.append(piece)
                    collected += len(piece)
                    if collected >= _PIECE:
                        await write()

                await receive(request, collect, limit=settings.key_bytes, seconds=settings.body_seconds)
                await write()
                await asyncio.to_thread(reader.close)
                library = await asyncio.to_thread(library_of, upload.files)
                session = await asyncio.wrap_future(
                    service.scheduler.call(functools.partial(service.load_upload, package, library, upload))
                )
                found = await asyncio.to_thread(service.accept, upload, library, session)
            except Exception as error:
                raise _answer_to(error) from error
            finally:
                await asyncio.to_thread(upload.discard)
        log("keys", client=client, model=model, library=library, bytes=found.bytes)
        return found.describe()

    @app.delete(
        "/v1/models/{model}/keys", status_code=HTTPStatus.NO_CONTENT, responses=_problems(401, 404, 429)
    )
    async def delete_keys(model: str, client: ClientName) -> None:
        """Remove the client's keys for a model."""
        service.model(model)
        if not await asyncio.to_thread(service.remove_keys, client, model):
            raise Refused(HTTPStatus.NOT_FOUND, "no_keys", f"the server has no keys of yours for {model!r}")

    @app.post(
        _EVALUATE,
        response_class=Response,
        responses={
            200: {"description": "The encrypted outputs", "content": _FILES},
            **_problems(401, 404, 408, 409, 413, 422, 429, 503, 504),
        },
        openapi_extra={"requestBody": {"required": True, "content": _FILES}},
    )
    async def evaluate(model: str, request: Request, client: ClientName) -> Response:
        """Evaluate a model on encrypted inputs: the file of the only one, or a part for each by its name. The
        answer has the outputs in the same way."""
        began = time.monotonic()
        package = service.model(model)
        status, sent = HTTPStatus.INTERNAL_SERVER_ERROR.value, 0
        try:
            response = await _evaluate(package, request, client)
            status, sent = response.status_code, len(response.body)
            return response
        except Refused as refused:
            status = refused.status
            raise
        finally:
            service.metrics.answered(package.name, status, time.monotonic() - began, sent)

    async def _evaluate(package: Package, request: Request, client: str) -> Response:
        service.keys(client, package.name)
        size = require_size(request, settings.request_bytes)
        came = service.rates.body(client, size)
        with waiting.share(client) as take:
            memory = Memory()
            try:
                reader = BodyReader(request.headers.get("content-type"), memory, package.inputs[0].name)

                async def feed(piece: bytes) -> None:
                    service.metrics.received(len(piece))
                    came(len(piece))
                    take(len(piece))  # not the size that is told, of which nothing may come
                    reader.feed(piece)

                request.state.received = await receive(
                    request, feed, limit=settings.request_bytes, seconds=settings.body_seconds
                )
                reader.close()
                measure = functools.partial(service.memory_of, package, client, memory.files)
                # Checksums of large bodies take time; of small ones less than another thread would.
                large = request.state.received > _PIECE
                take(await asyncio.to_thread(measure) if large else measure())
                evaluation = Evaluation(client, package.name, memory.files)
                service.scheduler.submit(evaluation)
                files = await _answer(evaluation, request)
            except Exception as error:
                raise _answer_to(error) from error
        request.state.batch = evaluation.batch
        kind, pieces = write_body(files)
        headers = {"Hemera-Batch": str(evaluation.batch), KEYS_HEADER: evaluation.keys}
        return Response(b"".join(pieces), media_type=kind, headers=headers)

    async def _answer(evaluation: Evaluation, request: Request) -> dict[str, bytes]:
        answer: asyncio.Future[Any] = asyncio.wrap_future(evaluation.answer)
        gone: asyncio.Future[Any] = asyncio.create_task(_hung_up(request))
        try:
            await asyncio.wait(
                [answer, gone], timeout=settings.request_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if answer.done():
                files: dict[str, bytes] = answer.result()
                return files
            if gone.done():
                raise ClientDisconnect
            raise Refused(
                HTTPStatus.GATEWAY_TIMEOUT,
                "timeout",
                f"the request was not answered in {settings.request_seconds:g} seconds",
                retry_after=10,
            )
        finally:
            gone.cancel()
            answer.cancel()  # takes it out of the queue, if it is still there

    def _answer_to(error: Exception) -> Refused:
        if isinstance(error, ClientDisconnect):
            service.metrics.hung_up()
            return Refused(_CLOSED_BY_CLIENT, "hung_up", "the client hung up")
        refused = refusal_of(error)
        if refused.code == "internal":
            log("failure", level=logging.ERROR, error=error)
        return refused

    return evaluate


def _finite(rate: float) -> float | None:
    """As JSON takes it."""
    return None if math.isinf(rate) else rate


async def _hung_up(request: Request) -> None:
    """Ends when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    request.state.code = error.code
    headers = error.headers
    if request.method in ("POST", "PUT") and not request.scope.get("hemera.received"):
        headers["Connection"] = "close"
        # A client that asked whether it may go on (Expect: 100-continue) has sent nothing yet.
        asked = "expect" in request.headers
        if not asked and error.status not in (HTTPStatus.REQUEST_TIMEOUT, _CLOSED_BY_CLIENT):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(_read_on(request), 1.0)
    return JSONResponse(error.body, error.status, headers)


async def _read_on(request: Request) -> None:
    """Reads what is left of a body, if it is short: a connection that is closed with bytes unread may lose
    the answer."""
    left = _PIECE
    while left > 0 and not request.scope.get("hemera.received"):
        message = await request.receive()
        if message["type"] == "http.disconnect":
            return
        left -= len(message.get("body", b""))


async def _refuse_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = {404: "unknown_address", 405: "unknown_method"}.get(error.status_code, "format")
    message = f"{error.detail}: /openapi.json tells what there is"
    return await _refuse(request, Refused(error.status_code, code, message))


class _Direct:
    """Gives evaluations to their function without the steps of the framework, which take longer than all else
    that is done for a request of a small model. Its route describes them, and is what the log names."""

    def __init__(self, app: ASGIApp, evaluate: Evaluate) -> None:
        self._app = app
        self._evaluate = evaluate
        self._route = SimpleNamespace(path=_EVALUATE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = None
        if scope["type"] == "http" and scope["method"] == "POST":
            found = _EVALUATIONS.fullmatch(scope["path"])
        if found is None:
            await self._app(scope, receive, send)
            return
        scope["path_params"] = {"model": found[1]}
        scope["route"] = self._route
        request = Request(scope, receive, send)
        try:
            client = await _client_of(request, await _bearer(request))
            response = await self._evaluate(found[1], request, client)
        except Refused as refused:
            response = await _refuse(request, refused)
        await response(scope, receive, send)


class _Log:
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
                client=state.get("client"),
                status=status,
                code=state.get("code"),
                batch=state.get("batch"),
                received=state.get("received"),
                sent=sent,
                seconds=round(time.monotonic() - began, 4),
            )
