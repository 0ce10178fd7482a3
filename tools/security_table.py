#!/usr/bin/env python3
"""The table of fixed-weight secrets in src/rlwe/security.cpp, derived from docs/security-estimates.

    tools/security_table.py

prints the rows as they stand in the source. The rules (docs/security.md) for a modulus that has B bits:

- Every attack run under the cost model MATZOV counts with its lowest estimate, less 16 bits if the search for
  that one hit its time limit, less 8 if it was the estimator's own search.
- Of the two attacks that were cheapest wherever all were run, dual_mitm and bdd_mitm, one at least was run. A
  missing one is taken to be 8 bits below the cheapest of the others.
- The cheapest has B + 4 bits (searches are on grids), B + 16 for weights below 64 (for what the estimator
  lacks).
- Weights below 64 have no entry above 126 bits, the largest modulus in use with them, whatever was estimated.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

ESTIMATES = Path(__file__).resolve().parents[1] / "docs" / "security-estimates" / "estimates.jsonl"
MODEL = "MATZOV"
CHEAPEST = ("dual_mitm", "bdd_mitm")
SPARSE = 64
"""Weights below it have the larger margin and the largest modulus of SPARSE_LIMIT."""
SPARSE_LIMIT = 126
MARGIN, SPARSE_MARGIN = 4, 16
TIME_LIMIT_MARGIN, DIRECT_MARGIN, MISSING_MARGIN = 16, 8, 8


class Entry(NamedTuple):
    log_degree: int
    weight: int
    bits: int
    log_modulus: int


def load(path: Path = ESTIMATES) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def least_bits(estimates: Iterable[dict[str, Any]]) -> float:
    """What the estimates of one degree, weight and modulus count for by the first two rules; 0: nothing."""
    by_attack: dict[str, float] = {}
    for row in sorted(estimates, key=lambda row: (row["bits"], row["time_limit"], row["search"] == "direct")):
        margin = TIME_LIMIT_MARGIN if row["time_limit"] else DIRECT_MARGIN if row["search"] == "direct" else 0
        by_attack.setdefault(row["attack"], row["bits"] - margin)
    present = [attack for attack in CHEAPEST if attack in by_attack]
    if not present:
        return 0.0
    missing = len(present) < len(CHEAPEST)
    return float(min(by_attack.values())) - (MISSING_MARGIN if missing else 0)


def derive(estimates: Iterable[dict[str, Any]]) -> list[Entry]:
    """For each degree, weight and bits with any: the largest modulus. Ordered."""
    points: dict[tuple[int, int, int], list[dict[str, Any]]] = defaultdict(list)
    for row in estimates:
        if row["model"] == MODEL and not row["attack"].startswith("what_if") and row["weight"] != 0:
            points[row["log_degree"], row["weight"], row["log_modulus"]].append(row)
    largest: dict[tuple[int, int, int], int] = {}
    for (log_degree, weight, log_modulus), rows in points.items():
        if weight < SPARSE and log_modulus > SPARSE_LIMIT:
            continue
        margin = SPARSE_MARGIN if weight < SPARSE else MARGIN
        for bits in (128, 192, 256):
            if least_bits(rows) >= bits + margin:
                key = (log_degree, weight, bits)
                largest[key] = max(largest.get(key, 0), log_modulus)
    return [Entry(*key, log_modulus) for key, log_modulus in sorted(largest.items())]


def look_up(table: Iterable[Entry], log_degree: int, weight: int, bits: int) -> int | None:
    """The largest modulus by entries of this or a smaller degree, this or a smaller weight; at most 2N/3."""
    if 3 * weight > 2 * 2**log_degree:
        return None
    found = [
        entry.log_modulus
        for entry in table
        if entry.log_degree <= log_degree and entry.weight <= weight and entry.bits >= bits
    ]
    return max(found, default=None)


if __name__ == "__main__":
    for entry in derive(load()):
        print("    {{{}, {}, {}, {}}},".format(*entry))
