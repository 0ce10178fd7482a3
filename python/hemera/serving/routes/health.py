"""How the server is: for those who watch it, without a token."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

import hemera
from hemera.serving.metrics import CONTENT_TYPE
from hemera.serving.reasons import NOT_ALIVE
from hemera.serving.routes.schemas import problems
from hemera.serving.routes.state import state_of

router = APIRouter()


@router.get("/health", responses=problems(503))
async def health(request: Request) -> dict[str, Any]:
    """Whether requests are computed."""
    service = state_of(request).service
    if not service.scheduler.alive:
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
