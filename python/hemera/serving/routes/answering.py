"""Who asks, and the way of a request to its answer, whatever computes it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import ClientDisconnect

from hemera.client.problems import Refused
from hemera.client.wire import BodyReader, Memory
from hemera.serving.admission import Budget, receive, require_size
from hemera.serving.evaluation import Evaluation
from hemera.serving.reasons import NO_TOKEN, NOT_ALLOWED, TIMEOUT
from hemera.serving.refusals import answer_to
from hemera.serving.served import Served
from hemera.serving.service import Service
from hemera.serving.session_cache import Answer


@dataclass(frozen=True)
class AppState:
    """The state of the application."""

    service: Service
    waiting: Budget
    """Bytes of evaluations: bodies that arrive, wait or are computed, and their ciphertexts in memory."""
    uploads: Budget
    """Uploads of keys."""
    turns: dict[Hashable, Any] = field(default_factory=dict)
    """The requests for each upload that may go on."""


def make_state(service: Service) -> AppState:
    """The state of an application of a service. The service's metrics watch it."""
    settings = service.settings
    waiting = Budget(settings.waiting_of_all, settings.waiting_of_client, "requests")
    uploads = Budget(settings.uploads, settings.client_uploads, "uploads of keys")
    service.metrics.watch(
        "hemera_waiting_bytes",
        "Bytes of bodies that arrive, wait or are computed, and of their ciphertexts in memory",
        lambda: waiting.taken,
    )
    return AppState(service, waiting, uploads)


def state_of(request: Request) -> AppState:
    """The state of the application that a request came to."""
    state: AppState = request.app.state.hemera
    return state


_KINDS = ("model", "index", "federation")
"""Parameters of paths that tokens may be limited to."""

bearer = HTTPBearer(auto_error=False, description="The token that the server's operator gave you")


async def client_of(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> str:
    """The client that asks.

    Raises:
        Refused: (401) where it is none, (429) where it asks too often, (403) for a model, index or federation
            that its token is not for.
    """
    service = state_of(request).service
    caller = service.clients.caller(given.credentials) if given else None
    if caller is None:
        raise NO_TOKEN.refused()
    request.state.client, request.state.caller = caller.client, caller
    service.rates.request(caller.client)
    asked = [value for kind, value in request.path_params.items() if kind in _KINDS]
    if not all(map(caller.may_ask, asked)):
        raise NOT_ALLOWED.refused(name=asked[0][:64])
    return caller.client


ClientName = Annotated[str, Depends(client_of)]


_LARGE = 1 << 20
"""Bytes of a body whose checksums take longer than another thread would."""


@contextlib.contextmanager
def counted(note: Callable[[int, float, int], None]) -> Iterator[Callable[[int, int], None]]:
    """Within it a request is answered: its status, seconds and bytes are noted. The function takes the status
    of an answer, and its bytes."""
    began = time.monotonic()
    status, sent = HTTPStatus.INTERNAL_SERVER_ERROR.value, 0

    def answered(as_status: int, count: int) -> None:
        nonlocal status, sent
        status, sent = as_status, count

    try:
        yield answered
    except Refused as refused:
        status = refused.status
        raise
    finally:
        note(status, time.monotonic() - began, sent)


async def answer(
    state: AppState,
    request: Request,
    client: str,
    served: Served,
    part: str,
    read: Callable[[dict[str, bytes]], dict[str, bytes]] = lambda files: files,
) -> tuple[Evaluation, Answer]:
    """Receive a body, wait for its turn, and compute.

    Args:
        part: the name of a body that is one file.
        read: makes the files of those that came.

    Returns:
        The request with its batch and keys, and the files of the answer.

    Raises:
        Refused: for everything that goes wrong.
    """
    service = state.service
    settings = service.settings
    library = service.keys(client, served.name).library
    size = require_size(request, settings.request_bytes)
    came = service.rates.body(client, size)
    evaluation: Evaluation | None = None
    with state.waiting.share(client) as take:
        memory = Memory()
        try:
            reader = BodyReader(request.headers.get("content-type"), memory, part)

            async def feed(piece: bytes) -> None:
                service.metrics.received.inc(len(piece))
                came(len(piece))
                take(len(piece))  # not the declared size, of which nothing may come
                reader.feed(piece)

            request.state.received = await receive(
                request, feed, limit=settings.request_bytes, seconds=settings.body_seconds
            )
            reader.close()
            large = request.state.received > _LARGE
            seconds = settings.request_seconds
            # Requests that join others run with them, however many there are.
            turn = service.admission.turn(client, served.name, seconds)
            async with contextlib.nullcontext(seconds) if served.joins else turn as left:
                files = await asyncio.to_thread(read, memory.files) if large else read(memory.files)
                measure = functools.partial(served.memory_of, library, files)
                take(await asyncio.to_thread(measure) if large else measure())
                evaluation = Evaluation(client, served.name, files, served.digest, served.joins)
                service.scheduler.submit(evaluation)
                found = await _answer(evaluation, request, seconds, left)
                request.state.batch = evaluation.batch
                return evaluation, found
        except Exception as error:
            raise answer_to(error, service.metrics) from error
        finally:
            # The error's traceback has this frame, and the evaluation has the error: it would keep its keys.
            evaluation = None


async def _answer(evaluation: Evaluation, request: Request, seconds: float, left: float) -> Answer:
    """The outputs of an evaluation that waits, and may take `seconds`, of which some are `left`.

    Raises:
        Refused: (504) when they are not there then.
        ClientDisconnect: when the client hung up.
    """
    answer: asyncio.Future[Any] = asyncio.wrap_future(evaluation.answer)
    gone: asyncio.Future[Any] = asyncio.create_task(_hung_up(request))
    try:
        await asyncio.wait([answer, gone], timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            files: Answer = answer.result()
            return files
        if gone.done():
            raise ClientDisconnect
        raise TIMEOUT.refused(seconds=seconds)
    finally:
        gone.cancel()
        answer.cancel()  # takes it out of the queue, if it is still there
        del evaluation, answer, gone  # as above


async def _hung_up(request: Request) -> None:
    """Ends when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
