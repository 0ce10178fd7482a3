"""A cluster of Ray that a server starts by itself: who can reach it, and the error when it dies."""

import os
import re
import signal
import socket
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from hemera.errors import HemeraWarning, ParameterError
from hemera.ray import cluster
from hemera.ray.cluster import LOCAL, Cluster
from hemera.serving.home import Home
from hemera.serving.settings import Settings

from .conftest import Process, wait_until

NAMES = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER")


class RayError(Exception):
    pass


class FakeRay:
    """The parts of Ray that `Cluster` takes, in one process."""

    def __init__(self, address):
        self.address = address
        self.environment = {}
        self.living = [True]
        self.failure = None
        self.exceptions = SimpleNamespace(RayError=RayError)
        self.resources = {"CPU": 2.0}
        self.initial = {}
        """Arguments of `init`."""
        self.asked = {}
        """For each replica."""
        self.ends = 0

    def init(self, **options):
        self.initial = options
        self.environment = {name: os.environ.get(name) for name in NAMES}

    def get_runtime_context(self):
        return SimpleNamespace(gcs_address=self.address)

    def cluster_resources(self):
        return self.resources

    def nodes(self):
        if self.failure is not None:
            raise self.failure
        return [{"Alive": lives, "Resources": {"CPU": 2.0}} for lives in self.living]

    def remote(self, _):
        return SimpleNamespace(options=self.asked.update)

    def shutdown(self):
        self.ends += 1


@pytest.fixture
def head():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.fixture
def fake(head, monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    made = FakeRay(f"127.0.0.1:{head.getsockname()[1]}")
    monkeypatch.setattr(cluster, "imported", lambda: made)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    return made


def started(address=LOCAL):
    return Cluster(address, {}, Settings(device="cpu"), replicas=1)


def test_an_own_cluster_keeps_to_loopback_and_asks_for_a_token(fake):
    started()
    found = fake.environment
    assert found["RAY_AUTH_MODE"] == "token"
    assert found["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "0"
    assert re.fullmatch("[0-9a-f]{64}", found["RAY_AUTH_TOKEN"] or "")


@pytest.mark.parametrize(
    ("device", "threads", "gpus", "nodes", "replicas", "count", "asked"),
    [
        ("auto", None, 0, 3, None, 3, {"num_cpus": 1}),  # without GPUs: one for each node
        ("auto", None, 4, 3, None, 4, {"num_gpus": 1}),  # one for each GPU
        ("auto", 2, 4, 3, 6, 6, {"num_gpus": 1}),
        ("cuda", None, 4, 1, 1, 1, {"num_gpus": 1}),
        ("cpu", 5, 4, 2, None, 2, {"num_cpus": 5}),
        ("cpu", 64, 0, 1, 16, 16, {"num_cpus": 64}),
        ("cpu", None, 0, 0, None, 1, {"num_cpus": 1}),
    ],
)
def test_replicas_ask_for_what_they_take(fake, device, threads, gpus, nodes, replicas, count, asked):
    fake.resources, fake.living = {"CPU": 2.0, "GPU": gpus}, [True] * nodes + [False]
    found = Cluster(LOCAL, {}, Settings(device=device, threads=threads), replicas=replicas)
    assert found.count == count
    assert {name: fake.asked[name] for name in fake.asked if name.startswith("num_")} == asked
    # A cluster of its own has room for all of them that were asked for.
    assert fake.initial["num_cpus"] == max(os.cpu_count() or 1, (replicas or 1) * (threads or 1))
    assert found._arguments[1].device == ("cuda" if "num_gpus" in asked else "cpu")
    assert found._arguments[1].threads == threads


def test_a_cluster_without_the_gpus_that_are_asked_for_is_left(fake):
    with pytest.raises(ParameterError, match="has no GPU: give --device cpu"):
        Cluster("auto", {}, Settings(device="cuda"), replicas=2)
    assert fake.ends == 1


def test_each_cluster_has_a_token_of_its_own(fake, monkeypatch):
    tokens = set()
    for _ in range(3):
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
        started()
        tokens.add(fake.environment["RAY_AUTH_TOKEN"])
    assert len(tokens) == 3


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"RAY_AUTH_MODE": "disabled"}, ("disabled", None)),
        ({"RAY_AUTH_TOKEN": "mine"}, ("token", "mine")),
        ({"RAY_AUTH_TOKEN_PATH": "/mine"}, ("token", None)),
    ],
)
def test_what_the_user_has_set_stays(fake, monkeypatch, given, wanted):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    started()
    assert (fake.environment["RAY_AUTH_MODE"], fake.environment["RAY_AUTH_TOKEN"]) == wanted


