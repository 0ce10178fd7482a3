"""Evaluation keys of a client on a server: sent once, going on where that was interrupted, and sent again
where the server has others."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from hemera._files import locked, write_atomically
from hemera._process import Lock
from hemera.client.key_file import KeyFile, Make
from hemera.client.problems import ServerError
from hemera.client.transport import Transport
from hemera.client.wire import KEYS_HEADER, OFFSET_HEADER
from hemera.errors import FormatError, LevelError, MissingKeyError
from hemera.objects.keys import SecretKey

T = TypeVar("T")


class _AllThereError(Exception):
    """The server has the keys already."""


_NOTED = 1000
_SOON = 0.2
"""Seconds in which keys of small models are whole: they are sent at once, with their digest."""
_UPLOADS = 3
"""Times that a request is sent, each but the first after another upload of keys."""


class RemoteKeys:
    """The keys of one secret key for one model or index of a server. Any thread may use them.

    Args:
        transport: to the server.
        path: of the model or index there.
        name: of the model or index, for messages.
        secret_key: whose keys they are.
        generate: makes the file of evaluation keys.
        expected: the bytes that this file will have, about.
        headers: of uploads.
        before: the keys for a model that this one has replaced; those of the same secret key are known.
        limit: bytes that the server takes; None: it has no limit.
        folder: where processes note which keys they sent, and keep a file that is not all sent; None: in
            memory.
    """

    def __init__(
        self,
        transport: Transport,
        path: str,
        name: str,
        secret_key: SecretKey,
        generate: Make,
        *,
        expected: Callable[[], int],
        limit: int | None,
        folder: Path | None,
        headers: Mapping[str, str] | None = None,
        before: RemoteKeys | None = None,
    ) -> None:
        self._transport = transport
        self._path = path
        self._name = name
        self._generate = generate
        self._expected = expected
        self._limit = limit
        self._headers = headers
        self._uploaded = False
        self._made = False
        """Whether the server was sent keys that are made for its present model, and not for one before."""
        self._lock = Lock()
        secret = self._secret = hashlib.sha256(bytes(secret_key)).hexdigest()
        self._sent: set[str] = set() if before is None or before._secret != secret else set(before._sent)
        """Digests of keys of this secret key that some server was sent."""
        self._file: KeyFile | None = None
        """Keys that were not all sent."""
        place = hashlib.sha256(f"{transport.url}{path} {secret} {dict(headers or {})}".encode()).hexdigest()
        self._place = None if folder is None else folder / f"upload-{place[:16]}.hemera"
        self._notes = None if folder is None else folder / f"sent-{secret[:16]}.json"

    def are_there(self) -> bool:
        """Whether the server has keys of this secret key. ServerError as of `Transport.request`."""
        with self._lock:
            return self._uploaded or self._are_known()

    def _are_known(self) -> bool:
        return bool(self._sent or self._noted()) and self._is_ours(self._digest_there())

    def ensure(self, *, anew: bool = False) -> None:
        """Send the keys, unless the server has them.

        Args:
            anew: send them also where it has those of this secret key.

        Raises:
            ServerError: when they are larger than the server takes, and as of `Transport.request`.
        """
        with self._lock:
            if self._uploaded:
                return
            if anew or not self._are_known():
                self._send()
                self._made = True
            self._uploaded = True

    def close(self) -> None:
        """Leave a file that is not all sent to later clients of the folder."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                file.close(remove=False)

    def _send(self) -> None:
        expected = self._expected()
        self._require_fit(expected)
        if self._file is not None and not self._file.is_ours:
            self._file = None  # a parent's, which goes on by itself
        file = self._file = self._file or KeyFile(self._generate, self._place)
        try:
            file.wait(sys.maxsize, _SOON)
            self._require_fit(file.bytes)
            self._send_file(file, expected)
        except BaseException:
            if file.digest is None:  # what is whole can go on
                self._file = None
                file.close(remove=True)
            raise
        self._file = None
        file.close(remove=True)

    def _send_file(self, file: KeyFile, expected: int) -> None:
        keys = f"{self._path}/keys"
        known = self._held(file)
        if known is None:  # a server that takes whole files only
            while file.digest is None:
                file.wait(file.bytes)
            self._note(file.digest)
            whole = 0, {"Content-Length": str(file.bytes)}
            self._transport.request(
                "PUT", keys, lambda: (*whole, self._pieces(file, 0, expected)), headers=self._headers
            )
            return

        def part() -> tuple[int, dict[str, str], Iterator[bytes]]:
            nonlocal known
            if known is None and file.digest is not None and self._digest_there() == file.digest:
                raise _AllThereError
            begin, known = (self._held(file) or 0) if known is None else known, None
            headers = {OFFSET_HEADER: str(begin)}
            if file.digest is not None:
                # Noted first: other processes of this folder may meet the keys before the server's answer
                # is here.
                self._note(file.digest)
                headers.update({KEYS_HEADER: file.digest, "Content-Length": str(file.bytes - begin)})
            return begin, headers, self._pieces(file, begin, expected)

        with contextlib.suppress(_AllThereError):
            while (
                KEYS_HEADER
                not in self._transport.request(
                    "PUT", f"{keys}/{file.name}", part, headers=self._headers
                ).request.headers
            ):
                pass  # it was made meanwhile: the last part has its digest alone

    def _held(self, file: KeyFile) -> int | None:
        """The bytes of a file that the server has; None of a server that does not tell."""
        try:
            found = self._transport.json("GET", f"{self._path}/keys/{file.name}").get("bytes")
        except ServerError as error:
            if error.code == "unknown_address":
                return None
            raise
        if type(found) is not int or not 0 <= found <= file.bytes:
            raise FormatError(f"the server says that it has {found!r} of {file.bytes} bytes")
        return found

    def _pieces(self, file: KeyFile, begin: int, expected: int) -> Iterator[bytes]:
        told, made = self._transport.progress, None
        for piece in file.pieces(begin):
            self._require_fit(file.bytes)
            if file.keys != made and file.keys[1]:
                made = file.keys
                told("keys", *made)
            told("upload", begin, file.bytes if file.digest else max(expected, file.bytes))
            yield piece
            begin += len(piece)
        told("upload", begin, begin)

    def _require_fit(self, size: int) -> None:
        if self._limit is not None and size > self._limit:
            raise ServerError(
                f"the keys of {self._name!r} have {size} bytes, and the server takes {self._limit}",
                413,
                "too_large",
            )

    def remove(self) -> None:
        """Let the server remove them. ServerError where it has none."""
        with self._lock:
            self._transport.request("DELETE", f"{self._path}/keys")
            self._uploaded = False

    def answer(self, send: Callable[[], tuple[T, str | None]]) -> T:
        """The answer to a request that was computed with these keys, as far as the server reports it.

        Args:
            send: sends the request: its answer, and the digest of the keys that it was computed with.

        Raises:
            ServerError: where the server has another client's keys again and again, and as of `send`.
        """
        for left in reversed(range(_UPLOADS)):
            anew = False
            try:
                answer, digest = send()
            except (MissingKeyError, LevelError):
                if self._made or not left:
                    raise
                anew = True  # those there were made for a model before, which needed others
            except ServerError as error:
                if error.code != "no_keys" or not left:
                    raise
                # The server has lost the keys: its folder may be another one now.
            else:
                if digest is None or self._is_ours(digest):
                    return answer
                # Another client of this token has sent its keys in place of these.
            if left:
                self._uploaded = False
                self.ensure(anew=anew)
        raise ServerError(
            f"another client replaces this one's keys for {self._name!r} again and again: clients of one "
            "token need one folder (Client(folder=...)), or a token each",
            409,
            "other_keys",
        )

    def _digest_there(self) -> str | None:
        try:
            return str(self._transport.json("GET", f"{self._path}/keys").get("digest"))
        except ServerError as error:
            if error.status == 404:
                return None
            raise

    def _noted(self) -> list[str]:
        """Digests of all keys of this secret key that some server was sent, as the folder has them."""
        try:
            return (
                [] if self._notes is None else list(map(str, json.loads(self._notes.read_bytes())["digests"]))
            )
        except (OSError, ValueError, KeyError, TypeError):
            return []  # then they are sent again

    def _note(self, digest: str) -> None:
        self._sent.add(digest)
        if self._notes is not None:
            with locked(self._notes.parent / ".lock", wait=True):
                digests = [*self._noted(), digest][-_NOTED:]
                write_atomically(self._notes, json.dumps({"digests": digests}).encode())

    def _is_ours(self, digest: str | None) -> bool:
        """Whether keys of this digest are of this secret key, whichever process has sent them."""
        if digest is not None and digest not in self._sent:
            self._sent.update(self._noted())
        return digest in self._sent
