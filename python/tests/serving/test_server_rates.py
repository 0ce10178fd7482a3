"""What each client may send in a second, by a clock of the tests: nothing here waits."""

import asyncio
import math
from types import SimpleNamespace

import numpy as np
import pytest
from fastapi import Request
from fastapi.security import HTTPAuthorizationCredentials

from hemera.client.problems import Refused
from hemera.serving.admission import Rates
from hemera.serving.clients import Caller
from hemera.serving.routes.answering import client_of as client_of_request
from hemera.serving.settings import Settings

from .clock import Clock
from .conftest import client_of, require_scores, serving


class Limits:
    """Rates by such a clock, and what was refused."""

    def __init__(self, requests=math.inf, count=math.inf, burst=2.0):
        self.clock = Clock(1000.0)
        self.refused = []
        limits = Settings(requests_per_second=requests, bytes_per_second=count, burst_seconds=burst)
        self.rates = Rates(limits, self.refused.append, self.clock)


def seconds_refused(ask):
    """The Retry-After of what is refused."""
    with pytest.raises(Refused) as refused:
        ask()
    assert (refused.value.status, refused.value.code) == (429, "rate")
    return refused.value.headers["Retry-After"]


def test_requests_come_at_the_rate_after_a_burst():
    limits = Limits(requests=4)  # of 8 at once
    for _ in range(8):
        limits.rates.request("alice")
    assert seconds_refused(lambda: limits.rates.request("alice")) == "1"
    limits.rates.request("bob")  # has a bucket of its own
    limits.clock.now += 0.25
    limits.rates.request("alice")
    seconds_refused(lambda: limits.rates.request("alice"))
    limits.clock.now += 0.125
    seconds_refused(lambda: limits.rates.request("alice"))
    limits.clock.now += 0.125  # what was refused took nothing
    limits.rates.request("alice")
    limits.clock.now += 3600  # saves no more than the burst
    for _ in range(8):
        limits.rates.request("alice")
    seconds_refused(lambda: limits.rates.request("alice"))
    assert limits.refused == ["requests"] * 4


def test_a_rate_below_one_lets_one_come():
    limits = Limits(requests=0.01)
    limits.rates.request("alice")
    assert seconds_refused(lambda: limits.rates.request("alice")) == "100"
    limits.clock.now += 100
    limits.rates.request("alice")


def test_a_body_larger_than_the_burst_comes_and_is_waited_for():
    limits = Limits(count=100)
    limits.rates.body("alice", 1000)(1000)
    assert seconds_refused(lambda: limits.rates.body("alice", 1)) == "8"  # 1000 - 200 at 100 a second
    limits.rates.body("bob", 1)
    limits.clock.now += 7.9
    assert seconds_refused(lambda: limits.rates.body("alice", 1)) == "1"
    limits.clock.now += 0.1
    limits.rates.body("alice", 1)
    assert limits.refused == ["bytes", "bytes"]


def test_bytes_of_untold_bodies_count_when_they_come_and_told_ones_once():
    limits = Limits(count=100)
    came = limits.rates.body("alice", 0)
    came(150)
    told = limits.rates.body("alice", 30)
    told(30)
    limits.rates.body("alice", 0)(10)  # 10 of 200 are left: it begins
    came(110)
    assert seconds_refused(lambda: limits.rates.body("alice", 0)) == "1"
    limits.clock.now += 1.0
    limits.rates.body("alice", 0)


def test_without_limits_all_come():
    limits = Limits()
    for _ in range(1000):
        limits.rates.request("alice")
        limits.rates.body("alice", 1 << 40)(1 << 41)
    assert limits.refused == []


