"""Operators of ONNX that run other operators: If, Loop and Scan, by conditions and counts that are plain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hemera.compiler.networks.meanings import Attributes, Meaning, Meanings, Run, plain
from hemera.errors import MismatchError, ParameterError


def _if(attributes: Attributes, runs: dict[str, Run], operands: Sequence[Any]) -> Sequence[Any]:
    del attributes
    holds = bool(plain(operands[0], "the condition of If").item())
    return runs["then_branch" if holds else "else_branch"]()


def _loop(attributes: Attributes, runs: dict[str, Run], operands: Sequence[Any]) -> Sequence[Any]:
    """The last state, and the further results of all steps."""
    del attributes
    most, holds, *state = operands
    count = math.inf if most is None else int(plain(most, "the number of steps of Loop").item())
    on = holds is None or bool(plain(holds, "the condition of Loop").item())
    steps: list[Sequence[Any]] = []
    while on and len(steps) < count:
        condition, *found = runs["body"](np.array(len(steps), np.int64), np.array(on), *state)
        on = bool(plain(condition, "the condition of Loop").item())
        state, further = found[: len(state)], found[len(state) :]
        steps.append(further)
    return *state, *(np.stack(each) for each in zip(*steps, strict=True))


def _scan(attributes: Attributes, runs: dict[str, Run], operands: Sequence[Any]) -> Sequence[Any]:
    """The last state, and the further results of the steps along parts of arrays."""
    count = attributes["num_scan_inputs"]
    if not 1 <= count <= len(operands):
        raise ParameterError(f"num_scan_inputs={count} of {len(operands)} operands")
    state, whole = list(operands[:-count]), operands[-count:]
    axes = attributes.get("scan_input_axes") or [0] * count
    backward = attributes.get("scan_input_directions") or [0] * count
    rows = [np.moveaxis(x, axis, 0) for x, axis in zip(whole, axes, strict=True)]
    lengths = {x.shape[0] for x in rows}
    if len(lengths) > 1:
        raise MismatchError(f"Scan along axes of the lengths {sorted(lengths)}")
    steps: list[Sequence[Any]] = []
    for at in range(max(lengths)):
        parts = [x[-1 - at if back else at] for x, back in zip(rows, backward, strict=True)]
        found = runs["body"](*state, *parts)
        state, further = list(found[: len(state)]), found[len(state) :]
        steps.append(further)
    results = []
    ways = [attributes.get(name) for name in ("scan_output_axes", "scan_output_directions")]
    for at, each in enumerate(zip(*steps, strict=True)):
        axis, back = (way[at] if way else 0 for way in ways)
        results.append(np.stack(each[::-1] if back else each, axis))
    return *state, *results


def _runs(run: Any, since: int = 1) -> tuple[Meaning, ...]:
    return (Meaning(run, since, takes="all", results=1 << 16, runs=True),)


CONTROL: Meanings = {"If": _runs(_if), "Loop": _runs(_loop), "Scan": _runs(_scan, 9)}
"""The operators' meanings, by their names in ONNX's own domain."""
