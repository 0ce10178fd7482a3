"""Uploads of keys: a body that has all of them, and parts of one that goes on after an interruption."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
from collections.abc import AsyncIterator, Coroutine, Hashable
from typing import Any

from fastapi import Request

from hemera.client.wire import KEYS_FILE, KEYS_HEADER, OFFSET_HEADER, BodyReader, is_multipart
from hemera.serving.bodies import receive, require_size
from hemera.serving.logs import log
from hemera.serving.reasons import DIGEST, OFFSET, TAKEN_OVER, UNFIT
from hemera.serving.refusals import answer_to
from hemera.serving.routes.state import AppState
from hemera.serving.served import Served
from hemera.serving.store import Upload
from hemera.serving.uploads import UploadSink, library_of

_PIECE = 1 << 20
"""Bytes that are written at a time."""
_AGAIN = (408, 409, 429, 499, 503)
"""Statuses of refusals after which a part may come again: what came before it stays."""


async def put_whole(state: AppState, served: Served, request: Request, client: str) -> dict[str, Any]:
    """Receives keys, checks them and keeps them. Whatever fails leaves nothing."""
    with state.uploads.share(client) as take:
        take(1)
        upload = state.service.store.begin(client, served.key_name, state.service.settings.key_bytes)
        try:
            await _body(state, served, request, upload, _Turn())
            return await _kept(state, served, upload)
        except Exception as error:
            raise answer_to(error, state.service.metrics) from error
        finally:
            await asyncio.to_thread(upload.discard)


async def put_part(
    state: AppState, served: Served, request: Request, client: str, name: str
) -> dict[str, Any]:
    """Receives a part of an upload, which goes on where the one before ended. The last part names the digest
    of all: then the keys are checked and kept, or nothing of them is."""
    _require_name(name)
    digest, offset = request.headers.get(KEYS_HEADER), request.headers.get(OFFSET_HEADER, "")
    if not re.fullmatch("[0-9]{1,18}", offset) or is_multipart(request.headers.get("content-type")):
        raise UNFIT.refused(why=f"a part is bytes of one file, with {OFFSET_HEADER}: the bytes before it")
    service = state.service
    async with _turn(state.turns, (client, served.key_name, name)) as turn:
        with state.uploads.share(client) as take:
            take(1)
            upload = await asyncio.to_thread(
                service.store.resume, client, served.key_name, name, service.settings.key_bytes
            )
            waits = True
            try:
                if upload.bytes != int(offset):
                    raise OFFSET.refused(held=upload.bytes, offset=int(offset))
                await _body(state, served, request, upload, turn, is_last=digest is not None)
                if digest is None:
                    return {"bytes": upload.bytes}
                waits = False
                if upload.digest != digest:
                    raise DIGEST.refused(found=upload.digest, told=digest[:64])
                return await _kept(state, served, upload)
            except Exception as error:
                refused = answer_to(error, service.metrics)
                waits = refused.status in _AGAIN
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
        service.metrics.received(len(piece))
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
