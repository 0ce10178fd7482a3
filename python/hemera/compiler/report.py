"""The report of a compiled program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hemera.arrays.operations import Apply
from hemera.arrays.tensor import Node, TensorProgram
from hemera.compiler.lowering import Lowered, Step
from hemera.compiler.placement import Placement
from hemera.objects.cost import Cost
from hemera.parameters import Parameters
from hemera.program.operations import ExactBootstraps, exact_bootstrap
from hemera.program.program import Program

_MOST_COUNTS = 4
_LAYOUTS = {
    "ciphertexts": "an element in each ciphertext",
    "pairs": "matrices as pairs",
    "sequences": "tokens and samples in slots",
    "slots": "elements in slots",
}


def table(
    steps: Lowered,
    samples: int,
    params: Parameters,
    cost: Cost,
    bits: float | None,
    notes: Sequence[str] = (),
) -> str:
    """A few lines of the whole, and one for each operation.

    Args:
        samples: that each ciphertext holds.
        bits: that results are expected to have; None: not known.
        notes: lines about the whole.
    """
    parts, halves = steps.cut, ", half of them in imaginary parts" if steps.in_parts else ""
    column = "matrix" if any(step.matrices for step in steps.steps) else "diagonals"
    lines = [
        f"{params!r}, {steps.slots} slots, depth {steps.program.depth}",
        *([f"{samples} samples in each ciphertext{halves}"] if samples > 1 else []),
        *notes,
        *([] if steps.placement is None else [_placed(steps.placement, steps.program)]),
        *_exactly_placed(steps.program, params),
        cost.report(),
        *([] if bits is None else [_bits_line(bits, params)]),
        f"{'operation':<28}{'shape':<18}{column:>10}{'sums':>6}  {'range':<24}where",
    ]
    for at, node in enumerate(parts.whole.nodes):
        low, high = node.range
        own = [steps.steps[tile] for tile in parts.tiles[at]]
        folds = sum(step.folds for step in own)
        lines.append(
            f"{node.title:<28}{_shape(node, parts.tilings[at].count):<18}{_diagonals(own):>10}"
            f"{folds or '':>6}  {f'{low:.4g} to {high:.4g}':<24}{node.where}".rstrip()
        )
    return "\n".join(lines)


def _shape(node: Node, count: int) -> str:
    return str(node.shape) if count == 1 else f"{node.shape} in {count}"


def _placed(placement: Placement, program: Program) -> str:
    """How many bootstraps there are, by which method they were placed, and how good that is."""
    count = program.operations.get("bootstrap", 0)
    if placement.exact:
        how = "no placement takes less time"
    else:
        how = f"the least time is at most {100 * (1 - placement.bound / placement.time):.0f} % less"
    return f"{count} bootstrap{'' if count == 1 else 's'}, placed by {placement.method}: {how}"


def _exactly_placed(program: Program, params: Parameters) -> list[str]:
    """How many exact bootstraps there are, and how likely one fails; nothing where there are none."""
    all_of = [node.operation for node in program.nodes if isinstance(node.operation, ExactBootstraps)]
    if not all_of:
        return []
    count = len(all_of)
    plan = exact_bootstrap(params, all_of[0].passes, all_of[0].failure_bits)
    words = "1 bootstrap" if count == 1 else f"{count} bootstraps"
    passes = "1 pass" if plan.passes == 1 else f"{plan.passes} passes"
    return [
        f"{words} of {passes}, each as late as the guaranteed noise budget lets it be; a run fails with a "
        f"probability of 2^{plan.failure_log2 + math.log2(count):.1f}"
    ]


def _bits_line(bits: float, params: Parameters) -> str:
    if params.scheme != "ckks":
        return "exact results"
    if not bits >= 0:
        return "no bits: errors are larger than results"
    return f"about {bits:.0f} bits, each result relative to its own largest value"


def deepest_text(program: TensorProgram) -> str:
    """A sentence for errors of programs that are too deep: about the function that takes most levels."""
    functions = [
        (node.operation.function, node.where) for node in program.nodes if isinstance(node.operation, Apply)
    ]
    if not functions:
        return ""
    function, where = max(functions, key=lambda each: each[0].depth)
    low, high = function.intervals[0]
    return (
        f". The function of most levels, {function.depth}, is {function.name} at {where}, for "
        f"values from {low:g} to {high:g}: fewer precision_bits, and a narrower range (range=, or "
        "calibrate=), take fewer; inputs with a step= are compared in fewer, too"
    )


def layout_lines(layout: str, seconds: Mapping[str, float], impossible: Mapping[str, object]) -> list[str]:
    """Where elements lie, and for other layouts that were tried their estimated times, or why there are
    none."""
    if not seconds and not impossible and layout == "slots":
        return []
    return [_layout_line(layout, seconds), *(f"not possible: {reason}" for reason in impossible.values())]


def _layout_line(layout: str, seconds: Mapping[str, float]) -> str:
    line = _LAYOUTS[layout]
    if seconds:
        line += f": about {seconds[layout]:.2g} s"
    others = [
        f"{'at least ' * (name == 'slots')}{own:.2g} s with {_LAYOUTS[name]}"
        for name, own in seconds.items()
        if name != layout
    ]
    return line + (f", and {', '.join(others)}" if others else "")


def _diagonals(steps: Sequence[Step]) -> str:
    """The diagonals of each map; of more than four, the sum. For matrices the extents."""
    matrices = [f"{rows}x{columns}" for step in steps for rows, columns in step.matrices]
    if matrices:
        return "+".join(matrices) if len(matrices) <= _MOST_COUNTS else f"{len(matrices)} of them"
    counts = [count for step in steps for count in step.diagonals]
    return "+".join(map(str, counts)) if len(counts) <= _MOST_COUNTS else str(sum(counts))
