"""The models that a server has, and what a client needs to know of them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from hemera.serving.routes.clients import ClientName
from hemera.serving.routes.schemas import problems, rates_of
from hemera.serving.routes.state import state_of

router = APIRouter()


@router.get("/v1/models", responses=problems(401, 429))
async def models(request: Request, _: ClientName) -> dict[str, Any]:
    """The models that there are."""
    return {
        "models": [
            {"name": package.name, "description": package.description, "digest": package.digest}
            for package in state_of(request).service.models.values()
        ]
    }


@router.get("/v1/models/{model}", responses=problems(401, 404, 429))
async def model_of(model: str, request: Request, _: ClientName) -> dict[str, Any]:
    """The facts of a model that a client needs: parameters, keys, inputs and outputs."""
    service = state_of(request).service
    settings = service.settings
    package = service.model(model)
    return {
        **package.describe(),
        "limits": {
            "request_bytes": settings.request_bytes,
            "key_bytes": service.key_limit(package),
            "evaluations": settings.batch,
        },
        "rates": rates_of(settings),
    }
