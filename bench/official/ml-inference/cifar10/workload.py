"""What the stages of the entry agree on: instances, files, the device, and the compiled network."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import hemera as hm
from hemera_apps.bench.harness import Instance

__all__ = ["BUILD", "SAMPLES", "Workload", "warm"]

BUILD = Path(__file__).with_name("build")
"""The folder of `compile_network.py`'s results."""
SAMPLES = {"one": 1, "few": 4}
"""The compiled programs, and how many images each has in a ciphertext."""


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

    @property
    def _layout(self) -> str:
        return "few" if self.size else "one"

    def interface(self) -> hm.serving.Interface:
        """The client's part of the compiled network."""
        described = json.loads((BUILD / f"{self._layout}.json").read_text())
        return hm.serving.Interface.from_dict(described)

    def package(self) -> hm.serving.Package:
        """The server's part: the program, with its weights."""
        return hm.serving.Package.load(BUILD / f"{self._layout}.hemera-model")

    def client(self, interface: hm.serving.Interface) -> tuple[hm.Context, hm.SecretKey]:
        """The client's context, and its key."""
        ctx = hm.Context(interface.params, "cpu")
        return ctx, ctx.load(self.secret / "secret_key.bin")

    def make_folders(self) -> None:
        for folder in (self.keys, self.secret, self.up, self.down, self.images.parent):
            folder.mkdir(parents=True, exist_ok=True)


def warm(
    model: hm.serving.PreparedModel, evaluator: hm.Evaluator
) -> Callable[[hm.Ciphertext], hm.Ciphertext]:
    """The network, from a ciphertext of images to their scores, as a server has it that answered a request
    before: on a GPU a graph, which ran once on an encryption of zeros, of nobody's key."""
    if not model.captures:
        return lambda images: model.run(evaluator, [images])[0]
    examples = model.examples()
    graph = model.capture(evaluator, examples)
    graph(*examples)
    return lambda images: graph(images)[0]
