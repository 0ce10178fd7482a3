"""A server under load: requests a second and their times, by the number of clients at once."""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import hemera
from hemera import _machine, _options, ckks
from hemera.circuits import approximate
from hemera.client.client import Client
from hemera.errors import DeviceError, ParameterError, SecurityWarning
from hemera.package.local_model import LocalModel
from hemera.serving import InputSpec, Package, export
from hemera.serving.clients import Clients
from hemera_apps._figures import new_figure, save_figure
from hemera_apps._progress import StageProgress
from hemera_apps._serve_client import Job, Measured, work
from hemera_apps.bench.report import table_of

MODELS = ("linear", "network", "deep")
DEFAULT_MODELS = MODELS[:2]
CLIENTS = [1, 2, 4, 8, 16]
CONNECTIONS = [1, 4]
_TOLERANCE = 1e-3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    parser.add_argument(
        "--model",
        choices=MODELS,
        action="append",
        help="three scores of 64 values (linear), two layers with tanh (network), or eight with squares and "
        "bootstraps (deep, which keeps a GPU busy); default: the first two",
    )
    parser.add_argument(
        "--clients",
        type=_options.integers,
        default=CLIENTS,
        help="at once, each with its own keys (default 1,2,4,8,16)",
    )
    parser.add_argument(
        "--connections",
        type=_options.integers,
        default=CONNECTIONS,
        help="of each client, which sends a request on each, one after the other (default 1,4)",
    )
    _options.add_seconds(parser, 5.0, "to measure each number")
    parser.add_argument("--max-graphs", type=int, default=8, metavar="N", help="of the server (default 8)")
    parser.add_argument("--ray", metavar="ADDRESS", nargs="?", const="local", help="of `hemera serve`")
    parser.add_argument("--replicas", metavar="N", type=_options.positive, help="of `hemera serve --ray`")
    _options.add_small(parser, "small rings")
    _options.add_json(parser, instead=True)
    _options.add_plot(parser, "throughput and latency")
    _options.add_machine(parser)


def run(options: argparse.Namespace) -> int:
    """Run the suite; 1 if any answer was wrong or missing."""
    for name, numbers in (("clients", options.clients), ("connections", options.connections)):
        if not numbers or min(numbers) < 1 or max(numbers) > 256:
            raise ParameterError(f"--{name} takes numbers from 1 to 256")
    chosen = options.model or DEFAULT_MODELS
    rows = []
    cases = len(options.clients) * len(options.connections)
    with StageProgress(len(chosen) * (1 + cases)) as progress:
        for name in chosen:
            rows += list(_measure(workload(name, options.small), options, progress))
    machine = _machine.describe(options.threads)
    if options.json:
        _options.write_json(options.json, {**machine, "gpus": _machine.gpus(), "rows": rows})
    else:
        Console().print(_table(rows))
    if options.plot_file:
        _plot(options.plot_file, rows)
    return 0 if all(row["checked"] for row in rows) else 1


@dataclass(frozen=True)
class Workload:
    """A model and the values that its clients send."""

    package: Package
    values: NDArray[np.float64]


def workload(name: str, small: bool) -> Workload:
    """The model of a name: see `add_arguments`; `small`: with a ring that is not secure."""
    if name == "deep":
        return _deep(small)
    random = np.random.default_rng(15)
    width, layer = (8, 8) if small else (64, 64)
    depth = 2 if name == "linear" else 7
    own: dict[str, Any] = {"security": None, "degree": 1024} if small else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        params = ckks.Parameters.for_circuit(depth=depth, scale_bits=40, slots=width, **own)
        first = random.normal(size=(width, layer)) / np.sqrt(width)
        second = random.normal(size=(layer, 3)) / np.sqrt(layer)
        tanh = approximate(np.tanh, (-6, 6), 15)

        def linear(x: Any) -> Any:
            return x @ first[:, :3] + 0.5

        def network(x: Any) -> Any:
            return tanh(x @ first) @ second

        package = export(
            linear if name == "linear" else network,
            inputs=InputSpec("x", width, width),
            name=name,
            params=params,
            outputs={"output": 3},
        )
    return Workload(package, random.uniform(-1, 1, width))


