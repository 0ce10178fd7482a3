"""Steps on the folded network that bring back the few images whose values run away.

Squares of squares of one image in ten thousand grow without bound. In a ciphertext it would spoil the images
next to it. There are such images in the training set as well: from them the network learns to keep values
bounded, with the scores of other images as they were.
"""

from __future__ import annotations

import torch
from torch.nn import functional
from training_network import folded_scores

__all__ = ["bring_back"]

Parts = dict[str, torch.Tensor]

_USUAL = 0.9995
"""The part of images whose largest values are usual."""
_ROOM, _WIDEST = 1.05, 2.0
"""Values beyond _ROOM times the usual ones are punished, and cut at _WIDEST times that meanwhile."""
_FAR, _NEXT = 8, 400
"""Images that are learned from: those that go farthest, and some of the next ones."""
_RATE, _MOMENTUM = 1.5e-3, 0.8


def bring_back(
    parts: Parts, images: torch.Tensor, labels: torch.Tensor, far: torch.Tensor, *, steps: int = 60
) -> Parts:
    """Arrays of nearly the same scores, with bounded values of the images that went farthest.

    Args:
        parts: of `training_network.folded`.
        images: bytes [image, 3, rows, columns], with their labels.
        far: the largest magnitudes of these [value, image], by `training_network.folded_scores`.
        steps: their number, each of 96 images.
    """
    usual = far.kthvalue(max(1, int(_USUAL * far.shape[1])), 1).values
    order = (far / usual[:, None]).amax(0).argsort(descending=True)
    farthest, others = order[:_FAR], order[_FAR:_NEXT]
    weights = {name: part.clone().requires_grad_() for name, part in parts.items()}
    sizes = {name: part.norm() for name, part in parts.items()}  # steps of each array are relative to it
    speeds = {name: torch.zeros_like(part) for name, part in parts.items()}
    for step in range(steps):
        some = torch.randint(0, len(others), (24,), device=others.device)
        rest = torch.randint(0, len(images), (48,), device=others.device)
        changed = [_changed(images[chosen]) for chosen in (farthest.repeat(2), others[some], rest)]
        x = torch.cat([images[farthest] / 255, *changed])
        answers = torch.cat([labels[farthest.repeat(3)], labels[others[some]]])
        known = len(answers)
        excess: list[torch.Tensor] = []
        scores, _ = folded_scores(weights, x, lambda v, excess=excess: _cut(v, usual, excess))
        with torch.no_grad():
            wanted, _ = folded_scores(parts, x[known:])
        near = (scores[known:] - wanted).square().mean(1).clamp(max=4).mean()
        right = functional.cross_entropy(scores[:known], answers, label_smoothing=0.1)
        loss = 3 * near + 0.1 * right + torch.stack(excess).mean(1).sum()
        gradients = torch.autograd.grad(loss, list(weights.values()))
        relative = [size * each for size, each in zip(sizes.values(), gradients, strict=True)]
        norm = torch.stack([each.norm() for each in relative]).norm().clamp(min=1)
        rate = _RATE * min(1, (step + 1) / 10) * (1 - step / steps)
        with torch.no_grad():
            for name, gradient in zip(weights, relative, strict=True):
                speeds[name].mul_(_MOMENTUM).add_(gradient / norm)
                weights[name] -= rate * sizes[name] * speeds[name]
    return {name: part.detach() for name, part in weights.items()}


def _cut(values: torch.Tensor, usual: torch.Tensor, excess: list[torch.Tensor]) -> torch.Tensor:
    """Values before a square, without those far off: so gradients stay finite. What is beyond goes to
    `excess`, relative to the bound, of the farthest value of each image."""
    bound = _ROOM * usual[len(excess)]
    excess.append((functional.relu(values.abs() - bound) / bound).amax((1, 2, 3)))
    return values.clamp(-_WIDEST * bound, _WIDEST * bound)


def _changed(images: torch.Tensor) -> torch.Tensor:
    """Bytes to pixels from about 0 to 1: moved by up to three pixels, mirrored, and with another contrast and
    brightness."""
    padded = functional.pad(images.float(), (3, 3, 3, 3), mode="replicate")
    results = []
    for image, (row, column) in zip(padded, torch.randint(0, 7, (len(images), 2)).tolist(), strict=True):
        own = image[:, row : row + images.shape[2], column : column + images.shape[3]]
        contrast, brightness, mirrored = torch.rand(3).tolist()
        own = own.flip(2) if mirrored < 0.5 else own
        results.append(own * (0.9 + 0.2 * contrast) + 20 * brightness - 10)
    return torch.stack(results) / 255
