"""The decision function of a fitted pipeline of scikit-learn, for an encrypted row."""

import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

import hemera as hm

rng = np.random.default_rng(6)
rows = rng.normal(size=(200, 30)) * np.arange(1, 31)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, rows[:, 0] + rows[:, 1] > 0)
values = rows[:1]
expected = model.decision_function(values)
run = hm.compile(model, calibrate=rows, rows=1, precision_bits=12).local(threads=2).decision_function
print(run(values), expected)
