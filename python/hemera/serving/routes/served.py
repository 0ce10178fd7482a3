"""The models and indexes that a server has: what a client needs to know of them, and its keys for them."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Path, Request, Response

from hemera.client.problems import Refused, refusal_of
from hemera.client.wire import KEYS_HEADER, MODEL_HEADER
from hemera.errors import ParameterError
from hemera.interop import names_of_libraries
from hemera.serving.reasons import NO_KEYS
from hemera.serving.routes.answering import counted
from hemera.serving.routes.clients import ClientName
from hemera.serving.routes.schemas import REQUEST_OF_FILES, REQUEST_OF_PART, problems, rates_of
from hemera.serving.routes.state import state_of
from hemera.serving.routes.uploads import held, put_part, put_whole
from hemera.serving.served import Served
from hemera.serving.versions import plain_name

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
        state = state_of(request)
        uploaded = state.service.metrics.uploaded
        with counted(lambda status, _seconds, _sent: uploaded(status)) as answered:
            served = found(request, name, client)
            served.require_digest(request.headers.get(MODEL_HEADER))
            kept = await put_whole(state, served, request, client)
            answered(HTTPStatus.CREATED.value, 0)
        return kept

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
        request: Request,
        response: Response,
        client: ClientName,
        name: str = of_path,
        upload: str = Path(),
    ) -> dict[str, Any]:
        state = state_of(request)
        uploaded = state.service.metrics.uploaded
        with counted(lambda status, _seconds, _sent: uploaded(status)) as answered:
            served = found(request, name, client)
            served.require_digest(request.headers.get(MODEL_HEADER))
            told = await put_part(state, served, request, client, upload)
            if KEYS_HEADER in request.headers:
                response.status_code = HTTPStatus.CREATED
            answered(HTTPStatus(response.status_code or HTTPStatus.OK).value, 0)
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
