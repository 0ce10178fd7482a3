"""The workload BERT of HomomorphicEncryption.org's suite: pairs of sentences, a label of each."""

from __future__ import annotations

import json
import math
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hemera.errors import NoiseError
from hemera_apps.bench.official_workloads import Facts, Stage, Workload
from hemera_apps.transformer.clear import Shape
from hemera_apps.transformer.network.calibration import Calibration
from hemera_apps.transformer.network.config import NetworkConfig
from hemera_apps.transformer.network.model import Embeddings, Network
from hemera_apps.transformer.planned import least_bits
from hemera_apps.transformer.stages import agreement


class Bert(Workload):
    """Labels of pairs of random sentences, by a network of random weights: the harness' weights and sentences
    are not in its repository. "toy" is a small network on a small ring: NOT SECURE."""

    name = "BERT"
    folder = "BERT/submission"
    sizes: ClassVar = {"toy": 1, "single": 1, "small": 100, "medium": 200, "large": 408}
    reference_seconds: ClassVar[Mapping[str, float]] = {"single": 2356.2, "small": 66_624.0}
    """The means of three runs in its repository, of 176 virtual processors; of 100 inputs the time of the
    stage."""
    _TOY: ClassVar = NetworkConfig(
        Shape(8, 16, 2, 32), blocks=2, vocabulary=50, preset="test-40", fields={"security": None}
    )
    _PAIRS: ClassVar = {"toy": 64}
    """Pairs of sentences for calibration."""

    def make_data(self, root: Path, size: str, random: np.random.Generator) -> None:
        make = self._program(root, "make_model")
        config = self._TOY if size == "toy" else NetworkConfig()
        seed = int(random.integers(2**31))
        make["write_random"](
            root / "submission" / "model", config, seed=seed, pairs=self._PAIRS.get(size, 16)
        )
        folder = root / "datasets" / self._instance(size) / "intermediate"
        folder.mkdir(parents=True)
        pairs = make["random_pairs"](self.sizes[size], config.shape.tokens, random)
        make["write_pairs"](folder / "test_input.txt", pairs)

    @staticmethod
    def _program(root: Path, name: str) -> dict[str, Any]:
        """The names of a program of the entry."""
        folder = str(root / "submission")
        before = set(sys.modules)
        sys.path.insert(0, folder)
        try:
            return runpy.run_path(f"{folder}/{name}.py")
        finally:
            sys.path.remove(folder)
            for module in set(sys.modules) - before:
                if str(getattr(sys.modules[module], "__file__", None) or "").startswith(folder):
                    del sys.modules[module]

    @staticmethod
    def _instance(size: str) -> str:
        """The harness' name: a toy is a single input."""
        return "single" if size == "toy" else size

    def stages(self, size: str) -> list[Stage]:
        number = [str(("single", "small", "medium", "large").index(self._instance(size)))]
        names = (
            "client_key_generation",
            "server_preprocess_model",
            "client_preprocess_input",
            "client_encode_encrypt_input",
            "server_encrypted_compute",
            "client_decrypt_decode",
            "client_postprocess",
        )
        return [(name, number) for name in names]

    def sent(self, root: Path, size: str) -> dict[str, Path]:
        return super().sent(root, self._instance(size))

    def steps(self, root: Path, size: str) -> Path:
        return super().steps(root, self._instance(size))

    def check(self, root: Path, size: str) -> Facts:
        """Logits beside those of the network in the clear, and the labels of the largest."""
        model, instance = root / "submission" / "model", self._instance(size)
        config = NetworkConfig.load(model / "config.json")
        to_words = self._program(root, "sentences")["to_words"]
        data = root / "datasets" / instance / "intermediate" / "test_input.txt"
        pairs = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
        words = [
            to_words(model, config.shape.tokens, config.vocabulary, pair["sentence1"], pair["sentence2"])
            for pair in pairs
        ]
        weights = {}
        for file in ("embeddings", "weights"):
            with np.load(model / f"{file}.npz") as stored:
                weights[file] = dict(stored)
        x = Embeddings(config, weights["embeddings"])(
            *([each[key] for each in words] for key in ("words", "types"))
        )
        network = Network(config, weights["weights"])
        expected = np.concatenate(
            [network.logits(x[i : i + 1], [each["real"]]) for i, each in enumerate(words)]
        )
        found = [
            json.loads(line)["logits"]
            for line in (root / "io" / instance / "intermediate" / "logits.jsonl").read_text().splitlines()
        ]
        if np.shape(found) != expected.shape:
            raise NoiseError(f"{self.name}: logits of {len(found)} inputs came, of {len(expected)}")
        bits = agreement(np.array(found), expected)
        planned = Calibration.load(root / "io" / "server_data" / "calibration.json").bits
        least = least_bits(planned) - math.log2(config.blocks)
        if bits < least:
            raise NoiseError(
                f"{self.name}: logits agree with the clear ones in {bits} bits, not in {least:.1f}"
            )
        labels = np.loadtxt(root / "io" / instance / "encrypted_model_predictions.txt", int, ndmin=1)
        expected = expected[np.argsort([pair["target_idx"] for pair in pairs])]  # as labels are
        two = np.sort(expected, axis=1)[:, -2:]
        tie = two[:, 1] - two[:, 0] < 2.0 ** (1 - least) * np.abs(expected).max()
        wrong = (labels != expected.argmax(1)) & ~tie
        if wrong.any():
            raise NoiseError(f"{self.name}: {wrong.sum()} labels are not those of the network in the clear")
        right = int((labels == expected.argmax(1)).sum())
        return {"as_in_the_clear": right, "bits": bits, "planned_bits": planned}
