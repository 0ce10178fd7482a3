"""Shared folders of federations, which a server keeps and does not understand, and their files' bytes."""

from __future__ import annotations

import collections
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hemera._files import which_file
from hemera._process import Lock
from hemera.errors import FormatError
from hemera.inputs.fields import read_json
from hemera.multiparty.places import TERMS, is_folder, owner_of
from hemera.serving.reasons import NOT_YOURS, UNFIT, UNKNOWN

BLOCK = 4096
"""Bytes that a file counts at least, so that names alone are bounded as well."""


class HeldFiles:
    """Counts files by account. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._files: dict[Path, dict[str, tuple[str, int]]] = {}
        """Account and bytes, by folder and name."""
        self._bytes: collections.Counter[str] = collections.Counter()
        self._total = 0

    def hold(self, account: str, path: Path, size: int) -> None:
        """Count a file, in place of one of its name."""
        with self._lock:
            there = self._files.setdefault(path.parent, {})
            self._forget(there.pop(path.name, None))
            there[path.name] = account, max(size, BLOCK)
            self._bytes[account] += max(size, BLOCK)
            self._total += max(size, BLOCK)

    def bytes(self, account: str | None = None) -> int:
        """Bytes of an account; None: of all."""
        with self._lock:
            return self._total if account is None else self._bytes[account]

    def forget_folders(self) -> None:
        """Folders that were removed count no more."""
        with self._lock:
            for folder in [each for each in self._files if not each.exists()]:
                for counted in self._files.pop(folder).values():
                    self._forget(counted)

    def _forget(self, counted: tuple[str, int] | None) -> None:
        if counted is not None:
            self._bytes[counted[0]] -= counted[1]
            self._total -= counted[1]


_TERMS = 1 << 20
"""Bytes of a federation's terms."""


@dataclass(frozen=True)
class SharedFolder:
    """The files of one federation: a folder as `hm.multiparty.Federation` takes one.

    A party writes files that have its name, members of the committee lists and results too, and whoever is
    first the terms. The names that there may be are `hemera.multiparty.places`.
    """

    name: str
    root: Path

    def hold(self, held: HeldFiles) -> None:
        """Count what lies there, for each party."""
        for path in self.root.rglob("*"):
            place = path.relative_to(self.root).as_posix()
            if owner_of(place) is not None and path.is_file():
                held.hold(self.account(place), path, path.stat().st_size)

    def account(self, place: str) -> str:
        """The name under which the store counts a file, which no client has: that of its party; the
        committee's; the terms have one of their own, since anybody writes them."""
        return f"{self.name}/{place if place == TERMS else owner_of(place)}"

    def files(self, folder: str) -> dict[str, str]:
        """The names in a folder, each with a word that differs for another file. Refused (404) for a folder
        that no federation has."""
        if not is_folder(folder):
            raise UNKNOWN.refused(kind="folder", name=folder[:64])
        found: dict[str, str] = {}
        before = f"{folder}/" if folder else ""
        for path in sorted((self.root / folder).glob("*")):
            which = which_file(path) if owner_of(before + path.name) is not None else None
            if which is not None:
                found[path.name] = "-".join(map(str, which[1:]))
        return found

    def open(self, place: str) -> BinaryIO:
        """Refused (404) where it is not there."""
        if owner_of(place) is not None:
            try:
                return (self.root / place).open("rb")
            except (FileNotFoundError, NotADirectoryError):
                pass
        raise UNKNOWN.refused(kind="file", name=place[:64])

    def require_writer(self, place: str, party: str) -> None:
        """Nothing where a party may write a file. Refused: (422) for a name that a federation does not
        have, (403) for another's."""
        owner = owner_of(place)
        if owner is None:
            raise UNFIT.refused(why=f"a federation has no file {place[:64]!r}")
        if owner != party and not (owner == "" and (place == TERMS or party in self._committee())):
            raise NOT_YOURS.refused(name=place, party=party)

    def limit(self, place: str, each: int) -> int:
        """Bytes that a file may have, where a party may have `each`."""
        return min(each, _TERMS) if place == TERMS else each

    def _committee(self) -> list[str]:
        try:
            committee = read_json((self.root / TERMS).read_bytes(), TERMS)["committee"]
        except (FormatError, LookupError, OSError, TypeError):
            return []
        return list(map(str, committee)) if isinstance(committee, list) else []