def _deep(small: bool) -> Workload:
    """Means of pairs and their squares, eight times."""
    random = np.random.default_rng(15)
    width = 8 if small else 64
    layers = [
        (np.eye(width)[random.permutation(width)] + np.eye(width)[random.permutation(width)]) / 2
        for _ in range(2 if small else 8)
    ]

    def deep(x: Any) -> Any:
        for layer in layers:
            x = layer @ x
            x = 0.9 * x - 0.1 * x * x
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        params = (
            ckks.Parameters.for_bootstrapping("test-40", levels=4, degree=2048)
            if small
            else ckks.Parameters.for_bootstrapping("n15-36")
        )
        plan = hemera.compile(
            deep, hemera.ArraySpec((width,), range=(-1, 1)), precision_bits=10, params=params
        )
    return Workload(plan.package, random.uniform(-1, 1, width))


def _measure(
    workload: Workload, options: argparse.Namespace, progress: StageProgress
) -> Iterator[dict[str, Any]]:
    package = workload.package
    progress(f"{package.name}: keys of {max(options.clients)} clients")
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        package.save(home / "model")
        add_model(home / "home", home / "model")
        url, _ = stack.enter_context(server(home / "home", options))
        crowd = stack.enter_context(Crowd(workload, url, home / "home", max(options.clients)))
        for connections, clients in itertools.product(options.connections, options.clients):
            progress(f"{package.name}: {clients} clients, {connections} connections each")
            crowd.run(clients, connections, 0.0)  # loads the keys of each
            before = _metrics(url, package.name)
            found = crowd.run(clients, connections, options.seconds)
            after = _metrics(url, package.name)
            yield {
                "model": package.name,
                "n": package.params.degree,
                "log_modulus": round(package.params.log_modulus, 1),
                "security": package.params.security,
                "device": crowd.device,
                "clients": clients,
                "connections": connections,
                "max_graphs": options.max_graphs,
                **({} if options.ray is None else {"replicas": options.replicas}),
                **_summary(found, after - before),
                "request_bytes": len(crowd.jobs[0].body),
                "key_bytes": crowd.key_bytes,
                "checked": crowd.check(found),
            }


def _summary(clients: list[list[Measured]], computed: float) -> dict[str, Any]:
    found = [each for own in clients for each in own]
    seconds = np.array([seconds for each in found for seconds in each.seconds])
    elapsed = max(each.ended for each in found) - min(each.began for each in found)
    return {
        "requests": len(seconds),
        "seconds": round(elapsed, 3),
        "requests_per_second": round(len(seconds) / elapsed, 2),
        "median_ms": round(float(np.median(seconds)) * 1e3, 3),
        "p99_ms": round(float(np.percentile(seconds, 99)) * 1e3, 3),
        "longest_ms": round(float(seconds.max()) * 1e3, 3),
        "compute_ms": round(computed / len(seconds) * 1e3, 3),
        "mean_batch": round(float(np.mean([batch for each in found for batch in each.batches] or [0])), 2),
    }


class Crowd:
    """Clients in processes of their own, with their keys on the server."""

    def __init__(self, workload: Workload, url: str, home: Path, count: int) -> None:
        self._workload = workload
        self._clients: list[LocalModel] = []
        self.jobs: list[Job] = []
        self._expected = np.asarray(workload.package.evaluate_clear(workload.values))
        parts = urlsplit(url)
        name = workload.package.name
        for at in range(count):
            token = Clients(home / "clients").add(f"client{at}")
            with Client(
                url, token=token, security=None
            ) as client:  # the workloads name small rings on purpose
                client.upload_keys(name)
                local = client.local(name)
                arrays, _ = local.encode(workload.values)
                (body,) = local.encrypt(arrays).values()
            self._clients.append(local)
            path = f"/v1/models/{name}/evaluate"
            self.jobs.append(Job(parts.hostname or "", parts.port or 0, path, token, body))
        self.device = str(_json(f"{url}/health", token)["device"])
        self.key_bytes = int(_json(f"{url}/v1/models/{name}/keys", token)["bytes"])

    def __enter__(self) -> Crowd:
        # Not forked: this process has threads, and may have a GPU.
        spawn = multiprocessing.get_context("spawn")
        self._processes = []
        self._orders: list[Connection] = []
        for job in self.jobs:
            here, there = spawn.Pipe()
            process = spawn.Process(target=work, args=(job, there), daemon=True)
            process.start()
            there.close()
            self._orders.append(here)
            self._processes.append(process)
        return self

    def __exit__(self, *_: object) -> None:
        for orders in self._orders:
            orders.close()
        for process in self._processes:
            process.join(60)

    def run(self, clients: int, connections: int, seconds: float) -> list[list[Measured]]:
        """Let the first `clients` clients send requests for `seconds`, at least one on each connection. By
        client: the measurements on each connection."""
        for orders in self._orders[:clients]:
            orders.send((connections, seconds))
        return [orders.recv() for orders in self._orders[:clients]]

    def check(self, found: list[list[Measured]]) -> bool:
        """Whether each answer came, and is right."""
        for own, local in zip(found, self._clients, strict=False):
            if any(each.refused or not each.answers for each in own):
                return False
            for answer in set[bytes]().union(*(each.answers for each in own)):
                values = local.decode(local.decrypt({"output": answer}), True, None)
                if not np.abs(values - self._expected).max() <= _TOLERANCE:
                    return False
        return True


