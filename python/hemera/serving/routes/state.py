"""The state of all routes: the service, and the budgets of the bodies that arrive."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from hemera.serving.bodies import Budget
from hemera.serving.service import Service


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
