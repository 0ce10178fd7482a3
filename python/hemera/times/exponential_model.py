"""Times of exponentials, which bootstraps by roots of unity begin with, for tables that were measured before
there were any.

A CPU's threads share the numbers out, and each takes one after the other. A GPU takes as long as writing
them.
"""

from __future__ import annotations

import re

__all__ = ["OPERATION", "exponential_rows"]

OPERATION = "exponentials"
_NUMBERS = (2**14, 2**17, 2**20, 2**23)
_BYTES = 16
"""Of a complex number."""
_SECONDS = 2.6e-8
"""Of one number on one thread of a Xeon with AVX-512: 21, 26 and 33 ns of 2^18, 2^20 and 2^22. The kernel has
no vectors of its own, so other instruction sets take as long."""
_LEAST = {"cpu": 1e-5, "gpu": 4e-6}
_BANDWIDTHS = {"nvidia-h100": 3.0e12, "nvidia-h200": 4.0e12}
"""Bytes a second of a GPU's memory, as in `matrix_model`."""


def exponential_rows(device: str, waiting: float) -> list[tuple[str, int, int, float, float]]:
    """The rows that the table of a device lacks, in the form of `DeviceTimes.rows`. None for devices whose
    rates are not known.

    Args:
        device: the table's name.
        waiting: the table's.
    """
    if cpu := re.fullmatch(r"cpu-\w+-(\d+)", device):
        each, least = _SECONDS / int(cpu[1]), _LEAST["cpu"]
    else:
        rates = [rate for name, rate in _BANDWIDTHS.items() if device.startswith(name)]
        if not rates:
            return []
        each, least = _BYTES / rates[0], _LEAST["gpu"]
    # Degree 1 and no modulus, as C++ counts calls whose work is numbers (ledger_backend.cpp).
    return [(OPERATION, 1, 0, float(numbers), max(least, numbers * each) + waiting) for numbers in _NUMBERS]
