"""What the stages of the entry agree on: instances, files, the device, and the way of computing."""

from __future__ import annotations

import argparse
import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

__all__ = ["Words", "Workload", "parse", "read_words", "write_words"]

Words = NDArray[np.uint64]
_METHODS = ("levelled", "integers")


@dataclass(frozen=True)
class Workload:
    """An instance of the workload, in the harness' folders."""

    name: str
    """"single", "small", "medium" or "large"."""
    count: int = 0
    """Products, of the stages that the harness gives their number; else 0."""
    root: Path = Path()

    @property
    def data(self) -> Path:
        return self.root / "datasets" / self.name

    @property
    def io(self) -> Path:
        return self.root / "io" / self.name

    @property
    def keys(self) -> Path:
        """For the server."""
        return self.io / "public_keys"

    @property
    def secret(self) -> Path:
        """The client's alone."""
        return self.io / "private_keys"

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
    def method(self) -> ModuleType:
        """The way of computing: the module that the environment names."""
        name = os.environ.get("HEMERA_METHOD", _METHODS[0])
        if name not in _METHODS:
            raise SystemExit(f"HEMERA_METHOD is {name!r}, and not one of {', '.join(_METHODS)}")
        return importlib.import_module(name)

    @property
    def results(self) -> Path:
        """What the client decrypted."""
        return self.secret / "decrypted.npy"

    def make_folders(self) -> None:
        for folder in (self.keys, self.secret, self.up, self.down):
            folder.mkdir(parents=True, exist_ok=True)

    def operands(self) -> tuple[Words, Words]:
        return read_words(self.data / "lhs.txt"), read_words(self.data / "rhs.txt")


def parse() -> Workload:
    """The instance that the harness asks for: its name, which the number of products may follow."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("count", type=int, nargs="?", default=0)
    options = parser.parse_args()
    return Workload(options.name, options.count)


def read_words(path: Path) -> Words:
    """Integers from 0 to 2^64 - 1, one in a line."""
    return np.loadtxt(path, np.uint64, ndmin=1)


def write_words(path: Path, values: Words) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(str, values.tolist())) + "\n")
