"""The network as it is trained: with norms, in PyTorch; and their folding into the convolutions."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

__all__ = ["DEVIATION", "MEAN", "Square", "TrainedNetwork", "folded", "folded_scores"]

MEAN = (0.4914, 0.4822, 0.4465)
DEVIATION = (0.2470, 0.2435, 0.2616)
"""The deviation of CIFAR-10's pixels, from 0 to 1, in each channel."""
_FACTOR, _SHIFT = 0.2, 1.25
"""ReLU's expansion in Hermite polynomials up to degree two is about 0.2 (z + 1.25)^2 - 0.11 (J. Park, M. Kim,
W. Jung, J. Ahn, "AESPA", arXiv 2201.06699, whose activation has a norm for each term)."""
_LEAST_VARIANCE = 1e-5


class Square(torch.nn.Module):
    """0.2 (z + t)^2, with the normalised values z of a channel and a learned t of it."""

    mean: torch.Tensor
    variance: torch.Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.shift = torch.nn.Parameter(torch.full((channels,), _SHIFT))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))
        self.far = torch.zeros(0)
        """The largest magnitude of z in each image of the last batch."""
        self._settled = False
        self._batches: list[tuple[torch.Tensor, torch.Tensor]] | None = None

    def start(self) -> None:
        """From now on variances and means of batches are collected."""
        self._settled, self._batches = False, []

    def settle(self) -> None:
        """From now on the norm is the median of the collected batches, on which a single image far off has no
        effect."""
        assert self._batches
        variances, means = (torch.stack(each).median(0).values for each in zip(*self._batches, strict=True))
        self.mean.copy_(means)
        self.variance.copy_(variances)
        self._settled, self._batches = True, None

    def train_again(self) -> None:
        """From now on the norm is that of each batch."""
        self._settled = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self._settled:
            scale = torch.rsqrt(self.variance + _LEAST_VARIANCE)
            z = (x - self.mean[:, None, None]) * scale[:, None, None]
        else:
            z = functional.batch_norm(x, None, None, None, None, True, 0.0, _LEAST_VARIANCE)
            if self._batches is not None:
                self._batches.append(torch.var_mean(x, (0, 2, 3), correction=0))
        self.far = z.abs().amax((1, 2, 3))
        return _FACTOR * (z + self.shift[:, None, None]) ** 2

    def affine(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """For each channel s, d and 0.2 s^2, with z + t = s (x + d)."""
        scale = torch.rsqrt(self.variance.double() + _LEAST_VARIANCE)
        return scale, self.shift.double() / scale - self.mean.double(), _FACTOR * scale**2


class TrainedNetwork(torch.nn.Module):
    """Three groups of `blocks` blocks, of `width`, twice and four times as many channels. A block has a
    square between its convolutions and, with `before`, one before them."""

    def __init__(self, blocks: int = 3, width: int = 16, *, before: bool = True) -> None:
        super().__init__()
        channels = width
        self.first = torch.nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.blocks = torch.nn.ModuleList()
        for group in range(3):
            for at in range(blocks):
                own, stride = width << group, 2 if group and not at else 1
                parts: dict[str, torch.nn.Module] = {"before": Square(channels)} if before else {}
                parts |= {
                    "inner": torch.nn.Conv2d(channels, own, 3, stride, 1, bias=False),
                    "between": Square(own),
                    "outer": torch.nn.Conv2d(own, own, 3, 1, 1, bias=False),
                }
                if stride == 2:
                    parts["short"] = torch.nn.Conv2d(channels, own, 1, stride, bias=False)
                self.blocks.append(torch.nn.ModuleDict(parts))
                channels = own
        self.act = Square(channels)
        self.last = torch.nn.Linear(channels, 10)
        with torch.no_grad():
            for part in self.modules():
                if isinstance(part, torch.nn.Conv2d):
                    torch.nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
            for block in self.blocks:  # sums of blocks begin small: squares of squares grow fast
                block["outer"].weight.mul_(0.2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The scores [image, class] of images less MEAN, by DEVIATION."""
        x = self.first(images)
        for block in self.blocks:
            h = block["before"](x) if "before" in block else x
            y = block["outer"](block["between"](block["inner"](h)))
            x = (block["short"](h) if "short" in block else x) + y
        return self.last(self.act(x).mean((2, 3)))

    def squares(self) -> list[Square]:
        return [part for part in self.modules() if isinstance(part, Square)]


def folded(net: TrainedNetwork) -> dict[str, torch.Tensor]:
    """The arrays of `network.Network`: of squares alone, on pixels from 0 to 1."""
    deviation = torch.tensor(DEVIATION, dtype=torch.double, device=net.first.weight.device)
    parts = {"first": net.first.weight.double() / deviation[:, None, None]}
    for at, block in enumerate(net.blocks):
        factor = torch.ones_like(block["inner"].weight[0, :, 0, 0], dtype=torch.double)
        if "before" in block:
            _, parts[f"moved{at}"], factor = block["before"].affine()
        scale, moved, _ = block["between"].affine()
        # The inner convolution gives z + t itself, so that 0.2 is left for the outer one.
        inner = block["inner"].weight.double() * factor[:, None, None]
        parts[f"inner{at}"] = inner * scale[:, None, None, None]
        parts[f"bias{at}"] = moved * scale
        parts[f"outer{at}"] = block["outer"].weight.double() * _FACTOR
        if "short" in block:
            parts[f"short{at}"] = block["short"].weight.double() * factor[:, None, None]
    _, parts["moved"], factor = net.act.affine()
    parts["last"] = (net.last.weight.double() * factor).T
    parts["last_bias"] = net.last.bias.double()
    return {name: part.detach() for name, part in parts.items()}


def folded_scores(
    parts: dict[str, torch.Tensor],
    images: torch.Tensor,
    cut: Callable[[torch.Tensor], torch.Tensor] = lambda values: values,
) -> tuple[torch.Tensor, torch.Tensor]:
    """What `network.Network` computes, of many images [image, 3, rows, columns] with pixels from 0 to 1.
    `cut` is applied before each square.

    Returns:
        The scores [image, class], and the largest magnitude of each image [value, image] before each square,
        and of its scores.
    """
    far = []

    def square(x: torch.Tensor) -> torch.Tensor:
        far.append(x.detach().abs().amax((1, 2, 3)))
        return cut(x) ** 2

    def columns(name: str) -> torch.Tensor:
        return parts[name][:, None, None]

    x = functional.conv2d(images - images.new_tensor(MEAN)[:, None, None], parts["first"], padding=1)
    at = 0
    while f"inner{at}" in parts:
        h = square(x + columns(f"moved{at}")) if f"moved{at}" in parts else x
        short = parts.get(f"short{at}")
        stride = 1 if short is None else 2
        y = functional.conv2d(h, parts[f"inner{at}"], parts[f"bias{at}"], stride, 1)
        y = functional.conv2d(square(y), parts[f"outer{at}"], padding=1)
        x = y + (x if short is None else functional.conv2d(h, short, stride=stride))
        at += 1
    scores = square(x + columns("moved")).mean((2, 3)) @ parts["last"] + parts["last_bias"]
    return scores, torch.stack([*far, scores.detach().abs().amax(1)])
