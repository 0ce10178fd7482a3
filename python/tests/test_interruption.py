"""Ctrl-C during long calls: it ends them, and what they worked on is whole."""

import threading

import pytest

from hemera import _core

from .beside import printed
from .refusals import refuse

# Every call would take many minutes: the program ends in time only if Ctrl-C ends the call.
SETUP = """
import os, signal, threading, time
import numpy as np
import hemera as hm
# A shell lets what it runs in the background ignore Ctrl-C, and this would be inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)
PARAMETERS
ctx = hm.Context(p, "cpu", threads=THREADS)
sk = ctx.generate_secret_key()
ev = ctx.bind(ctx.generate_keys(sk))
value = np.full((16, 8), 3)
x = ev.encrypt(value)
many = [x] * 200_000

def interrupted(work, signal_number=signal.SIGINT, expected=KeyboardInterrupt):
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal_number))
    timer.start()
    try:
        work()
    except expected:
        return True
    return False

def whole(y, expected):
    return np.allclose(ctx.decrypt(y, sk)[..., :8], expected, atol=1e-3)
"""

CKKS = "p = hm.ckks.Parameters.for_circuit(2, security=None)"
BFV = "p = hm.bfv.Parameters.for_circuit(2, plain_modulus=65537, security=None)"


def run(program, parameters=CKKS, threads=2):
    setup = SETUP.replace("PARAMETERS", parameters).replace("THREADS", str(threads))
    return printed(setup + program, seconds=120)


ADD_MANY = "ev._native.add_many([y._native for y in many])"
DOT = "ev._native.dot([y._native for y in many], [y._native for y in many])"


# Every two of work, threads and scheme meet.
@pytest.mark.parametrize(
    ("work", "threads", "parameters"),
    [(ADD_MANY, 1, CKKS), (ADD_MANY, 2, BFV), (DOT, 1, BFV), (DOT, 2, CKKS)],
    ids=["sums-1-ckks", "sums-2-bfv", "products-1-bfv", "products-2-ckks"],
)
def test_ctrl_c_ends_a_call_in_its_middle(work, threads, parameters):
    assert (
        run(
            f"""
print(interrupted(lambda: {work}), whole(x, 3), whole(x * x, 9))
""",
            parameters,
            threads,
        )
        == "True True True"
    )


def test_a_change_in_place_is_done_or_not():
    """Ctrl-C comes somewhere in a row of changes: their number decides the value."""
    found = run("""
for attempt in range(6):
    y = hm.stack([x] * 40)
    count = 0
    def work():
        global count
        while True:
            ev.add(y, 1, out=y)
            count += 1
    assert interrupted(work)
    assert whole(y, 3 + count) or whole(y, 4 + count)
print("whole")
""")
    assert found == "whole"


def test_any_signal_handler_runs():
    """What it raises ends the call; where it raises nothing, the call goes on."""
    found = run("""
class Late(Exception):
    pass
def late(*_):
    raise Late
seen = []
signal.signal(signal.SIGUSR1, late)
def go_on(*_):
    seen.append(1)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
signal.signal(signal.SIGUSR2, go_on)
work = lambda: ev._native.add_many([y._native for y in many])
print(interrupted(work, signal.SIGUSR2, Late), seen, whole(x * x, 9))
""")
    assert found == "True [1] True"


def test_other_threads_are_not_interrupted():
    """Ctrl-C is for the main thread, as everywhere in Python."""
    found = run("""
done = []
def work():
    for _ in range(20):
        ev._native.add_many([y._native for y in many[:100]])
    done.append(1)
other = threading.Thread(target=work)
other.start()
print(interrupted(lambda: ev._native.add_many([y._native for y in many])))
other.join()
print(done)
""")
    assert found == "True\n[1]"


def test_a_request_ends_the_work_that_it_is_for():
    """And not the thread's next work, where the first one ended before it could be ended."""
    found = []
    held, entered = threading.Lock(), threading.Event()
    held.acquire()
    late, never = _core.Interruption(), _core.Interruption()

    def acquire():
        entered.set()
        late.run(held.acquire)  # returns without an instruction of Python's
        found.append(sum(range(1000)))
        try:
            never.run(lambda: [None for _ in iter(int, 1)])
        except KeyboardInterrupt:
            found.append("ended")

    thread = threading.Thread(target=acquire)
    thread.start()
    entered.wait()
    while not held.locked():
        pass
    late.request()
    held.release()
    while not found:
        pass
    never.request()
    thread.join()
    assert found == [499500, "ended"]
    refuse((lambda: late.run(lambda: found.append("never")), KeyboardInterrupt, None))
    assert len(found) == 2
    assert _core.Interruption().run(lambda: 7) == 7
    refuse((lambda: _core.Interruption().run(lambda: 1 // 0), ZeroDivisionError, None))
