"""What a client does not take from a server, and what a server does not learn from a client.

The servers here are a few lines each: they answer whatever the test wants.
"""

import hashlib
import http.server
import json
import multiprocessing
import pickle
import warnings
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import hemera as hm
from hemera import errors
from hemera.client.client import Client
from hemera.package.local_model import LocalModel
from hemera.program.keys import KeyList
from hemera.serving import InputSpec, Interface, OutputSpec, export

from ..beside import answering
from ..refusals import raises, refuse_each
from .conftest import BOUND, client_of, require_scores

EVALUATIONS = 2


class Scripted:
    """A server of one model whose answers are scripted, and what it has seen."""

    def __init__(self, told, answer):
        self.told = told
        self.answer = answer
        self.seen = []
        """Method and length of each request that came."""
        self.digest = None
        self.url = ""

    @property
    def methods(self):
        return " ".join(method for method, _ in self.seen)


@contextmanager
def scripted(told, answer):
    script = Scripted(told, answer)

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def _send(self, status, body, **headers):
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _body(self):
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            script.seen.append((self.command, len(body)))
            return body

        def do_GET(self):
            if "/keys/" in self.path:
                self._send(200, b'{"bytes": 0}')
            elif not self.path.endswith("/keys"):
                self._send(200, json.dumps(script.told).encode())
            elif script.digest is None:
                self._send(404, b'{"error": {"code": "no_keys", "message": "there are none"}}')
            else:
                self._send(200, json.dumps({"digest": script.digest}).encode())

        def do_PUT(self):
            self._body()
            self._send(201, b"{}")

        def do_POST(self):
            body, headers = script.answer(self._body())
            self._send(200, body, **{"Content-Type": "application/octet-stream", **headers})

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with answering(server) as script.url:
        yield script


def echo(body):
    return body, {}


def told_of(params, level=None, **keys):
    spec = InputSpec("x", 8, slots=8, level=level)
    told = Interface("m", "", params, (spec,), (OutputSpec("y", 8, (), "values"),), KeyList(**keys), 1)
    return told.describe()


