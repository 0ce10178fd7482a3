"""Connections to the server: how many there may be, and how long each may be silent.

Nobody needs a token to connect. So whoever connects has a time for the header of its request, and a
connection that waits for a request makes room when others come: only requests that are answered hold a place.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import functools
import ipaddress
import json
import logging
import math
import os
import resource
import socket
import termios
import time
from asyncio import BaseTransport, TimerHandle, Transport
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hemera.serving.logs import log
from hemera.serving.reasons import BUSY
from hemera.serving.settings import Settings

_GRACE = 0.25
"""Seconds that a connection without a request has when the server ends: one may be on its way."""
_FAREWELL = 2.0
"""Seconds that whoever is connected by TLS has to answer its end: asyncio gives 30, and the exit waits."""
_NO_ROOM = (errno.EMFILE, errno.ENFILE)
_LARGEST_HEAD = 64 << 10
"""Bytes of a request's line and header, after the piece that they begin in."""
_PREFIX = 64
"""Bits of an IPv6 address that one network has: its owner chooses the others."""
_OTHER_FILES = 128
"""Descriptors for anything but connections, or half of all where these are few."""
_QUIET = 60.0
"""Seconds between lines of the log on the lack of descriptors."""


class Connections:
    """All connections of a server, in one event loop.

    Args:
        settings: how many there may be, of one address and in all, and how long they may be silent.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._most = _raise_descriptors(settings.connections)
        self.drains = False
        """Whether each connection ends with its next answer."""
        self.ends = False
        """Whether connections without a request are closed."""
        self._open: dict[str, OrderedDict[_Connection | _Handshake, None]] = {}
        """Connections by address; those that became idle first come first."""
        self._handshakes: dict[Any, _Handshake] = {}
        """Handshakes by the address and port of whoever connects."""

    @property
    def protocol(self) -> Callable[..., Any]:
        """Makes uvicorn's protocol of each connection."""
        return functools.partial(_Connection, self)

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def drain(self) -> None:
        """From now on each connection ends with its next answer."""
        self.drains = True
        for own in self._open.values():
            for connection in own:
                connection.end_with_answer()

    def end(self) -> None:
        """Nobody connects any more: connections without a request end, also where TLS is under way."""
        self.drains = self.ends = True
        asyncio.get_running_loop().call_later(_GRACE, self._end_handshakes)

    def _end_handshakes(self) -> None:
        for place, handshake in list(self._handshakes.items()):
            self._end(place, handshake)

    def accept(self, listener: socket.socket) -> tuple[socket.socket, Any]:
        """Accept a connection for TLS, which has no protocol before its handshake is done: until then it is
        an idle one. ConnectionAbortedError where there is no room: asyncio takes it for one that is gone."""
        made, place = socket.socket.accept(listener)
        handshake = _Handshake(made, _network(place[0]))
        if not self.admit(handshake):
            made.close()
            raise ConnectionAbortedError
        self._handshakes[place] = handshake
        seconds = self.settings.header_seconds
        handshake.timer = asyncio.get_running_loop().call_later(seconds, self._end, place, handshake)
        return made, place

    def admit(self, connection: _Connection | _Handshake) -> bool:
        """Whether there is room for one more, or an idle one made room."""
        own = self._open.get(connection.address, OrderedDict())
        if len(own) >= self.settings.address_connections and not self._close_idle([connection.address]):
            return False
        if len(self) >= self._most:
            # Close one of whoever has most.
            addresses = sorted(self._open, key=lambda address: -len(self._open[address]))
            if not self._close_idle(addresses):
                return False
        self._open.setdefault(connection.address, OrderedDict())[connection] = None
        return True

    def idle(self, connection: _Connection) -> None:
        """It waits for a request from now on."""
        if connection in self._open.get(connection.address, ()):
            self._open[connection.address].move_to_end(connection)

    def made(self, place: Any) -> None:
        """The handshake of whoever connects from there is done."""
        handshake = self._handshakes.pop(place, None)
        if handshake is not None:
            self.remove(handshake)
            if handshake.timer is not None:
                handshake.timer.cancel()

    def _end(self, place: Any, handshake: _Handshake) -> None:
        if self._handshakes.get(place) is handshake:
            del self._handshakes[place]
        self.remove(handshake)
        handshake.abort()

    def remove(self, connection: _Connection | _Handshake) -> None:
        """It is closed; does no harm a second time."""
        own = self._open.get(connection.address, OrderedDict())
        own.pop(connection, None)
        if not own:
            self._open.pop(connection.address, None)

    def _close_idle(self, addresses: list[str]) -> bool:
        """Close the connection of the first of these addresses that has been idle longest."""
        for address in addresses:
            for connection in self._open.get(address, ()):
                if connection.is_idle:
                    self.remove(connection)
                    connection.abort()
                    return True
        return False


