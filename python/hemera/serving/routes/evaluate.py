"""Evaluations of models, and queries of indexes."""

from __future__ import annotations

import functools
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response

from hemera.client.wire import KEYS_HEADER, MODEL_HEADER, OCTETS, write_body
from hemera.inputs.source import named, opened
from hemera.serving.api import FILES, REQUEST_OF_FILES, problems
from hemera.serving.routes.answering import ClientName, answer, counted, state_of
from hemera.serving.session_cache import ANSWER, PREPARATION, PREPARED, QUERY

router = APIRouter()
"""Evaluations. The application gives requests for its routes to their functions directly (`HotPath`): these
take the path's parameters, `request` and `client`, and no other dependency."""
queries = APIRouter()


@router.post(
    "/v1/models/{model}/evaluate",
    response_class=Response,
    responses={
        200: {"description": "The encrypted outputs", "content": FILES},
        **problems(401, 403, 404, 408, 409, 413, 422, 429, 503, 504),
    },
    openapi_extra=REQUEST_OF_FILES,
)
async def evaluate(model: str, request: Request, client: ClientName) -> Response:
    """Evaluate a model on encrypted inputs: the file of the only one, or a part for each by its name. The
    answer has the outputs in the same way. A request whose header `Hemera-Model` has another digest than the
    model's description is refused (409, `model_changed`) before its body is read. The files of a request may
    name the model as well; then those of the answer do."""
    state = state_of(request)
    served = state.service.model(model, client)
    digests: set[str] = set()

    def open_files(files: dict[str, bytes]) -> dict[str, bytes]:
        found, told = opened(files)
        digests.update(told)
        for each in told:
            served.require_digest(each)
        return found

    request.state.digest = served.digest
    with counted(functools.partial(state.service.metrics.answered, served.name)) as answered:
        served.require_digest(request.headers.get(MODEL_HEADER))
        single = served.package.inputs[0].name
        evaluation, files = await answer(state, request, client, served, single, open_files)
        if digests:
            files = {name: named(data, served.package.digest) for name, data in files.items()}
        kind, pieces = write_body(files)
        headers = {
            "Hemera-Batch": str(evaluation.batch),
            KEYS_HEADER: evaluation.keys,
            MODEL_HEADER: served.package.digest,
        }
        response = Response(b"".join(pieces), media_type=kind, headers=headers)
        answered(response.status_code, len(response.body))
    return response


@queries.post(
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
    with counted(functools.partial(state.service.metrics.answered, index)) as answered:
        evaluation, files = await answer(state, request, client, served, QUERY)
        headers = {"Hemera-Batch": str(evaluation.batch), KEYS_HEADER: evaluation.keys}
        response = Response(files[ANSWER], media_type=OCTETS, headers=headers)
        answered(response.status_code, len(response.body))
    return response


@queries.post(
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
    with counted(functools.partial(state.service.metrics.answered, index)) as answered:
        evaluation, files = await answer(state, request, client, served, PREPARATION)
        answered(HTTPStatus.CREATED.value, 0)
    response.headers[KEYS_HEADER] = evaluation.keys
    return {"prepared": int(files[PREPARED])}
