"""The workloads of HomomorphicEncryption.org's suite: data, the stages of our entries, and checks of results.

An entry is a folder of `bench/official`. Its stages are programs that share nothing but files in the folders
that the suite's harness has: `datasets`, and `io` with what travels. Data are made here as the harness makes
them, and results are checked against NumPy.
"""

from __future__ import annotations

import gzip
import runpy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hemera.errors import FileError, NoiseError

Stage = tuple[str, list[str]]
"""A program of the entry, and its arguments."""
Facts = dict[str, Any]


class Workload(ABC):
    """A workload of the suite. `root` is the folder in which its stages run."""

    name: ClassVar[str]
    """Its repository, and the data set where the repository has several."""
    folder: ClassVar[str]
    """The folder of the entry's programs in `bench/official`."""
    sizes: ClassVar[Mapping[str, int]]
    """Instances, by name: how many things are computed."""
    reference_seconds: ClassVar[Mapping[str, float]]
    """The server's computation of the suite's own implementation, on the CPU of its page of results
    (fhe-benchmarking.github.io, February 2026), by size, or by size and method with a space between."""
    methods: ClassVar[tuple[str, ...]] = ("",)
    """Ways of computing that the entry has."""

    @abstractmethod
    def make_data(self, root: Path, size: str, random: np.random.Generator) -> None:
        """Write the data of an instance, as the harness does."""

    @abstractmethod
    def stages(self, size: str) -> list[Stage]:
        """The programs of an instance, in the harness' order."""

    @abstractmethod
    def check(self, root: Path, size: str) -> Facts:
        """Counts of the results.

        Raises:
            NoiseError: if results are wrong.
        """

    def sent(self, root: Path, size: str) -> dict[str, Path]:
        """The folders of travelling files."""
        io = root / "io" / size
        return {
            "keys": io / "public_keys",
            "input": io / "ciphertexts_upload",
            "result": io / "ciphertexts_download",
        }

    def steps(self, root: Path, size: str) -> Path:
        """The file with the seconds of the server's steps."""
        return root / "io" / size / "server_reported_steps.json"


class Products(Workload):
    """Products of 64-bit integers modulo 2^64."""

    name = "Zn-multiplication"
    folder = "Zn-multiplication/submission"
    sizes: ClassVar = {"single": 1, "small": 1000, "medium": 100_000, "large": 10_000_000}
    reference_seconds: ClassVar = {"single": 1.41, "small": 1077.0}
    methods = ("levelled", "integers")

    def make_data(self, root: Path, size: str, random: np.random.Generator) -> None:
        folder = root / "datasets" / size
        folder.mkdir(parents=True)
        for side in ("lhs", "rhs"):
            words = random.integers(0, 2**64, self.sizes[size], np.uint64)
            np.savetxt(folder / f"{side}.txt", words, fmt="%u")

    def stages(self, size: str) -> list[Stage]:
        count = str(self.sizes[size])
        return [
            ("client_preprocess_input", [count]),
            ("client_key_generation", [size]),
            ("client_encode_encrypt_input", [size]),
            ("server_encrypted_compute", [size, count]),
            ("client_decrypt_decode", [size, count]),
            ("client_postprocess", [size, count]),
        ]

    def check(self, root: Path, size: str) -> Facts:
        data, out = root / "datasets" / size, root / "io" / size / "cleartext_output" / "out.txt"
        lhs, rhs, found = (
            np.loadtxt(path, np.uint64, ndmin=1) for path in (data / "lhs.txt", data / "rhs.txt", out)
        )
        if found.shape != lhs.shape:
            raise NoiseError(f"{self.name}: {found.size} products came, and {lhs.size} were asked for")
        wrong = np.flatnonzero(found != lhs * rhs)
        if wrong.size:
            at = wrong[0]
            raise NoiseError(f"{self.name}: {wrong.size} products are wrong, as {lhs[at]} * {rhs[at]}")
        return {"right": int(found.size)}


