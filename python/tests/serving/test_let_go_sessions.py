"""The memory of sessions that are let go is free at once, without Python's collector of cycles."""

import gc
import time
import weakref

import numpy as np
import pytest

import hemera as hm
from hemera import search
from hemera.interop import openfhe, seal
from hemera.objects.devices import DeviceOptions
from hemera.package.prepared import PreparedModel
from hemera.serving import export
from hemera.serving.home import Home
from hemera.serving.sessions import Loader

from ..interop.foreign_files import VECTORS as FILES
from ..interop.foreign_files import read
from .conftest import client_of, expected, require_scores, serving
from .indexes.index_cases import KEYS as INDEX_KEYS
from .indexes.index_cases import PREPARE, QUERY, VECTORS
from .replicas import ROWS
from .server_requests import EVALUATE, code, request_of


@pytest.fixture(autouse=True)
def no_collector():
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Watched:
    """Sessions and what they hold, weakly."""

    def __init__(self, *things):
        self._left = [
            (type(each).__name__, weakref.ref(each)) for each in things if hasattr(each, "__weakref__")
        ]

    @property
    def alive(self):
        return [name for name, each in self._left if each() is not None]


def soon(watched):
    """Whether nothing is alive within a second: answers are sent before the last thread lets go."""
    end = time.monotonic() + 1
    while watched.alive and time.monotonic() < end:
        time.sleep(0.002)
    return not watched.alive


def watch(session):
    held = [session]
    for name in ("_keys", "_evaluator", "_graphs", "_tickets"):
        held += [vars(session)[name]] if name in vars(session) else []
    if "_session" in vars(session):  # the context of another library's client is its own
        library = vars(session)["_session"]
        held += [vars(session)["_prepared"], library, library.context]
    return Watched(*held)


def of_seal(package_of):
    files = FILES / "seal" / "bfv"
    params = seal.Session(files / "parms.zstd.seal", device="cpu").params
    keys = {"context": "parms.zlib.seal", "relinearization": "relin_keys.seeded.seal"}
    return package_of(params), {n: (files / f).read_bytes() for n, f in keys.items()}, "ct_a.zlib.seal"


def of_openfhe(package_of):
    files = FILES / "openfhe" / "bfv"
    keys = {"context": (files / "cryptocontext.bin").read_bytes()}
    keys["relinearization"] = read(files / "eval_mult_key.bin")
    return package_of(openfhe.Session(keys["context"], device="cpu").params), keys, "ct_a.bin"


def squares_of(params):
    return export(lambda x: x * x + 1, inputs=params.degree, name="m", params=params)


def written(folder, files):
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return {name: folder / name for name in files}


@pytest.mark.parametrize("captures", [False, True])
@pytest.mark.fact_of_the_cpu("bytes of keys on the CPU")
def test_a_session_of_hemera(package, local, keys, tmp_path, captures, monkeypatch):
    monkeypatch.setattr(PreparedModel, "captures", captures)
    loader = Loader(DeviceOptions("cpu", 1), graphs=4)
    context = loader.prepare(package).context
    path = written(tmp_path, {"keys": keys})
    rows = np.random.default_rng(3).uniform(-1, 1, (5, 8))
    levels = []
    for _ in range(3):
        session = loader.load(package, "Hemera", path)
        for _ in range(3):
            inputs = session.load({"input": request_of(local, rows)})
            (outputs,) = session.run([inputs.values])
            found = local.decode(local.decrypt(session.dump(outputs, False)), False, len(rows))
            np.testing.assert_allclose(found, expected(rows), atol=1e-5)
        assert session.graphs == captures
        watched = watch(session)
        assert watched.alive[0] == "_OwnSession"
        used, own = context.memory_used, session.memory_bytes
        del session, inputs, outputs
        assert watched.alive == []
        levels.append(context.memory_used)
        assert used - levels[-1] >= own > len(keys) / 2
    assert len(set(levels)) == 1  # the weights, which the first one has encoded


@pytest.mark.parametrize("library", ["SEAL", "OpenFHE"])
def test_a_session_of_another_library(library, tmp_path):
    package, files, name = (of_seal if library == "SEAL" else of_openfhe)(squares_of)
    session = Loader(DeviceOptions("cpu", 1)).load(package, library, written(tmp_path, files))
    inputs = session.load({"input": read(FILES / library.lower() / "bfv" / name)})
    (outputs,) = session.run([inputs.values])
    assert session.dump(outputs, True)
    watched = watch(session)
    assert {"_ForeignSession", "Session", "PreparedModel"} <= set(watched.alive)
    del session, inputs, outputs
    assert watched.alive == []


