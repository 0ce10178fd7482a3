"""Files of keys that are written while they are made."""

import numpy as np
import pytest

import hemera as hm

from ..beside import printed
from ..refusals import raises

BOUND = 120.0
"""Seconds."""

PROGRAM = """
import re, sys
from pathlib import Path
import hemera as hm

def peak():
    # ru_maxrss would be that of the process that started this one, where it was larger.
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

client = hm.integers.Context(8, preset="test-exact", device="cpu")
before = peak()
client.save_keys(sys.argv[1])
print(peak() - before)
client.secret_key.save(sys.argv[2])
client.keys.save(sys.argv[3])
print(peak() - before)
"""


@pytest.mark.usefixtures("whole_ring")  # as its process has
def test_a_client_has_one_key_in_memory_at_a_time(tmp_path):
    """The file is that of keys that are made together, and a server computes with it."""
    streamed, secret, together = (tmp_path / name for name in ("streamed", "secret", "together"))
    held, all_held = map(int, printed(PROGRAM, streamed, secret, together).split())
    size = together.stat().st_size
    assert held < size / 2 < 3 * size < all_held
    assert hm.inspect(streamed) == hm.inspect(together)
    client = hm.integers.Context(8, preset="test-exact", secret_key=secret)
    server = hm.integers.Context(8, preset="test-exact", keys=streamed)
    x = np.array([3, 200], np.uint8)
    product = server.load(bytes(client.encrypt(x))) * 3
    np.testing.assert_array_equal(client.decrypt(client.load(bytes(product))), x * np.uint8(3))


def test_keys_of_a_context_are_written_as_they_are_made(tmp_path):
    """The arguments are those of generate_keys; progress may end the work, and then there is no file."""
    ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=2, slots=64))
    secret, path = ctx.generate_secret_key(), tmp_path / "keys"
    told = []
    ctx.save_keys(path, secret, rotations=[1, -2], conjugation=True, progress=lambda *each: told.append(each))
    assert told == [("keys", done, 4) for done in range(5)]
    keys = ctx.load(path)
    made = ctx.generate_keys(secret, rotations=[1, -2], conjugation=True)
    assert (keys.galois_elements, keys.has_relinearization) == (made.galois_elements, True)
    x = ctx.bind(keys).encrypt([1.0, 2.0, 3.0])
    np.testing.assert_allclose(ctx.decrypt((x * x).rotate(1), secret)[:2], [4, 9], atol=1e-5)

    def ends(*_):
        raise KeyboardInterrupt

    other = tmp_path / "other"
    raises(KeyboardInterrupt, "", ctx.save_keys, other, secret, rotations=[1], progress=ends)
    assert list(tmp_path.iterdir()) == [path]
    deeper = hm.Context(hm.ckks.Parameters.for_circuit(depth=3, slots=64))
    raises(hm.errors.MismatchError, "", ctx.save_keys, other, deeper.generate_secret_key())