def test_a_cluster_of_others_is_taken_as_it_is(fake):
    found = started("192.0.2.1:6379")
    assert set(fake.environment.values()) == {None}
    fake.living = [False]  # its operator, or Ray, starts others
    assert found.alive()


def test_an_own_cluster_that_listens_elsewhere_is_told(fake):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        started()
    fake.address = "192.0.2.1:6379"
    with pytest.warns(HemeraWarning, match=r"listens at 192\.0\.2\.1, not on loopback"):
        started()


def test_an_own_cluster_without_a_node_is_dead(fake, head):
    found = started()
    assert found.alive()
    fake.living = [False, True]
    assert found.alive()
    for living in ([False], []):
        fake.living = living
        assert not found.alive()
    fake.living = [True]
    for failure in (RayError("gone"), RuntimeError("gone"), ConnectionError("gone")):
        fake.failure = failure
        assert not found.alive()
    fake.failure = None
    assert found.alive()
    head.close()
    assert not found.alive()


# --- With Ray itself. ---

PROGRAM = """
import functools, sys
from hemera.ray.dispatch import Limits
from hemera.ray.service import on_cluster
from hemera.serving.at_home import serve_home
from hemera.serving.configuration import Configuration

limits = Limits(look_seconds=0.2, head_seconds=3)
make = functools.partial(on_cluster, address="local", replicas=1, limits=limits)
settings = {"device": "cpu", "threads": 1}
sys.exit(serve_home(Configuration(home=sys.argv[1], port=0, **settings), make=make))
"""


def descendants(process):
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        if parent == process:
            found += [int(path.name), *descendants(int(path.name))]
    return found


def words_of(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def listening(processes):
    """The addresses, in hexadecimal digits, at which processes listen by TCP."""
    sockets = set()
    for each in processes:
        for handle in Path(f"/proc/{each}/fd").glob("*"):
            try:
                sockets.add(str(handle.readlink()))
            except OSError:
                continue
    tables = [Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table.splitlines()]
    return [
        fields[1].partition(":")[0]
        for fields in lines
        if len(fields) > 9 and fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets
    ]


def test_a_server_ends_when_its_own_ray_has_died(tmp_path, package, monkeypatch):
    """And until then no process of it is to be reached from another machine."""
    pytest.importorskip("ray.data", reason="Ray is not installed (extra 'ray'; docs/scaling.md)")
    home = Home(tmp_path / "home")
    home.add_model(package)
    monkeypatch.setenv("RAY_object_store_memory", str(100 << 20))
    with Process(home.root, program=PROGRAM) as server:
        own = server._process.pid
        processes = [own, *descendants(own)]
        found = listening(processes)
        assert len(found) > 4
        assert set(found) <= {"0100007F", "0" * 16 + "FFFF00000100007F", "0" * 24 + "01000000"}
        (agent,) = (each for each in processes if "DashboardAgent" in words_of(each))
        os.kill(agent, signal.SIGKILL)  # as a killer of processes without memory does
        assert server.wait() == 1
        assert any(line["event"] == "head" and "cluster is lost" in line["why"] for line in server.lines)
        wait_until(lambda: not any(words_of(each) for each in processes))
