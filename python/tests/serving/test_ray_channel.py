"""Messages between a server and a replica: whole, in order, in memory that nobody changes; and only between
those who know the secret."""

import contextlib
import errno
import functools
import hashlib
import json
import mmap
import os
import socket
import threading
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hemera.ray import channel
from hemera.ray.channel import Address, Channel, Door, connect
from hemera.ray.handles import Full, Lost
from hemera.ray.replica import KeyFiles, ModelFile, Replica, digest_of
from hemera.ray.requests import Asking, answer_requests
from hemera.serving.settings import Settings

from ..beside import together
from ..refusals import raises
from .conftest import BOUND, expected, wait_until

linux = pytest.mark.skipif(not channel._SHARES, reason="memory is shared on Linux alone")
MIB = 1 << 20


class End:
    """One end of a channel, and what came there."""

    def __init__(self, connection):
        self.came = []
        self.open = threading.Event()
        self.open.set()
        self.ended = threading.Event()
        self.ends = 0
        self.channel = Channel(connection, self._take, self._end)

    def _take(self, message, buffers):
        self.open.wait(BOUND)
        self.came.append((message, buffers))

    def _end(self):
        self.ends += 1
        self.ended.set()


def pair(far):
    """Two ends, by TCP or by a local socket, of those who know a secret."""
    come = Future()
    door = Door("127.0.0.1" if far else None, come.set_result)
    address = replace(door.address, name="") if far else door.address
    one, other = connect(address), come.result(BOUND)
    door.close()
    assert (one.family == socket.AF_UNIX) == (not far)
    return End(one), End(other)


@pytest.fixture(params=[pytest.param(False, marks=linux, id="near"), pytest.param(True, id="far")])
def ends(request):
    found = pair(request.param)
    yield found
    for end in found:
        end.channel.close()
        assert end.ended.wait(BOUND)
        assert end.ends == 1


def data_of(size, seed=1):
    return np.random.default_rng(seed).bytes(size)


def open_files():
    """Open files of this process, by number and by what they are.

    Others close theirs meanwhile (the collector those of tests before), so tests ask for new ones alone.
    """
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since, as that of the folder itself
            found.add((each.name, str(each.readlink())))
    return found


@pytest.mark.parametrize("size", [0, 1, MIB, MIB + 1, 9 * MIB])
def test_messages_are_whole_and_read_only(ends, size):
    one, other = ends
    for sender, receiver in (ends, (other, one)):
        data = {"a": data_of(size), "b": data_of(7, 2), "c": np.frombuffer(data_of(size, 3), np.uint8)}
        sender.channel.send(["ä", 1, None, {"x": [True]}], data)
        wait_until(lambda receiver=receiver: len(receiver.came) == 1)
        (message, buffers) = receiver.came[0]
        assert message == ["ä", 1, None, {"x": [True]}]
        assert {name: each.tobytes() for name, each in buffers.items()} == {
            name: bytes(each) for name, each in data.items()
        }
        for each in buffers.values():
            assert not each.flags.writeable
            with pytest.raises(ValueError, match="WRITEABLE"):
                each.flags.writeable = True


@linux
def test_large_buffers_are_not_copied_on_one_host():
    """What comes is a mapping of sealed memory, and not bytes of the socket."""
    one, other = pair(far=False)
    sent = []
    send = one.channel._socket.sendmsg

    class Counting:
        family = socket.AF_UNIX

        def sendmsg(self, pieces, *arguments):
            sent.append(sum(map(len, pieces)))
            return send(pieces, *arguments)

        def __getattr__(self, name):
            return getattr(other_socket, name)

    other_socket = one.channel._socket
    one.channel._socket = Counting()
    one.channel.send(["large"], {"x": data_of(4 * MIB)})
    wait_until(lambda: bool(other.came))
    assert sum(sent) < 1000
    buffer = other.came[0][1]["x"]
    base = buffer
    while getattr(base, "base", None) is not None:
        base = base.base
    assert isinstance(base.obj if isinstance(base, memoryview) else base, mmap.mmap)
    one.channel.close()
    other.channel.close()


