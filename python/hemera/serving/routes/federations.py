"""Files of federations: what their parties write for each other, as in a folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, BinaryIO

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from hemera.client.wire import OCTETS, BodyReader
from hemera.serving.admission import require_size
from hemera.serving.api import problems
from hemera.serving.reasons import EXISTS
from hemera.serving.refusals import answer_to
from hemera.serving.routes.answering import ClientName, state_of
from hemera.serving.routes.served import take_body

_PIECE = 1 << 18
_FILE = "file"
router = APIRouter()


@router.get("/v1/federations/{federation}/files", responses=problems(401, 404, 429))
async def files(federation: str, request: Request, _: ClientName, folder: str = "") -> dict[str, Any]:
    """The files in a folder of a federation: to each a word that differs for another one of its name; and the
    bytes that one party may have there."""
    service = state_of(request).service
    found = await asyncio.to_thread(service.federation(federation).files, folder)
    return {"files": found, "party_bytes": service.settings.store_of_client}


@router.get(
    "/v1/federations/{federation}/files/{place:path}",
    response_class=Response,
    responses={200: {"description": "The file", "content": {OCTETS: {}}}, **problems(401, 404, 429)},
)
async def get(federation: str, place: str, request: Request, _: ClientName) -> Response:
    """A file of a federation, whole."""
    file = await asyncio.to_thread(state_of(request).service.federation(federation).open, place)
    headers = {"Content-Length": str(os.fstat(file.fileno()).st_size)}
    return StreamingResponse(_pieces(file), media_type=OCTETS, headers=headers)


@router.put(
    "/v1/federations/{federation}/files/{place:path}",
    status_code=HTTPStatus.CREATED,
    responses=problems(401, 403, 404, 408, 409, 413, 422, 429, 503, 507),
    openapi_extra={"requestBody": {"required": True, "content": {OCTETS: {}}}},
)
async def put(federation: str, place: str, request: Request, client: ClientName) -> Response:
    """Write a file of a federation, whole or not at all. With `If-None-Match: *` of several writers of a name
    one is first, and the others are refused (409, `exists`); without, it takes the place of the file before
    it. A client writes files that have its own name."""
    state = state_of(request)
    service = state.service
    folder = service.federation(federation)
    await asyncio.to_thread(folder.require_writer, place, client.rpartition(".")[0])
    path, replace = folder.root / place, request.headers.get("if-none-match") != "*"
    if not replace and path.exists():
        raise EXISTS.refused(name=place)
    size = require_size(request, service.settings.key_bytes)
    with state.uploads.share(client) as take:
        take(1)
        limit = min(service.settings.key_bytes, folder.limit(place, service.settings.store_of_client))
        upload = service.store.begin(folder.account(place), place, limit)
        try:
            reader = BodyReader(None, upload, _FILE)
            await take_body(state, request, client, upload, reader, size, limit)
            await asyncio.to_thread(reader.close)
            await asyncio.to_thread(service.store.place, upload, path, replace=replace)
        except FileExistsError:
            raise EXISTS.refused(name=place) from None
        except Exception as error:
            raise answer_to(error, service.metrics) from error
        finally:
            await asyncio.to_thread(upload.discard)
    return Response(status_code=HTTPStatus.CREATED)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece
