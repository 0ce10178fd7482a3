"""What the stages of the entry agree on: instances, files, and where blocks stand in arrays."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from aes import IN_ROWS, Bytes
from numpy.typing import NDArray

import hemera as hm
from hemera_apps.bench.harness import Instance, Steps

_NAMES = ("toy", "small", "medium", "large")
_PRESET = os.environ.get("HEMERA_PRESET", "n16-exact")
""""test-exact" is for tests, and not secure."""
_METHODS = ("maximum", "inner")


@dataclass(frozen=True)
class Workload(Instance):
    """An instance of the workload, in the harness' folders."""

    @property
    def is_single_block(self) -> bool:
        """Whether blocks are decrypted one by one (ECB); else they are a stream (CTR)."""
        return self.name == "toy"

    @property
    def aes_down(self) -> Path:
        """Encrypted records, for the client and the next stage."""
        return self.io / "ciphertext_aes_download"

    @property
    def method(self) -> str:
        """What is computed of the records: the harness' --mini_workload, which the stages are not told."""
        name = os.environ.get("HEMERA_METHOD", _METHODS[0])
        if name not in _METHODS:
            raise SystemExit(f"HEMERA_METHOD is {name!r}, and not one of {', '.join(_METHODS)}")
        return name

    def hexadecimal(self, name: str) -> bytes:
        """The bytes of a file of the harness."""
        return bytes.fromhex((self.data / name).read_text().strip())

    def blocks(self) -> Bytes:
        """What AES encrypted [block, byte]."""
        return np.frombuffer(self.hexadecimal("db.hex"), np.uint8).reshape(-1, 16)

    def client(self) -> hm.integers.Context:
        """With the secret key, and without keys to compute with."""
        return hm.integers.Context(
            16, preset=_PRESET, device="cpu", secret_key=self.secret / "secret_key.bin"
        )

    def new_client(self) -> hm.integers.Context:
        return hm.integers.Context(16, preset=_PRESET, device="cpu")

    def server(self) -> tuple[hm.integers.Context, Steps]:
        """With the keys to compute with, whose reading is the first step."""
        steps = Steps()
        with steps.of("Reading"):
            server = hm.integers.Context(16, preset=_PRESET, device=self.device, keys=self.keys / "keys.bin")
            steps.contexts.append(server.keys.context)
        return server, steps

    def report(self, steps: Steps, name: str, *before: str) -> None:
        """Save the seconds of a server's process, and those of processes before with them: sums, and each
        one's computation."""
        steps.save(self.io / f"{name}.json")
        total: dict[str, float] = {}
        for process in (*before, name):
            for step, seconds in json.loads((self.io / f"{process}.json").read_text()).items():
                total[step] = round(total.get(step, 0.0) + seconds, 5)
                if step.endswith("computation"):
                    total[f"{step}, {process}"] = seconds
        (self.io / "server_reported_steps.json").write_text(json.dumps(total))


def parse() -> Workload:
    """The instance that the harness asks for, by the number of its size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int, choices=range(len(_NAMES)))
    return Workload(_NAMES[parser.parse_args().size])


def width(ctx: hm.integers.Context) -> int:
    """The blocks whose bytes fill a ciphertext."""
    return ctx.values // 16


def bits_of(blocks: Bytes, ctx: hm.integers.Context) -> NDArray[np.bool_]:
    """The bits [bit, part, place, block] of blocks [block, byte], filled up with zeros."""
    count = width(ctx)
    filled = np.zeros((-(-len(blocks) // count) * count, 16), np.uint8)
    filled[: len(blocks)] = blocks[:, IN_ROWS]
    parts = filled.reshape(-1, count, 16).transpose(0, 2, 1)
    return np.stack([parts >> i & 1 for i in range(8)]).astype(np.bool_)


def records_of(bits: hm.integers.Booleans, blocks: int) -> hm.integers.Integers:
    """The records [record of a block, block] of encrypted bits; of several parts, which are full,
    [part, record of a block, block]. A record has two bytes, the higher one first."""
    state = hm.integers.from_bits(bits, np.uint8)
    high, low = (state[:, IN_ROWS[first::2]] for first in (0, 1))
    records = hm.integers.from_bytes([low, high], np.uint16)
    return records[0, :, :blocks] if len(records) == 1 else records


def halves(records: hm.integers.Integers) -> tuple[hm.integers.Integers, hm.integers.Integers]:
    """The first and the second half of the records."""
    if records.ndim == 3 or records.shape[1] == 1:
        half = len(records) // 2
        return records[:half], records[half:]
    half = records.shape[1] // 2
    return records[:, :half], records[:, half:]


def in_order(records: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Decrypted records, as the harness has them."""
    return np.swapaxes(records, -1, -2).reshape(-1)
