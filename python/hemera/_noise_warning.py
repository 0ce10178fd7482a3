"""The warning that a circuit has spent its guaranteed noise budget."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from hemera.errors import NoiseWarning

_PACKAGE = str(Path(__file__).parent)


def warn_of_spent_budget(operation: str) -> None:
    """A NoiseWarning, at the line outside of this package that asked for the operation."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(
        f"{operation}: the guaranteed noise budget of the result is spent, so it may decrypt to wrong "
        "values; choose parameters for a circuit of this depth, for_circuit(depth=..., terms=...). "
        "ctx.noise_budget(x, secret_key) tells what is really left",
        NoiseWarning,
        stacklevel=level,
    )
