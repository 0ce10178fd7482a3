"""The models and indexes that a server has: what a client needs to know of them, and its keys for them."""

from __future__ import annotations

import asyncio
import functools
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Path, Request

from hemera.client.problems import refusal_of
from hemera.client.wire import KEYS_FILE, MODEL_HEADER, BodyReader, is_multipart
from hemera.errors import ParameterError
from hemera.interop import names_of_libraries
from hemera.serving.bodies import receive, require_size
from hemera.serving.logs import log
from hemera.serving.reasons import NO_KEYS
from hemera.serving.refusals import answer_to
from hemera.serving.routes.answering import counted
from hemera.serving.routes.clients import ClientName
from hemera.serving.routes.schemas import REQUEST_OF_FILES, problems, rates_of
from hemera.serving.routes.state import AppState, state_of
from hemera.serving.served import Served, ServedModel
from hemera.serving.store import Upload
from hemera.serving.uploads import UploadSink, library_of

_PIECE = 1 << 20
"""Bytes that are written at a time."""
router = APIRouter()


def _add(kind: str, kinds: str, more: str = "") -> None:
    """Add the routes of models, or of indexes.

    Args:
        kind: "model" or "index".
        kinds: the same of several, in addresses.
        more: the description of uploads of keys.
    """
    of_path: Any = Path(alias=kind)
    one = f"/v1/{kinds}/{{{kind}}}"

    def found(request: Request, name: str) -> Served:
        return state_of(request).service.served(kind, name)

    @router.get(f"/v1/{kinds}", responses=problems(401, 429), description=f"The {kinds} that there are.")
    async def entries(request: Request, _: ClientName) -> dict[str, Any]:
        return {kinds: [each.entry() for each in state_of(request).service.of_kind(kind).values()]}

    @router.get(one, responses=problems(401, 404, 429), description=f"What clients need of the {kind}.")
    async def describe(request: Request, _: ClientName, name: str = of_path) -> dict[str, Any]:
        rates = rates_of(state_of(request).service.settings)
        return {**found(request, name).describe(), "rates": rates}

    @router.get(f"{one}/keys", responses=problems(401, 404, 429), description="The client's own keys.")
    async def keys_of(request: Request, client: ClientName, name: str = of_path) -> dict[str, Any]:
        kept = state_of(request).service.store.find(client, found(request, name).name)
        if kept is None:
            raise NO_KEYS.refused(name=name)
        return kept.describe()

    @router.put(
        f"{one}/keys",
        status_code=HTTPStatus.CREATED,
        responses=problems(401, 404, 408, 409, 413, 422, 429, 503, 507),
        openapi_extra=REQUEST_OF_FILES,
        description=f"Upload evaluation keys, in place of those before. A secret key is refused. {more}",
    )
    async def put_keys(request: Request, client: ClientName, name: str = of_path) -> dict[str, Any]:
        state = state_of(request)
        uploaded = state.service.metrics.uploaded
        with counted(lambda status, _seconds, _sent: uploaded(status)) as answered:
            served = found(request, name)
            served.require_digest(request.headers.get(MODEL_HEADER))
            kept = await _upload(state, served, request, client)
            answered(HTTPStatus.CREATED.value, 0)
        return kept

    @router.delete(
        f"{one}/keys",
        status_code=HTTPStatus.NO_CONTENT,
        responses=problems(401, 404, 429),
        description="Remove the client's keys.",
    )
    async def delete_keys(request: Request, client: ClientName, name: str = of_path) -> None:
        service, own = state_of(request).service, found(request, name).name
        if not await asyncio.to_thread(service.remove_keys, client, own):
            raise NO_KEYS.refused(name=name)


_add(
    "model",
    "models",
    f"One file of Hemera's, or parts `context`, `public_key`, `relinearization`, `galois` with files of "
    f"{names_of_libraries()}.",
)
_add("index", "indexes")


@router.get("/v1/models/{model}/maps", responses=problems(401, 404, 422, 429))
async def maps(request: Request, _: ClientName, model: str = Path()) -> dict[str, Any]:
    """What clients of any language need of the model, with layouts as plain maps."""
    served = state_of(request).service.served("model", model)
    assert isinstance(served, ServedModel)
    try:
        return await asyncio.to_thread(lambda: served.maps)
    except ParameterError as error:
        raise refusal_of(error) from error


async def _upload(state: AppState, served: Served, request: Request, client: str) -> dict[str, Any]:
    """Receives keys, checks them and keeps them. Whatever fails leaves nothing."""
    service = state.service
    settings = service.settings
    own = served.key_limit
    several = is_multipart(request.headers.get("content-type"))
    size = require_size(request, settings.key_bytes if several else own)
    came = service.rates.body(client, size)
    with state.uploads.share(client) as take:
        take(1)
        upload = service.store.begin(client, served.name, settings.key_bytes)
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
            load = functools.partial(service.load_upload, served, library, upload, device)
            session = await asyncio.wrap_future(service.scheduler.call(load, device))
            found = await asyncio.to_thread(service.accept, upload, library, session, device)
        except Exception as error:
            raise answer_to(error, service.metrics) from error
        finally:
            await asyncio.to_thread(upload.discard)
    told: dict[str, Any] = {served.kind: served.name}
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
