"""Metrics, traces and the log of requests."""

import asyncio
import json
import logging
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

import hemera as hm
from hemera.errors import ParameterError
from hemera.serving.app import RequestLog
from hemera.serving.at_home import serve_home
from hemera.serving.configuration import Configuration
from hemera.serving.logs import _FIELDS
from hemera.serving.metrics import Metrics

from ..refusals import raises
from .conftest import BOUND, client_of, serving, wait_until
from .server_requests import EVALUATE, KEYS


def told(metrics):
    """The values that are not 0, by name and labels; of histograms the sums, counts and buckets."""
    found = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            if sample.value and not sample.name.endswith("_created"):
                labels = ",".join(sample.labels[name] for name in sorted(sample.labels))
                found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def test_requests_count_by_their_status_and_times_of_those_that_were_computed():
    metrics = Metrics()
    metrics.answered("scores", 200, 0.5, 1000)
    metrics.answered("scores", 200, 2.0, 24)
    metrics.answered("scores", 429, 7.0, 0)
    metrics.answered("rows", 201, 9.0, 0)  # a preparation, whose answer is a number
    metrics.answered("rows", 400, 9.0, 0)
    found = told(metrics)
    ends = [found.pop(f"hemera_request_seconds_bucket{{{end},scores}}", 0) for end in (0.25, 0.5, 1.0, 2.5)]
    assert ends == [0, 1, 1, 2]
    assert {name: value for name, value in found.items() if "_bucket" not in name} == {
        "hemera_requests_total{scores,200}": 2,
        "hemera_requests_total{scores,429}": 1,
        "hemera_requests_total{rows,201}": 1,
        "hemera_requests_total{rows,400}": 1,
        "hemera_sent_bytes_total": 1024,
        "hemera_request_seconds_count{scores}": 2,
        "hemera_request_seconds_sum{scores}": 2.5,
        "hemera_request_seconds_count{rows}": 1,
        "hemera_request_seconds_sum{rows}": 9,
    }


def test_batches_uploads_bytes_and_refusals():
    metrics = Metrics()
    assert told(metrics) == {}
    text = metrics.text().decode()
    for limit in ("requests", "bytes"):  # told as 0 before the first
        assert f'hemera_rate_limited_total{{limit="{limit}"}} 0.0' in text
    metrics.ran("scores", 3, 0.25)
    metrics.ran("scores", 1, 0.5)
    metrics.ran("rows", 2, 4.0)
    metrics.models.labels("scores", "ab").set(1)
    metrics.uploads.labels(201).inc()
    metrics.uploads.labels(422).inc()
    metrics.uploads.labels(201).inc()
    metrics.limited.labels("bytes").inc()
    metrics.received.inc(100)
    metrics.received.inc(11)
    metrics.hung_up.inc()
    value = [1.5]
    metrics.watch("hemera_own", "Watched", lambda: value[0])
    expected = {
        "hemera_batch_requests_count{scores}": 2,
        "hemera_batch_requests_sum{scores}": 4,
        "hemera_batch_requests_count{rows}": 1,
        "hemera_batch_requests_sum{rows}": 2,
        "hemera_batch_seconds_count{scores}": 2,
        "hemera_batch_seconds_sum{scores}": 0.75,
        "hemera_batch_seconds_count{rows}": 1,
        "hemera_batch_seconds_sum{rows}": 4,
        "hemera_model_info{ab,scores}": 1,
        "hemera_key_uploads_total{201}": 2,
        "hemera_key_uploads_total{422}": 1,
        "hemera_rate_limited_total{bytes}": 1,
        "hemera_received_bytes_total": 111,
        "hemera_hung_up_total": 1,
        "hemera_own": 1.5,
    }
    assert {name: number for name, number in told(metrics).items() if "_bucket" not in name} == expected
    value[0] = 2.5
    assert told(metrics)["hemera_own"] == 2.5  # looked at when it is asked for
    assert told(Metrics()) == {}  # each server counts its own


FOLDER = Path(__file__).parents[3] / "docs" / "operating"
METRIC = re.compile(r"\b(?:hemera|process|python)_\w+|\bup\b")


def rules():
    return [
        rule for group in YAML(typ="safe").load(FOLDER / "alerts.yml")["groups"] for rule in group["rules"]
    ]


def panels():
    return json.loads((FOLDER / "dashboard.json").read_bytes())["panels"]


