"""A plain matrix times an encrypted vector."""

import numpy as np

import hemera as hm

rng = np.random.default_rng(2)
matrix, values = rng.normal(size=(128, 64)), rng.uniform(-1, 1, 128)
expected = values @ matrix

run = hm.compile(lambda x: x @ matrix, hm.ArraySpec((128,), range=(-1, 1))).local(threads=2)
print(np.abs(run(values) - expected).max())