class Listener(socket.socket):
    """A socket that listens, and asks who may connect where `accepts` is set. Where the process has no
    descriptor left for a connection, that connection is closed, and a line of the log says so, at most one a
    minute: asyncio would write hundreds of tracebacks, and leave the connection waiting."""

    accepts: Callable[[socket.socket], tuple[socket.socket, Any]] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._spare = -1
        self._open_spare()
        self._told = -math.inf

    def accept(self) -> tuple[socket.socket, Any]:
        try:
            return super().accept() if self.accepts is None else self.accepts(self)
        except OSError as error:
            if error.errno not in _NO_ROOM or not self._refuse():
                raise
            raise ConnectionAbortedError from None  # for asyncio it is gone

    def close(self) -> None:
        self._close_spare()
        super().close()

    def _open_spare(self) -> None:
        if self._spare < 0:
            with contextlib.suppress(OSError):  # another thread may have taken the descriptor
                self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _close_spare(self) -> None:
        spare, self._spare = self._spare, -1
        if spare >= 0:
            os.close(spare)

    def _refuse(self) -> bool:
        """Whether a connection was closed by the spare descriptor; without one asyncio waits for a second."""
        if time.monotonic() - self._told >= _QUIET:
            self._told = time.monotonic()
            log("descriptors", level=logging.ERROR, why="no file can be opened, and connections are refused")
        self._open_spare()
        if self._spare < 0:
            return False
        self._close_spare()
        with contextlib.suppress(OSError):
            super().accept()[0].close()
        self._open_spare()
        return True


def _raise_descriptors(connections: int) -> int:
    """Let the process open as many files as it needs, if it may, and return how many connections there may be
    beside its other files: as many as asked for, or fewer with a line in the log."""
    wanted = connections + _OTHER_FILES
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    room = files - min(_OTHER_FILES, files // 2)
    if room < connections:
        log("descriptors", level=logging.WARNING, files=files, connections=room)
    return min(connections, room)


class _Handshake:
    """A connection of TLS whose handshake is under way, or has failed."""

    is_idle = True

    def __init__(self, made: socket.socket, address: str) -> None:
        self._socket = made
        self.address = address
        self.timer: TimerHandle | None = None

    def end_with_answer(self) -> None:
        """Nothing: its connection asks when it has a request."""

    def abort(self) -> None:
        """End it; asyncio, whose socket it is, closes it then. Does no harm afterwards."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


class _Connection(HttpToolsProtocol):
    """A connection with deadlines: for a request's header, and for an answer that nobody reads."""

    def __init__(self, connections: Connections, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._all = connections
        self._socket: Any = None
        self._timer: TimerHandle | None = None
        self._writing: TimerHandle | None = None
        self._in_head = self._begins = False
        self._head = 0
        self.address = ""

    @property
    def is_idle(self) -> bool:
        """Whether no request is answered on it."""
        return self.cycle is None or self.cycle.response_complete

    def abort(self) -> None:
        """Close it at once, whatever was not sent."""
        self.transport.abort()

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(cast(Transport, transport))
        self._socket = transport.get_extra_info("socket")
        self._all.made(transport.get_extra_info("peername"))
        self.address = _network(self.client[0]) if self.client else ""
        if self._all.admit(self):
            self._expect_header()
            if self._all.ends:  # it came while the listener closed
                self.shutdown()
        else:
            self.transport.write(_BUSY)
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.remove(self)
        self._header_came()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.is_idle and self._timer is None:
            self._expect_header()
        self._begins = False
        super().data_received(data)
        # Nobody knows how much of the piece that a header begins in is the header's.
        if self._in_head and not self._begins:
            self._head += len(data)
            if self._head > _LARGEST_HEAD:
                self.abort()

    def on_message_begin(self) -> None:
        self._in_head = self._begins = True
        self._head = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._header_came()
        super().on_headers_complete()
        if self._all.drains:
            self.end_with_answer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._all.idle(self)
        if self._all.drains and self.transport.is_closing():
            self.loop.call_later(_FAREWELL, self._end_closed)

    def end_with_answer(self) -> None:
        """The answer that is under way, if there is one, is its last."""
        if not self.is_idle:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """End with the answer; without a request soon. uvicorn's would be at once, and a connection that came
        later would stay for as long as it is kept alive."""
        self.end_with_answer()
        self.loop.call_later(_GRACE, self._end_idle)

    def _end_idle(self) -> None:
        if self.is_idle and not self._in_head:
            self.transport.close()
            self.loop.call_later(_FAREWELL, self._end_closed)

    def _end_closed(self, looks: int = 2) -> None:
        """End what is closed when all that was sent has arrived, by two looks."""
        if self._socket is None or self._socket.fileno() < 0:
            return
        waits = any(fcntl.ioctl(self._socket.fileno(), termios.TIOCOUTQ, bytes(4)))
        looks = 2 if waits else looks - 1
        if looks:
            self.loop.call_later(_FAREWELL if waits else _GRACE, self._end_closed, looks)
        else:
            with contextlib.suppress(OSError):  # asyncio's abort does nothing after a second close
                self._socket.shutdown(socket.SHUT_RDWR)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._writing is None:
            self._writing = self.loop.call_later(self._all.settings.body_seconds, self.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    def _expect_header(self) -> None:
        self._timer = self.loop.call_later(self._all.settings.header_seconds, self.abort)

    def _header_came(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _network(address: str) -> str:
    """The unit that counts as one address: an address of IPv4, a network of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((int(found), _PREFIX), strict=False))


def _busy() -> bytes:
    refused = BUSY.refused(what="connections")
    body = json.dumps(refused.body).encode()
    lines = [
        b"HTTP/1.1 503 Service Unavailable",
        b"content-type: application/json",
        b"content-length: %d" % len(body),
        b"retry-after: 1",
        b"connection: close",
    ]
    return b"\r\n".join([*lines, b"", body])


_BUSY = _busy()
