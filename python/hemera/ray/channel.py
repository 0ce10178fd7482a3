"""Requests and answers between a server and a replica: by a socket of their own, past Ray.

docs/scaling.md compares it with calls of Ray. On one host the socket is a local one, and buffers above 1 MiB
lie in sealed memory that both processes map: the sender copies them into it, the receiver reads them where
they are. Between hosts all bytes go by TCP.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import hashlib
import hmac
import json
import logging
import mmap
import os
import secrets
import socket
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hemera.ray.handles import Full, Lost
from hemera.serving.logs import log

Buffer = NDArray[np.uint8]
"""Bytes that travel: read-only, and on one host, if there are many, in memory that both processes map."""

_INLINE = 1 << 20
"""Bytes of a buffer up to which it is part of the message on one host, too: a mapping takes longer."""
_MOST_FILES = 64
"""Buffers of one message that are shared memory; the system's limit is 253."""
_SIZES = struct.Struct("<IIQ")
"""The head of a message: bytes of its JSON, descriptors, bytes of the buffers in it."""
_CONNECT_SECONDS = 10.0
_PROOF_BYTES = 32
_SHARES = sys.platform == "linux"


@dataclass(frozen=True)
class Address:
    """Where a replica takes connections."""

    host: str
    """The host's start: processes with the same one may share memory."""
    name: str
    """The name of the local socket, in Linux's name space that has no files; "": none."""
    place: tuple[str, int] | None
    """IP address and port; None: only this host's processes are to connect."""
    secret: bytes
    """Known to the replica and its server, who prove to each other that they know it."""


