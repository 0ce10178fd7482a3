"""The files of a round, in the folder that all parties can write to."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.multiparty.identity import Identity, Unsigned
from hemera.multiparty.party import NAME
from hemera.multiparty.shared import Shared, files_in, which

AT_ONCE = 16
"""Uploads of a list that are in memory at once while they are added."""


@dataclass(frozen=True)
class Announcement:
    """A contributor is there: its weight, and the nonce that its process keeps in memory."""

    weight: int
    nonce: bytes


class Round:
    """- `announced-NAME`, `list-A`, `upload-A-NAME`, `share-A-T-MEMBER`, `result`; A counts attempts.

    Whoever can write to the folder can stop a round, and spoil it where files are not signed. Files that are
    no messages of this round, or not signed by who should have, count as not there. Contributors sign
    announcements and messages, members their shares; any member signs lists and results.
    """

    def __init__(
        self,
        folder: Shared,
        description: _core.FederationDescription,
        turn: int,
        shared: Identity | Unsigned | None = None,
        committee: Sequence[str] = (),
    ) -> None:
        self.folder, self.turn = folder / f"round-{turn}", turn
        self._description, self._committee = description, set(committee)
        self._shared = shared or Unsigned()
        self._whole: dict[Shared, tuple[object, bool]] = {}

    def write(self, path: Shared, data: bytes) -> None:
        self._shared.write(path, data)

    def _read(self, path: Shared, by: Collection[str]) -> bytes | None:
        """The bytes of a file that is there and counts."""
        try:
            return self._shared.read(path, by)
        except (FormatError, FileNotFoundError):
            return None

    def _write_once(self, path: Shared, data: bytes) -> None:
        """Write what a member of the committee signs, unless there is one that counts."""
        if self._read(path, self._committee) is None:
            with contextlib.suppress(FileExistsError):
                self._shared.write(path, data, replace=path.exists())

    # --- Announcements.
    def announce(self, name: str, weight: int, nonce: bytes) -> None:
        content = json.dumps({"weight": weight, "nonce": nonce.hex()})
        self.write(self.folder / f"announced-{name}", content.encode())

    def announcements(self) -> dict[str, Announcement]:
        """The whole announcements, by name."""
        found: dict[str, Announcement] = {}
        for path in files_in(self.folder, "announced-*"):
            name = path.name.removeprefix("announced-")
            with contextlib.suppress(ValueError, KeyError, TypeError, OSError):
                content: dict[str, Any] = json.loads(self._shared.read(path, {name}))
                nonce, weight = bytes.fromhex(content["nonce"]), content["weight"]
                if NAME.fullmatch(name) and len(nonce) == 32 and type(weight) is int:
                    found[name] = Announcement(weight, nonce)
        return found

    # --- Lists.
    def lists(self) -> list[_core.FederationList]:
        """The lists of all attempts, in order."""
        found: list[_core.FederationList] = []
        while (data := self._read(path := self.folder / f"list-{len(found)}", self._committee)) is not None:
            listed = _core.FederationList.read(self._description, data)
            if (listed.round, listed.attempt) != (self.turn, len(found)):
                raise MismatchError(f"{path} is the list of round {listed.round}, attempt {listed.attempt}")
            found.append(listed)
        return found

    def close(self, attempt: int, entries: list[tuple[str, int, bytes]]) -> None:
        """Write a list, unless there is one."""
        listed = _core.FederationList(self._description, self.turn, attempt, entries)
        self._write_once(self.folder / f"list-{attempt}", listed.data)

    # --- Messages.
    def upload_path(self, listed: _core.FederationList, name: str) -> Shared:
        return self.folder / f"upload-{listed.attempt}-{name}"

    def has_upload(self, listed: _core.FederationList, name: str) -> bool:
        """Whether the contributor's message is there and whole."""
        return self._is_whole(
            self.upload_path(listed, name),
            {name},
            lambda data: _core.upload_sender(self._description, listed, data) == name,
        )

    def missing(self, listed: _core.FederationList) -> list[str]:
        return [name for name, _, _ in listed.entries if not self.has_upload(listed, name)]

    def share_path(self, listed: _core.FederationList, piece: int, member: str) -> Shared:
        return self.folder / f"share-{listed.attempt}-{piece}-{member}"

    def shares(self, listed: _core.FederationList, piece: int) -> Iterator[Shared]:
        """The whole shares of a piece, of any member."""
        for path in files_in(self.folder, f"share-{listed.attempt}-{piece}-*"):
            by = {self._member(path)} & self._committee
            if self._is_whole(
                path, by, lambda data: _core.share_piece(self._description, listed, data) == piece
            ):
                yield path

    def compare(self, listed: _core.FederationList, piece: int, digest: bytes) -> None:
        """MismatchError where a member's share of a piece has not this SHA-256."""
        for path in self.shares(listed, piece):
            name = self._member(path)
            if hashlib.sha256(self._shared.read(path, {name})).digest() != digest:
                raise MismatchError(
                    f"{name} gives another share of piece {piece} than the piece does: remove {path}, and "
                    "members answer again"
                )

    @staticmethod
    def _member(path: Shared) -> str:
        return path.name.split("-", 3)[3]

    def _is_whole(self, path: Shared, by: Collection[str], is_right: Any) -> bool:
        """What a file was found to be, until another one takes its place."""
        found = which(path)
        if found is None:
            return False
        known = self._whole.get(path)
        if known is None or known[0] != found:
            try:
                whole = bool(is_right(self._shared.read(path, by)))
            except (FormatError, MismatchError):
                whole = False
            self._whole[path] = found, whole
        return self._whole[path][1]

    # --- Results.
    def opened(self, listed: _core.FederationList, pieces: int) -> NDArray[np.int64] | None:
        """The sum, if all messages are there; the errors of UploadSum.open.

        Threads read and add AT_ONCE uploads at a time: no more are in memory.
        """
        paths = [list(self.shares(listed, piece)) for piece in range(pieces)]
        if not all(paths) or self.missing(listed):
            return None
        total = _core.UploadSum(self._description, listed)
        names = [name for name, _, _ in listed.entries]

        def read(name: str) -> bytes:
            return self._shared.read(self.upload_path(listed, name), {name})

        with ThreadPoolExecutor(AT_ONCE) as threads:
            for first in range(0, len(names), AT_ONCE):
                total.add(*threads.map(read, names[first : first + AT_ONCE]))
        return total.open(
            [self._shared.read(path, {self._member(path)}) for of_piece in paths for path in of_piece]
        )

    def publish(self, listed: _core.FederationList, sums: NDArray[np.int64]) -> None:
        """Write the result, unless there is one."""
        data = listed.digest + sums.astype("<i8").tobytes()
        self._write_once(self.folder / "result", data + hashlib.sha256(data).digest())

    def has_result(self) -> bool:
        return self._read(self.folder / "result", self._committee) is not None

    def result(self, count: int) -> tuple[_core.FederationList, NDArray[np.int64]] | None:
        """The list and the sum that somebody has published."""
        path = self.folder / "result"
        data = self._read(path, self._committee)
        if data is None:
            return None
        if len(data) != 64 + 8 * count or hashlib.sha256(data[:-32]).digest() != data[-32:]:
            raise FormatError(f"{path} is damaged; delete it, and members open the round again")
        listed = next((each for each in self.lists() if each.digest == data[:32]), None)
        if listed is None:
            raise MismatchError(f"{path} is of a list that the round does not have")
        return listed, np.frombuffer(data[32:-32], "<i8").astype(np.int64)


def require_weight(weight: int, most: int) -> int:
    """ParameterError unless it is a whole number from 1 to the largest of the federation."""
    if type(weight) is not int or not 1 <= weight <= most:
        raise ParameterError(
            f"weight must be a whole number from 1 to {most}, the largest of the federation, not {weight!r}"
        )
    return weight