def weak_params():
    """log2(QP) of 250 at N = 2^10, where the table of 2024/463 allows 26."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hm.ckks.Parameters.from_bits(
            degree=1024, prime_bits=[50] * 4, special_bits=[50], scale_bits=40, security=None
        )


@pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
@pytest.mark.parametrize("claims", ["below 128", ">=256"])
def test_weak_parameters_of_a_server_are_refused_before_anything_is_sent(claims):
    told = {**told_of(weak_params()), "security": claims}
    with scripted(told, echo) as server:
        with hm.Client(server.url, token="x") as client:
            for ask in (
                lambda: client.predict("m", np.zeros(8)),
                lambda: client.upload_keys("m"),
                lambda: client.local("m"),
            ):
                raises(errors.SecurityError, r"below 128.*security=None", ask)
        assert server.seen == []
        raises(errors.SecurityError, "", LocalModel, Interface.from_dict(told))
        with hm.Client(server.url, token="x", security=None) as client:
            np.testing.assert_allclose(client.predict("m", np.arange(8) / 8), np.arange(8) / 8, atol=1e-6)
        assert server.methods == "PUT POST"
    raises(errors.ParameterError, "128, 192, 256", hm.Client, "http://127.0.0.1:1", token="x", security=100)


def test_bits_of_security_are_those_that_are_asked_for():
    params = hm.ckks.Parameters.for_circuit(depth=1, scale_bits=30, slots=8)  # 128 bits, and not 256
    with scripted(told_of(params), echo) as server:
        for bits in (128, 256):
            with hm.Client(server.url, token="x", security=bits) as client:
                if bits <= params.security_bits:
                    client.predict("m", np.zeros(8))
                else:
                    with pytest.raises(errors.SecurityError, match=f"the {bits} bits asked for"):
                        client.predict("m", np.zeros(8))
    assert params.security_bits < 256


@pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
def test_the_table_of_2018_is_not_enough():
    # 2024/463 has 26 bits at N = 2^10, the standard of 2018 has 27.
    params = hm.bfv.Parameters(
        degree=1024, primes=[ntt_prime(27)], special_primes=[], plain_modulus=12289, security=None
    )
    assert params.security == ">=128 (2018 table)"
    raises(errors.SecurityError, "2018", LocalModel, Interface.from_dict(told_of(params)))


def ntt_prime(bits):
    """The largest prime below 2^bits that is 1 modulo 2^11."""
    found = (1 << bits) - (1 << 11) + 1
    while pow(2, found - 1, found) != 1 or any(found % d == 0 for d in range(3, 20000, 2)):
        found -= 1 << 11
    return found


def test_levels_of_circuits_are_no_way_around():
    """The parameters' class is of the users' levels: inputs and keys of higher ones have larger moduli, which
    a server may choose as well."""
    bits = [20.0, 200.0]
    params = SimpleNamespace(security=">=128", log_modulus=26.0, level_bits=bits.__getitem__)
    interface = SimpleNamespace(name="m", params=params, inputs=[InputSpec("x", 8, level=1)])
    raises(errors.SecurityError, "an input at level 1", LocalModel, interface)
    local = LocalModel(Interface.from_dict(told_of(weak_params(), rotations={1: 2})), security=None)
    local._security = 128  # as if the parameters' own class had been enough
    raises(errors.SecurityError, "evaluation keys", local.generate_keys)


@pytest.fixture(scope="module", params=["bfv", "ckks"])
def increment(request):
    params = hm.bfv.Parameters.for_circuit(1) if request.param == "bfv" else None
    return export(lambda x: x + 1, inputs=[InputSpec("x", 16)], name="m", params=params)


def test_a_server_does_not_learn_whether_a_decryption_failed(increment):
    """It sees the same requests, whatever ciphertexts it sends back; the error of docs/security.md's oracle
    comes after the last one."""
    kind = int if increment.scheme == "bfv" else float
    told = {**increment.describe(), "limits": {"evaluations": EVALUATIONS}}
    own = hm.Context(increment.params)
    wrong = own.generate_secret_key()

    def chosen(body):
        x = own.load(body)
        return bytes(own.encrypt(np.ones((*x.shape, 16), kind), wrong)), {}

    rows = np.ones((3 * EVALUATIONS, 16), kind)
    seen = {}
    for name, answer in {"good": echo, "bad": chosen}.items():
        with scripted(told, answer) as server, hm.Client(server.url, token="x") as client:
            for _ in range(2):
                if name == "good":
                    np.testing.assert_allclose(client.predict("m", [rows])[:, :16], rows, atol=1e-6)
                else:
                    raises(errors.NoiseError, "", client.predict, "m", [rows])
            seen[name] = server.methods
    assert seen["good"] == seen["bad"] == "PUT" + " POST" * 6


def test_keys_of_another_client_are_noticed_before_decryption(server, home):
    """Two clients of one token without a folder: each sends its keys again when the other's are there."""
    token = home.clients.add("alice")
    rows = np.random.default_rng(3).uniform(-1, 1, (3, 8))
    with client_of(server.url, token) as one, client_of(server.url, token) as other:
        for client in (one, other, one, one, other):
            require_scores(client, rows)
    assert server.metric("hemera_key_uploads_total", status="201") == 4


def test_the_server_names_the_keys_that_it_computed_with(server, home, keys):
    token = home.clients.add("alice")
    with server.http(token) as http, client_of(server.url, token) as client:
        assert http.put("/v1/models/scores/keys", content=keys).status_code == 201
        local = client.local("scores")
        (body,) = local.encrypt(local.interface.encode(np.ones(8))).values()
        told = [http.post("/v1/models/scores/evaluate", content=body).headers["Hemera-Keys"]]
        # Loaded again from the disk.
        server.service.caches[0].drop_others("", "")
        told.append(http.post("/v1/models/scores/evaluate", content=body).headers["Hemera-Keys"])
    assert set(told) == {hashlib.sha256(b"4:keys" + keys).hexdigest()}


def _make(barrier, queue, told, folders):
    warnings.simplefilter("ignore")
    interface = Interface.from_dict(told)
    for folder in folders:
        barrier.wait(BOUND)
        queue.put((folder, bytes(LocalModel(interface, folder=folder, security=None).secret_key)))


def test_processes_with_one_new_folder_have_one_secret_key(package, tmp_path):
    spawn = multiprocessing.get_context("spawn")
    barrier, queue = spawn.Barrier(2), spawn.Queue()
    folders = [tmp_path / str(attempt) for attempt in range(2)]
    processes = [
        spawn.Process(target=_make, args=(barrier, queue, package.describe(), folders)) for _ in range(2)
    ]
    for process in processes:
        process.start()
    made = [queue.get(timeout=BOUND) for _ in range(2 * len(folders))]
    for process in processes:
        process.join(BOUND)
    for folder in folders:
        (kept,) = folder.glob("secret-*")
        assert kept.stat().st_mode & 0o077 == 0
        assert [key for where, key in made if where == folder] == 2 * [kept.read_bytes()]


def test_clients_are_not_pickled(local):
    client = Client("http://127.0.0.1:1", token="a", security=None)
    refuse_each(pickle.dumps, (client, local), TypeError, r"does not pickle: it holds a secret key.*folder=")
