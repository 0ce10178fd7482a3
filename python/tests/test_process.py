"""Values, locks and counters of one process, in children of fork()."""

import os
import threading
import time

from hemera._process import Lock, OfProcess, Process, cached_property

from .beside import together
from .forked import SECONDS, in_child, taken_elsewhere


def _enter(lock):
    with lock:
        return "entered"


def test_a_lock_that_another_thread_holds_is_free_in_a_child_and_in_its_children():
    lock = Lock()
    end = taken_elsewhere(lock)
    try:
        assert in_child(lambda: [_enter(lock), in_child(lambda: _enter(lock))]) == repr(
            ["entered", repr("entered")]
        )
    finally:
        end()
    assert _enter(lock) == "entered"


def test_a_lock_keeps_threads_of_a_child_apart():
    lock = Lock()

    def most_inside():
        inside, most = 0, 0

        def work():
            nonlocal inside, most
            for _ in range(200):
                with lock:
                    inside += 1
                    most = max(most, inside)
                    threading.Event().wait(1e-5)
                    inside -= 1

        together(*[work] * 4)
        return most

    end = taken_elsewhere(lock)
    try:
        assert in_child(most_inside) == "1"
    finally:
        end()
    assert most_inside() == 1


def test_a_child_that_is_forked_within_a_lock_leaves_and_takes_it():
    lock = Lock()
    reading, writing = os.pipe()
    with lock:
        pid = os.fork()
    if pid == 0:
        os.write(writing, _enter(lock).encode())
        os._exit(0)
    assert (os.read(reading, 100), os.waitpid(pid, 0)[1]) == (b"entered", 0)
    assert _enter(lock) == "entered"


def test_a_value_of_a_process_is_made_anew_in_a_child_once():
    made = []

    def make():
        made.append(os.getpid())
        return [os.getpid()]

    value = OfProcess(make)
    own = value.value
    assert value.value is own
    assert own == made == [os.getpid()]
    assert in_child(lambda: [value.value == [os.getpid()], value.value is value.value, len(made)]) == (
        "[True, True, 2]"
    )
    assert value.value is own


def test_a_process_knows_itself():
    here = Process()
    assert here.is_this
    assert in_child(lambda: (here.is_this, Process().is_this)) == "(False, True)"
    assert here.is_this


def test_a_cached_property_holds_up_no_child_while_a_thread_computes_it():
    begun, done = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, wait):
            self.wait = wait

        @cached_property
        def value(self):
            """What it is."""
            begun.set()
            return [1] if not self.wait or done.wait(SECONDS) else []

    slow, quick = Slow(True), Slow(False)
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert begun.wait(SECONDS)
    assert in_child(lambda: quick.value) == "[1]"
    done.set()
    thread.join()
    assert slow.value is slow.value
    assert (slow.value, Slow.value.__doc__) == ([1], "What it is.")


def test_threads_that_compute_a_cached_property_together_get_one_value():
    barrier = threading.Barrier(4, timeout=SECONDS)

    class Shared:
        @cached_property
        def value(self):
            barrier.wait()  # all of them are in here before one is done
            return []

    shared, found = Shared(), list[list[int]]()
    together(*[lambda: found.append(shared.value)] * 4)
    assert [each is shared.value for each in found] == [True] * 4


def test_a_value_is_made_once_by_threads_that_ask_together():
    made = []

    def make():
        time.sleep(0.05)
        made.append(1)
        return [len(made)]

    value = OfProcess(make)

    def ask():
        found = []
        together(*[lambda: found.append(value.value)] * 4)
        return len(made), len({id(each) for each in found})

    assert (ask(), in_child(ask)) == ((1, 1), "(2, 1)")


def test_a_child_is_not_held_up_by_a_value_that_a_thread_makes_as_it_is_forked():
    begun, done = threading.Event(), threading.Event()

    def slowly():
        if not first:
            begun.set()
            done.wait(SECONDS)
        return 1

    first = [True]
    slow, quick = OfProcess(slowly), OfProcess(os.getpid)
    first.clear()

    def child():
        thread = threading.Thread(target=lambda: slow.value)
        thread.start()
        assert begun.wait(SECONDS)
        try:
            return in_child(lambda: quick.value == os.getpid())
        finally:
            done.set()
            thread.join()

    assert in_child(child) == repr("True")


def test_a_value_that_is_let_go_is_made_anew_once():
    value = OfProcess(list[int])
    first = value.value
    value.renew(first)
    second = value.value
    assert second is not first
    value.renew(first)  # which another thread has let go already
    assert value.value is second
