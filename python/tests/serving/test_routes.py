"""The two ways to a route's function: past the framework, and through it."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi import APIRouter, FastAPI

from hemera.package.local_model import LocalModel
from hemera.package.package import Package
from hemera.serving.app import HotPath, make_app
from hemera.serving.home import Home
from hemera.serving.routes import ROUTERS, evaluate
from hemera.serving.service import Service
from hemera.serving.settings import Settings

from .conftest import expected
from .server_requests import EVALUATE

REQUESTS = [
    ("POST", EVALUATE, True),
    ("POST", EVALUATE, False),
    ("POST", "/v1/models/none/evaluate", True),
    ("POST", "/v1/models//evaluate", True),
    ("POST", EVALUATE + "/more", True),
    ("POST", EVALUATE + "%0A", True),
    ("POST", "/v1/models/a%2Fb/evaluate", True),
    ("GET", EVALUATE, True),
    ("PUT", EVALUATE, True),
]


def answers(app: FastAPI, home: Home, package: Package) -> list[tuple[Any, ...]]:
    """What the application answers to REQUESTS."""
    local = LocalModel(package.interface, security=None)
    token = home.clients.add("alice")
    arrays, single = local.encode(np.ones((2, 8)))
    (body,) = local.encrypt(arrays).values()

    async def ask() -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://server") as http,
        ):
            bearer = {"Authorization": f"Bearer {token}"}
            put = await http.put("/v1/models/scores/keys", content=local.generate_keys(), headers=bearer)
            assert put.status_code == 201
            for method, path, known in REQUESTS:
                answer = await http.request(method, path, content=body, headers=bearer if known else {})
                own = {"hemera-request", "hemera-keys", "content-length"}
                headers = {name: value for name, value in answer.headers.items() if name not in own}
                told = None if answer.is_success else answer.json()
                found.append((answer.status_code, headers, told))
                if answer.is_success:
                    rows = local.decode(local.decrypt({"output": answer.content}), single, 2)
                    np.testing.assert_allclose(rows, expected(np.ones((2, 8))), atol=1e-6)
        return found

    try:
        return asyncio.run(ask())
    finally:
        home.remove_client("alice")


def test_both_ways_answer_alike(home: Home, package: Package) -> None:
    settings = Settings(device="cpu", threads=1)
    direct, described = (make_app(Service(home, settings)) for _ in range(2))
    described.user_middleware = [each for each in described.user_middleware if each.cls is not HotPath]
    assert len(described.user_middleware) == len(direct.user_middleware) - 1
    found = answers(direct, home, package)
    assert found == answers(described, home, package)
    assert [status for status, *_ in found] == [200, 401, 404, 404, 404, 404, 404, 405, 405]


def test_the_router_is_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request for a route of the router never reaches the framework, any other does."""
    reached = []

    async def framework(scope: Any, _receive: Any, _send: Any) -> None:
        reached.append((scope["method"], scope["path"]))

    async def answer(_self: HotPath, route: Any, params: dict[str, str], *_: Any) -> None:
        reached.append((route.endpoint, params))

    monkeypatch.setattr(HotPath, "_answer", answer)
    hot = HotPath(framework, evaluate.router)
    for method, path in (
        ("POST", EVALUATE),
        ("GET", EVALUATE),
        ("POST", "/v1/models"),
        ("POST", EVALUATE + "\n"),
    ):
        asyncio.run(hot({"type": "http", "method": method, "path": path}, None, None))  # type: ignore[arg-type]
    asyncio.run(
        HotPath(framework, APIRouter())({"type": "http", "method": "POST", "path": EVALUATE}, None, None)
    )  # type: ignore[arg-type]
    assert reached == [
        (evaluate.evaluate, {"model": "scores"}),
        ("GET", EVALUATE),
        ("POST", "/v1/models"),
        ("POST", EVALUATE + "\n"),
        ("POST", EVALUATE),
    ]
    assert evaluate.router in ROUTERS


def test_each_route_stands_once(home: Home) -> None:
    table = [
        (method, route.path_format)  # type: ignore[attr-defined]
        for router in ROUTERS
        for route in router.routes
        for method in route.methods  # type: ignore[attr-defined]
    ]
    assert len(set(table)) == len(table) == 26
    described = make_app(Service(home, Settings(device="cpu", threads=1))).openapi()["paths"]
    assert {(method.upper(), path) for path, ways in described.items() for method in ways} == set(table)


def test_no_address_ends_with_a_newline(home: Home) -> None:
    """`$` of a regular expression matches before a last newline; no route may be reached so."""
    app = make_app(Service(home, Settings(device="cpu", threads=1)))
    token = home.clients.add("bob")
    addresses = [
        (method, route.path.replace("{model}", "scores").replace("{index}", "rows"))  # type: ignore[attr-defined]
        for router in ROUTERS
        for route in router.routes
        for method in route.methods  # type: ignore[attr-defined]
    ]

    async def ask() -> list[tuple[int, str]]:
        transport = httpx.ASGITransport(app)
        bearer = {"Authorization": f"Bearer {token}"}
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://server", headers=bearer) as http,
        ):
            answers = [await http.request(method, path + "%0A") for method, path in addresses]
        return [(answer.status_code, answer.json()["error"]["code"]) for answer in answers]

    try:
        assert asyncio.run(ask()) == [(404, "unknown_address")] * len(addresses)
    finally:
        home.remove_client("bob")
