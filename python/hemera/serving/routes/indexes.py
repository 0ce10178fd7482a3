"""Queries of indexes."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response

from hemera.client.wire import KEYS_HEADER, OCTETS
from hemera.serving.index_sessions import ANSWER, PREPARATION, PREPARED, QUERY
from hemera.serving.routes.answering import Work, answer, counted
from hemera.serving.routes.clients import ClientName
from hemera.serving.routes.schemas import REQUEST_OF_FILES, problems
from hemera.serving.routes.state import state_of

router = APIRouter()


@router.post(
    "/v1/indexes/{index}/query",
    response_class=Response,
    responses={
        200: {"description": "The encrypted answer", "content": {OCTETS: {}}},
        **problems(401, 403, 404, 408, 409, 413, 422, 429, 503, 504),
    },
    openapi_extra=REQUEST_OF_FILES,
)
async def query(index: str, request: Request, client: ClientName) -> Response:
    """Answer encrypted queries, a message of a search's client, with encrypted scores of all rows, or with
    the encrypted results of comparisons. Queries for scores of several clients that wait take one pass over
    the database, each by its own client's keys."""
    state = state_of(request)
    served = state.service.served("index", index, client)
    with counted(partial(state.service.metrics.answered, index)) as answered:
        work = Work(served, QUERY)
        evaluation, files = await answer(state, request, client, work)
        headers = {"Hemera-Batch": str(evaluation.batch), KEYS_HEADER: evaluation.keys}
        response = Response(files[ANSWER], media_type=OCTETS, headers=headers)
        answered(response.status_code, len(response.body))
    return response


@router.post(
    "/v1/indexes/{index}/prepare",
    status_code=HTTPStatus.CREATED,
    responses=problems(401, 403, 404, 408, 409, 413, 422, 429, 503, 504),
    openapi_extra=REQUEST_OF_FILES,
)
async def prepare(index: str, request: Request, response: Response, client: ClientName) -> dict[str, Any]:
    """Do most of the work of later queries, whose seeds are in a message of a search's client. The answer
    says how many are prepared; others are answered all the same."""
    state = state_of(request)
    served = state.service.served("index", index, client)
    with counted(partial(state.service.metrics.answered, index)) as answered:
        work = Work(served, PREPARATION)
        evaluation, files = await answer(state, request, client, work)
        answered(HTTPStatus.CREATED.value, 0)
    response.headers[KEYS_HEADER] = evaluation.keys
    return {"prepared": int(files[PREPARED])}
