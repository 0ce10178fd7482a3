"""What the stages of the entry agree on: the instance, files, the device, and the network's sizes."""

from __future__ import annotations

import argparse
import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hemera_apps.transformer.network.circuit import NetworkCircuit
from hemera_apps.transformer.network.config import NetworkConfig

__all__ = ["MODEL", "Workload", "parse", "read_lines", "weights"]

MODEL = Path(os.environ.get("HEMERA_BERT_MODEL", Path(__file__).with_name("model")))
"""Results of `make_model.py`: config.json, embeddings.npz for the client, weights.npz for the server, and
calibration.jsonl, other sentences."""
_SIZES = ("single", "small", "medium", "large")


@dataclass(frozen=True)
class Workload:
    """An instance of the workload, in the harness' folders."""

    size: int
    root: Path = Path()

    @property
    def sentences(self) -> Path:
        """Pairs of sentences, one in a line."""
        return self.root / "datasets" / _SIZES[self.size] / "intermediate" / "test_input.txt"

    @property
    def io(self) -> Path:
        return self.root / "io" / _SIZES[self.size]

    @property
    def keys(self) -> Path:
        """For the server."""
        return self.io / "public_keys"

    @property
    def secret(self) -> Path:
        """The client's alone."""
        return self.io / "secret_key"

    @property
    def words(self) -> Path:
        """Numbers of words, as the client's next stage reads them."""
        return self.io / "intermediate" / "words.jsonl"

    @property
    def logits(self) -> Path:
        """What the client decrypted."""
        return self.io / "intermediate" / "logits.jsonl"

    @property
    def calibration(self) -> Path:
        """The ranges of the network's values, which the server made of other sentences."""
        return self.root / "io" / "server_data" / "calibration.json"

    def up(self, number: int) -> Path:
        """The upload of an input."""
        return self.io / "ciphertexts_upload" / str(number)

    def down(self, number: int) -> Path:
        """The result of an input."""
        return self.io / "ciphertexts_download" / str(number)

    @property
    def device(self) -> str:
        """The server's."""
        return os.environ.get("HEMERA_DEVICE", "auto")

    @functools.cached_property
    def config(self) -> NetworkConfig:
        """The network's sizes."""
        return NetworkConfig.load(MODEL / "config.json")

    @functools.cached_property
    def circuit(self) -> NetworkCircuit:
        """The circuit of these sizes alone."""
        return NetworkCircuit(self.config)

    def make_folders(self) -> None:
        for folder in (self.keys, self.secret, self.words.parent, self.calibration.parent):
            folder.mkdir(parents=True, exist_ok=True)


def parse() -> Workload:
    """The instance that the harness asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int, choices=range(len(_SIZES)))
    return Workload(parser.parse_args().size)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file with one in each line."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def weights(file: str) -> dict[str, np.ndarray]:
    """Weights by name, of a file of the model."""
    with np.load(MODEL / f"{file}.npz") as stored:
        return dict(stored)