def own(running, home, name):
    """A client whose keys the server has: its connection, token and side of the model."""
    token = home.clients.add(name)
    client = client_of(running.url, token)
    client.predict("scores", np.zeros((1, 8)))
    return client, token, client.local("scores")


def session_of(running, token, name="scores"):
    client = running.service.clients.of_token(token)
    assert client is not None
    generation = running.service.keys(client, name).generation
    found = running.service.caches[0].peek(client, name, generation)
    assert found is not None
    return found


def test_keys_that_make_room_for_others(home):
    """Under --max-loaded-keys; also after requests that were refused, whose errors have tracebacks."""
    rows = np.ones((2, 8))
    with serving(home, loaded_key_bytes=1) as running:
        alice, first, local = own(running, home, "alice")
        bob, second, _ = own(running, home, "bob")
        context, slots = local.context, local.interface.encode(rows)[0]
        other = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=8, security=None, degree=1024))
        bodies = {
            "mismatch": other.encrypt(slots, other.generate_secret_key()),  # refused when it is loaded
            "level": context.encrypt(context.encode(slots, level=0), local.secret_key),  # when it is computed
            "": context.encrypt(slots, local.secret_key),
        }
        with running.http(first) as http:
            for status, body in bodies.items():
                for times in (1, 2):  # the second time the session is there when the request comes
                    watched = [watch(session_of(running, second))]
                    for _ in range(times):
                        answer = http.post(EVALUATE, content=bytes(body))
                        assert code(answer) == (422, status) if status else answer.status_code == 200
                    watched.append(watch(session_of(running, first)))
                    require_scores(bob, rows)
                    assert [soon(each) for each in watched] == [True, True], status
        alice.close()
        bob.close()


def test_keys_that_were_replaced_or_removed(home):
    with serving(home, sweep_seconds=0.05) as running:
        for end in ("replaced", "removed", "removed at once", "of a client that was removed"):
            client, token, _ = own(running, home, "alice")
            if end == "removed at once":  # no request came after them
                client.remove_keys("scores")
                client.upload_keys("scores")
            watched = watch(session_of(running, token))
            assert watched.alive
            if end == "replaced":
                client._models["scores"].keys._uploaded = False
                client._models["scores"].keys._sent.clear()
                client.upload_keys("scores")
            elif end.startswith("removed"):
                client.remove_keys("scores")
            else:
                home.remove_client("alice")
            assert soon(watched)
            if end != "of a client that was removed":
                home.remove_client("alice")
            client.close()


def test_keys_for_an_index(tmp_path):
    search.Index(VECTORS, "dot", exact=True).save(tmp_path / "rows.index")
    home = Home(tmp_path / "home")
    home.add_index(tmp_path / "rows.index")
    tokens = [home.clients.add(each) for each in ("alice", "bob")]
    with serving(home, loaded_key_bytes=1) as running:
        watched = []
        for token in tokens:
            client = search.Client(next(iter(running.service.indexes.values()))._index.settings)
            with running.http(token) as http:
                assert http.put(INDEX_KEYS, content=client.keys).status_code == 201
                assert http.post(PREPARE, content=client.prepare(1)).status_code == 201
                assert http.post(QUERY, content=client.query(VECTORS[0])).status_code == 200
                query = client.query(VECTORS[0])
                assert http.post(QUERY, content=query[:-1]).status_code == 422
            watched.append(watch(session_of(running, token, "rows")))
        assert soon(watched[0])
        assert watched[1].alive


def test_keys_at_a_replica(bench):
    ours = bench(1, loaded_key_bytes=1)
    ours.start()
    cache = ours.ranch.fakes[0].replica._cache
    watched = []
    for name in ("alice", "bob", "alice"):
        if name not in ours.keys:
            ours.add(name)
        ours.check(ours.ask(name, ROWS), ROWS)
        session = cache.peek(ours.keys[name].digest, "scores", 0)
        assert session is not None
        watched.append(watch(session))
        del session
    for each in watched[:2]:
        assert soon(each)
    assert watched[2].alive


def test_requests_to_a_replica_are_let_go_with_their_answers(bench):
    """The dispatcher's and the replica's: the last holder of the answer frees it."""
    ours = bench(1)
    ours.start()
    ours.add("alice")
    replica = ours.ranch.fakes[0].replica
    watched = []
    submit = replica._scheduler.submit

    def seen(request):
        watched.append(Watched(request, request.answer))
        submit(request)

    replica._scheduler.submit = seen
    for _ in range(3):
        request = ours.ask("alice", ROWS)
        watched.append(Watched(request, request.answer))
        ours.check(request, ROWS)
        del request
    ours.ranch.fakes[0].asked.clear()  # the fake's own record of its calls
    assert len(watched) == 6
    for each in watched:
        assert soon(each), each.alive
    assert ours.dispatcher._counts == {}
