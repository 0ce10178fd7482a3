"""The files of a round, in the folder that all parties can write to."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera._files import which_file, write_atomically
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.multiparty.party import NAME


@dataclass(frozen=True)
class Announcement:
    """A contributor is there: its weight, and the nonce that its process keeps in memory."""

    weight: int
    nonce: bytes


class Round:
    """- `announced-NAME`, `list-A`, `upload-A-NAME`, `share-A-T-MEMBER`, `result`; A counts attempts.

    Whoever can write to the folder can spoil or stop a round. Files that are no messages of this round count
    as not there.
    """

    def __init__(self, folder: Path, description: _core.FederationDescription, turn: int) -> None:
        self.folder, self.turn = folder / f"round-{turn}", turn
        self._description = description
        self._whole: dict[Path, tuple[object, bool]] = {}

    # --- Announcements.
    def announce(self, name: str, weight: int, nonce: bytes) -> None:
        content = json.dumps({"weight": weight, "nonce": nonce.hex()})
        write_atomically(self.folder / f"announced-{name}", content.encode())

    def announcements(self) -> dict[str, Announcement]:
        """The whole announcements, by name."""
        found: dict[str, Announcement] = {}
        for path in sorted(self.folder.glob("announced-*")):
            name = path.name.removeprefix("announced-")
            with contextlib.suppress(ValueError, KeyError, TypeError, OSError):
                content: dict[str, Any] = json.loads(path.read_bytes())
                nonce, weight = bytes.fromhex(content["nonce"]), content["weight"]
                if NAME.fullmatch(name) and len(nonce) == 32 and type(weight) is int:
                    found[name] = Announcement(weight, nonce)
        return found

    # --- Lists.
    def lists(self) -> list[_core.FederationList]:
        """The lists of all attempts, in order."""
        found: list[_core.FederationList] = []
        while (path := self.folder / f"list-{len(found)}").exists():
            listed = _core.FederationList.read(self._description, path.read_bytes())
            if (listed.round, listed.attempt) != (self.turn, len(found)):
                raise MismatchError(f"{path} is the list of round {listed.round}, attempt {listed.attempt}")
            found.append(listed)
        return found

    def close(self, attempt: int, entries: list[tuple[str, int, bytes]]) -> None:
        """Write a list, unless there is one."""
        listed = _core.FederationList(self._description, self.turn, attempt, entries)
        with contextlib.suppress(FileExistsError):
            write_atomically(self.folder / f"list-{attempt}", listed.data, replace=False)

    # --- Messages.
    def upload_path(self, listed: _core.FederationList, name: str) -> Path:
        return self.folder / f"upload-{listed.attempt}-{name}"

    def has_upload(self, listed: _core.FederationList, name: str) -> bool:
        """Whether the contributor's message is there and whole."""
        return self._is_whole(
            self.upload_path(listed, name),
            lambda data: _core.upload_sender(self._description, listed, data) == name,
        )

    def missing(self, listed: _core.FederationList) -> list[str]:
        return [name for name, _, _ in listed.entries if not self.has_upload(listed, name)]

    def share_path(self, listed: _core.FederationList, piece: int, member: str) -> Path:
        return self.folder / f"share-{listed.attempt}-{piece}-{member}"

    def shares(self, listed: _core.FederationList, piece: int) -> Iterator[Path]:
        """The whole shares of a piece, of any member."""
        for path in sorted(self.folder.glob(f"share-{listed.attempt}-{piece}-*")):
            if self._is_whole(path, lambda data: _core.share_piece(self._description, listed, data) == piece):
                yield path

    def _is_whole(self, path: Path, is_right: Any) -> bool:
        """What a file was found to be, until another one takes its place."""
        which = which_file(path)
        if which is None:
            return False
        known = self._whole.get(path)
        if known is None or known[0] != which:
            try:
                whole = bool(is_right(path.read_bytes()))
            except (FormatError, MismatchError):
                whole = False
            self._whole[path] = which, whole
        return self._whole[path][1]

    # --- Results.
    def opened(self, listed: _core.FederationList, pieces: int) -> NDArray[np.int64] | None:
        """The sum, if all messages are there; the errors of UploadSum.open."""
        paths = [list(self.shares(listed, piece)) for piece in range(pieces)]
        if not all(paths) or self.missing(listed):
            return None
        total = _core.UploadSum(self._description, listed)
        for name, _, _ in listed.entries:
            total.add(self.upload_path(listed, name).read_bytes())
        return total.open([path.read_bytes() for of_piece in paths for path in of_piece])

    def publish(self, listed: _core.FederationList, sums: NDArray[np.int64]) -> None:
        """Write the result, unless there is one."""
        data = listed.digest + sums.astype("<i8").tobytes()
        with contextlib.suppress(FileExistsError):
            write_atomically(self.folder / "result", data + hashlib.sha256(data).digest(), replace=False)

    def result(self, count: int) -> tuple[_core.FederationList, NDArray[np.int64]] | None:
        """The list and the sum that somebody has published."""
        path = self.folder / "result"
        if not path.exists():
            return None
        data = path.read_bytes()
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
