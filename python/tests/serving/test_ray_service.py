"""A server whose requests go to replicas: what clients and operators see, keys at replicas, and failures."""

import pickle
import sys
import threading
from pathlib import Path

import pytest

import hemera as hm
from hemera import errors
from hemera.cli import main
from hemera.client.problems import Refused, ServerError
from hemera.ray.dispatch import Limits
from hemera.ray.replica import KeyFiles, ModelFile, Replica, digest_of
from hemera.ray.service import RayService
from hemera.serving.evaluation import Evaluation
from hemera.serving.settings import Settings

from ..refusals import raises
from .conftest import BOUND, Running, client_of, require_scores, served, wait_until
from .replicas import ROWS, Ranch, refusal


@pytest.fixture
def site(home, package):
    """A server for the folder, whose replicas are fakes."""
    settings = Settings(device="cpu", threads=1)
    ranch = Ranch({"scores": ModelFile(str(home.model_file("scores")), package.digest)}, settings, 2)
    service = RayService(home, settings, ranch, Limits(look_seconds=0.02, start_seconds=BOUND))
    with served(service) as url:
        yield Running(service, url), ranch


@pytest.mark.fact_of_the_cpu("names of devices")
def test_the_server(site, home, local):
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


def test_a_removed_client(site, home):
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


def test_models_that_changed_are_not_read_anew(site, home):
    """What SIGHUP leads to."""
    server, _ = site
    server.service.reload()
    home.model_file("scores").rename(home.model_file("scores@2"))
    raises(errors.ParameterError, r"start the server anew .*, of scores, scores@2", server.service.reload)
    with client_of(server.url, home.clients.add("alice"), patience=0) as client:
        require_scores(client, ROWS)


def test_no_replica_is_no_health(site, home):
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


