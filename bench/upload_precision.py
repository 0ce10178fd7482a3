"""Bits of bootstraps within limits on their keys: python bench/upload_precision.py [DEVICE [RESULTS.json]].

n16-40, all slots, without a limit on what is uploaded and within some, by one secret key: 13 kinds of inputs,
each encrypted and bootstrapped RUNS times. Bits are means over the runs: of the mean of -log2 |error|, and of
the worst slot. Prints JSON: a row for each limit and kind, and the largest losses beside no limit.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from results_file import write_results

PRESET, RUNS, LIMITS = "n16-40", 24, (None, 750_000_000, 430_000_000, 350_000_000)


def inputs(slots: int) -> dict[str, NDArray[np.complex128]]:
    """Values up to 1 of each kind, of shape (slots,); all but the first three are structured."""
    draws, slot = np.random.default_rng(20261130), np.arange(slots)
    uniform = draws.uniform(-1, 1, (2, slots))
    ones = np.ones(slots)
    # The slots of a monomial: the fifth powers of a root of unity, as the slots are ordered.
    angles = np.array([pow(5, int(j), 4 * slots) for j in slot]) * 2 * np.pi / (4 * slots)
    kinds = {
        "uniform": uniform[0] + 1j * uniform[1],
        "uniform, real": uniform[0],
        "normal": np.clip(draws.normal(0, 0.25, slots), -1, 1),
        "equal": ones,
        "equal, imaginary": 1j * ones,
        "one slot": np.where(slot == slots // 3, 1, 0),
        "alternating": np.where(slot % 2 == 0, 1, -1),
        "signs": draws.choice([-1.0, 1.0], slots),
        "ramp": np.linspace(-1, 1, slots),
        "blocks of 1,024": np.repeat(uniform[1][: slots // 1024], 1024),
        "half": np.where(slot < slots // 2, 1, 0),
        "one coefficient": np.exp(3j * angles),
        "small": uniform[0] / 1024,
    }
    return {name: values.astype(np.complex128) for name, values in kinds.items()}


def bits(plan: Any, evaluator: Any, secret: Any, values: NDArray[np.complex128]) -> tuple[float, float]:
    """Mean and worst bits, means over the runs."""
    found = []
    for _ in range(RUNS):
        x = evaluator.at_level(evaluator.encrypt(values), plan.input_level)
        expected = evaluator.context.decrypt(x, secret)
        error = np.maximum(np.abs(evaluator.context.decrypt(plan(x), secret) - expected), 2.0**-60)
        found.append((-np.log2(error).mean(), -np.log2(error.max())))
    mean, worst = np.mean(found, axis=0)
    return float(mean), float(worst)


def main() -> None:
    warnings.simplefilter("ignore", hm.errors.RangeWarning)  # all inputs are within the range
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    params = hm.ckks.Parameters.for_bootstrapping(PRESET)
    context = hm.Context(params, device=device)
    secret = context.generate_secret_key()
    rows: list[dict[str, Any]] = []
    for limit in LIMITS:
        plan = hm.circuits.Bootstrap(params, upload_limit=limit)
        evaluator = context.bind(context.generate_keys(secret, plan=plan), bootstrap=plan)
        for kind, values in inputs(plan.slots).items():
            mean, worst = bits(plan, evaluator, secret, values)
            rows.append(
                {"upload_limit": limit, "kind": kind, "mean": round(mean, 2), "worst": round(worst, 2)}
            )
    without = {row["kind"]: row for row in rows if row["upload_limit"] is None}
    losses = {
        f"{what}, {limit}": max(
            round(without[row["kind"]][what] - row[what], 2) for row in rows if row["upload_limit"] == limit
        )
        for limit in LIMITS[1:]
        for what in ("mean", "worst")
    }
    rows.append({"preset": PRESET, "runs": RUNS, "largest_losses": losses})
    print(json.dumps(rows, indent=1))
    if len(sys.argv) > 2:
        write_results(sys.argv[2], device, rows)


if __name__ == "__main__":
    main()
