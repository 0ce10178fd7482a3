"""Evaluation keys: a client uploads them for a model or an index, asks for them and removes them."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request

from hemera.client.problems import Refused
from hemera.client.wire import KEYS_FILE, MODEL_HEADER, BodyReader, is_multipart
from hemera.interop import names_of_libraries
from hemera.serving.bodies import receive, require_size
from hemera.serving.logs import log
from hemera.serving.refusals import answer_to
from hemera.serving.routes.answering import counted
from hemera.serving.routes.clients import ClientName
from hemera.serving.routes.schemas import REQUEST_OF_FILES, problems
from hemera.serving.routes.state import AppState, state_of
from hemera.serving.service import KeyTarget, Service
from hemera.serving.store import Upload
from hemera.serving.uploads import UploadSink, library_of

_MODEL, _INDEX = "/v1/models/{model}/keys", "/v1/indexes/{index}/keys"
_PIECE = 1 << 20
"""Bytes that are written at a time."""

_PUT = f"""
Upload evaluation keys for a model, in place of those before: one file of Hemera's, or parts
`context`, `public_key`, `relinearization`, `galois` with files of {names_of_libraries()}. A secret key is
refused.
""".strip()

router = APIRouter()


@router.get(_MODEL, responses=problems(401, 404, 429))
async def keys_of(model: str, request: Request, client: ClientName) -> dict[str, Any]:
    """The keys that the client has uploaded for a model."""
    service = state_of(request).service
    return _describe(service, service.model_target(model), client)


@router.get(_INDEX, responses=problems(401, 404, 429))
async def index_keys_of(index: str, request: Request, client: ClientName) -> dict[str, Any]:
    """The keys that the client has uploaded for an index."""
    service = state_of(request).service
    return _describe(service, service.index_target(index), client)


@router.put(
    _MODEL,
    status_code=HTTPStatus.CREATED,
    responses=problems(401, 404, 408, 409, 413, 422, 429, 503, 507),
    openapi_extra=REQUEST_OF_FILES,
    description=_PUT,
)
async def put_keys(model: str, request: Request, client: ClientName) -> dict[str, Any]:
    """Upload evaluation keys for a model: the description above is what clients read."""
    state = state_of(request)

    def find(name: str) -> KeyTarget:
        state.service.require_digest(state.service.model(name), request.headers.get(MODEL_HEADER))
        return state.service.model_target(name)

    return await _counted_upload(state, find, model, request, client)


@router.put(
    _INDEX,
    status_code=HTTPStatus.CREATED,
    responses=problems(401, 404, 408, 413, 422, 429, 503, 507),
    openapi_extra=REQUEST_OF_FILES,
)
async def put_index_keys(index: str, request: Request, client: ClientName) -> dict[str, Any]:
    """Upload a client's keys for an index, in place of those before. A secret key is refused."""
    state = state_of(request)
    return await _counted_upload(state, state.service.index_target, index, request, client)


@router.delete(_MODEL, status_code=HTTPStatus.NO_CONTENT, responses=problems(401, 404, 429))
async def delete_keys(model: str, request: Request, client: ClientName) -> None:
    """Remove the client's keys for a model."""
    service = state_of(request).service
    await _remove(service, service.model_target(model), client)


@router.delete(_INDEX, status_code=HTTPStatus.NO_CONTENT, responses=problems(401, 404, 429))
async def delete_index_keys(index: str, request: Request, client: ClientName) -> None:
    """Remove the client's keys for an index."""
    service = state_of(request).service
    await _remove(service, service.index_target(index), client)


def _describe(service: Service, target: KeyTarget, client: str) -> dict[str, Any]:
    found = service.store.find(client, target.name)
    if found is None:
        raise _no_keys(target)
    return found.describe()


async def _remove(service: Service, target: KeyTarget, client: str) -> None:
    if not await asyncio.to_thread(service.remove_keys, client, target.name):
        raise _no_keys(target)


def _no_keys(target: KeyTarget) -> Refused:
    return Refused(HTTPStatus.NOT_FOUND, "no_keys", f"the server has no keys of yours for {target.name!r}")


async def _counted_upload(
    state: AppState, find: Callable[[str], KeyTarget], name: str, request: Request, client: str
) -> dict[str, Any]:
    """An upload whose status goes into the metrics."""
    with counted(state.service.metrics.uploaded) as answered:
        found = await _upload(state, find(name), request, client)
        answered(HTTPStatus.CREATED.value, 0)
    return found


async def _upload(state: AppState, target: KeyTarget, request: Request, client: str) -> dict[str, Any]:
    """Receives keys, checks them and keeps them. Whatever fails leaves nothing."""
    service = state.service
    settings = service.settings
    own = target.limit
    several = is_multipart(request.headers.get("content-type"))
    size = require_size(request, settings.key_bytes if several else own)
    came = service.rates.body(client, size)
    with state.uploads.share(client) as take:
        take(1)
        upload = service.store.begin(client, target.name, settings.key_bytes)
        try:
            service.store.require_room(upload, size)
            writer = _Writer(request, upload, own)

            async def collect(piece: bytes) -> None:
                service.metrics.received(len(piece))
                came(len(piece))
                await writer.take(piece)

            await receive(request, collect, limit=settings.key_bytes, seconds=settings.body_seconds)
            await writer.close()
            library = await asyncio.to_thread(library_of, upload.files)
            device = service.device_for_keys()
            load = functools.partial(target.load, library, upload, device)
            session = await asyncio.wrap_future(service.scheduler.call(load, device))
            found = await asyncio.to_thread(service.accept, upload, library, session, device)
        except Exception as error:
            raise answer_to(error, service.metrics) from error
        finally:
            await asyncio.to_thread(upload.discard)
    told: dict[str, Any] = {target.kind: target.name}
    log("keys", client=client, library=library, bytes=found.bytes, **told)
    return found.describe()


class _Writer:
    """Pieces of a body on their way into an upload: collected, then written by another thread.

    Args:
        request: whose body it is.
        upload: where its files go.
        own: bytes that keys of Hemera's clients may have.
    """

    def __init__(self, request: Request, upload: Upload, own: int) -> None:
        self._reader = BodyReader(request.headers.get("content-type"), UploadSink(upload, own), KEYS_FILE)
        self._pieces: list[bytes] = []
        self._collected = 0

    async def take(self, piece: bytes) -> None:
        """The next piece."""
        self._pieces.append(piece)
        self._collected += len(piece)
        if self._collected >= _PIECE:
            await self._write()

    async def close(self) -> None:
        """The body has come to its end."""
        await self._write()
        await asyncio.to_thread(self._reader.close)

    async def _write(self) -> None:
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._collected = 0
        await asyncio.to_thread(self._reader.feed, data)
