"""Trains the network on CIFAR-10, with PyTorch: `python train.py FOLDER` writes weights.npz.

The folder has the files of CIFAR-10's binary version. They lie on a GPU, where a step is a graph.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from network import WEIGHTS, Network
from torch.nn import functional
from training_network import DEVIATION, MEAN, TrainedNetwork, folded

_BATCH, _RATE, _DECAY, _SMOOTHING = 500, 0.15, 5e-4, 0.1
_RISE = 0.15
"""The part of the time in which the rate rises. It falls as a cosine."""
_LARGEST_NORM = 1.0
"""Of the gradient."""
_JITTER = 0.2
"""Of contrast and brightness."""
_FAR, _PENALTY = 5.0, 1e-2
"""Normalised values beyond _FAR are punished: squares of squares carry them far."""
_KEPT = 64
"""Images that are kept for the ranges of values."""
_DEVICE = "cuda"

Images = tuple[torch.Tensor, torch.Tensor]
"""Bytes [image, 3, 32, 32], and labels."""


def read(folder: Path, pattern: str) -> Images:
    """The images of CIFAR-10's binary files."""
    rows = np.concatenate([np.fromfile(path, np.uint8) for path in sorted(folder.glob(pattern))])
    rows = rows.reshape(-1, 1 + 3 * 32 * 32)
    images, labels = torch.from_numpy(rows[:, 1:]), torch.from_numpy(rows[:, 0])
    return images.reshape(-1, 3, 32, 32).to(_DEVICE), labels.long().to(_DEVICE)


def normal(images: torch.Tensor) -> torch.Tensor:
    """Of bytes: less the mean, by the deviation."""
    mean, deviation = (torch.tensor(each, device=images.device)[:, None, None] for each in (MEAN, DEVIATION))
    return ((images / 255 - mean) / deviation).contiguous(memory_format=torch.channels_last)


