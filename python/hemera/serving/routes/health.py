"""How the server is: for those who watch it, without a token."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

import hemera
from hemera.serving.api import problems
from hemera.serving.metrics import CONTENT_TYPE
from hemera.serving.reasons import NOT_ALIVE
from hemera.serving.routes.answering import state_of

router = APIRouter()


@router.get("/live", responses=problems(503))
async def live(request: Request) -> dict[str, Any]:
    """Whether the process works: if not, it is to be started anew."""
    if not state_of(request).service.scheduler.alive:
        raise NOT_ALIVE.refused()
    return {"status": "ok"}


@router.get("/ready", responses=problems(503))
async def ready(request: Request) -> dict[str, Any]:
    """Whether to send requests here: not while the server is about to stop."""
    if not state_of(request).service.is_ready:
        raise NOT_ALIVE.refused()
    return {"status": "ok"}


@router.get("/health", responses=problems(503))
async def health(request: Request) -> dict[str, Any]:
    """The same as `/ready`, with what is served."""
    service = state_of(request).service
    if not service.is_ready:
        raise NOT_ALIVE.refused()
    return {
        "status": "ok",
        "version": hemera.__version__,
        "device": service.device,
        "models": sorted(service.models),
        "indexes": sorted(service.indexes),
        "damaged": sorted(service.damaged),
    }


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Counters for Prometheus."""
    return Response(state_of(request).service.metrics.text(), media_type=CONTENT_TYPE)
