"""Errors of members, threads that use a pool, and the ends of pools and calls."""

import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hemera as hm
from hemera.circuits import sigmoid

from ..beside import printed
from ..conftest import make_params
from ..refusals import raises
from .setting import SLOTS, make


def test_an_error_of_a_member_comes_with_its_type(ckks):
    a = ckks.values(4)
    x = ckks.ev.encrypt(a)

    class OwnError(Exception):
        pass

    def fails(evaluator, part):
        if evaluator is ckks.ev.evaluators[1]:
            raise OwnError("of the second member")
        return part

    raises(OwnError, "second member", ckks.ev.map, fails, x)
    raises(hm.errors.LevelError, "", x.at_level, 7)
    raises(hm.errors.MismatchError, "values", lambda: x * np.ones((4, 3)))
    raises(hm.errors.MissingKeyError, "", ckks.pool._keyless.rotate, x, 1)
    table = pytest.importorskip("pandas").DataFrame(a)
    raises(TypeError, "a table is no array", ckks.ev.encrypt, table)
    raises(hm.errors.ParameterError, "", ckks.ev.encrypt, np.full((4, SLOTS), np.nan))
    raises(TypeError, "", ckks.ev.add, 3, x)
    raises(AttributeError, "no attribute 'decrypt'", getattr, ckks.ev, "decrypt")
    ckks.check(x + 1, a + 1)  # and the pool goes on


def test_the_first_error_in_order_is_raised_and_the_rest_is_left_out():
    calls = []

    def fails(_, rows):
        calls.append(float(rows[0, 0]))
        time.sleep(0.01)
        if rows[0, 0] >= 2:
            raise ValueError(f"row {rows[0, 0]:.0f}")
        return rows

    with hm.Pool(make_params("ckks"), "cpu", threads=1) as pool:
        raises(ValueError, "row 2", pool.map, fails, np.arange(1000.0).reshape(1000, 1), batch=1)
        assert len(calls) < 900
    together = threading.Barrier(2, timeout=60)

    def both_fail(_, rows):
        together.wait()
        if rows[0, 0] == 0:
            time.sleep(0.05)  # later, and yet first in order
        raise ValueError(f"row {rows[0, 0]:.0f}")

    with (
        hm.Pool(make_params("ckks"), ["cpu", "cpu"], threads=1) as pool,
        pytest.raises(ValueError, match="row 0"),
    ):
        pool.map(both_fail, np.arange(2.0).reshape(2, 1))


def test_a_function_of_a_member_can_not_call_its_pool(ckks):
    x = ckks.ev.encrypt(ckks.values(2))
    raises(hm.errors.ParameterError, "would wait", ckks.ev.map, lambda *_: x + 1, x)
    raises(hm.errors.ParameterError, "would wait", ckks.pool.map, lambda *_: ckks.pool.close(), x)
    ckks.check(x, ckks.values(2))


def test_threads_from_outside_use_one_pool_at_once(any_scheme):
    def work(seed):
        a = any_scheme.values(1 + seed % 5, seed=seed)
        x = any_scheme.ev.encrypt(a)
        any_scheme.check((x * x + x)[::-1], (a * a + a)[::-1])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(16)))


def test_what_the_caller_knows_counts_on_members(ckks):
    from hemera._noise_warning import ranges_are_known

    f = sigmoid((-2, 2), bits=5)
    x = ckks.ev.encrypt(ckks.values(3))
    with pytest.warns(hm.errors.RangeWarning) as given:
        f(x)
    assert [warning.filename for warning in given] == [__file__]  # once, and at the user's line
    with warnings.catch_warnings(), ranges_are_known():
        warnings.simplefilter("error")
        f(x)


def test_closing():
    setting = make("bfv", 2)
    a = setting.values(4)
    x = setting.ev.encrypt(a)
    started = threading.Event()

    def slow(_, part):
        started.set()
        time.sleep(0.3)
        return part + 1

    with ThreadPoolExecutor(1) as other:
        pending = other.submit(setting.ev.map, slow, x)
        started.wait()
        threads_before = {thread.name for thread in threading.enumerate()}
        assert any(name.startswith("hemera-cpu") for name in threads_before)
        setting.pool.close()
        result = pending.result()  # what had been given ends
    setting.pool.close()
    for call in (
        lambda: x + 1,
        lambda: setting.ev.encrypt(a),
        lambda: bytes(x),
        lambda: setting.pool.map(slow, x),
    ):
        raises(hm.errors.DeviceError, "closed", call)
    found = [part.context.decrypt(part, setting.sk.to(part.context)) for part in result.parts]
    np.testing.assert_array_equal(np.concatenate(found), a + 1)


def test_a_pool_that_is_forgotten_ends_its_threads():
    import gc

    before = set(threading.enumerate())
    setting = make("bgv", 2)
    x = setting.ev.encrypt(setting.values(2))
    del setting
    assert len(set(threading.enumerate()) - before) >= 2
    del x
    gc.collect()
    deadline = time.monotonic() + 30
    while not before.issuperset(threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert before.issuperset(threading.enumerate())


PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import hemera as hm
signal.signal(signal.SIGINT, signal.default_int_handler)
params = hm.ckks.Parameters.for_circuit(2, security=None)
pool = hm.Pool(params, ["cpu", "cpu"], threads=1)
sk = pool.generate_secret_key()
ev = pool.bind(pool.generate_keys(sk))
value = np.full((4, 8), 3.0)
x = ev.encrypt(value)

def interrupted(work):
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        work()
    except KeyboardInterrupt:
        return True
    return False

def whole():
    return bool(np.allclose(pool.decrypt(x * x, sk)[..., :8], 9, atol=1e-3))
"""


def run_program(program):
    return printed(PROGRAM + program, seconds=120)


@pytest.mark.parametrize(
    "work",
    [
        "ev.add_many([x] * 200_000)",  # in a call of the core, for minutes
        "ev.map(lambda e, part: [e.add(part, 1) for _ in iter(int, 1)], x)",  # between many
        "ev.map(lambda e, part: e.add_many([part] * 200_000), x)",
    ],
)
def test_ctrl_c_ends_all_members(work):
    """The calls would take minutes, or for ever."""
    assert run_program(f"print(interrupted(lambda: {work}), whole())\n") == "True True"


def test_ctrl_c_ends_the_caller_s_work_alone():
    found = run_program("""
others = []
def work():
    for _ in range(30):
        others.append(ev.add_many([x] * 30))
thread = threading.Thread(target=work)
thread.start()
print(interrupted(lambda: ev.map(lambda e, part: [e.add(part, 1) for _ in iter(int, 1)], x)))
thread.join()
print(len(others), whole())
""")
    assert found == "True\n30 True"


def test_a_forked_child_is_refused_with_the_reason():
    found = run_program("""
sys.stdout.flush()
child = os.fork()
if child == 0:
    try:
        x + 1
    except hm.errors.DeviceError as error:
        print("forked" in str(error))
    pool.close()
    with hm.Pool(params, ["cpu", "cpu"], threads=1) as own:
        key = own.generate_secret_key()
        print(bool(np.allclose(own.decrypt(own.encrypt(value, key), key), 3)))
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
print(whole())
""")
    assert found == "True\nTrue\nTrue"


def test_a_program_may_end_with_an_open_pool():
    assert run_program("print(whole())\n") == "True"
