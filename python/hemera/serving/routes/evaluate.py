"""Evaluations. The application gives requests for this router's routes to their functions directly
(`hot_path`): a function here takes the path's parameters, `request` and `client`, and no other dependency."""

from __future__ import annotations

import asyncio
import functools
import time
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.requests import ClientDisconnect

from hemera.serving.bodies import receive, require_size
from hemera.serving.package import Package
from hemera.serving.problems import Refused
from hemera.serving.refusals import answer_to
from hemera.serving.routes.clients import ClientName
from hemera.serving.routes.schemas import FILES, REQUEST_OF_FILES, problems
from hemera.serving.routes.state import AppState, state_of
from hemera.serving.scheduler import Evaluation
from hemera.serving.wire import KEYS_HEADER, BodyReader, Memory, write_body

__all__ = ["router"]

_LARGE = 1 << 20
"""Bytes of a body whose checksums take longer than another thread would."""

router = APIRouter()


@router.post(
    "/v1/models/{model}/evaluate",
    response_class=Response,
    responses={
        200: {"description": "The encrypted outputs", "content": FILES},
        **problems(401, 404, 408, 409, 413, 422, 429, 503, 504),
    },
    openapi_extra=REQUEST_OF_FILES,
)
async def evaluate(model: str, request: Request, client: ClientName) -> Response:
    """Evaluate a model on encrypted inputs: the file of the only one, or a part for each by its name. The
    answer has the outputs in the same way."""
    began = time.monotonic()
    state = state_of(request)
    package = state.service.model(model)
    status, sent = HTTPStatus.INTERNAL_SERVER_ERROR.value, 0
    try:
        response = await _evaluate(state, package, request, client)
        status, sent = response.status_code, len(response.body)
        return response
    except Refused as refused:
        status = refused.status
        raise
    finally:
        state.service.metrics.answered(package.name, status, time.monotonic() - began, sent)


async def _evaluate(state: AppState, package: Package, request: Request, client: str) -> Response:
    service = state.service
    settings = service.settings
    service.keys(client, package.name)
    size = require_size(request, settings.request_bytes)
    came = service.rates.body(client, size)
    with state.waiting.share(client) as take:
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
            large = request.state.received > _LARGE
            take(await asyncio.to_thread(measure) if large else measure())
            evaluation = Evaluation(client, package.name, memory.files)
            service.scheduler.submit(evaluation)
            files = await _answer(evaluation, request, settings.request_seconds)
        except Exception as error:
            raise answer_to(error, service.metrics) from error
    request.state.batch = evaluation.batch
    kind, pieces = write_body(files)
    headers = {"Hemera-Batch": str(evaluation.batch), KEYS_HEADER: evaluation.keys}
    return Response(b"".join(pieces), media_type=kind, headers=headers)


async def _answer(evaluation: Evaluation, request: Request, seconds: float) -> dict[str, bytes]:
    """The outputs of an evaluation that waits.

    Raises:
        Refused: (504) when they are not there in so many seconds.
        ClientDisconnect: when the client hung up.
    """
    answer: asyncio.Future[Any] = asyncio.wrap_future(evaluation.answer)
    gone: asyncio.Future[Any] = asyncio.create_task(_hung_up(request))
    try:
        await asyncio.wait([answer, gone], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            files: dict[str, bytes] = answer.result()
            return files
        if gone.done():
            raise ClientDisconnect
        raise Refused(
            HTTPStatus.GATEWAY_TIMEOUT,
            "timeout",
            f"the request was not answered in {seconds:g} seconds",
            retry_after=10,
        )
    finally:
        gone.cancel()
        answer.cancel()  # takes it out of the queue, if it is still there


async def _hung_up(request: Request) -> None:
    """Ends when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
