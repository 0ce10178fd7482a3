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
from torch.nn import functional
from training_bounds import bring_back
from training_network import DEVIATION, MEAN, TrainedNetwork, folded, folded_scores

_BATCH, _RATE, _LEAST_RATE, _DECAY, _SMOOTHING = 500, 0.15, 0.05, 5e-4, 0.1
"""The rate rises, and falls as a cosine, to _LEAST_RATE of it."""
_RISE = 0.15
"""The part of the time in which the rate rises."""
_KEPT_AVERAGE = 0.998
"""The part of the average of weights that is kept at each step."""
_LARGEST_NORM = 1.0
"""The largest norm of the gradient."""
_JITTER = 0.2
"""The jitter of contrast and brightness."""
_FAR, _PENALTY, _LINEAR = 5.0, 1e-2, 10.0
"""Normalised values beyond _FAR are punished: by squares, from _LINEAR more on linearly. Squares of squares
would carry them far."""
_CHECKED = 2000
"""Training images that are not trained with: they choose the moment whose weights are taken."""
_CHECK_SECONDS = 5.0
_BOUNDED = 40.0
"""The largest magnitude before a square, and of scores, that such a moment may have."""
_EXTREMES = 64
"""Images that are kept for the ranges of values."""

Parts = dict[str, torch.Tensor]


class Images:
    """Bytes [image, 3, 32, 32], and labels, on a device."""

    def __init__(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.bytes, self.labels = images, labels

    @classmethod
    def read(cls, folder: Path, pattern: str, device: str) -> Images:
        """The images of CIFAR-10's binary files."""
        rows = np.concatenate([np.fromfile(path, np.uint8) for path in sorted(folder.glob(pattern))])
        rows = rows.reshape(-1, 1 + 3 * 32 * 32)
        images, labels = torch.from_numpy(rows[:, 1:].copy()), torch.from_numpy(rows[:, 0].copy())
        return cls(images.reshape(-1, 3, 32, 32).to(device), labels.long().to(device))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, chosen: slice | torch.Tensor) -> Images:
        return Images(self.bytes[chosen], self.labels[chosen])


def normal(images: torch.Tensor) -> torch.Tensor:
    """Bytes as normal values: less the mean, by the deviation."""
    mean, deviation = (torch.tensor(each, device=images.device)[:, None, None] for each in (MEAN, DEVIATION))
    return ((images / 255 - mean) / deviation).contiguous(memory_format=torch.channels_last)


