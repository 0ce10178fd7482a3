"""What the stages of the entry agree on: instances, files, the device, and the compiled network."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import hemera as hm
from hemera_apps.bench.harness import Instance

__all__ = ["BUILD", "Computation", "Workload", "warm"]

BUILD = Path(__file__).with_name("build")
"""The folder of `compile_network.py`'s results."""
_NETWORKS = ("one", "many", "many", "many")
"""An image in a ciphertext; or 2,048 in 512 ciphertexts, one for each pixel."""
_FEW = 16
"""Ciphertexts of an input, up to which a graph on a GPU saves more time than the copy of the input takes."""

Computation = Callable[[Sequence[hm.Ciphertext]], Sequence[hm.Ciphertext]]
"""From encrypted images to encrypted scores."""


class Workload(Instance):
    """An instance of the workload, in the harness' folders."""

    @property
    def pixels(self) -> Path:
        """The images, one in a line."""
        return self.data / "intermediate" / "test_pixels.txt"

    @property
    def images(self) -> Path:
        """The images, as the client's next stage reads them."""
        return self.io / "intermediate" / "images.npy"

    @property
    def scores(self) -> Path:
        """What the client decrypted."""
        return self.io / "intermediate" / "scores.npy"

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
