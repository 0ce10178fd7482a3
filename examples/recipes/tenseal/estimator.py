"""The decision function of a fitted pipeline of scikit-learn, for an encrypted row, with TenSEAL."""

from typing import Any

import numpy as np
import tenseal as ts
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(6)
rows = rng.normal(size=(200, 30)) * np.arange(1, 31)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, rows[:, 0] + rows[:, 1] > 0)
values = rows[:1]
expected = model.decision_function(values)
weights = model[1].coef_[0] / model[0].scale_
offset = float(model[1].intercept_[0] - weights @ model[0].mean_)
symmetric = ts.ENCRYPTION_TYPE.SYMMETRIC
context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [40, 30, 40], symmetric, 2)
context.global_scale = 2**30
context.generate_galois_keys()


def run(row: Any) -> Any:
    """Encrypted, computed and decrypted."""
    return np.array((ts.ckks_vector(context, row[0]).dot(weights.tolist()) + offset).decrypt())


print(run(values), expected)
