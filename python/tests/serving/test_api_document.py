"""The OpenAPI document: answers are as it tells, and a client of another language needs no more."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from hemera import search
from hemera.package.local_model import LocalModel
from hemera.serving.api import codes
from hemera.serving.home import Home

from .conftest import BOUND, ROWS, Running, expected, serving

PAGE = (Path(__file__).parents[3] / "docs" / "server.md").read_text(encoding="utf-8")


@pytest.fixture
def everything(home: Home, tmp_path: Path) -> Iterator[tuple[Running, dict[str, str]]]:
    """A server of a model, an index and a federation, and the header of a client with a token."""
    search.Index(np.eye(10, 8), "dot").save(tmp_path / "rows.hemera-index")
    home.add_index(tmp_path / "rows.hemera-index")
    token = home.clients.add("alice")
    with serving(home, federations=("fl",)) as server:
        yield server, {"Authorization": f"Bearer {token}"}


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, ways in document["paths"].items():
        for method, operation in ways.items():
            yield method, path, operation


def test_answers_are_those_that_the_document_tells(everything: tuple[Running, dict[str, str]]) -> None:
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
    seen: set[tuple[str, int]] = set()
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
        def ask(case: Any) -> None:
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


def test_the_document_has_schemas_headers_and_codes(everything: tuple[Running, dict[str, str]]) -> None:
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
def test_a_client_of_another_language_by_the_document_alone(
    everything: tuple[Running, dict[str, str]],
    home: Home,
    keys: bytes,
    local: LocalModel,
    tmp_path: Path,
    model: str,
) -> None:
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
