"""Bytes of files that a store counts besides its own: those of federations."""

from __future__ import annotations

import collections
from pathlib import Path

from hemera._process import Lock

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
