"""A small model and servers for it: in a thread of the tests, and in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import numpy as np
import pytest

import hemera as hm
from hemera.client.client import Client
from hemera.package.local_model import LocalModel
from hemera.serving import export
from hemera.serving.home import Home
from hemera.serving.server import Certificate, listen, make_server
from hemera.serving.service import Service
from hemera.serving.settings import Settings

from .warm import Warm

if TYPE_CHECKING:
    pass

WEIGHTS = np.random.default_rng(5).uniform(-1, 1, (8, 3))
BIAS = np.array([0.5, -0.25, 0.125])
ROWS = np.random.default_rng(3).uniform(-1, 1, (2, 8))
BOUND = 60.0
"""Seconds that anything here may take."""


def expected(rows):
    """What the model gives in the clear."""
    return np.asarray(rows @ WEIGHTS + BIAS)


def require_scores(client, rows=ROWS):
    """What the client predicts is right."""
    np.testing.assert_allclose(client.predict("scores", rows), expected(rows), atol=1e-6)


def wait_until(condition):
    """Until it holds; an error after the bound."""
    end = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < end, "what was waited for did not come"
        time.sleep(0.005)


@pytest.fixture(scope="session")
def package():
    """Three scores of eight features."""
    params = hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=8, security=None, degree=1024)

    def scores(x):
        return x @ WEIGHTS + BIAS

    return export(scores, inputs=8, name="scores", params=params, outputs={"output": 3})


@pytest.fixture(scope="session")
def local(package):
    """The side of one client of the model."""
    return LocalModel(package.interface, security=None)


@pytest.fixture(scope="session")
def keys(local):
    """The evaluation keys of that client."""
    return local.generate_keys()


@pytest.fixture
def home(tmp_path, package):
    """A server's folder with the model."""
    found = Home(tmp_path / "home")
    package.save(tmp_path / "scores.hemera-model")
    found.add_model(tmp_path / "scores.hemera-model")
    return found


class Running:
    """A server in a thread."""

    def __init__(self, service, url):
        self.service = service
        self.url = url

    def http(self, token):
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=BOUND, trust_env=False)

    def connect(self):
        host, _, port = self.url.removeprefix("http://").partition(":")
        return socket.create_connection((host, int(port)), timeout=BOUND)

    def metric(self, name, **labels):
        """A value of /metrics, 0 where it is not there."""
        inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
        line = f"{name}{{{inside}}} " if labels else f"{name} "
        told = httpx.get(self.url + "/metrics", trust_env=False, timeout=BOUND)
        for found in told.text.splitlines():
            if found.startswith(line):
                return float(found.rpartition(" ")[2])
        return 0.0


class _Often:
    """asyncio for uvicorn, which looks every 5 ms whether a server ends, not every 100."""

    def __getattr__(self, name):
        return getattr(asyncio, name)

    async def sleep(self, seconds):
        await asyncio.sleep(seconds / 20)


@contextmanager
def served(service, port=0, tls=None, spans=None):
    """The address of a server in a thread; with the files of a certificate and its key: by TLS."""
    listener = listen("127.0.0.1", port)
    server = make_server(service, listener, None if tls is None else Certificate(*map(Path, tls)), spans)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uvicorn.server.asyncio", _Often())
        patch.setitem(sys.modules, "uvloop", object())  # uvicorn would take it where it is installed
        thread.start()
        try:
            wait_until(lambda: server.started or not thread.is_alive())
            assert server.started
            yield f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(BOUND)
            listener.close()
            assert not thread.is_alive()


@contextmanager
def serving(home, *, port=0, clock=time.monotonic, tls=None, spans=None, **limits):
    """A server for the folder. Batches may take any time: what runs together is the same on any machine."""
    settings = Settings(**{"device": "cpu", "threads": 1, "batch_seconds": 300.0, **limits})
    service = Service(home, settings, clock=clock)
    with served(service, port, tls, spans) as url:
        yield Running(service, url)


class Rollout:
    """A server at one address whose models are replaced, with a restart, as docs/server.md has it."""

    def __init__(self, home):
        self.home = home
        self.running: Running
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._stack = ExitStack()

    def start(self, package):
        self.stop()
        self.home.add_model(package)
        self.running = self._stack.enter_context(serving(self.home, port=self.port))

    def stop(self):
        self._stack.close()


