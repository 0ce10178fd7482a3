"""Clients that were made before a fork, in the children."""

import multiprocessing
import os
import warnings

import numpy as np
import pytest

import hemera as hm
from hemera.client.problems import ServerError
from hemera.package.sharing import Shown

from ..forked import in_child, taken_elsewhere
from .conftest import BOUND, client_of, expected, require_scores

ROUNDS, WORKERS = 8, 4


def ask(client, seed, answers):
    """The largest error of predictions of rows that only this worker has."""
    random = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(ROUNDS):
        rows = random.uniform(-1, 1, (1, 8))
        worst = max(worst, float(np.abs(client.predict("scores", rows) - expected(rows)).max()))
    answers.put(worst)


@pytest.mark.fact_of_the_cpu("children of fork() use contexts")
def test_workers_of_one_client_get_their_own_answers(server, home):
    forking = multiprocessing.get_context("fork")
    with client_of(server.url, home.clients.add("alice")) as client:
        client.predict("scores", np.zeros((1, 8)))  # opens a connection, and sends the keys
        answers = forking.SimpleQueue()
        workers = [forking.Process(target=ask, args=(client, seed, answers)) for seed in range(WORKERS)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            for each in workers:
                each.start()
        ask(client, WORKERS, answers)  # the parent goes on as well
        for each in workers:
            each.join(BOUND)
        assert [each.exitcode for each in workers] == [0] * WORKERS
        for _ in range(WORKERS + 1):
            assert answers.get() < 1e-4


@pytest.mark.fact_of_the_cpu("children of fork() use contexts")
def test_a_child_asks_while_threads_of_its_parent_hold_the_client(server, home):
    rows = np.random.default_rng(7).uniform(-1, 1, (3, 8))

    def error():
        return bool(np.abs(client.predict("scores", rows) - expected(rows)).max() < 1e-4)

    with client_of(server.url, home.clients.add("alice")) as client:
        assert error()
        for lock in (client._lock, client._models["scores"].keys._lock):
            end = taken_elsewhere(lock)
            try:
                assert in_child(error) == "True"
            finally:
                end()


def test_a_child_that_is_forked_within_a_request_leaves_it_to_its_parent(server, home):
    """A function of progress forks: the connection is in the middle of a body."""
    reading, writing = os.pipe()
    children = []

    def fork(what, done, _):
        if what == "upload" and done == 0 and not children:
            children.append(os.fork())
            if children[0]:
                os.waitpid(children[0], 0)

    with client_of(server.url, home.clients.add("alice"), progress=fork) as client:
        try:
            client.upload_keys("scores")
        except ServerError as error:
            os.write(writing, str(error).encode())
        finally:
            if not children[0]:
                os._exit(0)
        assert b"was forked" in os.read(reading, 1000)
        rows = np.ones((1, 8))
        require_scores(client, rows)
    os.close(reading)
    os.close(writing)


@pytest.fixture(scope="module")
def shared():
    """A program whose results may be shown, of small parameters: two of them under one key."""
    return hm.compile(lambda x: x * 2, hm.ArraySpec((4,), range=(0, 1)), share=True, shares=2)


def show(local, most):
    """How many results are shown before one is refused."""
    for count in range(most):
        try:
            found = local(np.full(4, 0.25))
        except hm.errors.SecurityError as error:
            return count, str(error)
        assert np.abs(np.asarray(found) - 0.5).max() < 0.1
    return most, ""


@pytest.mark.fact_of_the_cpu("children of fork() use contexts")
def test_children_show_no_result_of_a_key_whose_count_is_their_parents(shared):
    local = shared.local()
    assert show(local, 1) == (1, "")
    for _ in range(2):
        child = in_child(lambda: show(local, 3))
        assert child.startswith("(0, "), child
        assert "before the process was forked" in child
    # A key of its own has a count of its own.
    assert in_child(lambda: show(shared.local(), 3)[0]) == "2"
    count, why = show(local, 3)
    assert count == 1
    assert "2 results of this secret key were shown" in why


def test_children_of_one_folder_count_together(tmp_path):
    def add(shown):
        for count in range(4):
            try:
                shown.add(1, 5)
            except hm.errors.SecurityError:
                return count
        return 4

    shown = Shown(tmp_path / "shown.json")
    shown.add(1, 5)
    assert [in_child(lambda: add(shown)) for _ in range(2)] == ["4", "0"]
    assert add(shown) == 0
