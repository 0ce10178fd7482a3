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

from hemera_apps.bench.harness import Instance

__all__ = ["Words", "Workload", "parse", "read_words", "write_words"]

Words = NDArray[np.uint64]
_METHODS = ("levelled", "integers")


@dataclass(frozen=True)
class Workload(Instance):
    """An instance of the workload, in the harness' folders."""

    count: int = 0
    """Products, of the stages that the harness gives their number; else 0."""

    @property
    def secret(self) -> Path:
        """The client's alone."""
        return self.io / "private_keys"

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
    return Workload(options.name, count=options.count)


def read_words(path: Path) -> Words:
    """Integers from 0 to 2^64 - 1, one in a line."""
    return np.loadtxt(path, np.uint64, ndmin=1)


def write_words(path: Path, values: Words) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(str, values.tolist())) + "\n")
