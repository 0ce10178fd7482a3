"""The way of evaluations past the framework."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from hemera.client.problems import Refused
from hemera.serving.refusals import refuse
from hemera.serving.routes.clients import bearer, client_of


class HotPath:
    """Gives requests for the routes of a router to their functions without the steps of the framework, which
    take longer than all else that is done for a request of a small model.

    The router is the table of both ways: its routes' paths and methods are matched here, the framework
    describes them, and a request that comes to either calls the same function.

    Args:
        app: what gets all other requests.
        router: its routes' functions take the path's parameters, `request` and `client`.
    """

    def __init__(self, app: ASGIApp, router: APIRouter) -> None:
        self._app = app
        self._routes = [
            (method, route.path_regex.fullmatch, route)
            for route in router.routes
            if isinstance(route, APIRoute)
            for method in route.methods or ()
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for method, match, route in self._routes:
                if scope["method"] == method and (found := match(scope["path"])):
                    await self._answer(route, found.groupdict(), scope, receive, send)
                    return
        await self._app(scope, receive, send)

    async def _answer(
        self, route: APIRoute, params: dict[str, str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        scope["path_params"] = params
        scope["route"] = route  # for the log
        request = Request(scope, receive, send)
        try:
            client = await client_of(request, await bearer(request))
            response = await route.endpoint(**params, request=request, client=client)
        except Refused as refused:
            response = await refuse(request, refused)
        await response(scope, receive, send)