def add_model(home: Path, model: Path) -> None:
    """Add a packaged model to a server's folder."""
    words = [sys.executable, "-W", "ignore", "-m", "hemera", "serve", str(home), "--add-model", str(model)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise ParameterError(done.stderr.strip())


@contextmanager
def server(home: Path, options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Run `hemera serve` in a process of its own. Yields its address and the process's number."""
    words = [sys.executable, "-W", "ignore", "-m", "hemera", "serve", str(home), "--port", "0"]
    words += ["--device", options.device, "--max-loaded-keys", "64GiB"]
    words += ["--max-graphs", str(options.max_graphs)]
    if options.threads:
        words += ["--threads", str(options.threads)]
    if options.ray is not None:
        words += ["--ray", options.ray]
        words += ["--replicas", str(options.replicas)] if options.replicas else []
    log = home.parent / "log"
    with log.open("wb") as sink, subprocess.Popen(words, stderr=sink, env=dict(os.environ)) as process:
        try:
            yield _address(process, log), process.pid
        finally:
            process.terminate()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    while True:
        ended = process.poll() is not None
        told = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
        ports = [each["port"] for each in told if each["event"] == "listening"]
        if ports and any(each["event"] == "ready" for each in told):
            return f"http://127.0.0.1:{ports[0]}"
        if ended:
            raise DeviceError(f"the server did not start: {log.read_text()[-2000:]}")
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue


def _json(url: str, token: str) -> dict[str, Any]:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as response:
        told: dict[str, Any] = json.load(response)
        return told


def _metrics(url: str, model: str) -> float:
    """The seconds of computation of the model's batches so far."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as response:
        for line in response.read().decode().splitlines():
            if line.startswith(f'hemera_batch_seconds_sum{{model="{model}"}} '):
                return float(line.rpartition(" ")[2])
    return 0.0


def _table(rows: list[dict[str, Any]]) -> Table:
    numbers = {
        "clients": "{clients}",
        "connections": "{connections}",
        "requests/s": "{requests_per_second:.1f}",
        "median ms": "{median_ms:.1f}",
        "99 % ms": "{p99_ms:.1f}",
        "mean batch": "{mean_batch:.1f}",
        "computing ms": "{compute_ms:.2f}",
    }
    return table_of(
        "Requests on loopback", rows, {"model": "{model}", "N": "{n}", "device": "{device}"}, numbers
    )


def _plot(path: str, rows: list[dict[str, Any]]) -> None:
    figure = new_figure(10, 4)
    throughput, latency = figure.subplots(1, 2)
    for model, connections in dict.fromkeys((row["model"], row["connections"]) for row in rows):
        own = [row for row in rows if (row["model"], row["connections"]) == (model, connections)]
        name = f"{model}, {connections} connections each"
        clients = [row["clients"] for row in own]
        throughput.plot(clients, [row["requests_per_second"] for row in own], "o-", label=name)
        (line,) = latency.plot(clients, [row["median_ms"] for row in own], "o-", label=f"{name}, median")
        latency.plot(
            clients, [row["p99_ms"] for row in own], "o--", color=line.get_color(), label=f"{name}, 99 %"
        )
    for axis, title in ((throughput, "requests a second"), (latency, "milliseconds a request")):
        axis.set_xscale("log", base=2)
        axis.set_xlabel("clients at once")
        axis.set_title(title)
        axis.grid(True, alpha=0.3)
        axis.legend(fontsize=7)
    save_figure(figure, path)
