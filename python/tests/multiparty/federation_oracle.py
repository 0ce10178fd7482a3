"""What messages of a federation must be, from the formulas, in NumPy and Python's integers.

ChaCha20 (RFC 8439), the samplers of include/hemera/poly/random.hpp, wide Gaussians of
docs/randomness.md, HMAC, and
docs/multiparty.md.
"""

import hashlib
import hmac
import itertools
import math
import struct
from decimal import Decimal, localcontext
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[Any]  # of Python's integers
UNIFORM, TERNARY, ERROR = 1, 2, 4


def pack(*parts):
    """Texts with their length; other integers come packed."""
    out = b""
    for part in parts:
        if isinstance(part, str):
            out += struct.pack("<I", len(part.encode())) + part.encode()
        else:
            assert isinstance(part, bytes)
            out += part
    return out


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


def prf(key, *parts):
    return hmac.new(key, pack(*parts), hashlib.sha256).digest()


def random_words(seed, k, j, purpose, n):
    """[n, 2]: the low and high word of each coefficient's 128 bits."""
    blocks = n // 4
    state = np.empty((16, blocks), np.uint32)
    state[:4] = np.frombuffer(b"expand 32-byte k", "<u4")[:, None]
    state[4:12] = np.frombuffer(seed, "<u4")[:, None]
    state[12] = np.arange(blocks)
    state[13:] = np.array([k, j, purpose], np.uint32)[:, None]
    a, b, c, d = state.copy().reshape(4, 4, blocks)  # four quarter rounds at once, of columns or diagonals

    def turned(x, by):
        return (x << np.uint32(by)) | (x >> np.uint32(32 - by))

    for half in range(20):
        for left, right in ((16, 12), (8, 7)):
            a = a + b
            d = turned(d ^ a, left)
            c = c + d
            b = turned(b ^ c, right)
        sign = 1 if half % 2 else -1
        b, c, d = (np.roll(x, sign * by, axis=0) for x, by in ((b, 1), (c, 2), (d, 3)))
    x = np.concatenate([a, b, c, d])
    return (x + state).T.copy().view("<u8").reshape(n, 2)


def ternary(seed, n):
    low = random_words(seed, 0, 0, TERNARY, n)[:, 0].astype(object)
    return np.array([(3 * int(r) >> 64) - 1 for r in low], object)


@lru_cache(maxsize=256)
def _uniform(seed, k, j, q, n):
    r = random_words(seed, k, j, UNIFORM, n).astype(object)
    row = (r[:, 0] + (r[:, 1] << 64)) % q
    row.flags.writeable = False
    return row


def uniform(seed, k, primes, n):
    """In evaluation form, for each prime."""
    return [_uniform(seed, k, j, q, n) for j, q in enumerate(primes)]


@cache
def error_table(sigma):
    """2^63 P(|e| <= m), rounded, while below 2^63."""
    with localcontext() as context:
        context.prec = 60
        rho = [(-Decimal(m * m) / (2 * Decimal(sigma) ** 2)).exp() for m in range(400)]
        total = rho[0] + 2 * sum(rho[1:])
        part, table = rho[0], []
        for following in rho[1:]:
            entry = int((part / total * 2**63).to_integral_value())
            if entry >= 2**63:
                break
            table.append(entry)
            part += 2 * following
    return np.array(table, np.uint64)


def errors(seed, k, n, sigma):
    r = random_words(seed, k, 0, ERROR, n)
    size = np.searchsorted(error_table(sigma), r[:, 0] & np.uint64(2**63 - 1), side="right")
    return np.where(r[:, 1] >> np.uint64(63) == 1, -size, size).astype(object)


def wide_gaussian(seed, n, sigma):
    """g_0 + 8 (g_1 + 8 (... + c g_(k-1))), of one narrow deviation of at most 20."""
    if sigma <= 20:
        return errors(seed, 0, n, sigma)
    for layers in itertools.count(2):
        for top in range(1, 9):
            factor = math.sqrt(sum(64.0**i for i in range(layers - 1)) + top * top * 64.0 ** (layers - 2))
            if 20 * factor < sigma:
                continue
            x = top * errors(seed, layers - 1, n, sigma / factor)
            for i in range(layers - 2, -1, -1):
                x = errors(seed, i, n, sigma / factor) + (x if i == layers - 2 else 8 * x)
            return x
    raise AssertionError


