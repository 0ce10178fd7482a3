"""What decryption notices of CKKS values that wrapped: the table in docs/ckks.md, "Range".

python bench/decryption_notices.py [--trials 400] [--seed 1]

Squares, whose largest value is drawn from 2.5e6 to 1e12 on a logarithmic scale, with parameters by default
(values to 2^19). Each is decrypted at the last level: there it is noticed (NoiseError), wrong without a word,
or right.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import hemera as hm

Values = NDArray[np.float64]
Generator = np.random.Generator

CASES: dict[str, tuple[int, Callable[[Generator, int], Values]]] = {
    "one value": (1, lambda _, n: np.ones(n)),
    "1,024 equal values": (1024, lambda _, n: np.ones(n)),
    "16 uniform values": (16, lambda random, n: random.uniform(-1, 1, n)),
    "1,024 uniform values": (1024, lambda random, n: random.uniform(-1, 1, n)),
    "one among 1,024 zeros": (1024, lambda _, n: np.eye(1, n)[0]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    print("| squares of | noticed | wrong without a word | right |\n|---|---|---|---|")
    for name, (slots, draw) in CASES.items():
        ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=slots), "cpu")
        secret_key = ctx.generate_secret_key()
        ev = ctx.bind(ctx.generate_keys(secret_key))
        counts = dict.fromkeys(("noticed", "wrong", "right"), 0)
        for _ in range(arguments.trials):
            root = np.sqrt(np.exp(random.uniform(np.log(2.5e6), np.log(1e12)))) * draw(random, slots)
            x = ev.encrypt(root)
            try:
                found = ctx.decrypt(ev.at_level(x * x, 0), secret_key)
            except hm.errors.NoiseError:
                counts["noticed"] += 1
                continue
            counts["right" if np.allclose(found, root**2, rtol=0.01, atol=1) else "wrong"] += 1
        print(f"| {name} | {counts['noticed']} | {counts['wrong']} | {counts['right']} |", flush=True)


if __name__ == "__main__":
    main()
