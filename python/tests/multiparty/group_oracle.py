"""What messages of a group must be, from the formulas of docs/multiparty.md, in NumPy and integers."""

import hashlib
import hmac
import math
from functools import cache

import numpy as np

from .federation_oracle import Ring, errors, packed, ternary, u32, u64, uniform, wide_gaussian

SIGMA = 3.19


def fields(*parts):
    return b"|".join(part if isinstance(part, bytes) else str(part).encode() for part in parts)


def prf(key, *parts):
    return hmac.new(key, fields(*parts), hashlib.sha256).digest()


@cache
def ring_of(n, primes):
    return Ring(n, primes)


def automorphism(x, g):
    """X to X^g."""
    n = len(x)
    to = np.arange(n) * g % (2 * n)
    out = np.zeros(n, object)
    out[to % n] = np.where(to < n, x, -x)
    return out


def residues(rows):
    """As they lie in memory."""
    return np.array([[int(v) for v in row] for row in rows], "<u8").tobytes()


class GroupMessages:
    """The messages of one attempt of a group with parameters of BFV or BGV, with default gadgets."""

    def __init__(self, group, attempt, params):
        self.group, self.attempt, self.n = group, attempt, params.degree
        self.top, self.special = params.primes[-1], params.special_primes
        self.t = params.plain_modulus if params.scheme == "bgv" else 1
        self.public = ring_of(self.n, (*self.top, *self.special[:1]))
        self.keys = ring_of(self.n, (*self.top, *self.special))
        p = math.prod(self.special)
        self.gadget = [[p % q if q in digit else 0 for q in self.keys.primes] for digit in params.digits]

    # --- Seeds.
    def crs(self, *role):
        return prf(self.group, "hemera crs", *role, self.attempt)

    def secret(self, key):
        return ternary(prf(key, "ternary"), self.n)

    def u(self, key):
        return ternary(prf(key, "relin u", self.attempt), self.n)

    def errors(self, ring, key, *role, k=0):
        return ring.values(self.t * errors(prf(key, "errors", *role), k, self.n, SIGMA))

    # --- Sums and products of rows.
    @staticmethod
    def sum(ring, *terms):
        return [sum(rows) % q for q, rows in zip(ring.primes, zip(*terms, strict=True), strict=True)]

    @staticmethod
    def times(ring, x, y):
        return [a * b % q for a, b, q in zip(x, y, ring.primes, strict=True)]

    @staticmethod
    def scaled(ring, x, factors):
        return [a * f % q for a, f, q in zip(x, factors, ring.primes, strict=True)]

    @staticmethod
    def negative(ring, x):
        return GroupMessages.scaled(ring, x, [-1] * len(ring.primes))

    # --- Messages of a piece, without their envelope.
    def public_key(self, key):
        ring, a = self.public, uniform(self.crs("public key"), 0, self.public.primes, self.n)
        product = self.times(ring, a, ring.values(self.secret(key)))
        e = self.errors(ring, key, "public key", self.attempt)
        return self.sum(ring, self.negative(ring, product), e)

    def galois(self, key, g):
        ring, s = self.keys, self.secret(key)
        image = ring.values(automorphism(s, pow(g, -1, 2 * self.n)))
        found = []
        for d, w in enumerate(self.gadget):
            a = uniform(self.crs("galois", g), d, ring.primes, self.n)
            e = self.errors(ring, key, "galois", g, self.attempt, k=d)
            product = self.negative(ring, self.times(ring, a, image))
            found.append(self.sum(ring, product, self.scaled(ring, ring.values(s), w), e))
        return found

    def relin_1(self, key):
        ring, s, u = self.keys, self.keys.values(self.secret(key)), self.keys.values(self.u(key))
        found = []
        for d, w in enumerate(self.gadget):
            a = uniform(self.crs("relin"), d, ring.primes, self.n)
            h0 = self.sum(
                ring,
                self.negative(ring, self.times(ring, a, u)),
                self.scaled(ring, s, w),
                self.errors(ring, key, "relin 0", self.attempt, k=d),
            )
            h1 = self.sum(ring, self.times(ring, a, s), self.errors(ring, key, "relin 1", self.attempt, k=d))
            found.append((h0, h1))
        return found

    def sums_of(self, keys):
        first = [self.relin_1(key) for key in keys]
        return [
            (self.sum(self.keys, *[m[d][0] for m in first]), self.sum(self.keys, *[m[d][1] for m in first]))
            for d in range(len(self.gadget))
        ]

    def relin_2(self, key, h):
        ring, s, u = self.keys, self.secret(key), self.u(key)
        transcript = hashlib.sha256(b"".join(residues(x) for pair in h for x in pair)).digest()
        found = []
        for d, (h0, h1) in enumerate(h):
            e = self.errors(ring, key, "relin 2", self.attempt, transcript, k=d)
            products = self.times(ring, h0, ring.values(s)), self.times(ring, h1, ring.values(u - s))
            found.append(self.sum(ring, *products, e))
        return found

    # --- Whole messages.
    @staticmethod
    def packed(ring, rows):
        pairs = zip(rows, ring.primes, strict=True)
        return b"".join(packed(row, (q - 1).bit_length()) for row, q in pairs)

    def envelope(self, number, piece, payload):
        return u32(0x31474D48) + bytes([number]) + self.group + self.attempt + u32(piece) + payload

    def first(self, piece, key, elements):
        """Round 1: relinearization comes before Galois keys, these by their elements."""
        parts = [self.packed(self.public, self.public_key(key))]
        parts += [self.packed(self.keys, x) for pair in self.relin_1(key) for x in pair]
        parts += [self.packed(self.keys, x) for g in sorted(elements) for x in self.galois(key, g)]
        return self.envelope(1, piece, b"".join(parts))

    def second(self, piece, key, keys):
        parts = [self.packed(self.keys, x) for x in self.relin_2(key, self.sums_of(keys))]
        return self.envelope(2, piece, b"".join(parts))


class Opened:
    """The openings of ciphertexts of a group at one level."""

    def __init__(self, group, params, level, openings):
        self.group, self.openings, self.n = group, openings, params.degree
        self.ring = ring_of(params.degree, tuple(params.primes[level]))
        self.t = params.plain_modulus if params.scheme == "bgv" else 1

    def name(self, c1):
        return hashlib.sha256(b"".join(u64(q) for q in self.ring.primes) + residues(c1)).digest()

    def flooding_log2(self, noise_log2):
        """The least power of two that hides noise of coefficients of at most 2^noise_log2."""
        v = 2.0**noise_log2 if self.t == 1 else 2.0**noise_log2 / self.t + 0.5
        least = math.sqrt(12 * self.openings.count) * 2 ** (self.openings.bits / 2) * math.sqrt(self.n) * v
        return math.ceil(math.log2(least))

    def flooding(self, key, c1, log2):
        return self.t * wide_gaussian(prf(key, "opening", self.name(c1), log2), self.n, 2.0**log2)

    def answer(self, key, c1, log2):
        secret = ternary(prf(key, "ternary"), self.n)
        product = GroupMessages.times(self.ring, c1, self.ring.values(secret))
        return GroupMessages.sum(self.ring, product, self.ring.values(self.flooding(key, c1, log2)))

    def share(self, piece, key, c1, log2):
        named = hashlib.sha256(self.name(c1)).digest()
        head = u32(0x31534D48) + self.group + named + u32(log2) + u32(piece)
        share = head + GroupMessages.packed(self.ring, self.answer(key, c1, log2))
        return share + hashlib.sha256(share).digest()
