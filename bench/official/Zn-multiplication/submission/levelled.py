"""Products by the Chinese remainder theorem: BGV modulo three primes, whose product exceeds every product of
two 64-bit integers. One multiplication, no relinearization, and no key for the server.

The client encrypts both integers modulo each prime, N of them in the slots of a ciphertext. The server
multiplies slot by slot. The client decrypts the remainders of the products, puts them together, and takes the
last 64 bits.
"""

from __future__ import annotations

import numpy as np
from workload import Words, Workload

import hemera as hm
from hemera_apps.bench.harness import Steps

__all__ = ["MODULI", "decrypt", "encrypt", "finish", "make_keys", "multiply", "parameters"]

_DEGREE = 1 << 12
MODULI = (6981463744513, 6981463867393, 6981463883777)
"""The first three primes from 2^(128/3) on that are 1 modulo 2N: each has N slots. Their product is above
(2^64 - 1)^2."""
_PRIMES = (2305843009213554689, 35184371884033)
"""The ciphertexts' primes, of 61 and 45 bits: 106 in all, the most that 128 bits of security allow at N =
2^12. A product is switched to the first alone, which makes it smaller to send."""
_BATCH = 256
"""Ciphertexts in a file: 2^20 integers."""
_PIECE = 15
"""Bits of a factor in `_multiplied`, such that the sum of three products is below 2^64."""


def parameters() -> list[hm.bgv.Parameters]:
    """One for each of the moduli."""
    return [
        hm.bgv.Parameters(degree=_DEGREE, plain_modulus=t, primes=_PRIMES, special_primes=[]) for t in MODULI
    ]


def make_keys(work: Workload) -> None:
    """A secret key for each modulus. The server's have nothing in them."""
    for number, params in enumerate(parameters()):
        ctx = hm.Context(params, "cpu")
        secret_key = ctx.generate_secret_key()
        keys = ctx.generate_keys(secret_key, public_key=False, relinearization=False)
        secret_key.save(work.secret / f"secret{number}.bin")
        keys.save(work.keys / f"keys{number}.bin")


def encrypt(work: Workload, lhs: Words, rhs: Words) -> None:
    """Remainders modulo each prime, in files of a batch of ciphertexts. The last slots may stay 0."""
    for number, params in enumerate(parameters()):
        ctx = hm.Context(params, "cpu")
        secret_key = ctx.load(work.secret / f"secret{number}.bin")
        for name, words in (("lhs", lhs), ("rhs", rhs)):
            for part, start in enumerate(range(0, len(words), _BATCH * _DEGREE)):
                chunk = words[start : start + _BATCH * _DEGREE] % np.uint64(params.plain_modulus)
                slots = np.zeros((-(-len(chunk) // _DEGREE), _DEGREE), np.uint64)
                slots.flat[: len(chunk)] = chunk
                ctx.encrypt(slots, secret_key).save(work.up / f"{name}{number}-{part:04d}.bin")


def multiply(work: Workload) -> None:
    """The server's part."""
    contexts = [hm.Context(params, work.device) for params in parameters()]
    steps = Steps(*contexts)
    for number, ctx in enumerate(contexts):
        # A result of three components: the client, who has the secret key, needs no relinearization.
        ev = ctx.bind(ctx.load(work.keys / f"keys{number}.bin"), relinearization="lazy")
        for path in sorted(work.up.glob(f"lhs{number}-*.bin")):
            part = path.name.removeprefix("lhs")
            with steps.of("Reading"):
                a, b = ev.load(path), ev.load(work.up / f"rhs{part}")
            product = steps.compute(lambda a=a, b=b: (a * b).mod_switch())
            with steps.of("Writing"):
                product.save(work.down / f"product{part}")
    steps.save(work.io / "server_reported_steps.json")


def decrypt(work: Workload) -> None:
    """The remainders of the products, of shape [modulus, product]."""
    found = []
    for number, params in enumerate(parameters()):
        ctx = hm.Context(params, "cpu")
        secret_key = ctx.load(work.secret / f"secret{number}.bin")
        parts = [
            ctx.decrypt(ctx.load(path), secret_key, dtype=np.uint64).ravel()
            for path in sorted(work.down.glob(f"product{number}-*.bin"))
        ]
        found.append(np.concatenate(parts))
    np.save(work.results, np.stack(found))


def finish(work: Workload) -> Words:
    """The products modulo 2^64, from their remainders."""
    return joined(np.load(work.results)[:, : work.count])


def joined(remainders: Words) -> Words:
    """x modulo 2^64 from its remainders [modulus, x] modulo t1, t2, t3: x = d1 + t1 (d2 + t2 d3) by H.
    Garner's digits d_i < t_i (1959), where NumPy's products wrap around modulo 2^64."""
    t1, t2, t3 = MODULI
    first, second, third = remainders
    d2 = _multiplied(_subtracted(second, first, t2), pow(t1, -1, t2), t2)
    d3 = _multiplied(_subtracted(third, first, t3), pow(t1, -1, t3), t3)
    d3 = _multiplied(_subtracted(d3, d2, t3), pow(t2, -1, t3), t3)
    return first + np.uint64(t1) * (d2 + np.uint64(t2) * d3)


def _subtracted(a: Words, b: Words, modulus: int) -> Words:
    """a - b modulo `modulus`, of a below it, and b below twice of it."""
    return (a + np.uint64(2 * modulus) - b) % np.uint64(modulus)


def _multiplied(a: Words, factor: int, modulus: int) -> Words:
    """a times `factor`, modulo a modulus below 2^43: a in pieces of 15 bits."""
    total = np.zeros_like(a)
    for shift in range(0, modulus.bit_length(), _PIECE):
        piece = (a >> np.uint64(shift)) & np.uint64((1 << _PIECE) - 1)
        total += piece * np.uint64((factor << shift) % modulus)
    return total % np.uint64(modulus)
