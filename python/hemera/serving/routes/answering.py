"""The way of a request to its answer, whatever computes it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import Request
from starlette.requests import ClientDisconnect

from hemera.client.problems import Refused
from hemera.client.wire import BodyReader, Memory
from hemera.serving.bodies import receive, require_size
from hemera.serving.evaluation import Evaluation
from hemera.serving.reasons import TIMEOUT
from hemera.serving.refusals import answer_to
from hemera.serving.routes.state import AppState
from hemera.serving.served import Served
from hemera.serving.session_cache import Answer

_LARGE = 1 << 20
"""Bytes of a body whose checksums take longer than another thread would."""


@dataclass(frozen=True)
class Work:
    """The evaluation that a request asks for."""

    served: Served
    part: str
    """The name of a body that is one file."""
    open: Callable[[dict[str, bytes]], dict[str, bytes]] = lambda files: files
    """Makes the files of those that came."""


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


async def answer(state: AppState, request: Request, client: str, work: Work) -> tuple[Evaluation, Answer]:
    """Receive a body, wait for its turn, and compute: the request with its batch and keys, and the files of
    the answer.

    Raises:
        Refused: for everything that goes wrong.
    """
    service = state.service
    settings = service.settings
    served = work.served
    library = service.keys(client, served.name).library
    size = require_size(request, settings.request_bytes)
    came = service.rates.body(client, size)
    evaluation: Evaluation | None = None
    with state.waiting.share(client) as take:
        memory = Memory()
        try:
            reader = BodyReader(request.headers.get("content-type"), memory, work.part)

            async def feed(piece: bytes) -> None:
                service.metrics.received(len(piece))
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
                files = await asyncio.to_thread(work.open, memory.files) if large else work.open(memory.files)
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
