"""Forked children, daemon threads at the interpreter's end, and batches of more axes than arrays have."""

import numpy as np
import pytest

import hemera as hm

from .beside import printed
from .refusals import refuse

SETUP = """
import gc, os, threading, time
import numpy as np
import hemera as hm
p = hm.bfv.Parameters.from_bits(
    degree=1024, plain_modulus=12289, prime_bits=[40, 40, 40], special_bits=[45], security=None
)
ctx = hm.Context(p, "cpu", threads=2)
sk = ctx.generate_secret_key()
ev = ctx.bind(ctx.generate_keys(sk))
x = ev.encrypt(np.full((20, 1024), 3))
"""


@pytest.mark.parametrize(
    "child",
    [
        "del ctx, sk, ev, x; gc.collect()",
        "assert (ctx.decrypt(x * x, sk) == 9).all()",
        "assert (ctx.decrypt(ctx.encrypt([7, 8], sk), sk)[:2] == [7, 8]).all()",
    ],
)
@pytest.mark.parametrize("end", ["os._exit(0)", "raise SystemExit(0)"])
def test_a_child_uses_and_drops_contexts_of_its_parent(child, end):
    found = printed(f"""{SETUP}
pid = os.fork()
if pid == 0:
    {child}
    {end}
print("child", os.waitpid(pid, 0)[1], (ctx.decrypt(x * x, sk) == 9).all())
""")
    assert found == "child 0 True"


def test_a_child_multiplies_while_threads_of_its_parent_do():
    # The threads nearly always make what one makes at a time: a ring of a base whose last modulus is refused.
    program = """
from hemera.multiply import RingMultiplier
primes = hm.ckks.Parameters.for_circuit(depth=12, degree=1024, security=None).primes[-1]
multiplier = RingMultiplier("ntt", threads=1)
a = np.ones((1, 1024), dtype=np.uint64)
stop = False
def work():
    while not stop:
        try:
            multiplier.multiply(a, a, [*primes, 1])
        except hm.errors.ParameterError:
            pass
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
ends = []
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        import signal
        signal.alarm(5)
        multiplier.multiply(a, a, primes[:1])
        os._exit(0)
    ends.append(os.waitpid(pid, 0)[1])
    if ends[-1] != 0:
        break
stop = True
for thread in threads:
    thread.join()
print(ends)
"""
    assert printed(SETUP + program) == f"{[0] * 20}"


def test_daemon_threads_end_with_the_interpreter():
    program = """
def work():
    while True:
        x * x
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
print("end", flush=True)
"""
    assert printed(SETUP + program) == "end"


def test_batches_have_at_most_32_axes(party):
    x = party.ev.encrypt(party.values(2, 16)).reshape((1,) * 31 + (2,))
    assert party.decrypt(x).shape == (1,) * 31 + (2, 16)
    for make in (
        lambda: x.reshape((1,) * 32 + (2,)),
        lambda: x.reshape((1,) * 60 + (2,)),
        lambda: hm.stack([x, x]),
        lambda: x[None],
    ):
        refuse((make, hm.errors.ParameterError, "at most 32"))
    if int(np.__version__.split(".")[0]) >= 2:
        with pytest.raises(hm.errors.ParameterError, match="at most 32"):
            party.ev.encrypt(np.ones((1,) * 33 + (16,), int))
