"""A polynomial of degree 7 of 4,096 encrypted values."""

import numpy as np

import hemera as hm

rng = np.random.default_rng(6)
coefficients, values = rng.uniform(-1, 1, 8), rng.uniform(-1, 1, 4096)
expected = np.polyval(coefficients, values)

spec = hm.ArraySpec((4096,), range=(-1, 1))
run = hm.compile(lambda x: np.polyval(coefficients, x), spec, precision_bits=12).local(threads=2)
print(np.abs(run(values) - expected).max())