def changed(padded: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Images in an order, of those with four pixels more on each side: moved by up to four, mirrored, and
    with another contrast and brightness."""
    results = []
    for chosen in order.split(5000):
        count = len(chosen)
        places = torch.arange(32, device=order.device)
        rows, columns = (torch.randint(0, 9, (count, 1), device=order.device) + places for _ in range(2))
        mirrored = torch.rand(count, 1, device=order.device) < 0.5
        columns = torch.where(mirrored, columns.flip(1), columns)
        own = padded[chosen[:, None, None], :, rows[:, :, None], columns[:, None, :]]
        contrast = 1 + _JITTER * (2 * torch.rand(count, 1, 1, 1, device=order.device) - 1)
        brightness = _JITTER * (2 * torch.rand(count, 1, 1, 3, device=order.device) - 1)
        results.append(own * contrast + brightness)
    return torch.cat(results).permute(0, 3, 1, 2)


class Training:
    """The network, and an average of its weights along the way."""

    def __init__(self, images: Images) -> None:
        self._bytes, self._labels = images
        self._padded = functional.pad(normal(self._bytes), (4, 4, 4, 4)).contiguous()
        self.net = TrainedNetwork().to(_DEVICE).to(memory_format=torch.channels_last)
        self._weights = list(self.net.parameters())
        self._average = [part.detach().clone() for part in self._weights]
        groups = [
            {"params": [part for part in self._weights if part.ndim > 1], "weight_decay": _DECAY},
            {"params": [part for part in self._weights if part.ndim == 1], "weight_decay": 0.0},
        ]
        self._optimizer = torch.optim.SGD(groups, lr=_RATE, momentum=0.9, nesterov=True)
        x = torch.zeros(_BATCH, 3, 32, 32, device=_DEVICE)
        self._x = x.contiguous(memory_format=torch.channels_last)
        self._y = torch.zeros(_BATCH, dtype=torch.long, device=_DEVICE)

    def _gradients(self) -> None:
        """Of the cross-entropy and the penalty, cut to _LARGEST_NORM; none, where they are not finite."""
        for part in self._weights:
            part.grad = None
        scores = self.net(self._x)
        far = torch.stack([square.far for square in self.net.squares()])
        penalty = functional.relu(far - _FAR).clamp(max=50).square().mean(1).sum()
        loss = functional.cross_entropy(scores, self._y, label_smoothing=_SMOOTHING)
        (loss + _PENALTY * penalty).backward()  # type: ignore[no-untyped-call]
        gradients = [part.grad for part in self._weights if part.grad is not None]
        norm = torch.stack([each.norm() for each in gradients]).norm()
        factor = torch.where(torch.isfinite(norm), (_LARGEST_NORM / (norm + 1e-6)).clamp(max=1), 0)
        for each in gradients:
            each.mul_(factor).nan_to_num_(0.0, 0.0, 0.0)

    def _captured(self) -> Callable[[], None]:
        """`_gradients` as a graph."""
        self._fill(changed(self._padded, torch.arange(_BATCH, device=_DEVICE)), self._labels[:_BATCH])
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(4):
                self._gradients()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            self._gradients()
        return graph.replay

    def _fill(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self._x.copy_(images)
        self._y.copy_(labels)

    def run(self, seconds: float) -> None:
        """Trains for so long: the rate goes by the part of the time that is over."""
        gradients = self._captured()
        begin, steps = time.perf_counter(), 0
        while True:
            order = torch.randperm(len(self._labels), device=_DEVICE)
            images, labels = changed(self._padded, order), self._labels[order]
            for own, answers in zip(images.split(_BATCH), labels.split(_BATCH), strict=True):
                if steps % 10 == 0:
                    torch.cuda.synchronize()
                    over = (time.perf_counter() - begin) / seconds
                    if over >= 1:
                        print(f"{steps} steps of {_BATCH} images", flush=True)
                        return
                    self._set_rate(over)
                self._fill(own, answers)
                gradients()
                self._optimizer.step()
                steps += 1
                kept = min(0.998, (1 + steps) / (10 + steps))
                torch._foreach_mul_(self._average, kept)
                torch._foreach_add_(self._average, [part.detach() for part in self._weights], alpha=1 - kept)

    def _set_rate(self, over: float) -> None:
        falling = (1 + math.cos(math.pi * (over - _RISE) / (1 - _RISE))) / 2
        part = max(over / _RISE, 0.01) if over < _RISE else max(falling, 1e-3)
        for group in self._optimizer.param_groups:
            group["lr"] = _RATE * part

    @torch.no_grad()
    def finish(self) -> dict[str, torch.Tensor]:
        """The arrays of `network.Network`: of the average, with norms of all images."""
        torch.backends.cudnn.allow_tf32 = False
        for part, average in zip(self._weights, self._average, strict=True):
            part.copy_(average)
        for square in self.net.squares():
            square.start()
        mixed = torch.randperm(len(self._bytes), device=_DEVICE)  # a batch of one class has other norms
        for chosen in mixed.split(1000):
            self.net(normal(self._bytes[chosen]))
        for square in self.net.squares():
            square.settle()
        return folded(self.net)


@torch.no_grad()
def farthest(net: TrainedNetwork, images: torch.Tensor) -> torch.Tensor:
    """The images of the largest values before some square, or of the largest scores."""
    found = []
    for part in images.split(1000):
        scores = net(normal(part))
        found.append(torch.stack([*(square.far for square in net.squares()), scores.abs().amax(1)]))
    ranked = torch.cat(found, 1).argsort(1, descending=True).T.flatten().tolist()
    return images[list(dict.fromkeys(ranked))[:_KEPT]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=170)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = True
    images = read(arguments.folder, "data_batch_*.bin")
    training = Training(images)
    training.run(arguments.seconds)
    parts = {
        name: part.to(torch.float16 if part.ndim > 1 else torch.float32).cpu().numpy()
        for name, part in training.finish().items()
    }
    kept = farthest(training.net, images[0]).cpu().numpy()
    np.savez_compressed(WEIGHTS, mean=np.float32(MEAN), calibration=kept, **parts)
    tests, labels = read(arguments.folder, "test_batch.bin")
    network = Network()
    found = np.stack([network(image).argmax() for image in tests.cpu().numpy() / 255])
    print(f"{int((found == labels.cpu().numpy()).sum())} of {len(found)} test images")


if __name__ == "__main__":
    main()