@cache
def _root(q, n):
    """The smallest primitive 2N-th root of unity."""
    some = next(r for g in range(2, 100) if pow(r := pow(g, (q - 1) // (2 * n), q), n, q) == q - 1)
    return min(pow(some, e, q) for e in range(1, 2 * n, 2))


@lru_cache(maxsize=64)
def _powers(root, q, n):
    return np.array(list(itertools.accumulate([1] + [root] * (n - 1), lambda a, b: a * b % q)), object)


class Ring:
    """Z_Q[X]/(X^N + 1), Q the product of two primes, by number-theoretic transforms."""

    def __init__(self, n, primes):
        self.n, self.primes, self.modulus = n, list(primes), math.prod(primes)
        self.order = [int(format(i, f"0{n.bit_length() - 1}b")[::-1], 2) for i in range(n)]
        self.roots = [_root(q, n) for q in primes]

    def _powers(self, root, q):
        return _powers(root, q, self.n)

    def _cyclic(self, x, w, q):
        """Entry i: the value at w^i."""
        y = x[self.order][:, None]  # [polynomials, values of each]
        while (size := y.shape[1]) < self.n:
            odd = y[1::2] * self._powers(w, q)[: self.n // 2 : self.n // 2 // size] % q
            y = np.concatenate([y[::2] + odd, y[::2] - odd], axis=1) % q
        return y[0]

    def values(self, x):
        """Entry i: the value at root^(2 rev(i) + 1)."""
        out = []
        for q, root in zip(self.primes, self.roots, strict=True):
            natural = self._cyclic(x % q * self._powers(root, q) % q, root * root % q, q)
            out.append(natural[self.order])
        return out

    def coefficients(self, values):
        """Integers modulo Q."""
        total = np.zeros(self.n, object)
        for q, root, row in zip(self.primes, self.roots, values, strict=True):
            natural = self._cyclic(np.asarray(row)[self.order], pow(root, -2, q), q)
            part = natural * self._powers(pow(root, -1, q), q) % q * pow(self.n, -1, q) % q
            other = self.modulus // q
            total = total + part * (other * pow(other, -1, q))
        return total % self.modulus

    def product(self, values, x):
        """The product with a polynomial in evaluation form, in coefficients."""
        pairs = zip(values, self.values(x), self.primes, strict=True)
        return self.coefficients([a * b % q for a, b, q in pairs])

    def quotient(self, x, values):
        """What one who knows y and rho y has: y, centred."""
        pairs = zip(self.values(x), values, self.primes, strict=True)
        return self.centred(
            self.coefficients(
                [a * np.array([pow(int(v), -1, q) for v in b], object) % q for a, b, q in pairs]
            )
        )

    def centred(self, x):
        x = x % self.modulus
        return np.where(x > self.modulus // 2, x - self.modulus, x)


def rounded(x, dropped):
    return (x + (1 << dropped >> 1)) >> dropped


def packed(values, bits):
    """Little-endian; eight values fill whole bytes."""
    groups = [values[first : first + 8] for first in range(0, len(values), 8)]
    numbers = [sum(int(v) << (bits * i) for i, v in enumerate(group)) for group in groups]
    sizes = [(bits * len(group) + 7) // 8 for group in groups]
    return b"".join(number.to_bytes(size, "little") for number, size in zip(numbers, sizes, strict=True))


def unpacked(data, bits, count):
    numbers = [int.from_bytes(data[first : first + bits], "little") for first in range(0, len(data), bits)]
    return np.array([numbers[i // 8] >> (bits * (i % 8)) & ((1 << bits) - 1) for i in range(count)], object)


def digest(version, head, values, bits):
    """What ends a message: of version 2, SHA-256 of those of the head and of each 2^14 values."""
    if version == 1:
        return hashlib.sha256(head + values).digest()
    step = 2**14 * bits // 8
    pieces = [head] + [values[first : first + step] for first in range(0, len(values), step)]
    return hashlib.sha256(b"".join(hashlib.sha256(piece).digest() for piece in pieces)).digest()


class Messages:
    """The messages of one list of a federation."""

    def __init__(self, description, plan, n, data):
        self.id, self.plan, self.margin, self.n = description.id, plan, plan.margin, n
        self.version = description.messages
        self.digest = hashlib.sha256(data).digest()
        self.ring = Ring(n, plan.primes)
        self.delta = self.ring.modulus >> self.margin.sum_bits
        self.public_seed = hashlib.sha256(pack("hemera federation public 1", self.digest)).digest()

    def public(self, k):
        return uniform(self.public_seed, k, self.ring.primes, self.n)

    def dealt(self, key, name):
        return prf(key, "hemera federation contributor 1", self.id, name)

    def secret(self, dealt):
        return ternary(prf(dealt, "hemera federation secret 1", self.digest), self.n)

    def mask(self, dealt):
        """What hides a contributor's values with `method="masks"`."""
        seed = prf(dealt, "hemera federation secret 1", self.digest)
        rows = [uniform(seed, k, self.ring.primes, self.n)[0] for k in range(self.plan.polynomials)]
        return np.concatenate(rows)[: self.margin.values]

    def masked(self, name, values, dealt):
        total = np.asarray(values).astype(object) + sum(self.mask(part) for part in dealt)
        return self.upload_of(name, total % self.ring.modulus)

    def masks_share(self, piece, key, weights):
        total = sum(w * self.mask(self.dealt(key, name)) for name, w in weights.items())
        payload = packed(-total % self.ring.modulus, self.plan.share_bits)
        return self.envelope(2, "", piece, 0, payload)

    def flooding(self, key, k, factor=None):
        rho = b"".join(u64(int(v)) for row in factor or self.public(k) for v in row)
        log2 = self.margin.flooding_log2
        named = u32(k) + u32(log2) + hashlib.sha256(rho).digest()
        return wide_gaussian(prf(key, "hemera federation flooding 1", self.digest, named), self.n, 2.0**log2)

    def envelope(self, kind, sender, piece, dropped, payload):
        head = b"HMP%d" % self.version + bytes([kind]) + self.id + self.digest + pack(sender) + u32(piece)
        head += u32(self.margin.flooding_log2) + u32(dropped)
        bits = self.plan.upload_bits if kind == 1 else self.plan.share_bits
        return head + payload + digest(self.version, head, payload, bits)

    def share(self, piece, key, weights):
        z = sum(w * self.secret(self.dealt(key, name)) for name, w in weights.items())
        rows = []
        for k in range(self.plan.polynomials):
            d = (self.ring.product(self.public(k), z) + self.flooding(key, k)) % self.ring.modulus
            rows.append(rounded(d, self.margin.share_dropped))
        values = np.concatenate(rows)[: self.margin.values]
        payload = packed(values, self.plan.share_bits)
        return self.envelope(2, "", piece, self.margin.share_dropped, payload)

    def upload_of(self, name, values):
        """A whole message of these values, whatever they are: what an attacker writes."""
        return self.envelope(1, name, 0, self.margin.upload_dropped, packed(values, self.plan.upload_bits))

    def values_of(self, message):
        bits = self.plan.upload_bits if message[4] == 1 else self.plan.share_bits
        size = (bits * self.margin.values + 7) // 8
        return unpacked(message[-32 - size : -32], bits, self.margin.values)

    def phase(self, uploads, weights, shares):
        """What is opened, centred, from all that is public."""
        total = sum(w * self.values_of(uploads[n]) for n, w in weights.items()) << self.margin.upload_dropped
        for share in shares:
            total = total + (self.values_of(share) << self.margin.share_dropped)
        return self.ring.centred(total)
