"""Times of products with matrices of integers, for tables that were measured before there were any.

A product of a matrix of `size` x `size` bytes with polynomials takes the sum of two times: that of its
multiply-adds, at the device's rate, and that of its input and output, 8 bytes a residue, in the device's
memory. On GPUs the input is written once more, as bytes that are read again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OPERATION = "multiply_matrix"
_DEGREE = 8192
_SIZES = (8, 32, 128, 512, 2048, 8192, 32768)
_BITS = (49, 60)


@dataclass(frozen=True)
class _Rates:
    """A second's multiply-adds of a byte with a residue, and bytes of memory, of one thread or a GPU; the
    seconds of the shortest call; and the bytes that move for each residue of the input."""

    multiply_adds: float
    bandwidth: float
    least: float
    moved: int


# CPUs: 768 x 768 over three primes in 0.89 s (bytes) and 1.03 s (two bytes) on two threads of a Xeon with
# AVX-512 IFMA, between which a rate for each byte lies (docs/matrices.md); AVX2 is as much slower as its rows
# of `combine` are. GPUs: bench/results/matrices-h100.json, of 4,096 x 4,096 and 768 x 768; the H200 has the
# same multiprocessors.
_CPUS = {"avx512": _Rates(2.1e10, 8e9, 1e-5, 16), "avx2": _Rates(8e9, 8e9, 1e-5, 16)}
_GPUS = {"nvidia-h100": _Rates(1.35e14, 3.0e12, 4e-6, 32), "nvidia-h200": _Rates(1.35e14, 4.0e12, 4e-6, 32)}
_SHARED_BANDWIDTH = 1e11  # of all threads of a CPU


def matrix_rows(device: str, waiting: float) -> list[tuple[str, int, int, float, float]]:
    """The rows that the table of a device lacks, in the form of `DeviceTimes.rows`. None for devices whose
    rates are not known: these have the times of sums in the place of products.

    Args:
        device: the table's name.
        waiting: the table's.
    """
    rates = _rates(device)
    if rates is None:
        return []
    rows = []
    for size in _SIZES:
        residues = size * _DEGREE
        seconds = residues * size / rates.multiply_adds + residues * rates.moved / rates.bandwidth
        seconds = max(rates.least, seconds)
        # As C++ counts work (time_estimate.cpp): terms of the integers' bytes, and a result, for each row.
        rows += [(OPERATION, _DEGREE, bits, float(size * (size + 1)), seconds + waiting) for bits in _BITS]
    return rows


def _rates(device: str) -> _Rates | None:
    if cpu := re.fullmatch(r"cpu-(\w+)-(\d+)", device):
        one, threads = _CPUS.get(cpu[1]), int(cpu[2])
        if one is None:
            return None
        bandwidth = min(threads * one.bandwidth, _SHARED_BANDWIDTH)
        return _Rates(threads * one.multiply_adds, bandwidth, one.least, one.moved)
    return next((rates for name, rates in _GPUS.items() if device.startswith(name)), None)
