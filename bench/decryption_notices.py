"""What decryption notices of CKKS values that wrapped: the table in docs/ckks.md, "Range".

python bench/decryption_notices.py [--trials 400] [--seed 1]

Products of two encrypted vectors, whose largest value is drawn from 2.5e6 to 1e12 on a logarithmic scale,
with parameters by default (values to 2^19). Each is decrypted at the last level: there it is noticed
(NoiseError), wrong without a word, or right.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import hemera as hm

Values = NDArray[np.float64]
Generator = np.random.Generator


def around_a_level(part: float) -> Callable[[Generator, int], Values]:
    """Values that differ from 1 by a normal part of it."""
    return lambda random, n: 1 + part * random.normal(size=n)


def waves(random: Generator, n: int) -> Values:
    """The sum of three waves of up to eight periods, around 0."""
    time = np.arange(n) / n
    return np.sum([random.normal() * np.sin(2 * np.pi * (k * time + random.random())) for k in (1, 3, 8)], 0)


def walk(random: Generator, n: int) -> Values:
    """A random walk from 0 on."""
    return np.cumsum(random.normal(size=n))


CASES: dict[str, tuple[int, Callable[[Generator, int], Values]]] = {
    "one value": (1, lambda _, n: np.ones(n)),
    "1,024 equal values": (1024, lambda _, n: np.ones(n)),
    "1,024 around a level, by 0.1 %": (1024, around_a_level(0.001)),
    "1,024 around a level, by 1 %": (1024, around_a_level(0.01)),
    "1,024 around a level, by 10 %": (1024, around_a_level(0.1)),
    "1,024 uniform values from 0 on": (1024, lambda random, n: random.uniform(0, 1, n)),
    "1,024 of three waves": (1024, waves),
    "1,024 of a random walk": (1024, walk),
    "16 uniform values around 0": (16, lambda random, n: random.uniform(-1, 1, n)),
    "1,024 uniform values around 0": (1024, lambda random, n: random.uniform(-1, 1, n)),
    "one among 1,024 zeros": (1024, lambda _, n: np.eye(1, n)[0]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    print("| results | noticed | wrong, unnoticed | right | unnoticed of the wrong |\n|---|---|---|---|---|")
    for name, (slots, draw) in CASES.items():
        ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=slots), "cpu")
        secret_key = ctx.generate_secret_key()
        ev = ctx.bind(ctx.generate_keys(secret_key))
        counts = dict.fromkeys(("noticed", "wrong", "right"), 0)
        for _ in range(arguments.trials):
            drawn = draw(random, slots)
            size = np.exp(random.uniform(np.log(2.5e6), np.log(1e12))) / np.abs(drawn).max()
            root = np.sqrt(size * np.abs(drawn))
            x, y = ev.encrypt(root), ev.encrypt(np.sign(drawn) * root)
            try:
                found = ctx.decrypt(ev.at_level(x * y, 0), secret_key)
            except hm.errors.NoiseError:
                counts["noticed"] += 1
                continue
            counts["right" if np.allclose(found, size * drawn, rtol=0.01, atol=1) else "wrong"] += 1
        share = counts["wrong"] / max(1, counts["wrong"] + counts["noticed"])
        told = " | ".join(str(each) for each in counts.values())
        print(f"| {name} | {told} | {100 * share:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
