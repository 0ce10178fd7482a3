"""Times networks of Orion with Hemera's backend and with Lattigo's in turn, and compares both with PyTorch.

A run is the encrypted network alone: the input is encrypted before. Both backends have one core. Inputs and
weights are random, from a seed.

pip install orion-fhe
python bench/compare_orion.py --json orion.json
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hemera import _machine

ROUNDS = 5
IMAGES = 32
"""Over which Orion finds the ranges of values."""


def invariant(log_degree: int, levels: int) -> dict[str, Any]:
    """Parameters as those of Orion's examples: real slots, levels of 26 bits."""
    return {
        "LogN": log_degree,
        "LogQ": [29] + [26] * levels,
        "LogP": [29, 29],
        "LogScale": 26,
        "H": 2**log_degree,
        "RingType": "ConjugateInvariant",
    }


def standard(log_degree: int, levels: int) -> dict[str, Any]:
    """Parameters as those of Orion's ResNet."""
    return {
        "LogN": log_degree,
        "LogQ": [55] + [40] * levels,
        "LogP": [61, 61, 61],
        "LogScale": 40,
        "H": 192,
        "RingType": "standard",
    }


@dataclass(frozen=True)
class Program:
    """A network with its parameters."""

    name: str
    make: Callable[[], Any]
    ckks: dict[str, Any]
    shape: tuple[int, ...] = (1, 28, 28)
    boot: dict[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> dict[str, Any]:
        """Orion's configuration. It is asked for no debugging, which decrypts between layers."""
        return {"ckks_params": self.ckks, "orion": {"margin": 2, "debug": False}, **self.boot}


def dense(activation: str) -> Any:
    """64 values, two layers with an activation each, and a last one."""
    on = importlib.import_module("orion.nn")
    act = {"SiLU": lambda: on.SiLU(degree=31), "ReLU": lambda: on.ReLU(degrees=[15, 15, 27])}[activation]

    class Dense(on.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.flatten = on.Flatten()
            self.fc1, self.act1 = on.Linear(64, 32), act()
            self.fc2, self.act2 = on.Linear(32, 16), act()
            self.fc3 = on.Linear(16, 10)

        def forward(self, x: Any) -> Any:
            return self.fc3(self.act2(self.fc2(self.act1(self.fc1(self.flatten(x))))))

    return Dense()


def programs() -> list[Program]:
    """Orion's examples with their own parameters, and layers with activations and bootstraps in rings that
    are too small to be secure."""
    models = importlib.import_module("orion.models")
    boot = {"boot_params": {"LogP": [61] * 8}}
    small = (1, 8, 8)
    return [
        Program("MLP", models.MLP, invariant(13, 5)),
        Program("LoLA", models.LoLA, invariant(13, 5)),
        Program("SiLU", lambda: dense("SiLU"), standard(13, 14), small),
        Program("SiLU, 1 bootstrap", lambda: dense("SiLU"), standard(13, 10), small, boot),
        Program("ReLU, 4 bootstraps", lambda: dense("ReLU"), standard(13, 10), small, boot),
    ]


class Compiled:
    """A network of one backend, ready to run."""

    def __init__(self, program: Program, scheme: Any) -> None:
        torch = importlib.import_module("torch")
        start = time.perf_counter()
        self._scheme = scheme.init_scheme(program.config)
        torch.manual_seed(42)
        self._net = program.make()
        images = torch.randn(IMAGES, *program.shape)
        self._net.eval()
        self.clear = self._net(images[:1]).detach()
        data = torch.utils.data.TensorDataset(images, torch.zeros(IMAGES))
        scheme.fit(self._net, torch.utils.data.DataLoader(data, batch_size=1))
        self._level = scheme.compile(self._net)
        self._image = images[:1]
        self._net.he()
        self.run()
        self.ready = time.perf_counter() - start

    def run(self) -> tuple[float, float]:
        """The seconds of a run, and the largest distance of its results from PyTorch's."""
        self._net.set_scheme(self._scheme)  # Orion's layers share it
        x = self._scheme.encrypt(self._scheme.encode(self._image, self._level))
        start = time.perf_counter()
        y = self._net(x)
        seconds = time.perf_counter() - start
        return seconds, float((y.decrypt().decode() - self.clear).abs().max())

    def close(self) -> None:
        """Forget its keys."""
        self._scheme.delete_scheme()


def compared(program: Program) -> dict[str, Any]:
    """A row of one network: medians of rounds in turn."""
    own = importlib.import_module("hemera.compat.orion").make_scheme(device="cpu", security=None)
    theirs = importlib.import_module("orion.core.orion").Scheme()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        both = [Compiled(program, scheme) for scheme in (own, theirs)]
        rounds = [[each.run() for each in both] for _ in range(ROUNDS)]
    security = own.backend.context.params.security
    for each in both:
        each.close()
    medians = [statistics.median(each[at][0] for each in rounds) for at in (0, 1)]
    return {
        "program": program.name,
        "milliseconds": [round(1e3 * each, 1) for each in medians],
        "faster": round(statistics.median(there[0] / here[0] for here, there in rounds), 2),
        "errors": [max(each[at][1] for each in rounds) for at in (0, 1)],
        "seconds_until_ready": [round(each.ready, 1) for each in both],
        "parameters": program.ckks,
        "security": security,
    }


def main() -> None:
    """Compare all networks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")
    rows = [compared(program) for program in programs()]
    table = Table(
        "network", "ms", "Lattigo's ms", "faster", "error", "Lattigo's error", "ready, s", "Lattigo's"
    )
    for row in rows:
        errors = [f"{each:.1e}" for each in row["errors"]]
        times = [*row["milliseconds"], row["faster"]]
        table.add_row(row["program"], *map(str, times), *errors, *map(str, row["seconds_until_ready"]))
    Console().print(table)
    if options.json is not None:
        made = {
            **_machine.describe(1),
            "orion": version("orion-fhe"),
            "date": date.today().isoformat(),
            "command": "python bench/compare_orion.py --json FILE",
        }
        options.json.write_text(json.dumps({**made, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
