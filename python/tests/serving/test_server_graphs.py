"""Which evaluations are captured, what graphs count for, and that they end with their keys."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hemera as hm
from hemera import errors
from hemera.objects.devices import DeviceOptions
from hemera.package.graphs import Graphs
from hemera.package.prepared import PreparedModel
from hemera.serving.session_cache import SessionCache
from hemera.serving.sessions import Loader

from ..refusals import raises
from .conftest import BOUND, client_of, expected, require_scores, serving

GPUS = [name for name in hm.devices() if name != "cpu"]


class Recorder:
    """Captures that are noted: the graphs give their inputs back."""

    def __init__(self):
        self.captured = []
        self.replayed = []
        self.fails = None
        self.refuses = False

    def capture(self, inputs):
        if self.fails is not None:
            raise self.fails("as the test wants")
        self.captured.append(inputs[0].shape)
        recorder = self

        class Graph:
            memory_bytes = 1000 * len(inputs[0])

            def __call__(self, *xs):
                if recorder.refuses:
                    raise errors.MismatchError("more noise than the example")
                recorder.replayed.append(xs[0].shape)
                return xs

        return Graph()


@pytest.fixture(scope="module")
def batch(local):
    return local.context.encrypt(np.ones((8, 8)), local.secret_key)


def test_a_form_is_captured_when_it_comes_again(batch, local):
    recorder = Recorder()
    graphs = Graphs(limit=4)
    assert graphs.run([batch[:2]], recorder.capture) is None
    assert graphs.run([batch[:3]], recorder.capture) is None
    assert (recorder.captured, len(graphs), graphs.memory_bytes) == ([], 0, 0)
    for _ in range(3):
        (found,) = graphs.run([batch[:2]], recorder.capture) or []
        assert found.shape == (2,)
    assert graphs.run([batch[:3]], recorder.capture)
    assert recorder.captured == [(2,), (3,)]
    assert recorder.replayed == [(2,), (2,), (2,), (3,)]
    assert (len(graphs), graphs.memory_bytes) == (2, 5000)
    low = local.context.encrypt(local.context.encode(np.ones((2, 8)), level=0), local.secret_key)
    assert graphs.run([low], recorder.capture) is None  # another level is another form
    graphs.give_up()
    assert (len(graphs), graphs.memory_bytes) == (0, 0)
    assert [graphs.run([batch[:2]], recorder.capture) for _ in range(3)] == [None] * 3


def test_a_form_takes_anothers_place_when_it_comes_twice_as_often(batch):
    recorder = Recorder()
    graphs = Graphs(limit=2)
    for size in (1, 1, 2, 2, 2):
        graphs.run([batch[:size]], recorder.capture)
    for _ in range(3):
        assert graphs.run([batch[:3]], recorder.capture) is None
    assert graphs.run([batch[:3]], recorder.capture) is not None  # 4 times, and the first form twice
    assert recorder.captured == [(1,), (2,), (3,)]
    for _ in range(20):  # neither drives the other out by turns
        graphs.run([batch[:2]], recorder.capture)
        graphs.run([batch[:3]], recorder.capture)
    assert recorder.captured == [(1,), (2,), (3,)]
    assert len(graphs) == 2


def test_forms_without_end_are_not_all_counted(batch, monkeypatch):
    monkeypatch.setattr("hemera.package.graphs._FORMS_COUNTED", 3)
    recorder = Recorder()
    graphs = Graphs(limit=2)
    for size in (1, 1, 2, 3, 4):
        graphs.run([batch[:size]], recorder.capture)
    assert len(graphs._came) == 2  # the one that was captured, and the last
    assert graphs.run([batch[:1]], recorder.capture) is not None


def test_what_no_graph_takes_is_left_to_the_caller(batch):
    recorder = Recorder()
    graphs = Graphs(limit=2)
    for _ in range(2):
        found = graphs.run([batch], recorder.capture)
    assert found is not None
    recorder.refuses = True
    assert graphs.run([batch], recorder.capture) is None
    assert len(graphs) == 1
    for kind in (errors.OutOfMemoryError, errors.DeviceError):
        recorder = Recorder()
        graphs = Graphs(limit=2)
        assert [graphs.run([batch], recorder.capture) is not None for _ in range(2)] == [False, True]
        recorder.fails = kind
        assert [graphs.run([batch[:1]], recorder.capture) for _ in range(2)] == [None, None]
        assert len(graphs) == 0  # gave their memory back
        recorder.fails = None
        assert [graphs.run([batch[:1]], recorder.capture) for _ in range(3)] == [None] * 3
    recorder.fails = errors.LevelError
    graphs = Graphs(limit=2)
    graphs.run([batch], recorder.capture)
    raises(errors.LevelError, "", graphs.run, [batch], recorder.capture)
    none = Graphs(limit=0)
    assert [none.run([batch], recorder.capture) for _ in range(5)] == [None] * 5


@pytest.fixture
def session(package, keys, tmp_path, monkeypatch):
    """Makes sessions that capture, though it is on the CPU, where graphs call the circuit."""
    monkeypatch.setattr(PreparedModel, "captures", True)
    (tmp_path / "keys").write_bytes(keys)

    def make(graphs=4):
        return Loader(DeviceOptions("cpu", 1), graphs).load(package, "Hemera", {"keys": tmp_path / "keys"})

    return make


def answers(session, local, rows):
    (array,) = local.interface.encode(rows)
    (found,) = session.run([[session._load(bytes(local.context.encrypt(array, local.secret_key)))]])
    return local.interface.decode(local.decrypt(session.dump(found, single=False)), len(rows))


def test_a_session_answers_the_same_by_graphs(session, local):
    own = session()
    keys = own.memory_bytes
    rows = np.random.default_rng(3).uniform(-1, 1, (5, 8))
    for at in range(4):
        np.testing.assert_allclose(answers(own, local, rows + at), expected(rows + at), atol=1e-5)
        assert own.graphs == (at >= 1)
    assert own.memory_bytes > keys
    assert session(graphs=0).graphs == 0


def test_a_device_without_room_gives_up_its_graphs(session, local, monkeypatch):
    own = session()
    rows = np.ones((2, 8))
    for _ in range(2):
        answers(own, local, rows)
    assert own.graphs == 1

    def full(*_):
        raise errors.OutOfMemoryError("no room")

    monkeypatch.setattr("hemera.objects.graph.Graph.__call__", full)
    np.testing.assert_allclose(answers(own, local, rows), expected(rows), atol=1e-5)
    assert own.graphs == 0


def test_graphs_take_room_and_end_with_their_keys(session, local):
    first, second = session(), session()
    size = first.memory_bytes
    cache = SessionCache(2 * size)
    cache.put("first", "m", 1, first)
    cache.put("second", "m", 1, second)
    assert (len(cache), cache.graphs) == (2, 0)
    for _ in range(2):
        answers(second, local, np.ones((4, 8)))
    assert cache.graphs == 1
    assert cache.get("second", "m", 1, lambda: first) is second  # grew: the other makes room
    assert (len(cache), cache.graphs) == (1, 1)
    assert cache.peek("first", "m", 1) is None
    cache.drop("second", "m")
    assert (len(cache), cache.bytes, cache.graphs) == (0, 0, 0)


@pytest.mark.fact_of_the_cpu("no graphs")
def test_nothing_is_captured_on_the_cpu(package, keys, tmp_path, local):
    (tmp_path / "keys").write_bytes(keys)
    own = Loader(DeviceOptions("cpu", 1), 8).load(package, "Hemera", {"keys": tmp_path / "keys"})
    for _ in range(3):
        answers(own, local, np.ones((1, 8)))
    assert own.graphs == 0


@pytest.mark.skipif(not GPUS, reason="there is no GPU")
def test_a_server_on_a_gpu_captures(home):
    """Requests of several sizes, of two clients from several threads: each answer is right, by graphs and
    without, and graphs end with their keys."""
    tokens = {name: home.clients.add(name) for name in ("alice", "bob")}
    with serving(home, device=GPUS[0]) as server:
        clients = [client_of(server.url, token) for token in tokens.values()]
        before = 0.0

        def ask(at):
            rows = np.random.default_rng(at).uniform(-1, 1, (1 + at % 3, 8))
            require_scores(clients[at % 2], rows)

        for at in range(12):
            ask(at)
            if at == 1:  # once each: keys, and nothing captured
                assert server.metric("hemera_captured_graphs") == 0
                before = server.metric("hemera_loaded_key_bytes")
        assert server.metric("hemera_captured_graphs") >= 2
        assert server.metric("hemera_loaded_key_bytes") > before
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(200), timeout=BOUND))
        for client in clients:
            client.remove_keys("scores")
            client.close()
        assert server.metric("hemera_captured_graphs") == 0
        assert server.metric("hemera_loaded_key_bytes") == 0
    with serving(home, device=GPUS[0], graphs=0) as server, client_of(server.url, tokens["bob"]) as client:
        for _ in range(3):
            require_scores(client)
        assert server.metric("hemera_captured_graphs") == 0


@pytest.mark.skipif(not GPUS, reason="there is no GPU")
def test_a_graph_tells_its_memory():
    ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=8), GPUS[0])
    secret = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(secret))
    x = ev.encrypt(np.ones((4, 8)))
    graph = ev.capture(lambda a: a * a, x)
    assert graph.is_recorded
    assert graph.memory_bytes > 2 * x._native.memory_bytes  # the input, and the product at the least
