"""Values whose range is that of samples, and that functions take: clients see whether they stay in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hemera.arrays.tensor import TensorProgram

__all__ = ["Watch", "results_of", "watched", "watches_by_name"]


@dataclass(frozen=True)
class Watch:
    """A function's argument: its interval, and the ends that inputs inside of their ranges can give it."""

    at: int
    """The node."""
    low: float
    high: float
    least: float
    """The ends by interval arithmetic of the inputs' ranges alone."""
    most: float
    where: str
    """The line of the function."""


def watches_by_name(watches: Sequence[Watch], results: Collection[str]) -> dict[str, Watch]:
    """Watches by names that no result has, of characters that parts of a request's body may have."""
    mark = "watched-"
    while any(name.startswith(mark) for name in results):
        mark += "-"
    return {f"{mark}{number}": each for number, each in enumerate(watches)}


def watched(program: TensorProgram, watches: Mapping[str, Watch]) -> TensorProgram:
    """The program with the watched values as outputs after the results."""
    outputs = [*program.outputs, *((name, each.at) for name, each in watches.items())]
    return TensorProgram(program.nodes, outputs)


def results_of(program: TensorProgram, watches: Collection[str]) -> TensorProgram:
    """The program without the outputs that `watched` added.

    Args:
        watches: their names, or those of their tiles: no result's name begins as they do.
    """
    outputs = [
        (name, at) for name, at in program.outputs if name not in watches and f"{name}.0" not in watches
    ]
    return TensorProgram(program.nodes, outputs) if watches else program
