"""A file of keys on their way to a server: made while it is sent, and sent again from any byte."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

from hemera._files import make_folder
from hemera._process import Process
from hemera.client.problems import ServerError
from hemera.client.wire import KEYS_FILE
from hemera.errors import FileError

Make = Callable[[Callable[[bytes], None], Callable[[int, int], None]], None]
"""Gives the bytes of a file to a function, piece after piece, and to another one how many keys are made, and
the number of all."""
_PIECE = 1 << 20
_AHEAD = 16
"""Pieces of up to a megabyte that are made, and not written yet."""
_HEAD = 96
"""Bytes before the keys: the upload's name and the digest, once the file is whole."""


class KeyFile:
    """A file of keys. It is on the disk, not in memory.

    Args:
        make: makes the keys; called in a thread.
        path: where later processes find the file, once it is whole. None, or where another process has it: a
            file without a name.

    Raises:
        FileError: when it can not be made.
    """

    def __init__(self, make: Make, path: Path | None) -> None:
        self.name = secrets.token_hex(16)
        """The upload's name."""
        self.bytes = 0
        """The bytes that are made."""
        self.keys = 0, 0
        """The number of keys that are made, and that of all; 0: not known."""
        self.digest: str | None = None
        """As the server's store has it; None: the file is not whole."""
        self._path = path
        self._failure: BaseException | None = None
        self._is_closed = False
        self._process = Process()
        self._grown = threading.Condition()
        self._thread: threading.Thread | None = None
        self._file = self._opened()
        head = os.pread(self._file, _HEAD, 0).decode("ascii", "replace")
        if len(head) == _HEAD and head.isalnum():
            self.name, self.digest = head[:32], head[32:]
            self.bytes = os.fstat(self._file).st_size - _HEAD
            return
        os.ftruncate(self._file, 0)
        self._thread = threading.Thread(target=self._run, args=(make,), daemon=True)
        self._thread.start()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a KeyFile does not pickle: a thread writes it")

    @property
    def is_ours(self) -> bool:
        """Whether this process makes it; False in a child of `fork()`."""
        return self._process.is_this

    def _opened(self) -> int:
        if self._path is not None:
            make_folder(self._path.parent)
            try:
                found = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(found)
                self._path = None
            except OSError as error:
                raise FileError(f"cannot open {self._path}: {error.strerror}") from None
            else:
                return found
        with tempfile.TemporaryFile(buffering=0) as file:
            return os.dup(file.fileno())

    def _run(self, make: Make) -> None:
        digest = hashlib.sha256(f"{len(KEYS_FILE)}:{KEYS_FILE}".encode())

        def stored(data: bytes) -> None:
            view = memoryview(data)
            at = 0
            while at < len(view):
                at += os.pwrite(self._file, view[at:], _HEAD + self.bytes + at)
            digest.update(data)
            with self._grown:
                self.bytes += len(data)
                self._grown.notify_all()

        # A thread of its own, for the threads that make keys wait for nothing else.
        writer, pieces = ThreadPoolExecutor(1), deque[Future[None]]()

        def write(data: bytes) -> None:
            if self._is_closed:
                raise InterruptedError
            pieces.append(writer.submit(stored, data))
            while len(pieces) > _AHEAD:
                pieces.popleft().result()

        def told(done: int, count: int) -> None:
            self.keys = done, count

        try:
            with writer:
                make(write, told)
                for piece in pieces:
                    piece.result()
            if self._path is not None:
                os.fsync(self._file)
            os.pwrite(self._file, (self.name + digest.hexdigest()).encode(), 0)
        except OSError as error:
            self._failure = FileError(f"cannot write keys on their way: {error.strerror}")
        except BaseException as error:
            self._failure = error
        with self._grown:
            if self._failure is None:
                self.digest = digest.hexdigest()
            self._grown.notify_all()

    def wait(self, beyond: int, seconds: float | None = None) -> bool:
        """Wait until there are more bytes than so many, or the file is whole: whether that came in time.
        Raises what the making raised."""
        if not self.is_ours:
            raise ServerError("the process was forked while it sent this request")

        def is_over() -> bool:
            return self.bytes > beyond or self.digest is not None or self._failure is not None

        with self._grown:
            found = self._grown.wait_for(is_over, seconds)
        if self._failure is not None:
            raise self._failure
        return found

    def pieces(self, begin: int) -> Iterator[bytes]:
        """The file from a byte on, to its end, as it is made."""
        while self.wait(begin):
            data = os.pread(self._file, min(_PIECE, self.bytes - begin), _HEAD + begin)
            if not data:
                return
            yield data
            begin += len(data)

    def close(self, *, remove: bool) -> None:
        """Let the file go; one with a name stays, if it is whole, unless it is to be removed."""
        self._is_closed = True
        if self._thread is not None and self.is_ours:
            self._thread.join()
        if self._path is not None and self.is_ours and (remove or self.digest is None):
            with contextlib.suppress(OSError):
                self._path.unlink()
        os.close(self._file)
