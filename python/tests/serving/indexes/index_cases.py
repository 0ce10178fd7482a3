"""A server with one index, by hand and by its client."""

import contextlib
import threading

import numpy as np

import hemera as hm
from hemera import search

from ..conftest import BOUND

ROWS, DIMS = 300, 16
VECTORS = np.random.default_rng(7).integers(-128, 128, (ROWS, DIMS)).astype(np.int8)
KEYS, QUERY, PREPARE = (f"/v1/indexes/rows/{each}" for each in ("keys", "query", "prepare"))


def queries(count, seed=1):
    return np.random.default_rng(seed).integers(-127, 128, (count, DIMS))


def best(x, k):
    """Scores and rows of the largest inner products, by NumPy."""
    scores = x @ VECTORS.astype(np.int64).T
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1).tolist(), order.tolist()


def found(answer):
    return answer[0].tolist(), answer[1].tolist()


def client_of(server, token, **options):
    return hm.Client(server.url, token=token, seconds=BOUND, **options)


@contextlib.contextmanager
def held(server):
    """Within it the device is busy: requests wait."""
    go = threading.Event()
    running = server.service.scheduler.call(lambda: go.wait(BOUND))
    try:
        yield
    finally:
        go.set()
        running.result(BOUND)


def local(server, token):
    """The search's own client, for requests by hand: its keys are uploaded."""
    with server.http(token) as http:
        told = http.get("/v1/indexes/rows").json()
        made = search.Client(search.Settings.from_fields(told["settings"]))
        assert http.put(KEYS, content=made.keys).status_code == 201
    return made
