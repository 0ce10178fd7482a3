"""A server whose requests go to replicas: what clients and operators see, and what it needs."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

import hemera as hm
from hemera import errors
from hemera.cli import main
from hemera.client.problems import ServerError
from hemera.package.local_model import LocalModel
from hemera.ray.dispatch import Limits
from hemera.ray.replica import ModelFile
from hemera.ray.service import RayService
from hemera.serving import Package
from hemera.serving.home import Home
from hemera.serving.settings import Settings

from ..refusals import raises
from .conftest import BOUND, Running, client_of, require_scores, served, wait_until
from .replicas import ROWS, Ranch


@pytest.fixture
def site(home: Home, package: Package) -> Iterator[tuple[Running, Ranch]]:
    """A server for the folder, whose replicas are fakes."""
    settings = Settings(device="cpu", threads=1)
    ranch = Ranch({"scores": ModelFile(str(home.model_file("scores")), package.digest)}, settings, 2)
    service = RayService(home, settings, ranch, Limits(look_seconds=0.02, start_seconds=BOUND))
    with served(service) as url:
        yield Running(service, url), ranch


@pytest.mark.fact_of_the_cpu("names of devices")
def test_the_server(site: tuple[Running, Ranch], home: Home, local: LocalModel) -> None:
    """Uploads, requests and what operators see, over HTTP."""
    server, ranch = site
    token = home.clients.add("alice")
    with client_of(server.url, token, patience=0) as client:
        for rows in (ROWS, ROWS / 2):
            require_scores(client, rows)
        assert sorted(len(fake.numbers()) for fake in ranch.fakes) == [0, 2]
        next(fake for fake in ranch.fakes if fake.numbers()).die()
        require_scores(client, ROWS)
    with server.http(token) as http:
        secret = http.put("/v1/models/scores/keys", content=bytes(local.secret_key))
        assert (secret.status_code, secret.json()["error"]["code"]) == (422, "secret_key")
        wrong = http.put("/v1/models/scores/keys", content=local.generate_keys()[:-5])
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "format")
        health = http.get("/health").json()
        assert (health["status"], health["device"]) == ("ok", "cpu")
    wait_until(lambda: server.metric("hemera_replaced_replicas") == 1)
    wait_until(lambda: server.metric("hemera_loaded_key_sets") >= 1)
    assert server.metric("hemera_loaded_key_bytes") > 0
    wait_until(lambda: server.metric("hemera_batch_requests_count", model="scores") >= 1)
    assert list(home.incoming.iterdir()) == []


def test_a_removed_client(site: tuple[Running, Ranch], home: Home) -> None:
    server, _ = site
    token = home.clients.add("alice")
    with client_of(server.url, token, patience=0) as client:
        client.predict("scores", ROWS)
        owner = next(iter(server.service.store.sets())).client
        home.remove_client("alice")
        assert not (home.keys / owner).exists()
        with pytest.raises(ServerError) as refused:
            client.predict("scores", ROWS)
    assert refused.value.code == "unknown_token"


def test_models_that_changed_are_not_read_anew(site: tuple[Running, Ranch], home: Home) -> None:
    """What SIGHUP leads to."""
    server, _ = site
    server.service.reload()
    home.model_file("scores").rename(home.model_file("scores@2"))
    raises(errors.ParameterError, r"start the server anew .*, of scores, scores@2", server.service.reload)
    with client_of(server.url, home.clients.add("alice"), patience=0) as client:
        require_scores(client, ROWS)


def test_no_replica_is_no_health(site: tuple[Running, Ranch], home: Home) -> None:
    server, ranch = site
    ranch.head = False
    for fake in ranch.living:
        fake.die()
    wait_until(lambda: not server.service.scheduler.alive)
    with server.http(home.clients.add("alice")) as http:
        answer = http.get("/health")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
    ranch.head = True
    wait_until(lambda: server.service.scheduler.alive)


def test_without_ray(monkeypatch: pytest.MonkeyPatch, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(errors.ParameterError, match=r"pip install .*ray\[data\].*'\.\[ray\]'"):
        hm.ray.map_batches("model", "requests", keys="keys")
    assert main(["serve", str(home.root), "--ray"]) == 1
    assert "ray[data]" in capsys.readouterr().err
    assert main(["serve", str(home.root), "--replicas", "2"]) == 1
    assert "replicas needs ray" in capsys.readouterr().err
