"""Evaluation keys of one client and model, as they lie on the disk."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TABLE = "set.json"
"""The file of a set that has the sizes of the others; its time is that of the last use."""
_NOTED = 300.0
"""Seconds between notes of a use."""


@dataclass(frozen=True)
class KeySet:
    """Keys that one client uploaded for one model."""

    client: str
    model: str
    generation: int
    library: str
    """The library of the files: HEMERA, or a name in the registry (`hemera.interop.libraries`)."""
    digest: str
    """SHA-256 of the files, in 64 hexadecimal digits: the client's own digest of its files."""
    files: Mapping[str, Path]
    bytes: int

    def is_there(self) -> bool:
        """Whether its files are: those of a client that was removed are not."""
        return all(path.exists() for path in self.files.values())

    @property
    def _table(self) -> Path:
        return next(iter(self.files.values())).parent / TABLE

    @property
    def unused_seconds(self) -> float:
        """Seconds since its last use, or since it came; 0 where its files are gone."""
        try:
            return time.time() - self._table.stat().st_mtime
        except OSError:
            return 0.0

    def use(self) -> None:
        """Note that a request uses it, on the disk, within a few minutes."""
        if self.unused_seconds > _NOTED:
            with contextlib.suppress(OSError):
                os.utime(self._table)

    def describe(self) -> dict[str, object]:
        """The description for the client."""
        return {"library": self.library, "digest": self.digest, "bytes": self.bytes}


def newest_set(home: Path) -> KeySet | None:
    """The set that counts of those in the folder of a client and model, CLIENT/MODEL."""
    sets = [read_set(folder, home.parent.name, home.name) for folder in home.iterdir()]
    complete = [found for found in sets if found is not None]
    return max(complete, key=lambda found: found.generation, default=None)


def read_set(folder: Path, client: str, model: str) -> KeySet | None:
    """The set in a folder; None unless it is complete."""
    try:
        table = json.loads((folder / TABLE).read_bytes())
        files = {str(name): folder / name for name in table["files"]}
        sizes = {name: path.stat().st_size for name, path in files.items()}
        if sizes != table["files"] or not folder.name.isdecimal():
            return None
        return KeySet(
            client,
            model,
            int(folder.name),
            str(table["library"]),
            str(table["digest"]),
            files,
            sum(sizes.values()),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
