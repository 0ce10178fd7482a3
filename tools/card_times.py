#!/usr/bin/env python3
"""Times on cards that were not measured, by what kernels count on one that was (docs/measurements/cards.md).

    tools/card_times.py

writes bench/results/cards-predicted.json. It reads the counters of each kernel on an H200,
bench/results/gpu-counters-h200.json. A kernel takes a latency and the root of the sum of the squares of three
times:

- its bytes of device memory, at the bandwidth that a copy reaches, 89 % of the data sheet's;
- its instructions, at 82.7 % of four a multiprocessor and cycle;
- its busiest pipe (FP64, the wide multiplier of integers, the other integers) at 83.4 % of its rate.

The two shares and the latency of 5.77 us are the least squares' on these kernels of the H200. A prediction is
the time of the graph on the H200, times the quotient of the sums of what the kernels take on both cards: what
overlaps, and what the three times miss, are taken to be as on the H200.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).resolve().parents[1] / "bench" / "results"
COUNTERS = RESULTS / "gpu-counters-h200.json"
PREDICTED = RESULTS / "cards-predicted.json"

COPIED = 0.89
"""Bandwidth of a copy over that of the data sheet: 4.27 of 4.8 TB/s on an H200, 3.0 of 3.35 on an H100."""
ISSUED = 0.827
PIPE = 0.834
LATENCY = 5.77
"""Microseconds of a kernel that neither bytes nor instructions explain."""


class Card(NamedTuple):
    """What a vendor's data sheet says of a card.

    Attributes:
        name: of the card.
        multiprocessors: their number.
        gigahertz: their clock under load.
        terabytes: bandwidth of the device's memory, TB/s.
        doubles: FP64 operations a multiprocessor and cycle.
    """

    name: str
    multiprocessors: int
    gigahertz: float
    terabytes: float
    doubles: int


H200 = Card("H200", 132, 1.98, 4.8, 64)
CARDS = [
    H200,
    Card("H100 SXM", 132, 1.98, 3.35, 64),
    Card("A100 SXM 80 GB", 108, 1.41, 2.039, 32),
    Card("RTX 4090", 128, 2.52, 1.008, 2),
    Card("RTX 5090", 170, 2.41, 1.792, 2),
    Card("L40S", 142, 2.52, 0.864, 2),
    Card("L4", 58, 2.04, 0.3, 2),
]


class Kernel(NamedTuple):
    """One run of a kernel: its time alone on the H200, and what it counts, in all multiprocessors.

    Attributes:
        name: of the kernel.
        microseconds: measured.
        bytes: read from the device's memory and written there.
        instructions: of warps, all kinds.
        fp64: instructions of warps that the FP64 units run.
        wide: cycles of the wide multiplier, a quarter of a multiprocessor each.
        alu: cycles of the other integer unit, likewise.
    """

    name: str
    microseconds: float
    bytes: float
    instructions: float
    fp64: float
    wide: float
    alu: float

    def on(self, card: Card) -> float:
        """Microseconds that the model gives it."""
        cycles = card.multiprocessors * card.gigahertz * 1e3
        pipes = (self.fp64 * 32 / card.doubles, self.wide / 4, self.alu / 4)
        return LATENCY + math.hypot(
            self.bytes / (card.terabytes * COPIED * 1e6),
            self.instructions / (4 * cycles * ISSUED),
            max(pipes) / (cycles * PIPE),
        )

    def in_words_of_30_bits(self) -> Kernel:
        """The kernel of 64-bit integers, if residues had 30 bits in words of four bytes.

        1,745 bits are 59 primes for 36: 0.82 of the bytes. A butterfly takes 8.1 instructions and 8 cycles of
        the wide multiplier, for 19.7 and 33 (measured in registers), of which there are 1.64 times as many.
        That all instructions shrink as butterflies do favours it.
        """
        limbs = 59 / 36
        return self._replace(
            bytes=self.bytes * limbs / 2,
            instructions=self.instructions * limbs * 8.1 / 19.7,
            wide=self.wide * limbs * 8 / 33,
            alu=self.alu * limbs * 8.1 / 19.7,
        )


class Program(NamedTuple):
    """An operation in one arithmetic, as the kernels that it runs."""

    operation: str
    arithmetic: str
    graph_microseconds: float
    kernels: list[Kernel]

    def on(self, card: Card) -> float:
        """Microseconds of its graph on a card."""
        here = sum(kernel.on(H200) for kernel in self.kernels)
        return self.graph_microseconds * sum(kernel.on(card) for kernel in self.kernels) / here

    def in_words_of_30_bits(self, card: Card) -> float:
        """The same with residues of 30 bits in words of four bytes."""
        return self.on(card) * (
            sum(kernel.in_words_of_30_bits().on(card) for kernel in self.kernels)
            / sum(kernel.on(card) for kernel in self.kernels)
        )


def programs(path: Path = COUNTERS) -> list[Program]:
    """What was counted."""
    return [
        Program(
            item["operation"],
            item["arithmetic"],
            item["graph_microseconds"],
            [Kernel(*kernel) for kernel in item["kernels"]],
        )
        for item in json.loads(path.read_text(encoding="utf-8"))["programs"]
    ]


def predictions(counted: Iterable[Program], cards: Iterable[Card] = CARDS) -> list[Mapping[str, Any]]:
    """A row for each operation and card: microseconds by arithmetic, and the quickest of those that exist."""
    by_operation: dict[str, dict[str, Program]] = {}
    for program in counted:
        by_operation.setdefault(program.operation, {})[program.arithmetic] = program
    rows: list[Mapping[str, Any]] = []
    for card in cards:
        for operation, of in by_operation.items():
            times = {name: program.on(card) for name, program in of.items()}
            times["u32"] = of["u64"].in_words_of_30_bits(card)
            quickest = min(("f64", "u64"), key=lambda name: times[name])
            rows.append(
                {
                    "card": card.name,
                    "operation": operation,
                    **{name: round(time, 1) for name, time in times.items()},
                    "quickest": quickest,
                    "u32_gain": round(times[quickest] / times["u32"], 2),
                }
            )
    return rows


def main() -> None:
    """Writes the file."""
    source = json.loads(COUNTERS.read_text(encoding="utf-8"))
    kept = {key: source[key] for key in ("commit", "date", "parameters")}
    rows = ",\n  ".join(json.dumps(row) for row in predictions(programs()))
    head = json.dumps({"predicted_from": COUNTERS.name, **kept}, indent=1)[:-2]
    PREDICTED.write_text(f'{head},\n "rows": [\n  {rows}\n ]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
