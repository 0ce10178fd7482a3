"""The routes of a server, and the document that describes them."""

import asyncio
import re
import shutil
import subprocess
from pathlib import Path

import httpx
import numpy as np
import pytest
from fastapi import APIRouter
from hypothesis import HealthCheck, given, settings

from hemera import search
from hemera.package.local_model import LocalModel
from hemera.serving.api import codes
from hemera.serving.app import HotPath, make_app
from hemera.serving.routes import ROUTERS, evaluate
from hemera.serving.service import Service
from hemera.serving.settings import Settings

from .conftest import BOUND, ROWS, expected, serving
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


def answers(app, home, package):
    """What the application answers to REQUESTS."""
    local = LocalModel(package.interface, security=None)
    token = home.clients.add("alice")
    arrays, single = local.encode(np.ones((2, 8)))
    (body,) = local.encrypt(arrays).values()

    async def ask():
        found = []
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


def test_both_ways_answer_alike(home, package):
    settings = Settings(device="cpu", threads=1)
    direct, described = (make_app(Service(home, settings)) for _ in range(2))
    described.user_middleware = [each for each in described.user_middleware if each.cls is not HotPath]
    assert len(described.user_middleware) == len(direct.user_middleware) - 1
    found = answers(direct, home, package)
    assert found == answers(described, home, package)
    assert [status for status, *_ in found] == [200, 401, 404, 404, 404, 404, 404, 405, 405]


def test_the_router_is_the_table(monkeypatch):
    """A request for a route of the router never reaches the framework, any other does."""
    reached = []

    async def framework(scope, _receive, _send):
        reached.append((scope["method"], scope["path"]))

    async def answer(_self, route, params, *_):
        reached.append((route.endpoint, params))

    monkeypatch.setattr(HotPath, "_answer", answer)
    hot = HotPath(framework, evaluate.router)
    for method, path in (
        ("POST", EVALUATE),
        ("GET", EVALUATE),
        ("POST", "/v1/models"),
        ("POST", EVALUATE + "\n"),
    ):
        asyncio.run(hot({"type": "http", "method": method, "path": path}, None, None))
    asyncio.run(
        HotPath(framework, APIRouter())({"type": "http", "method": "POST", "path": EVALUATE}, None, None)
    )
    assert reached == [
        (evaluate.evaluate, {"model": "scores"}),
        ("GET", EVALUATE),
        ("POST", "/v1/models"),
        ("POST", EVALUATE + "\n"),
        ("POST", EVALUATE),
    ]
    assert evaluate.router in ROUTERS


def test_each_route_stands_once(home):
    table = [
        (method, route.path_format)
        for router in ROUTERS
        for route in router.routes
        for method in route.methods
    ]
    assert len(set(table)) == len(table) == 26
    described = make_app(Service(home, Settings(device="cpu", threads=1))).openapi()["paths"]
    assert {(method.upper(), path) for path, ways in described.items() for method in ways} == set(table)


def test_no_address_ends_with_a_newline(home):
    """`$` of a regular expression matches before a last newline; no route may be reached so."""
    app = make_app(Service(home, Settings(device="cpu", threads=1)))
    token = home.clients.add("bob")
    addresses = [
        (method, route.path.replace("{model}", "scores").replace("{index}", "rows"))
        for router in ROUTERS
        for route in router.routes
        for method in route.methods
    ]

    async def ask():
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


PAGE = (Path(__file__).parents[3] / "docs" / "server.md").read_text(encoding="utf-8")


@pytest.fixture
def everything(home, tmp_path):
    """A server of a model, an index and a federation, and the header of a client with a token."""
    search.Index(np.eye(10, 8), "dot").save(tmp_path / "rows.hemera-index")
    home.add_index(tmp_path / "rows.hemera-index")
    token = home.clients.add("alice")
    with serving(home, federations=("fl",)) as server:
        yield server, {"Authorization": f"Bearer {token}"}