@contextmanager
def rollout(folder, first):
    home = Home(folder / "home")
    token = home.clients.add("alice")
    made = Rollout(home)
    made.start(first)
    with made._stack:  # which ends what runs
        yield made, token


@pytest.fixture
def server(home):
    """A server with the usual limits."""
    with serving(home) as running:
        yield running


@pytest.fixture
def bench(package, tmp_path):
    """Makes dispatchers of replicas in this process: see `Bench`."""
    from .replicas import Bench  # it imports this file

    made = []

    def make(count=2, limits=None, *, clients=(), **settings):
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Bench(package, folder, count, limits or {}, **settings))
        if clients:  # else the test starts it
            made[-1].start()
        for each in clients:
            made[-1].add(each)
        return made[-1]

    yield make
    for each in made:
        each.dispatcher.stop()


def make_certificate(certificate, key, *options):
    """For 127.0.0.1; by default with a key in the clear."""
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 1 -subj /CN=localhost"
    subprocess.run(
        [
            *("openssl", *words.split(), "-addext", "subjectAltName=IP:127.0.0.1"),
            *(*(options or ["-nodes"]), "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
        timeout=BOUND,
    )


@pytest.fixture(scope="session")
def tls(tmp_path_factory):
    """Files of a certificate and of its key."""
    if shutil.which("openssl") is None:
        pytest.skip("makes its certificate by the program openssl")
    folder = tmp_path_factory.mktemp("tls")
    make_certificate(folder / "certificate.pem", folder / "key.pem")
    return str(folder / "certificate.pem"), str(folder / "key.pem")


def _words(home, options):
    usual = [] if home is None else [str(home), "--port", "0", "--device", "cpu"]
    return [sys.executable, "-m", "hemera", "serve", *usual, *options]


class Process:
    """`hemera serve` as a process, or a program that serves."""

    def __init__(self, home, *options, program=None, environment=None, preexec=None, log=None):
        words = _words(home, options) if program is None else [sys.executable, "-c", program, str(home)]
        variables = {**os.environ, "PYTHONWARNINGS": "ignore", **(environment or {})}
        self._process: subprocess.Popen[str] | Warm
        if sys.platform == "linux" and program is preexec is None and "PYTHONPATH" not in (environment or {}):
            self._process = Warm(words[3:], variables)
        else:
            self._process = subprocess.Popen(
                words, stderr=subprocess.PIPE, text=True, env=variables, preexec_fn=preexec
            )
        self.pid = self._process.pid
        self.lines = []
        self._ready = queue.Queue()
        if log is not None:  # whose beginning alone is read
            wait_until(lambda: log.exists() and '"event": "ready"' in log.read_text())
            for line in log.read_text().splitlines():
                self._ready.put(json.loads(line))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        port = 0
        for _ in range(100):
            told = self._ready.get(timeout=BOUND)
            if told["event"] == "listening":
                port = told["port"]
            if told["event"] == "ready":
                break
            assert told["event"] != "ended", self.lines
        scheme = "https" if "--tls-certificate" in options else "http"
        self.url = f"{scheme}://127.0.0.1:{port}"

    def _read(self):
        assert self._process.stderr is not None
        for line in self._process.stderr:
            told = json.loads(line)  # each line is JSON
            self.lines.append(told)
            self._ready.put(told)
        self._ready.put({"event": "ended"})

    @staticmethod
    def refused(home, *options, environment):
        """The error of one that does not start."""
        told = subprocess.run(
            _words(home, options),
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            timeout=BOUND,
            env={**os.environ, **environment},
        )
        assert told.returncode == 1
        return told.stderr

    def signal(self, number):
        self._process.send_signal(number)

    def kill(self):
        """In the middle of whatever it does."""
        self._process.kill()
        self._process.wait(BOUND)
        self._reader.join(BOUND)

    def stop(self):
        """As an operator would: the exit status."""
        self._process.terminate()
        return self.wait()

    def wait(self, bound=BOUND):
        """For its end: the exit status."""
        status = self._process.wait(bound)
        self._reader.join(BOUND)
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self.kill()


def client_of(url, token, **options):
    """A client that takes the tests' small parameters."""
    return Client(url, token=token, seconds=BOUND, **{"security": None, **options})
