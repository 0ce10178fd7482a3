"""The models and indexes that a server has: what a client needs to know of them, and its keys for them,
which it uploads whole or in parts."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
from collections.abc import AsyncIterator, Coroutine, Hashable
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Path, Request, Response

from hemera.client.problems import Refused, refusal_of
from hemera.client.wire import KEYS_FILE, KEYS_HEADER, MODEL_HEADER, OFFSET_HEADER, BodyReader, is_multipart
from hemera.errors import ParameterError
from hemera.interop import names_of_libraries
from hemera.serving.admission import receive, require_size
from hemera.serving.api import REQUEST_OF_FILES, REQUEST_OF_PART, problems, rates_of
from hemera.serving.clients import plain_name
from hemera.serving.logs import log
from hemera.serving.reasons import DIGEST, NO_KEYS, OFFSET, TAKEN_OVER, UNFIT
from hemera.serving.refusals import answer_to
from hemera.serving.routes.answering import AppState, ClientName, counted, state_of
from hemera.serving.served import Served
from hemera.serving.uploads import Upload, UploadSink, library_of

_PIECE = 1 << 20
"""Bytes that are written at a time."""
_AGAIN = (408, 409, 429, 499, 503)
"""Statuses of refusals after which a part may come again: what came before it stays."""


async def put_keys_of(
    state: AppState, served: Served, request: Request, client: str, name: str | None
) -> dict[str, Any]:
    """Receives keys, checks them and keeps them; whatever fails leaves nothing. With the name of an upload: a
    part of it, which goes on where the one before ended. The last part names the digest of all: then the keys
    are checked and kept, or nothing of them is."""
    digest, offset = None, "0"
    if name is not None:
        _require_name(name)
        digest, offset = request.headers.get(KEYS_HEADER), request.headers.get(OFFSET_HEADER, "")
        if not re.fullmatch("[0-9]{1,18}", offset) or is_multipart(request.headers.get("content-type")):
            raise UNFIT.refused(why=f"a part is bytes of one file, with {OFFSET_HEADER}: the bytes before it")
    is_last = name is None or digest is not None
    service = state.service
    async with _turn(state.turns, (client, served.key_name, name or object())) as turn:
        with state.uploads.share(client) as take:
            take(1)
            upload = await asyncio.to_thread(
                service.store.begin, client, served.key_name, service.settings.key_bytes, name
            )
            waits = name is not None
            try:
                if upload.bytes != int(offset):
                    raise OFFSET.refused(held=upload.bytes, offset=int(offset))
                await _body(state, served, request, upload, turn, is_last=is_last)
                if not is_last:
                    return {"bytes": upload.bytes}
                waits = False
                if digest not in (None, upload.digest):
                    raise DIGEST.refused(found=upload.digest, told=str(digest)[:64])
                return await _kept(state, served, upload)
            except Exception as error:
                refused = answer_to(error, service.metrics)
                waits = name is not None and refused.status in _AGAIN
                raise refused from error
            finally:
                await asyncio.to_thread(upload.pause if waits else upload.discard)


def held(state: AppState, served: Served, client: str, name: str) -> dict[str, Any]:
    """The bytes of an upload that are here."""
    _require_name(name)
    return {"bytes": state.service.store.held(client, served.key_name, name)}


def _require_name(name: str) -> None:
    if not re.fullmatch("[0-9a-f]{32}", name):
        raise UNFIT.refused(why="an upload's name is 32 hexadecimal digits, which its client draws at random")


class _Turn:
    """The requests for one upload: each newer one stops the body of the one before, whose connection may be
    dead without the server's knowledge."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.asked = 0
        self._body: asyncio.Future[None] | None = None
        self._taken = False

    def stop(self) -> None:
        """Stop the body that is being received, if there is one."""
        if self._body is not None:
            self._taken = True
            self._body.cancel()

    async def receive(self, body: Coroutine[Any, Any, Any]) -> None:
        """Receive a body. Refused (499) where another request takes over."""
        self._body, self._taken = asyncio.ensure_future(body), False
        try:
            await self._body
        except asyncio.CancelledError:
            if self._taken:
                raise TAKEN_OVER.refused() from None
            raise
        finally:
            self._body = None


