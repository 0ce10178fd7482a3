"""An instance of the workload: its sizes, and where its files are. The last stage needs no more, and starts
without NumPy."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

__all__ = ["PAYLOAD", "Instance", "parse"]

AnInstance = TypeVar("AnInstance", bound="Instance")

PAYLOAD = 7
"""Numbers of a record's payload, from 0 to 511."""
_SIZES = (("toy", 128, 1000), ("small", 128, 50_000), ("medium", 256, 1_000_000), ("large", 512, 20_000_000))
_RINGS = (1 << 11, 1 << 15, 1 << 15, 1 << 15)
_TOGETHER = 8
"""Blocks of a group."""
_SHARE = 8
"""Entries of a file's columns."""


@dataclass(frozen=True)
class Instance:
    """An instance of the workload."""

    size: int
    count_only: bool = False
    root: Path = Path()

    @property
    def dims(self) -> int:
        return _SIZES[self.size][1]

    @property
    def records(self) -> int:
        return _SIZES[self.size][2]

    @property
    def degree(self) -> int:
        return _RINGS[self.size]

    @property
    def groups(self) -> list[range]:
        """The blocks of each group."""
        blocks = -(-self.records // self.degree)
        return [range(first, min(first + _TOGETHER, blocks)) for first in range(0, blocks, _TOGETHER)]

    @property
    def shares(self) -> list[range]:
        """The entries whose columns are in a file together."""
        return [range(first, first + _SHARE) for first in range(0, self.dims, _SHARE)]

    @property
    def data(self) -> Path:
        return self.root / "datasets" / _SIZES[self.size][0]

    @property
    def io(self) -> Path:
        return self.root / "io" / _SIZES[self.size][0]

    @property
    def keys(self) -> Path:
        """For the server."""
        return self.io / "keys"

    @property
    def secret(self) -> Path:
        """The client's alone."""
        return self.io / "secret"

    @property
    def up(self) -> Path:
        return self.io / "ciphertexts_upload"

    @property
    def down(self) -> Path:
        return self.io / "ciphertexts_download"

    @property
    def device(self) -> str:
        """The server's."""
        return os.environ.get("HEMERA_DEVICE", "auto")

    @property
    def matches(self) -> Path:
        """What the client has decrypted: payloads of matches in any order, or their number."""
        return self.secret / "matches.bin"


def parse(kind: type[AnInstance]) -> AnInstance:
    """The instance that the harness asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int, choices=range(len(_SIZES)))
    parser.add_argument("--count_only", action="store_true")
    options, _ = parser.parse_known_args()  # --seed is of the harness' data
    return kind(options.size, options.count_only)
