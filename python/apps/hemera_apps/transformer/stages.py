"""The stages of a run: times, memory, and how near decrypted values are to those of the clear block."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera import _core
from hemera.times.table import DeviceTimes
from hemera_apps.transformer.clear import Trace
from hemera_apps.transformer.layout import Layout
from hemera_apps.transformer.single.layout import SingleLayout

Array = NDArray[np.float64]

_ROWS_SEEN = 8
"""Rows of a step that are compared: the first ones."""


def agreement(found: Array, expected: Array) -> float:
    """Bits: -log2 of the largest error over the largest magnitude."""
    error = float(np.abs(found - expected).max()) / float(np.abs(expected).max())
    return round(-math.log2(max(error, 2.0**-60)), 2)


class Stages:
    """A `hemera_apps.transformer.watch.Watch` that notes each stage, and compares values where it has the
    secret key.

    Attributes:
        waits: whether stages are noted, for which each waits for the device.

    Args:
        evaluator: of the block.
        say: prints a line.
        layout, trace, secret_key: where values lie, those of the clear block, and the key that opens them;
            None: nothing is decrypted.
    """

    def __init__(
        self,
        evaluator: hm.Evaluator,
        say: Callable[[str], None],
        layout: Layout | SingleLayout,
        trace: Trace | None = None,
        secret_key: hm.SecretKey | None = None,
    ) -> None:
        self.context, self._evaluator, self._say = evaluator.context, evaluator, say
        self._layout, self._trace, self._secret_key = layout, trace, secret_key
        self.waits = True
        self.begin()

    def begin(self) -> None:
        """Forget the stages of a run before, and start the clock."""
        self._bits: dict[str, float] = {}
        self.rows: list[dict[str, Any]] = []
        self.bits: dict[str, float] = {}
        """The bits of each step, in order."""
        self._next()

    def _next(self) -> None:
        self.context.synchronize()
        self.context._native.reset_memory_peak()
        self._bootstraps = self._evaluator.bootstraps
        self._seeing, self._began = 0.0, time.perf_counter()

    def stage(self, name: str) -> None:
        """Note the stage that ends."""
        if not self.waits:
            return
        self.context.synchronize()
        row: dict[str, Any] = {
            "stage": name,
            "seconds": round(time.perf_counter() - self._began - self._seeing, 4),
            "bootstraps": self._evaluator.bootstraps - self._bootstraps,
            "peak_bytes": self.context._native.memory_peak,
        }
        if self._bits:
            row["bits"], self._bits = self._bits, {}
        self.rows.append(row)
        seen = "".join(f", {step} {bits} bits" for step, bits in row.get("bits", {}).items())
        self._say(
            f"{name}: {row['seconds']:.3f} s, {row['bootstraps']} bootstraps, "
            f"peak {row['peak_bytes'] / 1e9:.2f} GB{seen}"
        )
        self._next()

    def see(self, name: str, rows: hm.Ciphertext, factor: float) -> None:
        """Compare the first rows of a step with the clear block's."""
        if self._secret_key is None or self._trace is None:
            return
        self.context.synchronize()
        began = time.perf_counter()
        first = rows if len(rows) <= _ROWS_SEEN else rows[:_ROWS_SEEN]
        found = self.context.decrypt(first, self._secret_key).real * factor
        expected = self._layout.of_step(name, self._trace[name], len(first))
        self._bits[name] = self.bits[name] = agreement(found, expected)
        self._seeing += time.perf_counter() - began


class PlannedStages:
    """A `hemera_apps.transformer.watch.Watch` of a run that counts operations.

    Args:
        context: of the device "ledger".
        times: of the device that seconds are for.
    """

    def __init__(self, context: hm.Context, times: DeviceTimes) -> None:
        self._native, self._times = context._native, times
        self._before = (0.0, 0, 0)
        self.rows: list[dict[str, Any]] = []

    def begin(self) -> None:
        """Forget the stages of a run before."""
        self.rows, self._before = [], (0.0, 0, 0)

    def stage(self, name: str) -> None:
        """Note the stage that ends."""
        counted = _core.counted_cost(self._native)
        total = self._times.seconds(counted), counted.key_products, counted.products
        seconds, switches, products = (a - b for a, b in zip(total, self._before, strict=True))
        self._before = total
        self.rows.append(
            {
                "stage": name,
                "seconds": round(seconds, 4),
                "key_products": int(switches),
                "products": int(products),
                "bytes_left": self._native.memory_used,
            }
        )

    def see(self, name: str, rows: hm.Ciphertext, factor: float) -> None:
        """There are no values."""
