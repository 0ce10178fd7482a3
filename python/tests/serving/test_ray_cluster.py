"""Replicas on several nodes of Ray, all on this machine: what is promised when workers, nodes and the head
die in the middle of a load. One cluster and one server serve all tests, in their order."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

import hemera as hm
from hemera.client.problems import ServerError
from hemera.ray.data import Evaluator
from hemera.ray.placement import rendezvous
from hemera.ray.replica import KeyFiles, ModelFile, digest_of
from hemera.serving.home import Home
from hemera.serving.settings import Settings

from ..refusals import raises
from .conftest import BOUND, Process, client_of, expected, require_scores, wait_until
from .conftest import serving as running

ray = pytest.importorskip(
    "ray", reason="Ray is not installed (extra 'ray'; docs/scaling.md): pip install 'ray[data]'"
)

CLIENTS = 8
NAMES = ["replica-0", "replica-1"]
STORE = 100 << 20
PROGRAM = """
import functools, sys
from hemera.ray.dispatch import Limits
from hemera.ray.service import on_cluster
from hemera.serving.at_home import serve_home
from hemera.serving.configuration import Configuration

limits = Limits(look_seconds=0.2, patience=30, head_seconds=6)
make = functools.partial(on_cluster, address="{address}", replicas=2, limits=limits)
settings = {{"device": "cpu", "threads": 1, "batch": 256}}
sys.exit(serve_home(Configuration(home=sys.argv[1], port=0, **settings), make=make))
"""


class Site:
    """A cluster with a head that computes nothing, two nodes, and a server."""

    def __init__(self, home):
        from ray.cluster_utils import Cluster

        self.home = home
        self.tokens = [home.clients.add(f"client{at}") for at in range(CLIENTS)]
        size = {"object_store_memory": STORE}
        self.cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **size}
        )
        self.nodes = [self.cluster.add_node(num_cpus=2, **size) for _ in range(2)]
        self.process = Process(home.root, program=PROGRAM.format(address=self.cluster.address))
        wait_until(self.whole)

    def told(self, event):
        """The lines of the server's log."""
        return [line for line in self.process.lines if line["event"] == event]

    def workers(self):
        """The processes of the replicas that were last started, by name."""
        return {line["replica"]: line["process"] for line in self.told("replica")}

    def whole(self):
        """Whether both replicas are up, by what was last told of each."""
        lines = [line for line in self.process.lines if line["event"] in ("replica", "lost")]
        return {line["replica"]: line["event"] for line in lines} == dict.fromkeys(NAMES, "replica")

    def node_of(self, process):
        """The node whose processes have begun this one."""
        nodes = {node.all_processes["raylet"][0].process.pid: node for node in self.nodes}
        while process not in nodes:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        return nodes[process]

    def busiest(self):
        """The replica that gets the requests of most clients."""
        firsts = []
        for token in self.tokens:
            with http_of(self.process.url, token) as http:
                digest = http.get("/v1/models/scores/keys").json()["digest"]
            firsts.append(rendezvous(digest, NAMES)[0])
        return max(firsts, key=firsts.count)

    def load(self, requests, harm, patience=0):
        """Eight clients at once, and some harm when each has its first answer; they ask until it is done, and
        so many requests at least. Without patience a client takes nothing but an answer."""
        begun = threading.Barrier(CLIENTS + 1)
        harmed = threading.Event()

        def ask(at):
            generator = np.random.default_rng(at)
            right = number = 0
            with client_of(
                self.process.url, self.tokens[at], patience=patience, folder=self.home.root / f"f{at}"
            ) as own:
                while number < requests or not harmed.is_set():
                    rows = generator.uniform(-1, 1, (1 + number % 3, 8))
                    require_scores(own, rows)
                    right += 1
                    if number == 0:
                        begun.wait(BOUND)
                    number += 1
            return right

        before = self.answered()
        with ThreadPoolExecutor(CLIENTS) as pool:
            asking = [pool.submit(ask, at) for at in range(CLIENTS)]
            begun.wait(BOUND)
            try:
                harm()
            finally:
                harmed.set()
            right = [each.result(BOUND) for each in asking]
        assert min(right) >= requests
        assert self.answered() - before == sum(right)  # each once

    def answered(self):
        """Requests that were computed, by the server's own count."""
        text = httpx.get(self.process.url + "/metrics", trust_env=False, timeout=BOUND).text
        assert 'status="500"' not in text
        lines = [
            line for line in text.splitlines() if line.startswith("hemera_requests_total") and '"200"' in line
        ]
        return sum(int(float(line.rpartition(" ")[2])) for line in lines)

    def close(self):
        with self.process:
            pass
        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def site(tmp_path_factory, package):
    home = Home(tmp_path_factory.mktemp("ray") / "home")
    home.add_model(package)
    made = Site(home)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def driver(site):
    """This process as another program on the cluster."""
    ray.init(address=site.cluster.address, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def http_of(url, token):
    return httpx.Client(
        base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=BOUND, trust_env=False
    )


def test_answers_are_those_of_one_machine(site, tmp_path, package, local, keys):
    """Bit for bit: of small requests, which are in messages, and of large ones, in shared memory."""
    (array,) = local.interface.encode(np.ones((4, 8)))
    requests = [
        bytes(local.context.encrypt(np.repeat(array, count, axis=0), local.secret_key)) for count in (1, 64)
    ]
    assert len(requests[0]) < 1 << 20 < len(requests[1])  # see hemera.ray.channel
    other = Home(tmp_path / "other")
    other.add_model(package)
    answers = []

    def ask(url, token):
        with http_of(url, token) as http:
            assert http.put("/v1/models/scores/keys", content=keys).status_code == 201
            found = [http.post("/v1/models/scores/evaluate", content=data) for data in requests]
            assert [each.status_code for each in found] == [200, 200]
            assert http.post("/v1/models/scores/evaluate", content=b"rubbish").status_code == 422
            answers.append([each.content for each in found])

    ask(site.process.url, site.tokens[0])
    with running(other, batch=256) as server:
        ask(server.url, other.clients.add("alice"))
    assert answers[0] == answers[1]


def test_a_worker_is_killed(site):
    before = site.workers()
    assert len(set(before.values())) == 2
    victims = []

    def kill():
        victims.append(site.busiest())
        os.kill(before[victims[0]], signal.SIGSTOP)  # so that requests are there when it dies
        time.sleep(0.5)
        os.kill(before[victims[0]], signal.SIGKILL)

    site.load(12, kill)
    (lost,) = site.told("lost")
    assert lost["replica"] == victims[0]
    assert lost["requests"] > 0
    wait_until(site.whole)
    assert site.workers()[victims[0]] != before[victims[0]]


def test_a_replica_is_slow(site):
    before = site.workers()

    def stop_for_a_while():
        slow = before[site.busiest()]
        os.kill(slow, signal.SIGSTOP)
        time.sleep(2)
        os.kill(slow, signal.SIGCONT)

    site.load(12, stop_for_a_while)
    assert site.workers() == before  # it was not given up


@pytest.mark.usefixtures("driver")
def test_the_store_is_full(site, local, keys):
    """Requests do not need the store, or wait for room in it, or are refused until there is some."""
    kept = [ray.put(np.zeros(STORE // 5, np.uint8)) for _ in range(8)]
    site.load(6, lambda: None, patience=BOUND)
    (array,) = local.interface.encode(np.ones((4, 8)))
    large = bytes(local.context.encrypt(np.repeat(array, 64, axis=0), local.secret_key))
    with http_of(site.process.url, site.tokens[1]) as http:
        assert http.put("/v1/models/scores/keys", content=keys).status_code == 201
        for _ in range(5):
            found = http.post("/v1/models/scores/evaluate", content=large)
            assert found.status_code == 200, found.text
            values = local.interface.decode(local.decrypt({"output": found.content}))
            np.testing.assert_allclose(values[:4], expected(np.ones((4, 8))), atol=1e-6)
    del kept


@pytest.mark.usefixtures("driver")
def test_secrets_do_not_travel(local):
    for held in (local.secret_key, local, local.context, {"deep": [local]}, lambda: local.secret_key):
        raises(TypeError, "pickle", ray.put, held)


@pytest.mark.usefixtures("driver")
@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")  # of Ray Data's own settings
def test_files_of_ciphertexts(tmp_path, package, local, keys):
    rows = np.random.default_rng(2).uniform(-1, 1, (12, 8))
    folder = tmp_path / "requests"
    folder.mkdir()
    for at, row in enumerate(rows):
        (array,) = local.interface.encode(row[None])
        local.context.encrypt(array, local.secret_key).save(folder / f"{at:02}.hemera")
    (tmp_path / "alice.keys").write_bytes(keys)
    answers = hm.ray.map_batches(
        package,
        folder,
        keys=tmp_path / "alice.keys",
        storage=tmp_path / "storage",
        batch=4,
        device="cpu",
        threads=1,
    )
    found = {Path(each["path"]).stem: each["output"] for each in answers.take_all()}
    assert sorted(found) == [f"{at:02}" for at in range(12)]
    for name, data in found.items():
        decoded = local.interface.decode(local.decrypt({"output": data}))
        np.testing.assert_allclose(decoded[:1], expected(rows[int(name)][None]), atol=1e-6)
    assert [each.name for each in (tmp_path / "storage").iterdir()] == [package.digest]
    with pytest.raises(hm.errors.ParameterError, match="storage="):
        hm.ray.map_batches(package, folder, keys=tmp_path / "alice.keys")


def test_tables_that_do_not_fit(tmp_path, package, local, keys):
    """What an actor of Ray Data makes of them; its errors come to whoever reads the data set."""
    pyarrow = pytest.importorskip("pyarrow")
    package.save(tmp_path / "model")
    (tmp_path / "keys").write_bytes(keys)
    files = KeyFiles(digest_of({"keys": tmp_path / "keys"}), "Hemera", {"keys": str(tmp_path / "keys")})
    model = ModelFile(str(tmp_path / "model"), package.digest)
    evaluator = Evaluator("scores", model, files, Settings(device="cpu", threads=1))
    (array,) = local.interface.encode(np.ones((1, 8)))
    good = bytes(local.context.encrypt(array, local.secret_key))
    raises(hm.errors.FormatError, "row 1 of a batch", evaluator, pyarrow.table({"input": [good, b"rubbish"]}))
    with pytest.raises(hm.errors.MismatchError, match="no column input; it has other"):
        evaluator(pyarrow.table({"other": [good]}))
    found = evaluator(pyarrow.table({"input": [good, good], "name": ["a", "b"]}))
    assert found.column_names == ["name", "output"]
    assert found["output"][0] == found["output"][1]


def test_a_node_is_killed(site):
    before = len(site.told("lost"))
    node = site.node_of(site.workers()[site.busiest()])
    site.nodes.remove(node)
    site.load(12, lambda: site.cluster.remove_node(node, allow_graceful=False))
    wait_until(lambda: len(site.told("lost")) > before)
    wait_until(site.whole)  # the other node has room for both


def test_the_head_is_killed(site):
    """Replicas go on; then the server ends with a status that has it started again. Clients wait for that."""
    site.load(12, site.cluster.head_node.kill_gcs_server)
    rows = np.ones((2, 8))

    def ask_on():
        with client_of(site.process.url, site.tokens[0], patience=0, folder=site.home.root / "f0") as own:
            for _ in range(int(10 * BOUND)):
                require_scores(own, rows)
                time.sleep(0.1)

    with pytest.raises(ServerError) as refused:
        ask_on()
    assert refused.value.status in (0, 503)
    assert site.process.wait() == 1
    assert [line["level"] for line in site.told("head")] == ["warning", "error"]
    # The folder is all that a restart needs.
    with (
        Process(site.home.root) as process,
        client_of(process.url, site.tokens[0], folder=site.home.root / "f0") as again,
    ):
        require_scores(again, rows)