@contextlib.asynccontextmanager
async def _turn(turns: dict[Hashable, Any], place: Hashable) -> AsyncIterator[_Turn]:
    turn: _Turn = turns.setdefault(place, _Turn())
    turn.asked += 1
    turn.stop()
    try:
        async with turn.lock:
            yield turn
    finally:
        turn.asked -= 1
        if not turn.asked:
            del turns[place]


async def _body(
    state: AppState, served: Served, request: Request, upload: Upload, turn: _Turn, *, is_last: bool = True
) -> None:
    """Receive a body of keys into an upload."""
    settings, own = state.service.settings, served.key_limit
    several = is_multipart(request.headers.get("content-type"))
    size = require_size(request, settings.key_bytes if several else own)
    reader = BodyReader(request.headers.get("content-type"), UploadSink(upload, own), KEYS_FILE)
    await take_body(state, request, upload.client, upload, reader, size, settings.key_bytes, turn)
    if is_last:
        await asyncio.to_thread(reader.close)


async def take_body(
    state: AppState,
    request: Request,
    client: str,
    upload: Upload,
    reader: BodyReader,
    size: int,
    limit: int,
    turn: _Turn | None = None,
) -> None:
    """Receive a body of `size` bytes, at most `limit`, at the rates of a client, and have it read into an
    upload; where it is interrupted, all that has come is read."""
    service = state.service
    came = service.rates.body(client, size)
    service.store.require_room(upload, size)
    writer = _Writer(reader)

    async def collect(piece: bytes) -> None:
        service.metrics.received.inc(len(piece))
        came(len(piece))
        await writer.take(piece)

    body = receive(request, collect, limit=limit, seconds=service.settings.body_seconds)
    try:
        await (body if turn is None else turn.receive(body))
    finally:
        await writer.flush()


async def _kept(state: AppState, served: Served, upload: Upload) -> dict[str, Any]:
    """Keys that have come are checked, and become the client's."""
    service = state.service
    library = await asyncio.to_thread(library_of, upload.files)
    device = service.device_for_keys()
    load = functools.partial(service.load_upload, served, library, upload, device)
    session = await asyncio.wrap_future(service.scheduler.call(load, device))
    found = await asyncio.to_thread(service.accept, upload, library, session, device, served.name)
    told: dict[str, Any] = {served.kind: served.name}
    log("keys", client=upload.client, library=library, bytes=found.bytes, **told)
    return found.describe()


