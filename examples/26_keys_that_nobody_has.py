"""Mean and variance of three hospitals' values, computed on ciphertexts of a key that nobody has.

python examples/26_keys_that_nobody_has.py
"""

from __future__ import annotations

import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import hemera as hm
from hemera import multiparty as mp

HOSPITALS, ROWS = ["a", "b", "c"], 1000
TERMS: dict[str, Any] = {"members": HOSPITALS, "threshold": 2, "receivers": ["r"], "openings": 20}


def statistics(a: Any, b: Any, c: Any) -> dict[str, Any]:
    """The sums of all rows, and of their squares."""
    return {"sum": (a + b + c).sum(), "squares": (a * a + b * b + c * c).sum()}


def compiled(openings: Any) -> Any:
    """The program, which every party compiles for itself: it is the same, to the bit."""
    params = hm.bfv.Parameters.for_circuit(depth=1, plain_bits=30, slots=1024, terms=4096, openings=openings)
    spec = hm.ArraySpec((ROWS,), range=(0, 120), dtype=int)
    return hm.compile(statistics, spec, spec, spec, scheme="bfv", params=params)


def hospital(folder: Path, name: str, rows: Any) -> None:
    """All that a hospital does, in a process of its own."""
    group = mp.Group.join(
        folder / "study",
        folder / f"{name}.party",
        secrets=folder / "carried",  # of one machine; between houses: identities=
        **TERMS,
    )
    program = compiled(group.openings)
    group.make_keys(program)  # waits for the others; ordinary hm.Keys
    group.put(rows, program=program)  # a digest first, the ciphertexts when all digests are there
    if name == "b":
        group.request(program, to="r")  # computed here, by a server or on a GPU
    if name != "c":  # any two of three answer
        while not group.requests():
            threading.Event().wait(0.05)
        for request in group.requests():
            request.approve(program)  # recomputes, compares to the bit, answers


def main() -> None:
    warnings.simplefilter("ignore", hm.errors.SecurityWarning)
    rng = np.random.default_rng(26)
    rows = {name: rng.integers(18, 100, ROWS) for name in HOSPITALS}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        receiver = mp.Receiver.join(folder / "study", folder / "r.party", **TERMS)
        program = compiled(receiver.openings)
        receiver.make_key(program)
        work = [threading.Thread(target=hospital, args=(folder, name, rows[name])) for name in HOSPITALS]
        for each in work:
            each.start()
        for each in work:
            each.join()
        found = receiver.open(program)  # by r alone
    count = ROWS * len(HOSPITALS)
    mean = int(found["sum"]) / count
    variance = int(found["squares"]) / count - mean**2
    pooled = np.concatenate(list(rows.values()))
    print(f"{count} rows of {len(HOSPITALS)} hospitals, opened by two of them")
    print(f"mean {mean:.4f}, variance {variance:.4f}; of pooled rows {pooled.mean():.4f}, {pooled.var():.4f}")


if __name__ == "__main__":
    main()
