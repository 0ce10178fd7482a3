"""What the stages of the entry agree on: the instance, files, the device, and the network's sizes."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from hemera_apps.bench.harness import Instance
from hemera_apps.transformer.network.circuit import NetworkCircuit
from hemera_apps.transformer.network.config import NetworkConfig

__all__ = ["MODEL", "Workload", "read_lines", "weights"]

MODEL = Path(os.environ.get("HEMERA_BERT_MODEL", Path(__file__).with_name("model")))
"""Results of `make_model.py`: config.json, embeddings.npz for the client, weights.npz for the server, and
calibration.jsonl, other sentences."""


class Workload(Instance):
    """An instance of the workload, in the harness' folders."""

    @property
    def sentences(self) -> Path:
        """Pairs of sentences, one in a line."""
        return self.data / "intermediate" / "test_input.txt"

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

    def uploaded(self, number: int) -> Path:
        """The upload of an input."""
        return self.up / str(number)

    def result(self, number: int) -> Path:
        """The result of an input."""
        return self.down / str(number)

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


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file with one in each line."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def weights(file: str) -> dict[str, np.ndarray]:
    """Weights by name, of a file of the model."""
    with np.load(MODEL / f"{file}.npz") as stored:
        return dict(stored)
