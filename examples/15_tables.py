"""A table with encrypted columns: filters, groups and means, as pandas has them."""

# Hidden from the server: all columns but the ward, and the results. Public: the number of rows, the ranges.

from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

import hemera as hm

rng = np.random.default_rng(1)
rows = 300
patients = pd.DataFrame(
    {
        "ward": rng.choice(["north", "south", "west"], rows),
        "age": rng.integers(18, 96, rows),
        "smokes": rng.random(rows) < 0.3,
        "stay": np.where(rng.random(rows) < 0.1, np.nan, rng.gamma(2, 4, rows).clip(0, 60)),
    }
)
spec = hm.TableSpec.of(patients, ranges={"age": (0, 120), "stay": (0, 60)}, keys=["ward"])


def study(t: Any) -> dict[str, Any]:
    """For an encrypted table, and for a plain one."""
    old = t[t.age.between(60, 80)]
    return {
        "mean age": t.age.mean(),
        "stay of smokers": t[t.smokes == 1].stay.mean(),
        "by ward": old.groupby("ward")[["stay", "age"]].agg(["mean", "count"]),
    }


plan = hm.compile(study, spec, precision_bits=12)
print(plan.explain())

# Both parties in this process. `plan.save(...)` writes the packaged model that `hemera serve` takes.
found, expected = plan.local()(patients), study(patients)
print(found["by ward"])
for name in ("mean age", "stay of smokers"):
    print(f"{name}: {found[name]:.4f}, of pandas {expected[name]:.4f}")
print(f"largest difference by ward: {(found['by ward'] - expected['by ward']).abs().max().max():.2g}")

# The same by hand, one question at a time.
table = hm.Table.encrypt(patients, ranges={"age": (0, 120), "stay": (0, 60)}, keys=["ward"])
print(table.groupby("ward").stay.std().decrypt())
