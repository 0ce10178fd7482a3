"""The workload ml-inference of HomomorphicEncryption.org's suite on CIFAR-10: images of ten classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hemera.errors import FileError
from hemera_apps.bench.official_workloads import (
    Facts,
    Stage,
    Workload,
    labels_as_in_the_clear,
    network_of_entry,
)

_BYTES = 1 + 3 * 32 * 32
"""The bytes of an image in CIFAR-10's files: the label, and the pixels of each channel."""


class Images(Workload):
    """Classes of images by a residual network. Without `cifar`, a folder, images are those in the entry's
    file of weights, again and again, and there are no labels to compare with. "toy" is a small network with
    random weights on a small ring: NOT SECURE."""

    name = "ml-inference, CIFAR-10"
    folder = "ml-inference/cifar10"
    sizes: ClassVar = {"toy": 6, "single": 1, "small": 100, "medium": 1000, "large": 10_000}
    reference_seconds: ClassVar[Mapping[str, float]] = {"single": 403.0}
    """Seconds from the paper of its framework, FHEON (arXiv 2510.03996), on a consumer's CPU: the page of
    results has no CIFAR-10."""
    _TIE = 0.01
    """Below this difference of the two largest scores an image may get either class."""

    def __init__(self, cifar: Path | None = None) -> None:
        self._cifar = cifar

    def make_data(self, root: Path, size: str, random: np.random.Generator) -> None:
        folder = root / "datasets" / self._instance(size) / "intermediate"
        folder.mkdir(parents=True)
        count = self.sizes[size]
        if size == "toy":
            small: dict[str, Any] = _small_network(random)
            np.savez(root / "submission" / "weights.npz", **small)
        if size == "toy" or self._cifar is None:
            kept = network_of_entry(root).calibration
            images = kept[np.arange(count) % len(kept)]
        else:
            rows = self._tests(self._cifar)
            rows = rows[random.permutation(len(rows))[:count]]
            images = rows[:, 1:] / 255
            np.savetxt(folder / "test_labels.txt", rows[:, 0], fmt="%u")
        np.savetxt(folder / "test_pixels.txt", images.reshape(count, -1), fmt="%.6f")

    @staticmethod
    def _tests(folder: Path) -> NDArray[np.uint8]:
        """The test images, each with its label in front.

        Raises:
            FileError: if the file can not be read, or has no whole images.
        """
        path = folder / "test_batch.bin"
        try:
            data = np.fromfile(path, np.uint8)
        except OSError as error:
            raise FileError(f"can not read {path}: {error.strerror}") from error
        if not data.size or data.size % _BYTES:
            raise FileError(f"{path} has {data.size} bytes, not a multiple of the {_BYTES} of an image")
        return data.reshape(-1, _BYTES)

    @staticmethod
    def _instance(size: str) -> str:
        """The harness' name: a toy is a small batch."""
        return "small" if size == "toy" else size

    def stages(self, size: str) -> list[Stage]:
        instance = self._instance(size)
        layout = "one" if instance == "single" else "few"
        number = [str(("single", "small", "medium", "large").index(instance))]
        return [
            ("compile_network", [layout, *(["--toy"] if size == "toy" else [])]),
            ("client_key_generation", number),
            ("client_preprocess_input", number),
            ("client_encode_encrypt_input", number),
            ("server_encrypted_compute", number),
            ("client_decrypt_decode", number),
            ("client_postprocess", number),
        ]

    def sent(self, root: Path, size: str) -> dict[str, Path]:
        return super().sent(root, self._instance(size))

    def steps(self, root: Path, size: str) -> Path:
        return super().steps(root, self._instance(size))

    def check(self, root: Path, size: str) -> Facts:
        """Scores beside those of the network in the clear, and the classes of the largest."""
        data, io = (root / folder / self._instance(size) for folder in ("datasets", "io"))
        network = network_of_entry(root)
        pixels = np.loadtxt(data / "intermediate" / "test_pixels.txt", ndmin=2)
        expected = np.stack([network(image) for image in pixels.reshape(-1, *network.shape)])
        found = np.loadtxt(io / "encrypted_model_predictions.txt", int, ndmin=1)
        facts = labels_as_in_the_clear(self.name, found, expected, self._TIE)
        error = float(np.abs(np.load(io / "intermediate" / "scores.npy") - expected).max())
        facts["bits"] = round(-float(np.log2(error / max(1.0, np.abs(expected).max()))), 2)
        labels = data / "intermediate" / "test_labels.txt"
        if labels.exists():
            facts["right"] = int((found == np.loadtxt(labels, int, ndmin=1)).sum())
        return facts


def _small_network(random: np.random.Generator) -> dict[str, NDArray[Any]]:
    """The entry's network with three blocks of 2, 4 and 8 channels, for images of 8 x 8 pixels, and two such
    images."""

    def weights(results: int, channels: int, kernel: int) -> NDArray[np.float64]:
        deviation = 0.3 / np.sqrt(channels * kernel**2)
        return random.normal(0, deviation, (results, channels, kernel, kernel))

    parts: dict[str, NDArray[Any]] = {"mean": np.full(3, 0.5), "first": weights(2, 3, 3)}
    channels = 2
    for block, own in enumerate((2, 4, 8)):
        parts[f"moved{block}"] = random.uniform(0.5, 1.5, channels)
        parts[f"inner{block}"] = weights(own, channels, 3)
        parts[f"bias{block}"] = random.uniform(0.5, 1.5, own)
        parts[f"outer{block}"] = weights(own, own, 3)
        if own > channels:
            parts[f"short{block}"] = weights(own, channels, 1)
        channels = own
    parts |= {
        "moved": random.uniform(0.5, 1.5, channels),
        "last": random.normal(size=(channels, 10)),
        "last_bias": random.normal(size=10),
        "calibration": random.integers(0, 256, (4, 3, 8, 8)).astype(np.uint8),
    }
    return parts