class Channel:
    """One end of a connection. Messages are lists that JSON takes, and buffers by name.

    Args:
        connection: connected; the channel closes it.
        take: called with each message that comes, in the channel's thread.
        ended: called once, when no message will come any more.
    """

    def __init__(
        self,
        connection: socket.socket,
        take: Callable[[list[Any], dict[str, Buffer]], None],
        ended: Callable[[], None],
    ) -> None:
        self._socket = connection
        self._near = connection.family == socket.AF_UNIX
        self._take, self._ended = take, ended
        self._wake = threading.Condition()
        self._unsent: deque[_Unsent] = deque()
        """Messages that the other end had no room for, oldest first."""
        self._writer: threading.Thread | None = None
        self._closed = False
        self._files: deque[int] = deque()
        """Descriptors that came, and whose message has not been read."""
        threading.Thread(target=self._read, name="hemera-channel", daemon=True).start()

    def send(self, message: Sequence[Any], buffers: Mapping[str, bytes | Buffer]) -> None:
        """Send a message. It waits for nobody: a thread sends what the other end has no room for.

        Raises:
            Lost: when the connection has ended.
            Full: when there is no memory for the buffers; nothing was sent.
        """
        pieces: list[memoryview] = []
        parts: list[tuple[str, int, bool]] = []
        unsent = _Unsent()
        try:
            for name, data in buffers.items():
                view = memoryview(cast(bytes, data))  # both have the protocol of buffers
                shared = self._near and view.nbytes > _INLINE and len(unsent.files) < _MOST_FILES
                parts.append((name, view.nbytes, shared))
                if shared:
                    unsent.files.append(_share(view))
                else:
                    pieces.append(view)
            text = json.dumps([message, parts]).encode()
            sizes = _SIZES.pack(len(text), len(unsent.files), sum(map(len, pieces)))
            unsent.pieces = [memoryview(sizes + text), *pieces]
            with self._wake:
                if self._closed:
                    raise Lost("the connection has ended")
                if self._unsent or not self._send(unsent, socket.MSG_DONTWAIT):
                    self._unsent.append(unsent)
                    unsent = _Unsent()  # it is the writer's now
                    if self._writer is None:
                        self._writer = threading.Thread(
                            target=self._write, name="hemera-channel-writer", daemon=True
                        )
                        self._writer.start()
                    self._wake.notify()
        finally:
            unsent.close()

    def close(self) -> None:
        """End the connection, whatever was not sent. May be called again."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _send(self, unsent: _Unsent, flags: int = 0) -> bool:
        """Send as much as there is room for: whether that was all. Lost when the connection has ended."""
        while unsent.pieces:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", unsent.files))]
            try:
                sent = self._socket.sendmsg(unsent.pieces, rights if unsent.files else [], flags)
            except BlockingIOError:
                return False
            except OSError as error:
                raise Lost(str(error)) from None
            unsent.take(sent)
        return True

    def _write(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._unsent or self._closed)
                if self._closed:
                    return
                first = self._unsent[0]  # it stays there, so that later messages stay behind it
            try:
                self._send(first)
            except Lost:
                self.close()
                return
            with self._wake:
                self._unsent.popleft()

    def _read(self) -> None:
        try:
            while True:
                self._take(*self._message())
        except (EOFError, OSError):
            pass
        except Exception as error:  # of whoever takes messages, or in one
            log("failure", level=logging.ERROR, error=error)
        finally:
            self.close()
            if self._writer is not None:
                self._writer.join()
            self._socket.close()
            for file in self._files:
                os.close(file)
            for each in self._unsent:
                each.close()
            self._ended()

    def _message(self) -> tuple[list[Any], dict[str, Buffer]]:
        sizes = bytearray(_SIZES.size)
        self._fill(memoryview(sizes))
        text, _, inline = _SIZES.unpack(sizes)
        body = np.empty(text + inline, np.uint8)
        self._fill(body.data)
        body.flags.writeable = False
        message, parts = json.loads(body[:text].tobytes())
        buffers = {}
        at = text
        for name, size, shared in parts:
            if shared:
                buffers[name] = _map(self._files.popleft(), size)
            else:
                buffers[name] = body[at : at + size]
                at += size
        return message, buffers

    def _fill(self, view: memoryview) -> None:
        room = socket.CMSG_SPACE(_MOST_FILES * 4) if self._near else 0
        while view:
            count, rights, _, _ = self._socket.recvmsg_into([view], room)
            if not count:
                raise EOFError
            for _, _, data in rights:
                self._files.extend(array.array("i", data))
            view = view[count:]


class _Unsent:
    """A message, or the rest of one, and the descriptors that go with its first byte."""

    def __init__(self) -> None:
        self.pieces: list[memoryview] = []
        self.files: list[int] = []

    def take(self, count: int) -> None:
        """Remove the first `count` bytes, which were sent."""
        self.close()
        while self.pieces and count >= len(self.pieces[0]):
            count -= len(self.pieces.pop(0))
        if count:
            self.pieces[0] = self.pieces[0][count:]

    def close(self) -> None:
        """Close the descriptors, which were sent or will not be."""
        while self.files:
            os.close(self.files.pop())


class Door:
    """Where a replica takes connections of its server.

    Args:
        ip: the address to listen at; None: only processes of this host are to connect.
        come: called with each connection of someone who knows the secret, in a thread of its own.
    """

    def __init__(self, ip: str | None, come: Callable[[socket.socket], None]) -> None:
        self._come = come
        self._listeners = []
        name, place = "", None
        if _SHARES:
            name = f"hemera-{secrets.token_hex(16)}"
            near = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            near.bind(f"\0{name}")
            self._listeners.append(near)
        if ip is not None or not _SHARES:
            far = socket.socket(socket.AF_INET6 if ":" in (ip or "") else socket.AF_INET, socket.SOCK_STREAM)
            far.bind((ip or "127.0.0.1", 0))
            place = far.getsockname()[:2]
            self._listeners.append(far)
        self.address = Address(_host(), name, place, secrets.token_bytes(_PROOF_BYTES))
        for listener in self._listeners:
            listener.listen()
            threading.Thread(target=self._accept, args=(listener,), name="hemera-door", daemon=True).start()

    def close(self) -> None:
        """Take no more connections; those that are there go on."""
        for listener in self._listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            # Whoever says nothing holds up nobody else.
            threading.Thread(target=self._admit, args=(connection,), name="hemera-door", daemon=True).start()

    def _admit(self, connection: socket.socket) -> None:
        try:
            _prove(connection, self.address.secret, own=b"replica", other=b"server")
        except (OSError, EOFError) as error:
            log("stranger", level=logging.WARNING, why=str(error))
            connection.close()
        else:
            self._come(connection)


def connect(address: Address) -> socket.socket:
    """A connection to a replica, by the local socket if it is of this host. Lost where there is none."""
    try:
        connection = _connected(address)
    except OSError as error:
        raise Lost(f"its port {address.place} is not to be reached: {error}") from None
    try:
        _prove(connection, address.secret, own=b"server", other=b"replica")
    except (OSError, EOFError) as error:
        connection.close()
        raise Lost(f"at its port {address.place} is somebody else: {error}") from None
    return connection


def _connected(address: Address) -> socket.socket:
    if address.name and address.host == _host():
        near = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            near.connect(f"\0{address.name}")
            return near
        except OSError:  # containers of one host do not see each other's
            near.close()
            if address.place is None:
                raise
    if address.place is None:
        raise ConnectionError("it takes connections of its own host alone")
    return socket.create_connection(address.place, timeout=_CONNECT_SECONDS)


def _prove(connection: socket.socket, secret: bytes, *, own: bytes, other: bytes) -> None:
    """Show that one knows the secret, and see that the other end does, by HMACs of random bytes. EOFError,
    OSError where it does not, or is silent for 10 seconds."""
    connection.settimeout(_CONNECT_SECONDS)
    if connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    mine = secrets.token_bytes(_PROOF_BYTES)
    connection.sendall(mine)
    theirs = _exactly(connection)
    connection.sendall(hmac.digest(secret, own + theirs, hashlib.sha256))
    if not hmac.compare_digest(_exactly(connection), hmac.digest(secret, other + mine, hashlib.sha256)):
        raise ConnectionError("it does not know the secret")
    connection.settimeout(None)


def _exactly(connection: socket.socket) -> bytes:
    found = b""
    while len(found) < _PROOF_BYTES:
        piece = connection.recv(_PROOF_BYTES - len(found))
        if not piece:
            raise EOFError("it hung up")
        found += piece
    return found


def _share(data: memoryview) -> int:
    """The descriptor of new memory with this content, which nobody can change. Full without room for it."""
    file = -1
    try:
        file = os.memfd_create("hemera", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        while data:
            data = data[os.write(file, data) :]
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
    except OSError as error:
        if file >= 0:
            os.close(file)
        raise Full(str(error)) from None
    return file


def _map(file: int, size: int) -> Buffer:
    """The memory of a descriptor, which is closed."""
    try:
        # Private: systems before Linux 6.7 take a shared mapping for one that will be written to.
        return np.frombuffer(mmap.mmap(file, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ), np.uint8)
    finally:
        os.close(file)


def _host() -> str:
    """This start of this machine; where the system does not say: of no machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