class _Writer:
    """Pieces of a body on their way to the disk: collected, then read by another thread."""

    def __init__(self, reader: BodyReader) -> None:
        self._reader = reader
        self._pieces: list[bytes] = []
        self._collected = 0
        self._writing: asyncio.Future[None] | None = None

    async def take(self, piece: bytes) -> None:
        """The next piece."""
        self._pieces.append(piece)
        self._collected += len(piece)
        if self._collected >= _PIECE:
            await self.flush()

    async def flush(self) -> None:
        """Write what was collected; also where a write was cancelled, which goes on."""
        if self._writing is not None:
            await self._writing
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._collected = 0
        self._writing = asyncio.ensure_future(asyncio.to_thread(self._reader.feed, data))
        await asyncio.shield(self._writing)
        self._writing = None


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

    def found(request: Request, name: str, client: str) -> Served:
        return state_of(request).service.served(kind, name, client)

    async def received(
        request: Request, client: str, name: str, upload: str | None = None
    ) -> tuple[dict[str, Any], int]:
        """The answer to an upload of keys, or to a part of it, and its status."""
        state = state_of(request)
        uploads = state.service.metrics.uploads
        with counted(lambda status, _seconds, _sent: uploads.labels(status).inc()) as answered:
            served = found(request, name, client)
            served.require_digest(request.headers.get(MODEL_HEADER))
            told = await put_keys_of(state, served, request, client, upload)
            is_whole = upload is None or KEYS_HEADER in request.headers
            status = (HTTPStatus.CREATED if is_whole else HTTPStatus.OK).value
            answered(status, 0)
        return told, status

    @router.get(f"/v1/{kinds}", responses=problems(401, 403, 429), description=f"The {kinds} that there are.")
    async def entries(request: Request, client: ClientName) -> dict[str, Any]:
        told = state_of(request).service.entries(kind, client)
        return {kinds: [each for each in told if request.state.caller.may_ask(each["name"])]}

    @router.get(one, responses=problems(401, 403, 404, 429), description=f"What clients need of the {kind}.")
    async def describe(request: Request, client: ClientName, name: str = of_path) -> dict[str, Any]:
        rates = rates_of(state_of(request).service.settings)
        return {**found(request, name, client).describe(), "rates": rates}

    @router.get(
        f"{one}/maps",
        responses=problems(401, 403, 404, 422, 429),
        description=f"What clients of any language need of the {kind}, with layouts as plain maps.",
    )
    async def maps(request: Request, client: ClientName, name: str = of_path) -> dict[str, Any]:
        served = found(request, name, client)
        try:
            return await asyncio.to_thread(lambda: served.maps)
        except ParameterError as error:
            raise refusal_of(error) from error

    @router.get(f"{one}/keys", responses=problems(401, 403, 404, 429), description="The client's own keys.")
    async def keys_of(request: Request, client: ClientName, name: str = of_path) -> dict[str, Any]:
        kept = state_of(request).service.store.find(client, found(request, name, client).key_name)
        if kept is None:
            raise NO_KEYS.refused(name=name)
        return kept.describe()

    @router.put(
        f"{one}/keys",
        status_code=HTTPStatus.CREATED,
        responses=problems(401, 403, 404, 408, 409, 413, 422, 429, 503, 507),
        openapi_extra=REQUEST_OF_FILES,
        description=f"Upload evaluation keys, in place of those before. A secret key is refused. {more}",
    )
    async def put_keys(request: Request, client: ClientName, name: str = of_path) -> dict[str, Any]:
        return (await received(request, client, name))[0]

    @router.get(
        f"{one}/keys/{{upload}}",
        responses=problems(401, 403, 404, 422, 429),
        description="`bytes`: how many of an upload of keys are here, 0 of one that is not known.",
    )
    async def held_of(
        request: Request, client: ClientName, name: str = of_path, upload: str = Path()
    ) -> dict[str, Any]:
        return held(state_of(request), found(request, name, client), client, upload)

    @router.put(
        f"{one}/keys/{{upload}}",
        responses={
            **problems(401, 403, 404, 408, 409, 413, 422, 429, 503, 507),
            201: {"description": "All."},
        },
        openapi_extra=REQUEST_OF_PART,
        description="Upload a part of evaluation keys, from the bytes that are here on. What has come of one "
        "that is interrupted stays. 200: `bytes`, how many are here. With Hemera-Keys the part is the last: "
        "201 and the keys' description, as of an upload of all at once.",
    )
    async def put_keys_part(
        request: Request, response: Response, client: ClientName, name: str = of_path, upload: str = Path()
    ) -> dict[str, Any]:
        told, response.status_code = await received(request, client, name, upload)
        return told

    @router.delete(
        f"{one}/keys",
        status_code=HTTPStatus.NO_CONTENT,
        responses=problems(401, 403, 404, 429),
        description="Remove the client's keys, and what has come of others.",
    )
    async def delete_keys(request: Request, client: ClientName, name: str = of_path) -> None:
        service = state_of(request).service
        try:
            own = found(request, name, client).key_name
        except Refused:  # keys for what is gone count until they are removed
            if service.store.find(client, plain_name(name)) is None:
                raise
            own = plain_name(name)
        if not await asyncio.to_thread(service.remove_keys, client, own):
            raise NO_KEYS.refused(name=name)


_add(
    "model",
    "models",
    f"One file of Hemera's, or parts `context`, `public_key`, `relinearization`, `galois` with files of "
    f"{names_of_libraries()}.",
)
_add("index", "indexes")