def test_nobody_waits_for_a_replica_that_does_not_read(ends):
    """A sender goes on at once; what it sent comes when there is room, in its order."""
    one, other = ends
    other.open.clear()
    count = 60
    for at in range(count):
        one.channel.send([at], {"x": data_of(MIB // 2 + at, at), "y": data_of(MIB + 1 + at, at)})
    assert len(other.came) == 0
    other.open.set()
    wait_until(lambda: len(other.came) == count)
    assert [message for message, _ in other.came] == [[at] for at in range(count)]
    for at, (_, buffers) in enumerate(other.came):
        assert buffers["x"].tobytes() == data_of(MIB // 2 + at, at)
        assert buffers["y"].tobytes() == data_of(MIB + 1 + at, at)


def test_several_threads_send_whole_messages(ends):
    one, other = ends

    def ask(at):
        for _ in range(20):
            one.channel.send([at], {"x": bytes([at]) * 300_000})

    together(*(functools.partial(ask, at) for at in range(8)), seconds=BOUND)
    wait_until(lambda: len(other.came) == 160)
    for (at,), buffers in other.came:
        assert buffers["x"].tobytes() == bytes([at]) * 300_000


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files by /proc")
@pytest.mark.parametrize("far", [pytest.param(False, marks=linux), True])
def test_an_end_leaves_nothing_open(far):
    """Also with messages on their way, of which shared memory is a part."""
    before = open_files()
    one, other = pair(far)
    other.open.clear()
    for _ in range(20):
        one.channel.send(["x"], {"x": data_of(MIB // 2), "y": data_of(2 * MIB)})
    one.channel.close()
    other.open.set()
    assert one.ended.wait(BOUND)
    assert other.ended.wait(BOUND)
    raises(Lost, "", one.channel.send, ["x"], {"y": data_of(2 * MIB)})
    other.came.clear()
    wait_until(lambda: open_files() <= before)


@pytest.mark.parametrize("count", [63, 64, 65, 130])
def test_messages_of_many_buffers(ends, monkeypatch, count):
    """A message takes 64 descriptors at most: the buffers beyond them are part of it."""
    monkeypatch.setattr(channel, "_INLINE", 100)
    one, other = ends
    data = {str(at): data_of(101 + at, at) for at in range(count)}
    for number in range(2):
        one.channel.send([number], data)
    wait_until(lambda: len(other.came) == 2)
    for _, buffers in other.came:
        assert {name: each.tobytes() for name, each in buffers.items()} == data


@linux
def test_no_memory_is_an_answer(monkeypatch):
    one, other = pair(far=False)

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = open_files()
    with monkeypatch.context() as patch:
        patch.setattr("fcntl.fcntl", fail)
        raises(Full, "", one.channel.send, ["large"], {"x": data_of(2 * MIB)})
    assert open_files() <= before
    one.channel.send(["small"], {"x": b"1"})
    wait_until(lambda: bool(other.came))
    assert other.came[0][0] == ["small"]  # nothing of the other one was sent
    one.channel.close()
    other.channel.close()


@pytest.mark.parametrize("far", [pytest.param(False, marks=linux), True])
def test_strangers_are_not_admitted(far):
    come = []
    door = Door("127.0.0.1" if far else None, come.append)
    address = replace(door.address, name="") if far else door.address
    raises(Lost, "somebody else", connect, replace(address, secret=b"0" * 32))
    with contextlib.closing(channel._connected(address)) as echo:  # sends back what it gets
        echo.sendall(echo.recv(32))
        echo.sendall(echo.recv(32))
        assert not echo.recv(1)
    silent = channel._connected(address)  # and keeps nobody else waiting
    with contextlib.closing(connect(address)):
        wait_until(lambda: len(come) == 1)
    silent.close()
    door.close()
    raises(Lost, "not to be reached", connect, address)


def test_a_replica_proves_itself():
    """Whoever took a dead replica's port gets no requests."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: listener.accept()[0].sendall(bytes(64)))
        thread.start()
        raises(Lost, "somebody else", connect, Address("", "", listener.getsockname()[:2], b"1" * 32))
        thread.join(BOUND)
    raises(Lost, "of its own host", connect, Address("another", "name", None, b"1" * 32))


@pytest.fixture
def replica(package, tmp_path):
    package.save(tmp_path / "model")
    files = {"scores": ModelFile(str(tmp_path / "model"), package.digest)}
    return Replica(files, Settings(device="cpu", threads=1))


def test_requests_and_answers(replica, local, keys, tmp_path):
    path = tmp_path / "keys"
    path.write_bytes(keys)
    told = KeyFiles(digest_of({"keys": path}), "Hemera", {"keys": str(path)})
    rows = np.random.default_rng(3).uniform(-1, 1, (4, 8))
    (array,) = local.interface.encode(rows)
    data = bytes(local.context.encrypt(array, local.secret_key))
    door = answer_requests(replica, None)
    asking = Asking(connect(door.address))
    good = asking.evaluate("1", "scores", told, {"input": data}).result(BOUND)
    assert (good.batch, good.refused, good.gone) == (1, None, False)
    np.testing.assert_allclose(
        local.interface.decode(local.decrypt(good.result()))[:4], expected(rows), atol=1e-6
    )
    bad = asking.evaluate("2", "scores", told, {"input": b"rubbish"}).result(BOUND)
    assert bad.refused is not None
    assert bad.refused[:2] == (422, "format")
    assert isinstance(bad.refused, tuple)
    lost = KeyFiles("1" * 64, "Hemera", {"keys": str(tmp_path / "none")})
    assert asking.evaluate("3", "scores", lost, {"input": data}).result(BOUND).gone
    gate = threading.Event()
    replica._scheduler.call(gate.wait)
    left = asking.evaluate("4", "scores", told, {"input": data})
    wait_until(lambda: replica._scheduler.waiting == 1)
    asking.forget("4")
    assert left.result(BOUND).refused == (504, "timeout", "nobody waits for it", None)
    waits = asking.evaluate("5", "scores", told, {"input": data})
    wait_until(lambda: "5" in replica._running)
    asking.close()
    assert isinstance(waits.exception(BOUND), Lost)
    gate.set()
    late = asking.evaluate("6", "scores", told, {"input": data})
    assert isinstance(late.exception(BOUND), Lost)
    door.close()
    wait_until(lambda: not replica._running)
    assert replica.computed == 2


def test_messages_hold_no_keys(replica, tmp_path, monkeypatch):
    """Only their place and digest; and nothing that runs code when it is read."""
    sent = []
    dumps = json.dumps

    def note(message):
        sent.append(dumps(message))
        return sent[-1]

    monkeypatch.setattr("json.dumps", note)
    path = tmp_path / "keys"
    path.write_bytes(data_of(10_000))
    told = KeyFiles(hashlib.sha256(b"1:keys").hexdigest(), "Hemera", {"keys": str(path)})
    door = answer_requests(replica, None)
    asking = Asking(connect(door.address))
    asking.evaluate("1", "scores", told, {"input": b"x"}).result(BOUND)
    asking.close()
    door.close()
    question = json.loads(sent[0])
    assert question == [
        ["evaluate", "1", "scores", told.digest, "Hemera", {"keys": str(path)}],
        [["input", 1, False]],
    ]
