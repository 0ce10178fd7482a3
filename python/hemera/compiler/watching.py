"""Clients' view of values that may leave the ranges of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.facts import Watch
from hemera.arrays.recorder import Recorder
from hemera.arrays.tensor import TensorProgram
from hemera.package.encodings.watching import tell_rows
from hemera.package.specs import OutputSpec

Values = NDArray[np.float64]


class Known(NamedTuple):
    """The facts of an output: see `OutputSpec`."""

    watched: str = ""
    low: float | None = None
    high: float | None = None
    ends: tuple[float, float] | None = None
    """The least and the largest number that inputs can lead to, as it is decrypted."""

    @property
    def reach(self) -> float | None:
        """The largest magnitude of these."""
        return None if self.ends is None else max(map(abs, self.ends))


@dataclass(frozen=True)
class Watching:
    """The watched values of a program that was recorded with samples."""

    watches: Mapping[str, Watch]
    """What functions take that rows may take out of their intervals, by the names of outputs."""
    lines: tuple[str, ...]
    """The lines of these functions."""
    watched: Mapping[str, Known]
    """The facts of outputs that have the watched values too: results are then any that inputs allow."""
    unwatched: Mapping[str, Known]
    """The facts of outputs that are results alone: they lie in the ranges that samples showed."""

    @classmethod
    def of(cls, recorder: Recorder) -> Watching:
        """The values that are to be watched."""
        outputs = dict(recorder.program.outputs)
        mark = "watched-"  # as no result begins, of characters that parts of a request's body may have
        while any(name.startswith(mark) for name in outputs):
            mark += "-"
        found = [each.watch for each in recorder.facts if each.watch]
        watches = {f"{mark}{number}": each for number, each in enumerate(found)}
        watched, unwatched = dict[str, Known](), dict[str, Known]()
        for name, at in outputs.items():
            facts = recorder.facts[at]
            if facts.certain is not facts.bounds:
                ends = float(facts.certain[0].min()), float(facts.certain[1].max())
                watched[name] = Known("", *ends, ends)
                unwatched[name] = Known("", *(recorder.range(at) if watches else ends), ends)
        for name, each in watches.items():
            watched[name] = Known(each.where or "a function", each.low, each.high, (each.least, each.most))
        lines = tuple(dict.fromkeys([each.where for each in watches.values()]))
        return cls(watches, lines, watched, unwatched)


def tell_outside(
    program: TensorProgram,
    inputs: Sequence[Values],
    *,
    everything: bool,
    rows: int = 0,
    count: int | None = None,
) -> None:
    """Give RangeWarnings that name rows of which values leave their ranges, by the program in the clear.

    Args:
        inputs: of shape (..., *shape) each.
        everything: not what functions take alone, but all values, as where they are bootstrapped.
        rows: that each sample has, as those of estimators' tables; 0: it is one.
        count: of all rows, after which others only fill up; None: as many as there are.
    """
    first = program.nodes[program.inputs[0]]
    before = inputs[0].shape[: inputs[0].ndim - len(first.shape)]
    batch = [x.reshape(-1, *program.nodes[at].shape) for x, at in zip(inputs, program.inputs, strict=True)]
    with np.errstate(all="ignore"):
        values = program.values(batch, clip=True)
    told: dict[tuple[str, float, float, int], Values] = {}
    for at, node in enumerate(program.nodes):
        ends = [(at, node.range)] if everything else []
        ends += list(zip(node.operands, node.operation.intervals, strict=False))
        for each, (low, high) in ends:
            told[node.where, low, high, each] = values[each]
    for (where, low, high, _), own in told.items():
        spec = OutputSpec("", 1, watched=where or "an input", low=low, high=high)
        values_by_row = own.reshape((*before, *own.shape[1:]))
        tell_rows(values_by_row, spec, own.ndim - 1, rows=rows, count=count, together=rows)