def changed(padded: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Images in an order, of those with four pixels more on each side: moved by up to four, mirrored, and
    with another contrast and brightness."""
    device, results = order.device, []
    for chosen in order.split(5000):
        count = len(chosen)
        places = torch.arange(32, device=device)
        rows, columns = (torch.randint(0, 9, (count, 1), device=device) + places for _ in range(2))
        columns = torch.where(torch.rand(count, 1, device=device) < 0.5, columns.flip(1), columns)
        own = padded[chosen[:, None, None], :, rows[:, :, None], columns[:, None, :]]
        contrast = 1 + _JITTER * (2 * torch.rand(count, 1, 1, 1, device=device) - 1)
        brightness = _JITTER * (2 * torch.rand(count, 1, 1, 3, device=device) - 1)
        results.append(own * contrast + brightness)
    return torch.cat(results).permute(0, 3, 1, 2)


def tell(parts: Parts, images: Images) -> tuple[float, float]:
    """The accuracy of a folded network, and the largest magnitude before a square or of scores."""
    scores, far = folded_scores_in_parts(parts, images.bytes)
    right = (scores.argmax(1) == images.labels).float().mean()
    return float(right), float(far.nan_to_num(torch.inf, torch.inf).max())


@torch.no_grad()
def folded_scores_in_parts(parts: Parts, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """`folded_scores` of bytes, a thousand at a time."""
    found = [folded_scores(parts, own / 255) for own in images.split(1000)]
    return torch.cat([scores for scores, _ in found]), torch.cat([far for _, far in found], 1)


class Training:
    """The network, and an average of its weights along the way, which is what is taken in the end."""

    def __init__(self, images: Images, *, before: bool) -> None:
        device = images.labels.device
        mixed = torch.randperm(len(images), device=device)
        self._checked, self._images = images[mixed[:_CHECKED]], images[mixed[_CHECKED:]]
        self._padded = functional.pad(normal(self._images.bytes), (4, 4, 4, 4)).contiguous()
        self._net = TrainedNetwork(before=before).to(device).to(memory_format=torch.channels_last)
        self._weights = list(self._net.parameters())
        self._average = [part.detach().clone() for part in self._weights]
        groups = [
            {"params": [part for part in self._weights if part.ndim > 1], "weight_decay": _DECAY},
            {"params": [part for part in self._weights if part.ndim == 1], "weight_decay": 0.0},
        ]
        self._optimizer = torch.optim.SGD(groups, lr=_RATE, momentum=0.9, nesterov=True)
        x = torch.zeros(_BATCH, 3, 32, 32, device=device)
        self._x = x.contiguous(memory_format=torch.channels_last)
        self._y = torch.zeros(_BATCH, dtype=torch.long, device=device)
        self._own = torch.ones(32, 32, device=device)
        self._random = np.random.default_rng(1)
        self.best: tuple[float, Parts | None] = 0.0, None
        """Accuracy on the images that are not trained with, and the folded network."""

    def _gradients(self) -> None:
        """Gradients of the cross-entropy and the penalty, cut to _LARGEST_NORM; none, where they are not
        finite. A part of each image is another's: S. Yun and others, "CutMix" (ICCV 2019)."""
        for part in self._weights:
            part.grad = None
        scores = self._net(self._own * self._x + (1 - self._own) * self._x.flip(0))
        far = torch.stack([square.far for square in self._net.squares()]) - _FAR
        penalty = functional.huber_loss(functional.relu(far), torch.zeros_like(far), delta=_LINEAR)
        both = [
            functional.cross_entropy(scores, labels, label_smoothing=_SMOOTHING)
            for labels in (self._y, self._y.flip(0))
        ]
        loss = torch.lerp(both[1], both[0], self._own.mean())
        (loss + 2 * _PENALTY * len(far) * penalty).backward()  # type: ignore[no-untyped-call]
        gradients = [part.grad for part in self._weights if part.grad is not None]
        norm = torch.stack([each.norm() for each in gradients]).norm()
        factor = torch.where(torch.isfinite(norm), (_LARGEST_NORM / (norm + 1e-6)).clamp(max=1), 0)
        for each in gradients:
            each.mul_(factor).nan_to_num_(0.0, 0.0, 0.0)

    def _step(self) -> Callable[[], object]:
        """`_gradients`, as a graph on a GPU."""
        if self._x.device.type != "cuda":
            return self._gradients
        order = torch.arange(_BATCH, device=self._x.device)
        self._fill(changed(self._padded, order), self._images.labels[:_BATCH])
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
        """The next batch. In every second one images have a part of others."""
        self._x.copy_(images)
        self._y.copy_(labels)
        own = np.ones((32, 32), np.float32)
        if self._random.random() < 0.5:
            sides = np.rint(32 * np.sqrt(self._random.random())).astype(int)
            row, column = self._random.integers(0, 32 - sides + 1, 2)
            own[row : row + sides, column : column + sides] = 0
        self._own.copy_(torch.from_numpy(own))

    def run(self, seconds: float) -> None:
        """Trains for so long: the rate goes by the part of the time that is over."""
        step = self._step()
        begin = time.perf_counter()
        steps, checks = 0, 1
        while True:
            order = torch.randperm(len(self._images), device=self._x.device)
            order = order[: len(order) // _BATCH * _BATCH]
            images, labels = changed(self._padded, order), self._images.labels[order]
            for own, answers in zip(images.split(_BATCH), labels.split(_BATCH), strict=True):
                if steps % 10 == 0:
                    if self._x.device.type == "cuda":
                        torch.cuda.synchronize()
                    over = time.perf_counter() - begin
                    if over > min(seconds, checks * _CHECK_SECONDS):
                        checks += 1
                        self._check(f"{over:6.1f} s, {steps * _BATCH / len(self._images):5.1f} epochs")
                    if over >= seconds:
                        return
                    self._set_rate(over / seconds)
                self._fill(own, answers)
                step()
                self._optimizer.step()
                steps += 1
                kept = min(_KEPT_AVERAGE, (1 + steps) / (10 + steps))
                torch._foreach_mul_(self._average, kept)
                torch._foreach_add_(self._average, [part.detach() for part in self._weights], alpha=1 - kept)

    def _set_rate(self, over: float) -> None:
        falling = (1 + math.cos(math.pi * (over - _RISE) / (1 - _RISE))) / 2
        part = max(over / _RISE, 0.01) if over < _RISE else _LEAST_RATE + (1 - _LEAST_RATE) * falling
        for group in self._optimizer.param_groups:
            group["lr"] = _RATE * part

    @torch.no_grad()
    def _check(self, when: str) -> None:
        """Keeps the average, if it is the best so far, and bounded on some images."""
        kept = [part.detach().clone() for part in self._weights]
        for part, average in zip(self._weights, self._average, strict=True):
            part.copy_(average)
        parts = self._settled()
        for part, own in zip(self._weights, kept, strict=True):
            part.copy_(own)
        right, far = tell(parts, self._checked)
        farther = max(far, tell(parts, self._images[:8000])[1])
        print(
            f"{when}: {100 * right:.2f} % of images that are not trained with, values to {farther:.3g}",
            flush=True,
        )
        if right >= self.best[0] and farther < _BOUNDED:
            self.best = right, parts

    def _settled(self) -> Parts:
        """The folded network, with norms of images as they are."""
        squares = self._net.squares()
        for square in squares:
            square.start()
        for images in self._images.bytes[:20_000].split(_BATCH):
            self._net(normal(images))
        for square in squares:
            square.settle()
        parts = {name: part.float() for name, part in folded(self._net).items()}
        for square in squares:
            square.train_again()
        return parts


@torch.no_grad()
def save(path: Path, parts: Parts, images: Images, tests: Images) -> None:
    """Weights in half precision, the training images of the largest values, and what the tests give."""
    arrays = {name: part.half() if part.ndim > 1 else part for name, part in parts.items()}
    parts = {name: part.float() for name, part in arrays.items()}
    _, far = folded_scores_in_parts(parts, images.bytes)
    ranked = far.nan_to_num(torch.inf, torch.inf).argsort(1, descending=True).T.flatten().tolist()
    kept = list(dict.fromkeys(ranked))[:_EXTREMES]
    saved = {name: part.cpu().contiguous().numpy() for name, part in arrays.items()}
    np.savez_compressed(path, mean=np.float32(MEAN), calibration=images.bytes[kept].cpu().numpy(), **saved)
    scores, others = folded_scores_in_parts(parts, tests.bytes)
    right = int((scores.argmax(1) == tests.labels).sum())
    largest = far.amax(1, keepdim=True)
    print("training images, largest:", " ".join(f"{each:.3g}" for each in largest[:, 0].tolist()))
    print("test images, largest:    ", " ".join(f"{each:.3g}" for each in others.amax(1).tolist()))
    for factor in (1, 1.1, 1.5, 2):
        beyond = int((~(others <= factor * largest)).any(0).sum())
        print(f"{beyond} test images have values beyond {factor} times those of training images")
    print(f"{right} of {len(tests)} test images are right: {path}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--squares", type=int, choices=[1, 2], default=2, help="of a block (default: 2)")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("weights.npz"))
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = True
    device = "cuda" if torch.cuda.is_available() else "cpu"
    images = Images.read(arguments.folder, "data_batch_*.bin", device)
    training = Training(images, before=arguments.squares == 2)
    training.run(arguments.seconds)
    torch.backends.cudnn.allow_tf32 = False
    if training.best[1] is None:
        raise SystemExit("no moment had bounded values: try another --seed")
    parts = training.best[1]
    _, far = folded_scores_in_parts(parts, images.bytes)
    parts = bring_back(parts, images.bytes, images.labels, far.nan_to_num(torch.inf, torch.inf))
    save(arguments.out, parts, images, Images.read(arguments.folder, "test_batch.bin", device))


if __name__ == "__main__":
    main()