def samples(server):
    """The labels of each sample of /metrics, by its name."""
    text = httpx.get(server.url + "/metrics", trust_env=False, timeout=BOUND).text
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append({**sample.labels, "": str(sample.value)})
    return found


def test_each_metric_that_is_named_is_there(home):
    home.aliases.put("live", {"scores": 1}, home.models()[0])
    token = home.clients.add("alice")
    with serving(home, loaded_key_bytes=1) as server:
        for each in (token, home.clients.add("bob")):
            with client_of(server.url, each) as client:
                client.predict("scores", np.zeros((1, 8)))
        with server.http("wrong") as http:
            assert http.get("/v1/models").status_code == 401
            assert http.post(EVALUATE, content=b"x").status_code == 401
        with server.http(token) as http:
            assert http.delete(KEYS).status_code == 204
            assert http.post(EVALUATE, content=b"x").status_code == 409
            assert http.get("/v1/models/nothing").status_code == 404
        found = samples(server)
        settings = server.service.settings
    asked = [rule["expr"] for rule in rules()]
    asked += [target["expr"] for panel in panels() for target in panel["targets"]]
    assert len(asked) > 30
    for expression in asked:
        for name in METRIC.findall(expression):
            assert name in found or name == "up", expression
        for name, label, value in re.findall(r'(\w+)\{(\w+)="(\w+)"\}', expression):
            if name == "hemera_limit":
                assert any(each[label] == value for each in found[name]), expression
    # And each number is what it says.
    told = {name: {tuple(sorted(each.items())) for each in rows} for name, rows in found.items()}
    codes = {each["code"]: float(each[""]) for each in found["hemera_refused_total"]}
    assert codes == {"unknown_token": 2, "no_keys": 1, "unknown_model": 1}
    (loads,), (evictions,) = found["hemera_key_loads_total"], found["hemera_key_evictions_total"]
    assert (float(loads[""]), float(evictions[""])) == (2, 1)
    limits = {each["limit"]: float(each[""]) for each in found["hemera_limit"]}
    assert limits["store_bytes"] == settings.store_bytes
    assert limits["loaded_key_bytes"] == 1
    assert limits["waiting_bytes"] == settings.waiting_of_all
    assert "requests_per_second" not in limits  # without a limit
    assert found["hemera_build_info"][0]["version"] == hm.__version__
    assert told["hemera_model_share"] == {(("", "1.0"), ("model", "scores"), ("name", "live"))}
    assert float(found["process_resident_memory_bytes"][0][""]) > 1 << 20


def test_rules_and_panels_are_whole():
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names) >= 10
    assert all(rule["annotations"]["summary"] for rule in rules())
    ids = [panel["id"] for panel in panels()]
    assert len(set(ids)) == len(ids)
    page = (FOLDER.parent / "operating.md").read_text()
    assert [name for name in names if f"`{name}`" not in page] == []
    for expression in [rule["expr"] for rule in rules()]:
        for opened, closed in ("()", "[]", "{}"):
            assert expression.count(opened) == expression.count(closed), expression


