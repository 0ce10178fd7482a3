"""What messages of a bootstrap's keys must be, from the formulas of docs/multiparty.md, in NumPy."""

import hashlib
import math

import numpy as np

from .federation_oracle import errors, random_words, u32, u64, uniform
from .group_oracle import SIGMA, GroupMessages, prf, ring_of

WEIGHT = 32
FIXED_WEIGHT = 3


def fixed_weight(seed, n, weight):
    """The coefficients with the lowest keys are 1 or -1 (include/hemera/poly/random.hpp)."""
    words = random_words(seed, 0, 0, FIXED_WEIGHT, n)
    order = np.argsort(words[:, 0] & np.uint64(2**62 - 1), kind="stable")[:weight]
    found = np.zeros(n, object)
    found[order] = 1 - 2 * (words[order, 1] >> np.uint64(63)).astype(int)
    return found


class EphemeralMessages:
    """The messages about the two keys of one ephemeral secret, of pieces."""

    def __init__(self, group, attempt, params, needs):
        self.group, self.attempt, self.n = group, attempt, params.degree
        self.to, self.back = (
            next(each for each in needs if each.kind == f"{way} ephemeral") for way in ("to", "from")
        )

    def secret(self, key):
        """The piece's ephemeral secret of the attempt."""
        return fixed_weight(prf(key, "ephemeral", WEIGHT, self.attempt), self.n, WEIGHT)

    def digits(self, need):
        """Each prime by itself on the way there, all together on the way back."""
        return [[p] for p in need.primes] if need is self.to else [list(need.primes)]

    def ring(self, need):
        return ring_of(self.n, (*need.primes, *need.special_primes))

    def gadget(self, need):
        """w of each digit, for each prime."""
        p = math.prod(need.special_primes)
        return [[p % q if q in digit else 0 for q in self.ring(need).primes] for digit in self.digits(need)]

    def name(self, need):
        data = b"".join(
            u32(len(primes)) + b"".join(map(u64, primes))
            for primes in (need.primes, need.special_primes, *self.digits(need))
        )
        return "circuit", need.kind, WEIGHT, hashlib.sha256(data + u32(0)).digest()

    def uniform(self, need, digit):
        seed = prf(self.group, "hemera crs", *self.name(need), self.attempt)
        return uniform(seed, digit, self.ring(need).primes, self.n)

    def errors(self, need, key, digit):
        """Errors of the circuit: no multiples of t."""
        seed = prf(key, "errors", *self.name(need), self.attempt)
        return self.ring(need).values(errors(seed, digit, self.n, SIGMA))

    def message(self, need, key, secret):
        """-a `to` + e + w `from`, of each digit."""
        ring, own = self.ring(need), self.secret(key)
        to, start = (own, secret) if need is self.to else (secret, own)
        found = []
        for digit, w in enumerate(self.gadget(need)):
            product = GroupMessages.times(ring, self.uniform(need, digit), ring.values(to))
            terms = GroupMessages.scaled(ring, ring.values(start), w), self.errors(need, key, digit)
            found.append(GroupMessages.sum(ring, GroupMessages.negative(ring, product), *terms))
        return found
