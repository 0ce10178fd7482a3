"""A private series of 256 values, smoothed by a plain window."""

from typing import Any

import numpy as np

import hemera as hm

window = np.hanning(9)[1:-1] / 4
values = np.cumsum(np.random.default_rng(8).normal(size=256)) / 16
expected = np.convolve(values, window, "same")


def smooth(series: Any) -> Any:
    """The series, smoothed by seven weights."""
    return np.convolve(series, window, "same")


run = hm.compile(smooth, hm.ArraySpec((256,), range=(-4, 4)), precision_bits=12).local(threads=2)
print(run(values)[:4], expected[:4])