def test_prometheus_itself_takes_rules_and_metrics(server):
    if shutil.which("promtool") is None:
        pytest.skip("promtool, which checks rules and metrics, is not installed (package prometheus)")
    subprocess.run(["promtool", "check", "rules", str(FOLDER / "alerts.yml")], check=True, timeout=BOUND)
    text = httpx.get(server.url + "/metrics", trust_env=False, timeout=BOUND).text
    done = subprocess.run(
        ["promtool", "check", "metrics"],
        input=text,
        text=True,
        capture_output=True,
        timeout=BOUND,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({}, {}),
        ({"X-Request-ID": "a1-b2"}, {"request_id": "a1-b2"}),
        ({"X-Request-ID": "x" * 128}, {"request_id": "x" * 128}),
        ({"X-Request-ID": "x" * 129}, {}),
        ({"X-Request-ID": 'a"b'}, {}),
        (
            {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
            {"trace": "0af7651916cd43dd8448eb211c80319c", "span": "b7ad6b7169203331"},
        ),
        ({"traceparent": "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, {}),
        ({"traceparent": f"00-{'0' * 32}-b7ad6b7169203331-01"}, {}),
        ({"traceparent": f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01"}, {}),
        ({"traceparent": "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"}, {}),
    ],
)
def test_a_callers_names_of_a_request_are_in_the_log(server, caplog, headers, told):
    with caplog.at_level("INFO", logger="hemera.serving"):
        answer = httpx.get(server.url + "/v1/models", headers=headers, trust_env=False, timeout=BOUND)
        # The line comes after the answer.
        wait_until(lambda: any(record.msg == "request" for record in caplog.records))
    assert answer.headers.get("X-Request-ID") == told.get("request_id")
    (line,) = (vars(record)["hemera_fields"] for record in caplog.records if record.msg == "request")
    assert {name: line[name] for name in ("request_id", "trace", "span") if name in line} == told


TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET = "s3cr3t-of-the-caller"


def test_a_request_has_a_span_of_its_callers_trace(home, monkeypatch):
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


def test_without_its_packages_the_setting_says_what_to_install(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.instrumentation.asgi", None)
    monkeypatch.delitem(sys.modules, "hemera.serving.telemetry", raising=False)
    configuration = Configuration(home=Path(home.root), telemetry="http://localhost:4318/v1/traces")
    raises(ParameterError, r"opentelemetry.*\[telemetry\]", serve_home, configuration)


@pytest.mark.parametrize("address", ["localhost:4318", "grpc://localhost:4317", ""])
def test_an_address_of_no_collector_is_refused(address):
    raises(ParameterError, "http://localhost:4318/v1/traces", Configuration, telemetry=address)


NAME = b"0123456789abcdef" * 2
ROUTE = type("Route", (), {"path": "/v1/indexes/{index}/query"})()
TOLD = {"client": "alice.1", "code": "rate", "digest": "ab", "batch": 3, "received": 20}


def asked(app, headers, bodies):
    """The messages that were sent, and the scope after it."""
    sent = []
    came = [{"type": "http.request", "body": body, "more_body": more} for body, more in bodies]
    scope = {"type": "http", "method": "POST", "path": "/secret", "headers": headers}

    async def receive():
        return came.pop(0)

    async def send(message):
        sent.append(message)

    try:
        asyncio.run(RequestLog(app)(scope, receive, send))
    except ZeroDivisionError:
        sent.append("failed")
    return sent, scope


@pytest.mark.parametrize("parts", [[b"abc"], [b"a", b"", b"bcd"], []])
@pytest.mark.parametrize("status", [200, 429, None])
@pytest.mark.parametrize("place", [{"index": "rows"}, {"model": "scores"}, {}])
def test_a_line_has_what_is_known(caplog, parts, status, place):
    """The status is 500 where there was no answer."""

    async def app(scope, receive, send):
        scope["path_params"], scope["route"] = place, ROUTE
        scope["state"].update(TOLD)
        await receive()
        if status is None:
            raise ZeroDivisionError
        await send({"type": "http.response.start", "status": status, "headers": [(b"a", b"b")]})
        for part in parts:
            await send({"type": "http.response.body", "body": part})

    with caplog.at_level(logging.INFO, logger="hemera.serving"):
        sent, _ = asked(app, [], [(b"x", False)])
    (record,) = caplog.records
    fields = dict(getattr(record, _FIELDS))
    assert 0 <= fields.pop("seconds") < 1
    request = fields.pop("request")
    assert re.fullmatch("[0-9a-f]{16}", request)
    count = 0 if status is None else sum(map(len, parts))
    assert fields == {
        **TOLD,
        **place,
        "method": "POST",
        "path": ROUTE.path,
        "status": status or 500,
        "sent": count,
    }
    if status is not None:
        assert sent[0]["headers"] == [(b"a", b"b"), (b"hemera-request", request.encode())]


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ([], None),
        ([(b"hemera-nonce", NAME)], NAME),
        ([(b"hemera-nonce", NAME), (b"hemera-nonce", NAME)], None),
        ([(b"hemera-nonce", NAME[1:])], None),
        ([(b"hemera-nonce", NAME.upper())], None),
        ([(b"x", NAME), (b"hemera-nonce", NAME[::-1])], NAME[::-1]),
    ],
)
@pytest.mark.parametrize("bodies", [[(b"", False)], [(b"a", True), (b"b", False)], [(b"a", True)]])
def test_names_are_repeated_and_whole_bodies_noted(headers, told, bodies):
    async def app(scope, receive, send):
        for _ in bodies:
            assert "hemera.received" not in scope
            await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    (start,), scope = asked(app, headers, bodies)
    assert dict(start["headers"]).get(b"hemera-nonce") == told
    assert scope.get("hemera.received", False) == (not bodies[-1][1])
