"""One client's process in a load test: it sends a request over and over, and notes the times of answers.

It stands outside of `hemera_apps.bench`, so that such a process imports no more than it needs."""

from __future__ import annotations

import http.client
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import Connection


@dataclass(frozen=True)
class Job:
    """A client's request and its address."""

    host: str
    port: int
    path: str
    token: str
    body: bytes


@dataclass
class Measured:
    """The measurements over one connection."""

    began: float = 0.0
    ended: float = 0.0
    """Begin and end by the clock of `time.monotonic`, which all processes share."""
    seconds: list[float] = field(default_factory=list)
    """The seconds of each request."""
    batches: list[int] = field(default_factory=list)
    """The size of the batch that each request ran in."""
    answers: set[bytes] = field(default_factory=set)
    """All different answers."""
    refused: list[int] = field(default_factory=list)
    """Statuses other than 200."""


def work(job: Job, orders: Connection) -> None:
    """Take orders, pairs of a number of connections and seconds, until the other end closes. For each order,
    send requests for these seconds over each of these connections at once, and answer with a list of
    `Measured`."""
    try:
        while True:
            connections, seconds = orders.recv()
            with ThreadPoolExecutor(connections) as pool:
                asked = [pool.submit(_ask, job, seconds) for _ in range(connections)]
                orders.send([each.result() for each in asked])
    except EOFError:
        return


def _ask(job: Job, seconds: float) -> Measured:
    connection = http.client.HTTPConnection(job.host, job.port, timeout=600)
    connection.connect()
    try:
        return _ask_over(connection, job, seconds)
    finally:
        connection.close()


def _ask_over(connection: http.client.HTTPConnection, job: Job, seconds: float) -> Measured:
    headers = {"Authorization": f"Bearer {job.token}", "Content-Type": "application/octet-stream"}
    found = Measured(began=time.monotonic())
    while True:
        began = time.monotonic()
        connection.request("POST", job.path, job.body, headers)
        response = connection.getresponse()
        answer = response.read()
        found.ended = time.monotonic()
        found.seconds.append(found.ended - began)
        if response.status == 200:
            found.batches.append(int(response.headers["Hemera-Batch"]))
            found.answers.add(answer)
        else:
            found.refused.append(response.status)
        if found.ended >= found.began + seconds:
            return found
