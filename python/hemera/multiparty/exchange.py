"""What each of several parties gives: digests of all first, so that nobody chooses its own by the others'."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping

from hemera.errors import FormatError, MismatchError
from hemera.multiparty.identity import Identity, Unsigned
from hemera.multiparty.shared import Shared


class Exchange:
    """Files `digest-WHAT-NAME` and `WHAT-NAME`, each written once.

    - `given`: the names of their givers by what is given.
    """

    def __init__(self, folder: Shared, shared: Identity | Unsigned, given: Mapping[str, str]) -> None:
        self._folder, self._shared, self._given = folder, shared, given
        self._digests: dict[str, bytes] = {}
        """Seen before: a second one of somebody ends the exchange."""

    def commit(self, own: Mapping[str, bytes]) -> dict[str, bytes] | None:
        """Write the digests of what this party gives. Returns those of all when they are there, else None.

        Raises:
            MismatchError: where somebody gave two; and where an earlier process of this party gave another.
        """
        for what, digest in own.items():
            self._write(f"digest-{what}", self._given[what], digest)
        for what, name in self._given.items():
            found = self._read(f"digest-{what}", name)
            if found is None:
                return None
            if self._digests.setdefault(what, found) != found:
                raise MismatchError(
                    f"{name} gave two digests for {what} in {self._folder}: start another one"
                )
        return dict(self._digests)

    def give(self, own: Mapping[str, bytes]) -> dict[str, bytes] | None:
        """Write what this party gives, as far as it may: its digests, and the rest when the digests of all
        are there. Returns what all gave when it is all there, else None.

        Raises:
            MismatchError: as `commit`, and where somebody gave something else than its digest says.
        """
        if self.commit({what: hashlib.sha256(content).digest() for what, content in own.items()}) is None:
            return None
        for what, content in own.items():
            self._write(what, self._given[what], content)
        if not all((self._folder / f"{what}-{name}").exists() for what, name in self._given.items()):
            return None
        found: dict[str, bytes] = {}
        for what, name in self._given.items():
            there = own.get(what) or self._read(what, name)
            if there is None:
                return None
            if hashlib.sha256(there).digest() != self._digests[what]:
                raise MismatchError(f"{name} gave another {what} in {self._folder} than its digest says")
            found[what] = there
        return found

    def missing(self) -> list[str]:
        """Who has not given all yet."""
        lacking = {
            name
            for what, name in self._given.items()
            if not (self._folder / f"{what}-{name}").exists()
            or not (self._folder / f"digest-{what}-{name}").exists()
        }
        return sorted(lacking)

    def _read(self, what: str, name: str) -> bytes | None:
        try:
            return self._shared.read(self._folder / f"{what}-{name}", {name})
        except (FormatError, FileNotFoundError):
            return None

    def _write(self, what: str, name: str, content: bytes) -> None:
        found = self._read(what, name)
        if found is None:
            path = self._folder / f"{what}-{name}"
            with contextlib.suppress(FileExistsError):
                self._shared.write(path, content, replace=path.exists())
            found = self._read(what, name)
        if found != content:
            raise MismatchError(
                f"{self._folder} has another {what} of {name}: an earlier process gave it, or somebody else"
            )
