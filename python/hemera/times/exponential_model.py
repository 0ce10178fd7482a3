"""Times of exponentials, which bootstraps by roots of unity begin with, for tables that were measured before
there were any.

A CPU's threads share the numbers out, and each takes one after the other. A GPU takes as long as computing
them.
"""

from __future__ import annotations

import re

OPERATION = "exponentials"
_NUMBERS = (2**14, 2**17, 2**20, 2**23)
_SECONDS = 2.6e-8
"""Seconds of one number on one thread of a Xeon with AVX-512: 21, 26 and 33 ns of 2^18, 2^20 and 2^22. The
kernel has no vectors of its own, so other instruction sets take as long."""
_GPU_SECONDS = 2.0e-11
"""Seconds of one number on an H100: 20.0, 19.6 and 19.8 ps of 2^20, 2^22 and 2^23. An H200 has the same
processors."""
_GPUS = ("nvidia-h100", "nvidia-h200")
_LEAST = {"cpu": 1e-5, "gpu": 4e-6}


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
        if not device.startswith(_GPUS):
            return []
        each, least = _GPU_SECONDS, _LEAST["gpu"]
    # Degree 1 and no modulus, as C++ counts calls whose work is numbers (ledger_backend.cpp).
    return [(OPERATION, 1, 0, float(numbers), max(least, numbers * each) + waiting) for numbers in _NUMBERS]
