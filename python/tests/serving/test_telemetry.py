"""Spans of requests, taken by OpenTelemetry's own exporter in memory."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from hemera.errors import ParameterError
from hemera.serving.at_home import serve_home
from hemera.serving.configuration import Configuration
from hemera.serving.home import Home

from .conftest import client_of, serving, wait_until
from .server_requests import EVALUATE

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET = "s3cr3t-of-the-caller"


def test_a_request_has_a_span_of_its_callers_trace(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.instrumentation.asgi", reason="needs hemera[telemetry]")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    # A setting of OpenTelemetry, which otherwise has the middleware copy headers.
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST", ".*")
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    token = home.clients.add("alice")
    traced = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": f"a={SECRET}", "X-Secret": SECRET}
    with serving(home, spans=provider) as server:
        with client_of(server.url, token) as client:
            client.predict("scores", np.zeros((1, 8)))
        with server.http(token) as http:
            refused = http.post(EVALUATE, content=SECRET.encode(), headers=traced)
            assert refused.status_code == 422
            assert http.get(f"/{SECRET}", params={"token": SECRET}, headers=traced).status_code == 404
            unsampled = {"traceparent": f"00-{TRACE}-{SPAN}-00"}
            assert http.get("/v1/models", headers=unsampled).status_code == 200
        wait_until(
            lambda: (
                sum(each.context.trace_id == int(TRACE, 16) for each in exporter.get_finished_spans()) == 2
            )
        )
    spans = exporter.get_finished_spans()
    evaluated = [each for each in spans if each.name == "POST /v1/models/{model}/evaluate"]
    answered, called = evaluated
    assert answered.context.trace_id != int(TRACE, 16)
    assert answered.parent is None
    assert (called.context.trace_id, called.parent.span_id) == (int(TRACE, 16), int(SPAN, 16))
    assert called.attributes["http.route"] == "/v1/models/{model}/evaluate"
    assert (called.attributes["hemera.model"], called.attributes["hemera.code"]) == (
        "scores",
        refused.json()["error"]["code"],
    )
    assert called.attributes["hemera.request"] == refused.headers["Hemera-Request"]
    told = json.dumps([json.loads(each.to_json()) for each in spans])
    assert SECRET not in told
    assert token not in told
    assert {each.name for each in spans if each.context.trace_id == int(TRACE, 16)} == {called.name, "GET"}


def test_without_its_packages_the_setting_says_what_to_install(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.instrumentation.asgi", None)
    monkeypatch.delitem(sys.modules, "hemera.serving.telemetry", raising=False)
    configuration = Configuration(home=Path(home.root), telemetry="http://localhost:4318/v1/traces")
    with pytest.raises(ParameterError, match=r"opentelemetry.*\[telemetry\]"):
        serve_home(configuration)


@pytest.mark.parametrize("address", ["localhost:4318", "grpc://localhost:4317", ""])
def test_an_address_of_no_collector_is_refused(address: str) -> None:
    with pytest.raises(ParameterError, match="http://localhost:4318/v1/traces"):
        Configuration(telemetry=address)
