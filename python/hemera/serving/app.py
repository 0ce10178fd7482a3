"""The server's HTTP interface: the application of a service."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

import hemera
from hemera.client.problems import Refused
from hemera.client.wire import KEYS_HEADER, MODEL_HEADER, NONCE_HEADER, OFFSET_HEADER
from hemera.serving.api import describe, operation_id
from hemera.serving.hot_path import HotPath
from hemera.serving.logs import log
from hemera.serving.page import Page
from hemera.serving.refusals import refuse, refuse_http
from hemera.serving.request_log import RequestLog
from hemera.serving.routes import ROUTERS, evaluate
from hemera.serving.routes.addresses import ExactAddresses
from hemera.serving.routes.state import make_state
from hemera.serving.service import Service
from hemera.serving.sizing import log_sizes

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_OWN_HEADERS = (KEYS_HEADER, MODEL_HEADER, NONCE_HEADER, OFFSET_HEADER)


def make_app(service: Service, spans: TracerProvider | None = None) -> FastAPI:
    """The application of a service, which it starts and stops. `spans` takes those of requests."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.scheduler.start()
        await asyncio.to_thread(service.prepare)
        log(
            "ready",
            device=service.device,
            models=sorted(service.models),
            indexes=sorted(service.indexes) or None,
            key_sets=len(service.store),
        )
        sweeping = asyncio.create_task(_sweep(service))
        sizing = asyncio.create_task(asyncio.to_thread(log_sizes, service))
        yield
        await sizing
        sweeping.cancel()
        await asyncio.to_thread(service.scheduler.stop)
        log("stopped")

    app = FastAPI(
        title="Hemera",
        version=hemera.__version__,
        description="Computes on encrypted numbers: keys once, then ciphertexts there and back.",
        lifespan=lifespan,
        redirect_slashes=False,  # to an absolute address, which is this side's of a proxy
        generate_unique_id_function=lambda route: operation_id(route.name, route.path_format),
        servers=[{"url": ".", "description": "The folder that this document is in"}],
        docs_url=None,
        redoc_url=None,
    )
    app.state.hemera = make_state(service)
    for router in ROUTERS:
        app.include_router(router)
    app.openapi = functools.cache(functools.partial(describe, app))  # type: ignore[method-assign]
    if service.settings.page is not None:
        app.mount("/page", Page(service.settings.page))
    app.add_exception_handler(Refused, refuse)
    app.add_exception_handler(HTTPException, refuse_http)
    app.add_middleware(HotPath, router=evaluate.router)
    app.add_middleware(ExactAddresses)
    if service.settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(service.settings.origins),
            allow_methods=["GET", "PUT", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", *_OWN_HEADERS],
            expose_headers=[KEYS_HEADER, MODEL_HEADER, NONCE_HEADER, "Retry-After"],
        )
    app.add_middleware(RequestLog)  # around it
    if spans is not None:
        from hemera.serving.telemetry import Spans

        app.add_middleware(Spans, provider=spans)
    return app


async def _sweep(service: Service) -> None:
    while True:
        await asyncio.sleep(service.settings.sweep_seconds)
        try:
            await asyncio.to_thread(service.sweep)
            await asyncio.to_thread(service.sweep_indexes)
        except Exception as error:
            log("failure", level=logging.ERROR, error=error)