def test_a_server_refuses_counts_and_tells(home, local, keys):
    clock = Clock(1000.0)
    (body,) = local.encrypt(local.interface.encode(np.ones(8))).values()
    rate = 2 * len(body)
    limits = {"requests_per_second": 2, "bytes_per_second": rate, "burst_seconds": 3}
    token = home.clients.add("alice")
    with serving(home, clock=clock, **limits) as server, server.http(token) as http:
        told = http.get("/v1/models/scores").json()["rates"]
        assert (told["requests_per_second"], told["bytes_per_second"]) == (2, rate)
        assert http.put("/v1/models/scores/keys", content=keys).status_code == 201
        owed = len(keys) - 3 * rate
        assert owed > 0
        response = http.post("/v1/models/scores/evaluate", content=body)
        assert response.status_code == 429
        assert response.json()["error"]["code"] == "rate"
        assert int(response.headers["Retry-After"]) == math.ceil(owed / rate)
        assert server.metric("hemera_rate_limited_total", limit="bytes") == 1
        assert server.metric("hemera_requests_total", model="scores", status="429") == 1
        clock.now += 3600
        for _ in range(6):
            assert http.get("/v1/models").status_code == 200
        response = http.post("/v1/models/scores/evaluate", content=body)
        assert (response.status_code, response.headers["Retry-After"]) == (429, "1")
        assert server.metric("hemera_rate_limited_total", limit="requests") == 1
        assert server.metric("hemera_received_bytes_total") == len(keys)  # nothing of what was refused
        clock.now += 0.5
        assert http.post("/v1/models/scores/evaluate", content=body).status_code == 200
        # Others go on, and nobody without a token gets as far.
        with server.http(home.clients.add("bob")) as other:
            assert other.get("/v1/models").status_code == 200
        with server.http("nobody.x") as nobody:
            assert {nobody.get("/v1/models").status_code for _ in range(9)} == {401}


def test_bodies_of_untold_size_count_as_they_come(home, local, keys):
    """Bodies of keys and of requests: after both, 10 bytes less than there may be are owed."""
    clock = Clock(1000.0)
    (body,) = local.encrypt(local.interface.encode(np.ones(8))).values()
    limits = {"bytes_per_second": 1, "burst_seconds": len(keys) + len(body) - 10}
    with serving(home, clock=clock, **limits) as server, server.http(home.clients.add("alice")) as http:
        assert http.put("/v1/models/scores/keys", content=iter([keys])).status_code == 201
        assert http.post("/v1/models/scores/evaluate", content=iter([body])).status_code == 200
        response = http.post("/v1/models/scores/evaluate", content=iter([body]))
        assert (response.status_code, response.headers["Retry-After"]) == (429, "10")
        clock.now += 10
        assert http.post("/v1/models/scores/evaluate", content=body).status_code == 200


def test_a_client_waits_as_it_is_told(home, monkeypatch):
    clock = Clock(1000.0)
    waited = []

    def sleep(seconds):
        waited.append(seconds)
        clock.now += seconds

    token = home.clients.add("alice")
    limits = {"requests_per_second": 0.5, "burst_seconds": 10}
    with serving(home, clock=clock, **limits) as server, client_of(server.url, token) as client:
        client.predict("scores", np.ones(8))
        monkeypatch.setattr("hemera.client.transport.time.sleep", sleep)
        for _ in range(4):
            require_scores(client)
    assert set(waited) == {2.0}


def test_the_log_knows_whose_request_a_rate_refused():
    """And nobody's without a token: that one is not counted."""
    limits = Limits(requests=0.01)
    tokens = SimpleNamespace(caller=lambda token: Caller(f"{token}.1", "1") if token == "alice" else None)
    service = SimpleNamespace(clients=tokens, rates=limits.rates)
    app = SimpleNamespace(state=SimpleNamespace(hemera=SimpleNamespace(service=service)))

    def ask(token):
        request = Request({"type": "http", "app": app, "headers": [], "path_params": {}})
        given = None if token is None else HTTPAuthorizationCredentials(scheme="Bearer", credentials=token)
        try:
            assert asyncio.run(client_of_request(request, given)) == "alice.1"
        except Refused as refused:
            return refused.status, getattr(request.state, "client", None)
        return 200, request.state.client

    asked = [ask(token) for token in (None, "bob", "alice", "alice", "bob")]
    assert asked == [(401, None), (401, None), (200, "alice.1"), (429, "alice.1"), (401, None)]
    assert limits.refused == ["requests"]
