"""The messages of evaluations, at both ends of a `Channel`."""

from __future__ import annotations

import functools
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from hemera._process import Lock
from hemera.ray.channel import Buffer, Channel, Door
from hemera.ray.handles import Lost
from hemera.ray.replica import Answered, KeyFiles, Replica


class Asking:
    """The server's end.

    Args:
        connection: to the replica.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._lock = Lock()
        self._asked: dict[str, Future[Answered]] = {}
        """Requests that are not answered, by number."""
        self._channel = Channel(connection, self._take, self._end)

    def evaluate(
        self, number: str, model: str, keys: KeyFiles, files: Mapping[str, bytes | Buffer]
    ) -> Future[Answered]:
        """Have a request computed: see `Replica.evaluate`. The future has the answer, `Lost` or `Full`."""
        found: Future[Answered] = Future()
        with self._lock:
            self._asked[number] = found
        message = ["evaluate", number, model, keys.digest, keys.library, dict(keys.files)]
        try:
            self._channel.send(message, files)
        except BaseException as error:
            if self._answered(number) is not None:  # the connection's end may have come first
                found.set_exception(error)
        return found

    def forget(self, number: str) -> None:
        """Nobody waits for a request any more. Lost when the connection has ended."""
        self._channel.send(["forget", number], {})

    def close(self) -> None:
        """End the connection: requests that are not answered are lost. May be called again."""
        self._channel.close()

    def _answered(self, number: str) -> Future[Answered] | None:
        with self._lock:
            return self._asked.pop(number, None)

    def _take(self, message: list[Any], buffers: dict[str, Buffer]) -> None:
        number, batch, refused, gone = message
        found = self._answered(number)
        if found is not None:
            found.set_result(Answered(buffers, batch, None if refused is None else tuple(refused), gone))

    def _end(self) -> None:
        with self._lock:
            left, self._asked = list(self._asked.values()), {}
        for each in left:
            each.set_exception(Lost("the connection has ended"))


def answer_requests(replica: Replica, ip: str | None) -> Door:
    """Take a server's connections, and answer its requests by a replica.

    Args:
        replica: that computes.
        ip: as of `Door`.
    """

    def come(connection: socket.socket) -> None:
        channels: Future[Channel] = Future()
        take = functools.partial(_compute, replica, channels.result)
        channels.set_result(Channel(connection, take, lambda: None))

    return Door(ip, come)


def _compute(
    replica: Replica, channel: Callable[[], Channel], message: list[Any], buffers: dict[str, Buffer]
) -> None:
    """Do what a message asks of a replica."""
    if message[0] == "forget":
        replica.forget(message[1])
        return
    _, number, model, digest, library, files = message

    def answer(found: Future[Answered]) -> None:
        answered = found.result()
        head = [number, answered.batch, answered.refused, answered.gone]
        try:
            channel().send(head, answered.files)
        except Lost:
            pass  # the server has gone, or has given this replica up
        except Exception as error:  # for instance: there is no memory for the answer
            refused = Answered.of_error(error).refused
            channel().send([number, 0, refused, False], {})

    replica.evaluate(number, model, KeyFiles(digest, library, files), buffers).add_done_callback(answer)