def test_without_ray(monkeypatch, home, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(errors.ParameterError, match=r"pip install .*ray\[data\].*'\.\[ray\]'"):
        hm.ray.map_batches("model", "requests", keys="keys")
    assert main(["serve", str(home.root), "--ray"]) == 1
    assert "ray[data]" in capsys.readouterr().err
    assert main(["serve", str(home.root), "--replicas", "2"]) == 1
    assert "replicas needs ray" in capsys.readouterr().err


def test_keys_never_travel(bench):
    ours = bench(1, clients=["alice"])
    request = ours.ask("alice", ROWS)
    ours.check(request, ROWS)
    ours.dispatcher.check("scores", ours.keys["alice"])
    told = dict(ours.ranch.fakes[0].asked)
    number, model, keys, files = told["evaluate"]
    assert (type(number), model, keys) == (str, "scores", ours.keys["alice"])
    assert list(files) == ["input"]
    assert not files["input"].flags.writeable
    assert len(pickle.dumps(told["check"])) < 1000 < Path(keys.files["keys"]).stat().st_size
    assert len(pickle.dumps((number, model, keys))) < 1000


def test_keys_that_were_replaced_meanwhile(bench):
    ours = bench(1, clients=["alice"])
    ours.ranch.fakes[0].open.clear()
    asked = ours.ask("alice", ROWS)
    removed = ours.ask("alice", ROWS)
    old = ours.keys["alice"]
    moved = ours.folder / "other.keys"
    Path(old.files["keys"]).rename(moved)
    ours.keys["alice"] = KeyFiles("0" * 64, old.library, {"keys": str(moved)})  # other keys, by what is told
    ours.ranch.fakes[0].open.set()
    assert refusal(asked) == (422, "format")  # and their content is not what was told
    removed.answer.exception(BOUND)
    ours.keys["bob"] = KeyFiles("1" * 64, old.library, {"keys": str(ours.folder / "gone")})
    request = Evaluation("bob", "scores", {"input": b""})
    ours.locals["bob"] = ours.locals["alice"]
    ours.dispatcher.submit(Evaluation("bob", "scores", {"input": ours.file("bob", ROWS)}))
    request = ours.ask("bob", ROWS)
    assert refusal(request) == (409, "no_keys")


def test_replaced_keys_are_used(bench):
    """A request whose keys were replaced while it waited is computed with the new ones, and says so."""
    ours = bench(1, clients=["alice"])
    ours.ranch.fakes[0].open.clear()
    asked = ours.ask("alice", ROWS)
    old = ours.keys["alice"]
    local = ours.locals["alice"]
    moved = ours.folder / "new.keys"
    moved.write_bytes(bytes(local.interface.generate_keys(local.context, local.secret_key)))
    Path(old.files["keys"]).unlink()
    ours.keys["alice"] = KeyFiles(digest_of({"keys": moved}), "Hemera", {"keys": str(moved)})
    ours.ranch.fakes[0].open.set()
    ours.check(asked, ROWS)
    assert asked.keys == ours.keys["alice"].digest != old.digest


def test_keys_make_room_by_bytes(bench):
    ours = bench(1, loaded_key_bytes=1)
    ours.start()
    for client in ("alice", "bob"):
        ours.add(client)
        ours.check(ours.ask(client, ROWS), ROWS)
    wait_until(lambda: ours.dispatcher.held[0] == 1)  # the last one stays, whatever it takes
    ours.check(ours.ask("alice", ROWS), ROWS)
    assert ours.ranch.fakes[0].replica._cache.places == [(ours.keys["alice"].digest, "scores")]


def test_upload_checks(bench):
    ours = bench(2, clients=["alice"])
    first = ours.first("alice")
    ours.dispatcher.check("scores", ours.keys["alice"])
    assert first.replica._cache.places == [
        (ours.keys["alice"].digest, "scores")
    ]  # there for the first request
    path = ours.folder / "alice.keys"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    damaged = KeyFiles(digest_of({"keys": path}), "Hemera", {"keys": str(path)})
    with pytest.raises(Refused) as refused:
        ours.dispatcher.check("scores", damaged)
    assert (refused.value.status, refused.value.code) == (422, "format")
    first.die()
    ours.add("bob")
    ours.dispatcher.check("scores", ours.keys["bob"])


def test_requests_wait_for_keys_that_are_checked(bench):
    """A replica that loads keys for a check gets their requests, also when others have less to do."""
    ours = bench(2, {"step": 1}, clients=["alice"])
    first = ours.first("alice")
    others = (f"other{at}" for at in range(50))
    for other in others:
        ours.add(other)
        if ours.first(other) is first:
            break
    gate = threading.Event()
    first.replica._scheduler.call(gate.wait)
    checking = threading.Thread(target=ours.dispatcher.check, args=("scores", ours.keys["alice"]))
    checking.start()
    wait_until(lambda: "check" in dict(first.asked))
    asked = [ours.ask(client, ROWS) for client in (other, "alice", "alice")]
    wait_until(lambda: len(first.numbers()) == 3)
    gate.set()
    checking.join(BOUND)
    for each in asked:
        ours.check(each, ROWS)


def test_a_replica_dies_in_the_middle(bench):
    ours = bench(2, clients=["alice"])
    first = ours.first("alice")
    first.open.clear()
    asked = [ours.ask("alice", ROWS * scale) for scale in (1, 0.5, 0.25)]
    settled = []
    for each in asked:
        each.answer.add_done_callback(lambda _, each=each: settled.append(each))
    wait_until(lambda: len(first.numbers()) == 3)
    first.die()
    for each, scale in zip(asked, (1, 0.5, 0.25), strict=True):
        ours.check(each, ROWS * scale)
    assert sorted(map(id, settled)) == sorted(map(id, asked))  # each once
    wait_until(lambda: len(ours.ranch.living) == 2)  # replaced
    (other,) = [fake for fake in ours.ranch.fakes[:2] if fake is not first]
    assert sorted(other.numbers()) == sorted(first.numbers())  # under the same numbers
    assert ours.dispatcher.replaced == 1
    assert ours.dispatcher.waiting == 0
    wait_until(lambda: ours.first("alice") not in (first, other))  # the tenant returns to the new one's name


def test_a_late_answer_of_a_replica_that_was_given_up_counts_no_more(bench):
    ours = bench(2, {"patience": 0.2}, clients=["alice"])
    first = ours.first("alice")
    (other,) = [fake for fake in ours.ranch.fakes if fake is not first]
    other.open.clear()
    first.open.clear()
    first.silent = True  # as a process that was stopped: its requests stay there
    asked = ours.ask("alice", ROWS)
    wait_until(lambda: len(first.numbers()) == 1)
    wait_until(lambda: first.dead and len(other.numbers()) == 1)  # given up and killed
    done = []
    asked.answer.add_done_callback(lambda _: done.append(1))
    (late,) = first.pending
    first.open.set()
    late.result(BOUND)
    assert not asked.answer.done()
    other.open.set()
    ours.check(asked, ROWS)
    assert done == [1]


def test_a_request_that_kills_replicas_ends(bench):
    ours = bench(3)
    ours.ranch.prepare = lambda fake: fake.open.clear()
    ours.start()
    ours.add("alice")
    asked = ours.ask("alice", ROWS)
    for killed in range(1, 4):
        wait_until(lambda: any(fake.numbers() for fake in ours.ranch.living) or asked.answer.done())
        assert not asked.answer.done()
        next(fake for fake in ours.ranch.living if fake.numbers()).die()
        wait_until(lambda killed=killed: ours.dispatcher.replaced == killed)
    assert refusal(asked) == (503, "replica_lost")
    assert ours.dispatcher.waiting == 0


def test_requests_wait_for_a_replica_that_takes_the_place(bench):
    ours = bench(1, clients=["alice"])
    (only,) = ours.ranch.fakes
    only.open.clear()
    asked = ours.ask("alice", ROWS)
    wait_until(lambda: len(only.numbers()) == 1)
    only.die()
    ours.check(asked, ROWS)
    assert len(ours.ranch.fakes) == 2


def test_the_head_is_lost(bench):
    """Replicas that are there go on; after a while the server ends, with an answer for whoever waits."""
    ours = bench(2, {"head_seconds": 0.5}, clients=["alice"])
    ours.ranch.head = False
    ours.check(ours.ask("alice", ROWS), ROWS)
    victim = ours.ranch.fakes[0]
    for fake in ours.ranch.fakes:
        fake.open.clear()
    victim.die()
    asked = ours.ask("alice", ROWS)
    assert ours.failed.wait(BOUND)
    assert refusal(asked) == (503, "cluster_lost")
    assert len(ours.ranch.fakes) == 2  # nobody starts others
    raises(Refused, "stops", ours.ask, "alice", ROWS)
    assert not ours.dispatcher.alive


def test_a_head_that_comes_back(bench):
    ours = bench(2, {"head_seconds": BOUND}, clients=["alice"])
    ours.ranch.head = False
    ours.ranch.fakes[0].die()
    wait_until(lambda: ours.dispatcher.replaced == 1)
    assert len(ours.ranch.fakes) == 2
    ours.ranch.head = True
    wait_until(lambda: len(ours.ranch.living) == 2)
    assert not ours.failed.is_set()
    ours.check(ours.ask("alice", ROWS), ROWS)


def test_a_stop_answers(bench):
    ours = bench(1, clients=["alice"])
    ours.ranch.fakes[0].open.clear()
    asked = ours.ask("alice", ROWS)
    ours.dispatcher.stop()
    assert refusal(asked) == (503, "stopping")
    for call in (lambda: ours.ask("alice", ROWS), lambda: ours.dispatcher.call(lambda: None)):
        raises(Refused, "stops", call)


def test_a_model_that_was_replaced(package, tmp_path):
    path = tmp_path / "model"
    package.save(path)
    with pytest.raises(Exception, match="was replaced"):
        Replica({"scores": ModelFile(str(path), "0" * 64)}, Settings(device="cpu", threads=1))
