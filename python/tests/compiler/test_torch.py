"""Modules of PyTorch: compiled programs give what PyTorch gives."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import hemera as hm

torch = pytest.importorskip("torch", reason="PyTorch, of 3 GB, is not among the requirements of the tests")
pytest.importorskip("onnxscript", reason="PyTorch exports by the package onnxscript")
nn = torch.nn
RNG = np.random.default_rng(4)


class Block(nn.Module):  # type: ignore[misc,name-defined]
    """A residual block with a stride, joined by a sum and by concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.before = nn.Sequential(
            nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5)
        )
        self.after = nn.Conv2d(4, 4, 3, padding=1, groups=2)
        self.shortcut = nn.Conv2d(2, 4, 1, stride=2)
        self.scores = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        y = self.before(x)
        z = torch.cat([self.after(y) + self.shortcut(x), y], 1)
        return self.scores(z.mean((2, 3)))


MODULES = {
    "block": (Block, (2, 8, 8)),
    "lenet": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 3, 5),
            nn.Tanh(),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(48, 10),
            nn.GELU(),
            nn.Linear(10, 4),
        ),
        (1, 12, 12),
    ),
    "normalised": (
        lambda: nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.LayerNorm(8, eps=0.1), nn.Linear(8, 2)),
        (6,),
    ),
    "sequence": (
        lambda: nn.Sequential(
            nn.Conv1d(3, 4, 3, dilation=2, padding=2), nn.ELU(), nn.Flatten(), nn.Linear(40, 2)
        ),
        (3, 10),
    ),
    "depthwise": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 3, 3, padding=1, groups=3),
            nn.ReLU6(),
            nn.Conv2d(3, 5, 1),
            nn.LeakyReLU(),
            nn.Flatten(),
        ),
        (3, 4, 4),
    ),
}


@pytest.mark.parametrize("name", list(MODULES))
def test_modules_are_pytorchs(name: str) -> None:
    make, shape = MODULES[name]
    torch.manual_seed(1)
    module = make().train()
    samples = RNG.uniform(-1, 1, (24, *shape)).astype(np.float32)
    plan = hm.compile(module, calibrate=samples, precision_bits=12, security=None)
    assert module.training
    module.eval()
    with torch.no_grad():
        expected = module(torch.from_numpy(samples)).numpy()
    room = 2**-9 * max(1.0, float(np.abs(expected).max()))
    for sample, own in zip(samples[:4], expected, strict=False):
        np.testing.assert_allclose(plan.evaluate_clear(sample.astype(float)), own, atol=room)
    assert plan.package.name == type(module).__name__


def test_a_module_encrypted() -> None:
    torch.manual_seed(2)
    module = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 3)).eval()
    samples = RNG.uniform(-1, 1, (24, 8)).astype(np.float32)
    plan = hm.compile(
        module, hm.ArraySpec((8,), (-1, 1)), calibrate=samples, precision_bits=10, security=None
    )
    expected = module(torch.from_numpy(samples[:1])).detach().numpy()[0]
    np.testing.assert_allclose(plan.local(threads=2)(samples[0].astype(float)), expected, atol=2**-8)


def test_errors() -> None:
    with pytest.raises(hm.errors.ParameterError, match="needs the shapes of its inputs"):
        hm.compile(nn.Linear(2, 2))

    class Branch(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x if x.sum() > 0 else -x

    # torch.onnx.export leaves the divisor out.
    for divisor in (None, 3):
        pool, told = nn.AvgPool2d(2, divisor_override=divisor), "result 'avg_pool2d' is not the module's"
        with pytest.raises(hm.errors.ParameterError, match=told) if divisor else nullcontext():
            hm.compile(pool, hm.ArraySpec((1, 8, 8), range=(-1, 1)), security=None)
    with pytest.raises(hm.errors.ParameterError, match="Branch can not be exported"):
        hm.compile(Branch(), calibrate=np.ones((2, 3)))