class Digits(Workload):
    """Digits of MNIST by a network. Without `mnist`, a folder, images are those in the entry's file of
    weights, again and again, and there are no labels to compare with."""

    name = "ml-inference"
    folder = "ml-inference/submission"
    sizes: ClassVar = {"single": 1, "small": 100, "medium": 1000, "large": 10_000}
    reference_seconds: ClassVar = {"single": 6.48, "small": 633.0, "medium": 6387.8}
    _TIES = (2.0, 0.01)
    """Below these differences of the two largest scores an image may get either digit: in batches, whose
    weights have 8 bits, and alone."""
    _LEAST_ACCURACY = 0.9
    """The accuracy that the suite asks for, of a batch."""

    def __init__(self, mnist: Path | None = None) -> None:
        self._mnist = mnist

    def make_data(self, root: Path, size: str, random: np.random.Generator) -> None:
        folder = root / "datasets" / size / "intermediate"
        folder.mkdir(parents=True)
        count = self.sizes[size]
        if self._mnist is None:
            network = network_of_entry(root)
            own = network.calibration
            images = np.zeros((count, 784))
            images[:, network.kept] = own[np.arange(count) % len(own)]
        else:
            chosen = random.permutation(10_000)[:count]
            images = self._read("t10k-images-idx3-ubyte", 16).reshape(-1, 784)[chosen] / 255
            labels = self._read("t10k-labels-idx1-ubyte", 8)[chosen]
            np.savetxt(folder / "test_labels.txt", labels, fmt="%u")
        np.savetxt(folder / "test_pixels.txt", images, fmt="%.6f")

    def _read(self, name: str, header: int) -> NDArray[np.uint8]:
        """The bytes of a file of MNIST after its header."""
        assert self._mnist is not None
        path = self._mnist / name
        packed = path.with_name(f"{name}.gz")
        try:
            data = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
        except OSError as error:
            raise FileError(f"can not read {path}, or {packed.name}: {error.strerror}") from error
        return np.frombuffer(data, np.uint8, offset=header)

    def stages(self, size: str) -> list[Stage]:
        number = [str(list(self.sizes).index(size))]
        return [
            ("compile_network", []),
            ("client_key_generation", number),
            ("server_preprocess_model", []),
            ("client_preprocess_input", number),
            ("client_encode_encrypt_input", number),
            ("server_encrypted_compute", number),
            ("client_decrypt_decode", number),
            ("client_postprocess", number),
        ]

    def check(self, root: Path, size: str) -> Facts:
        data = root / "datasets" / size / "intermediate"
        found = np.loadtxt(root / "io" / size / "encrypted_model_predictions.txt", int, ndmin=1)
        network = network_of_entry(root)
        scores = network(np.loadtxt(data / "test_pixels.txt", ndmin=2)[:, network.kept])
        facts = labels_as_in_the_clear(self.name, found, scores, self._TIES[size == "single"])
        if self._mnist is None:
            return facts
        right = int((found == np.loadtxt(data / "test_labels.txt", int, ndmin=1)).sum())
        if size != "single" and right < self._LEAST_ACCURACY * found.size:
            raise NoiseError(
                f"{self.name}: {right} of {found.size} digits are right, below the 90% asked for"
            )
        return {**facts, "right": right}


class Search(Workload):
    """Payloads of the records whose cosine with the query is above 0.8, all encrypted; or their number."""

    name = "fetch-by-similarity"
    folder = "fetch-by-similarity/submission"
    sizes: ClassVar = {"toy": 1000, "small": 50_000, "medium": 1_000_000, "large": 20_000_000}
    reference_seconds: ClassVar = {"small fetch": 71.0, "small count": 48.3, "medium fetch": 1193.0}
    methods = ("fetch", "count")
    _DIMS: ClassVar = {"toy": 128, "small": 128, "medium": 256, "large": 512}

    def make_data(self, root: Path, size: str, random: np.random.Generator) -> None:
        folder = root / "datasets" / size
        folder.mkdir(parents=True)
        dims, count = self._DIMS[size], self.sizes[size]
        centers = _unit(random.standard_normal((31, dims), np.float32))
        near = centers[random.integers(0, 31, count)] + 0.3 * _unit(
            random.standard_normal((count, dims), np.float32)
        )
        half = random.random((count, 1)) < 0.5
        rows = _unit(np.where(half, near, random.standard_normal((count, dims), np.float32)))
        rows.tofile(folder / "db.bin")
        random.integers(0, 512, (count, 7)).astype(np.int16).tofile(folder / "payloads.bin")
        query = centers[4] + 0.3 * _unit(random.standard_normal(dims, np.float32))
        _unit(query).tofile(folder / "query.bin")

    def stages(self, size: str) -> list[Stage]:
        number = [str(list(self.sizes).index(size))]
        names = (
            "client_key_generation",
            "client_encode_encrypt_db",
            "client_encode_encrypt_query",
            "server_encrypted_compute",
            "client_decrypt_decode",
            "client_postprocess",
        )
        return [(name, number) for name in names]

    def sent(self, root: Path, size: str) -> dict[str, Path]:
        return {**super().sent(root, size), "keys": root / "io" / size / "keys"}

    def check(self, root: Path, size: str) -> Facts:
        data, found = root / "datasets" / size, root / "io" / size / "results.bin"
        rows = np.fromfile(data / "db.bin", np.float32).reshape(-1, self._DIMS[size])
        matches = rows @ np.fromfile(data / "query.bin", np.float32) > 0.8
        payloads = np.fromfile(data / "payloads.bin", np.int16).reshape(-1, 7)[matches]
        if found.stat().st_size == np.dtype(np.int_).itemsize:
            right = np.fromfile(found, np.int_).tolist() == [int(matches.sum())]
        else:
            right = np.fromfile(found, np.int16).tolist() == [
                n for row in sorted(payloads.tolist()) for n in row
            ]
        if not right:
            raise NoiseError(f"{self.name}: the results are not those of the {matches.sum()} matches")
        return {"matches": int(matches.sum())}


def network_of_entry(root: Path) -> Any:
    """The entry's network, on arrays in the clear."""
    return runpy.run_path(str(root / "submission" / "network.py"))["Network"]()


def labels_as_in_the_clear(name: str, found: NDArray[np.int_], scores: NDArray[Any], tie: float) -> Facts:
    """How many labels are those of the network in the clear.

    Args:
        name: of the workload.
        found: the labels [image].
        scores: in the clear [image, label].
        tie: of the two largest scores: an image with a smaller difference may get either label.

    Raises:
        NoiseError: if another label was found, or another number of them.
    """
    expected = scores.argmax(1)
    if found.shape != expected.shape:
        raise NoiseError(f"{name}: {found.size} labels came, of {expected.size} images")
    two = np.sort(scores, axis=1)[:, -2:]
    wrong = (found != expected) & (two[:, 1] - two[:, 0] > tie)
    if wrong.any():
        raise NoiseError(f"{name}: {wrong.sum()} labels are not those of the network in the clear")
    return {"as_in_the_clear": int((found == expected).sum())}


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of norm 1."""
    found: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return found