def operations(document):
    for path, ways in document["paths"].items():
        for method, operation in ways.items():
            yield method, path, operation


def test_answers_are_those_that_the_document_tells(everything):
    """Schemathesis asks for everything with values that fit the document, and with others."""
    schemathesis = pytest.importorskip("schemathesis", reason="it is in requirements/test.txt (tools/setup)")
    from schemathesis import checks
    from schemathesis.specs.openapi import checks as conformance

    server, bearer = everything
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    wanted = [
        checks.not_a_server_error,
        conformance.status_code_conformance,
        conformance.content_type_conformance,
        conformance.response_headers_conformance,
        conformance.response_schema_conformance,
    ]
    names = {"model": "scores", "index": "rows", "federation": "fl"}
    seen = set()
    count = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        count += 1

        @settings(
            max_examples=6,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case):
            for there in ({}, names):
                asked = dict(case.path_parameters or {})
                case.path_parameters = {name: there.get(name, each) for name, each in asked.items()}
                for headers in (bearer, {"Authorization": "Bearer alice.wrong"}):
                    answer = case.call(headers=headers, timeout=BOUND)
                    case.validate_response(answer, checks=wanted)
                    seen.add((case.operation.definition.raw["operationId"], answer.status_code))

        ask()
    assert count == 26
    assert len(seen) > 45
    assert {status for _, status in seen} >= {200, 401, 404, 409, 422}


def test_the_document_has_schemas_headers_and_codes(everything):
    server, _ = everything
    document = httpx.get(f"{server.url}/openapi.json").json()
    told = set()
    for method, path, operation in operations(document):
        told.add(operation["operationId"])
        assert re.fullmatch("[a-z_]+", operation["operationId"])
        for status, response in operation["responses"].items():
            assert "Hemera-Request" in response["headers"]
            assert ("Retry-After" in response["headers"]) == (status in ("429", "503", "504", "507"))
            assert (status in ("204",) or response.get("content")) or (path, method, status) == (
                "/v1/federations/{federation}/files/{place}",
                "put",
                "201",
            )
    assert len(told) == 26
    assert "ValidationError" not in str(document)
    # Each answer that says no has the codes of its status, which are those of the page.
    for status, words in codes().items():
        schema = document["components"]["schemas"][f"Problem{status}"]
        assert schema["properties"]["error"]["properties"]["code"]["enum"] == words
    page = PAGE[PAGE.index("| status, code | reason |") :]
    page = page[: page.index("\n\n")]
    for status, words in re.findall(r"(\d{3}) ((?:`[a-z_]+`(?:, )?)+)", page):
        assert set(re.findall("`([a-z_]+)`", words)) <= set(codes()[int(status)]), status


@pytest.mark.parametrize("model", ["scores", "scores@2", "live"])
def test_a_client_of_another_language_by_the_document_alone(everything, home, keys, local, tmp_path, model):
    """A model, a version beside it, and a name for the version."""
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    server, bearer = everything
    shutil.copy(home.model_file("scores"), tmp_path / "scores@2.hemera-model")
    home.add_model(tmp_path / "scores@2.hemera-model")
    server.service.reload()
    home.aliases.put("live", {"scores@2": 1}, home.models()[0])
    arrays, single = local.encode(ROWS)
    (request,) = local.encrypt(arrays).values()
    (tmp_path / "keys").write_bytes(keys)
    (tmp_path / "request").write_bytes(request)
    program = Path(__file__).with_name("document_client.mjs")
    words = [f"{server.url}/openapi.json", bearer["Authorization"].split()[1], model]
    done = subprocess.run(
        ["node", str(program), *words, str(tmp_path / "keys"), str(tmp_path / "request")],
        capture_output=True,
        check=False,
        timeout=BOUND,
    )
    assert done.returncode == 0, done.stderr.decode()
    rows = local.decode(local.decrypt({"output": done.stdout}), single, len(ROWS))
    np.testing.assert_allclose(rows, expected(ROWS), atol=1e-6)
