"""What a server has and does, without HTTP: where keys go, what is refused, and files that move."""

import contextlib
from functools import partial
from pathlib import Path

import pytest

from hemera import search
from hemera.client.problems import Refused
from hemera.serving import server as server_module
from hemera.serving.configuration import Configuration
from hemera.serving.service import Service
from hemera.serving.settings import Settings

from .indexes.index_cases import VECTORS
from .test_session_cache import Kept


def service_of(home, device="cpu,cpu,cpu", **limits):
    return Service(home, Settings(device=device, threads=1, **limits))


@pytest.mark.parametrize(
    ("sizes", "device"),
    [
        ("||", 0),
        ("10||", 1),
        ("10|10|", 2),
        ("10 10|30|25", 0),  # bytes, not sets
        ("30|10 10|25", 1),
        ("5|4 0|4 1", 1),
    ],
)
def test_keys_go_to_the_device_with_the_fewest_bytes(home, sizes, device):
    service = service_of(home)
    for cache, own in zip(service.caches, sizes.split("|"), strict=True):
        for at, size in enumerate(own.split()):
            cache.put(f"client{at}", "m", 1, Kept(int(size)))
    assert service.device_for_keys() == device


@pytest.mark.parametrize("device", [0, 1, None])
def test_new_keys_take_the_place_of_those_before_on_all_devices(home, device):
    service = service_of(home)
    for cache in service.caches:
        for client in ("alice", "bob"):
            cache.put(client, "scores", 0, Kept())
        cache.put("alice", "other", 1, Kept())
    upload = service.store.begin("alice", "scores", 100)
    upload.begin("keys")
    upload.write(b"keys")
    upload.end()
    session = None if device is None else Kept()
    found = service.accept(upload, "Hemera", session, 0 if device is None else device, "scores")
    assert service.keys("alice", "scores") == found
    for number, cache in enumerate(service.caches):
        kept = cache.peek("alice", "scores", found.generation)
        assert kept is (session if number == device else None)
        assert {("bob", "scores"), ("alice", "other")} <= set(cache.places)
    assert session is None or session.digest == found.digest
    assert service.remove_keys("alice", "scores")
    assert not service.remove_keys("alice", "scores")
    assert [sorted(cache.places) for cache in service.caches] == [[("alice", "other"), ("bob", "scores")]] * 3
    with pytest.raises(Refused, match="PUT /v1/models/scores/keys first") as refused:
        service.keys("alice", "scores")
    assert (refused.value.status, refused.value.code) == (409, "no_keys")


@pytest.mark.parametrize("given", [1, 1 << 22, 1 << 50])
def test_what_an_upload_may_have(home, package, given):
    service = service_of(home, "cpu", key_bytes=given)
    needed = package.interface.key_bytes_at_most
    more = max(package.params.switching_key_bytes, 1 << 20)
    served = service.model("scores", "alice")
    assert served.key_limit == served.describe()["limits"]["key_bytes"] == min(given, 2 * needed + more)
    assert (served.kind, served.name, served.digest) == ("model", "scores", package.digest)
    for ask in (service.model, partial(service.served, "model"), partial(service.served, "index")):
        with pytest.raises(Refused, match=f"there is no .* '{'x' * 64}'") as refused:
            ask("x" * 65, "alice")
        assert refused.value.status == 404
    for digest in (None, package.digest):
        served.require_digest(digest)
    with pytest.raises(Refused, match=f"its digest is {package.digest}") as refused:
        served.require_digest(package.digest[:-1])
    assert (refused.value.status, refused.value.code) == (409, "model_changed")


def test_an_index_whose_file_goes_and_comes_back_is_served_again(home, tmp_path):
    """Also the same file with the same times, where a model had its name for a while."""
    search.Index(VECTORS, "dot", exact=True).save(tmp_path / "rows.index")
    home.add_index(tmp_path / "rows.index")
    service = service_of(home, "cpu")
    service.scheduler.start()
    service.prepare()
    for hide, show in (
        (
            lambda: home.index_file("rows").rename(tmp_path / "away"),
            lambda: (tmp_path / "away").rename(home.index_file("rows")),
        ),
        (lambda: home.model_file("rows").write_bytes(b""), home.model_file("rows").unlink),
    ):
        hide()
        service.sweep_indexes()
        assert service.indexes == {}
        show()
        service.sweep_indexes()
        assert [index.entry()["rows"] for index in service.indexes.values()] == [len(VECTORS)]
        before = service.indexes["rows"]
        service.sweep_indexes()
        assert service.indexes["rows"] is before
    service.scheduler.stop()


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize(
    ("host", "address", "is_local"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("localhost", "localhost", True),
        ("::1", "[::1]", True),
        ("0.0.0.0", "0.0.0.0", False),
        ("2001:db8::7", "[2001:db8::7]", False),
    ],
)
def test_the_address_that_is_told(home, monkeypatch, host, address, is_local, tls):
    logged = []
    told = []

    class Listening:
        def getsockname(self):
            return host, 8123

    @contextlib.contextmanager
    def listen(*given):
        assert given == (host, 0)
        yield Listening()

    class Server:
        started, run = True, lambda *_, **__: None

    monkeypatch.setattr(server_module, "listen", listen)
    monkeypatch.setattr(server_module, "make_server", lambda *_, **__: Server())
    monkeypatch.setattr(server_module, "to_lines_of_json", lambda _: None)
    monkeypatch.setattr(server_module, "Certificate", lambda *_: object())
    monkeypatch.setattr(server_module.signal, "signal", lambda *_: None)
    monkeypatch.setattr(server_module, "log", lambda event, **_: logged.append(event))
    service = service_of(home, "cpu")
    files = {"tls_certificate": Path("c"), "tls_key": Path("k")} if tls else {}
    given = Configuration(host=host, port=0, **files)
    for service.failed, Server.started, status in ((False, True, 0), (True, True, 1), (False, False, 1)):
        assert server_module.serve(service, given, listening=told.append) == status
    assert told == [f"http{'s' * tls}://{address}:8123"] * 3
    assert logged == ["listening", *([] if tls or is_local else ["readable"])] * 3
