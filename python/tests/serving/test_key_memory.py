"""The memory of a client that makes its keys while it sends them."""

from __future__ import annotations

import subprocess
import sys

from .conftest import BOUND

PROGRAM = """
import re, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import hemera as hm
from hemera.package.interface import Interface
from hemera.package.local_model import LocalModel
from hemera.program.keys import KeyList
from hemera.serving import InputSpec, OutputSpec

params = hm.ckks.Parameters.from_bits(
    degree=8192, prime_bits=[50] * 8, special_bits=[50] * 2, scale_bits=40, security=None
)
def local(count):
    keys = KeyList(relinearization=7, rotations={step: 7 for step in range(1, count)})
    interface = Interface("m", "", params, (InputSpec("x", 8, 8),), (OutputSpec("y", 8),), keys, 1)
    return LocalModel(interface, security=None)
def peak():
    # ru_maxrss would be that of the process that started this one, where it was larger.
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
sizes, told = [], []
local(2).write_keys(lambda data: None, lambda *each: None)
many, before = local(50), peak()
many.write_keys(lambda data: sizes.append(len(data)), lambda *each: told.append(each))
streamed = peak() - before
whole = len(bytes(many.interface.generate_keys(many.context, many.secret_key)))
assert whole == sum(sizes) == len(many.generate_keys()), (whole, sum(sizes))
assert told == [(done, 50) for done in range(51)], told
print(whole, streamed, peak() - before)
"""


def test_a_digit_of_a_key_is_in_memory_at_a_time() -> None:
    """Fifty keys: what the process takes more is that of three in a file, or of all, made at once."""
    command = [sys.executable, "-c", PROGRAM]
    found = subprocess.run(command, check=True, capture_output=True, text=True, timeout=BOUND).stdout
    whole, streamed, at_once = map(int, found.split())
    assert streamed < whole / 20 < whole < at_once


LOADED = """
import re
from pathlib import Path
import hemera as hm

context = hm.Context(hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=64), threads=1)
file = bytes(context.generate_keys(context.generate_secret_key(), rotations=[1, 2, 3, 4]))
def resident():
    return int(re.search(r"VmRSS:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
held = [context.load(file)]
before = resident()
held += [context.load(file) for _ in range(8)]
print(sum(each.memory_bytes for each in held[1:]), resident() - before)
"""


def test_keys_take_the_memory_that_they_are_counted_for() -> None:
    """Blocks of 2.6 MiB, of which an eighth may be lost, and no huge page for the rest of one."""
    found = subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True, timeout=BOUND)
    counted, taken = map(int, found.stdout.split())
    assert counted > 8 * 10e6
    assert taken < 1.15 * counted
