"""What the stages of the entry agree on: instances, files, the device, and the compiled network."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import hemera as hm

__all__ = ["BUILD", "Computation", "Steps", "Workload", "parse", "warm"]

BUILD = Path(__file__).with_name("build")
"""The folder of `compile_network.py`'s results."""
_SIZES = ("single", "small", "medium", "large")
_NETWORKS = ("one", "many", "many", "many")
"""An image in a ciphertext; or 2,048 in 512 ciphertexts, one for each pixel."""
_FEW = 16
"""Ciphertexts of an input, up to which a graph on a GPU saves more time than the copy of the input takes."""

T = TypeVar("T")
Computation = Callable[[Sequence[hm.Ciphertext]], Sequence[hm.Ciphertext]]
"""From encrypted images to encrypted scores."""


@dataclass(frozen=True)
class Workload:
    """An instance of the workload, in the harness' folders."""

    size: int
    root: Path = Path()

    @property
    def pixels(self) -> Path:
        """The images, one in a line."""
        return self.root / "datasets" / _SIZES[self.size] / "intermediate" / "test_pixels.txt"

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
    def images(self) -> Path:
        """The images, as the client's next stage reads them."""
        return self.io / "intermediate" / "images.npy"

    @property
    def scores(self) -> Path:
        """What the client decrypted."""
        return self.io / "intermediate" / "scores.npy"

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

    def interface(self) -> hm.serving.Interface:
        """The client's part of the compiled network."""
        described = json.loads((BUILD / f"{_NETWORKS[self.size]}.json").read_text())
        return hm.serving.Interface.from_dict(described)

    @property
    def requests(self) -> tuple[int, ...]:
        """The shape of the requests in a file of encrypted images: the images, or none of a whole batch."""
        return (1,) if _NETWORKS[self.size] == "one" else ()

    @property
    def kept(self) -> list[int]:
        """Which pixels of an image the network takes."""
        return list(map(int, json.loads((BUILD / "pixels.json").read_text())))

    def package(self) -> hm.serving.Package:
        """The server's part: the program, with its weights."""
        return hm.serving.Package.load(BUILD / f"{_NETWORKS[self.size]}.hemera-model")

    def make_folders(self) -> None:
        for folder in (self.keys, self.secret, self.up, self.down, self.images.parent):
            folder.mkdir(parents=True, exist_ok=True)


def parse() -> Workload:
    """The instance that the harness asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int, choices=range(len(_SIZES)))
    return Workload(parser.parse_args().size)


def warm(model: hm.serving.PreparedModel, evaluator: hm.Evaluator, requests: Sequence[int]) -> Computation:
    """The network, as a server has it that answered a request of this shape before: on a GPU it ran once on
    an encryption of zeros, of nobody's key, and that of one image is a graph."""
    if not model.captures:
        return lambda images: model.run(evaluator, images)
    (zeros,) = examples = model.examples(requests)
    if math.prod(zeros.shape) > _FEW:
        model.warm_up(evaluator, requests)
        return lambda images: model.run(evaluator, images)
    graph = model.capture(evaluator, examples)
    graph(zeros)
    return lambda images: graph(*images)


class Steps:
    """Seconds of the server's steps, each added up over the parts of the instance."""

    def __init__(self, *contexts: hm.Context) -> None:
        self._contexts = contexts
        self._began = time.perf_counter()
        self._seconds: dict[str, float] = {}

    def _wait(self) -> None:
        """Until all devices have done their work."""
        for context in self._contexts:
            context.synchronize()

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """The time of the block, until the device has done its work."""
        self._wait()
        begin = time.perf_counter()
        yield
        self._wait()
        self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - begin

    def compute(self, run: Callable[[], T]) -> T:
        """The result of `run`. With HEMERA_REPEATS=n also the median of n more runs is kept: they find
        everything warm, as in a server that runs for longer than one request."""
        with self.of("Encrypted computation"):
            result = run()
        again = []
        for _ in range(int(os.environ.get("HEMERA_REPEATS", "0"))):
            self._wait()
            begin = time.perf_counter()
            run()
            self._wait()
            again.append(time.perf_counter() - begin)
        if again:
            name = "Repeated computation"
            self._seconds[name] = self._seconds.get(name, 0.0) + statistics.median(again)
        return result

    def save(self, path: Path) -> None:
        """As the harnesses of other workloads of the suite read them."""
        total = {**self._seconds, "Total": time.perf_counter() - self._began}
        steps = {name: round(seconds, 5) for name, seconds in total.items()}
        path.write_text(json.dumps(steps))
        print("         [server]", ", ".join(f"{name}: {seconds} s" for name, seconds in steps.items()))
