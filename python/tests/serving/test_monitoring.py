"""The files for Prometheus and Grafana: whole, and of metrics that a server has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

import hemera as hm
from hemera.serving.home import Home

from .conftest import BOUND, Running, client_of, serving, wait_until
from .server_requests import EVALUATE, KEYS

FOLDER = Path(__file__).parents[3] / "docs" / "operating"
METRIC = re.compile(r"\b(?:hemera|process|python)_\w+|\bup\b")


def rules() -> list[dict[str, Any]]:
    return [
        rule for group in YAML(typ="safe").load(FOLDER / "alerts.yml")["groups"] for rule in group["rules"]
    ]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / "dashboard.json").read_bytes())["panels"]
    return found


def samples(server: Running) -> dict[str, list[dict[str, str]]]:
    """The labels of each sample of /metrics, by its name."""
    text = httpx.get(server.url + "/metrics", trust_env=False, timeout=BOUND).text
    found: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append({**sample.labels, "": str(sample.value)})
    return found


def test_each_metric_that_is_named_is_there(home: Home) -> None:
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


def test_rules_and_panels_are_whole() -> None:
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


def test_prometheus_itself_takes_rules_and_metrics(server: Running) -> None:
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
def test_a_callers_names_of_a_request_are_in_the_log(
    server: Running, caplog: pytest.LogCaptureFixture, headers: dict[str, str], told: dict[str, str]
) -> None:
    with caplog.at_level("INFO", logger="hemera.serving"):
        answer = httpx.get(server.url + "/v1/models", headers=headers, trust_env=False, timeout=BOUND)
        # The line comes after the answer.
        wait_until(lambda: any(record.msg == "request" for record in caplog.records))
    assert answer.headers.get("X-Request-ID") == told.get("request_id")
    (line,) = (vars(record)["hemera_fields"] for record in caplog.records if record.msg == "request")
    assert {name: line[name] for name in ("request_id", "trace", "span") if name in line} == told
