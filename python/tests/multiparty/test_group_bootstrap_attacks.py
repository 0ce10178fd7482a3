"""Attacks on the ephemeral secrets of a group's bootstraps, each in two halves: a naive design loses one, and
must; this one does not. The letters are those of docs/multiparty-attacks.md.

An attacker sees -a s~ + e + w s of a piece whose key it lacks, modulo two primes of ciphertexts and a special
one, modulo which w is 0.
"""

import math

import numpy as np
import pytest

import hemera as hm

from .bootstrap_oracle import WEIGHT, EphemeralMessages, fixed_weight
from .federation_oracle import unpacked
from .federation_setting import nonce
from .group_oracle import GroupMessages, prf, ring_of
from .test_group_bootstraps import Bootstrapping, public_primes

HEAD = 4 + 1 + 32 + 32 + 4
LARGEST = 25
"""An error that is met once in 2^40 coefficients or so, of deviation 3.19."""


@pytest.fixture(scope="module")
def members():
    return Bootstrapping("bfv")


class Seen:
    """What is sent of a piece in an attempt, modulo the special prime."""

    def __init__(self, members, attempt):
        self.needs = members.some("from ephemeral", "to ephemeral")
        self.oracle = EphemeralMessages(members.id, attempt, members.params, self.needs)
        self.members, self.attempt = members, attempt
        self.prime = self.oracle.to.special_primes[0]
        self.ring = ring_of(self.oracle.n, (self.prime,))
        self.a = self.oracle.uniform(self.oracle.to, 0)[-1:]

    def sent(self, piece):
        """What the library sends: the last row of the first digit of the key to the ephemeral secret."""
        of = [self.members.messages(m, self.attempt, self.needs) for m in range(self.members.count)]
        data, n = self.members.round(of, 1)[piece], self.oracle.n
        public = public_primes(hm.Keys(of[0].keys(), self.members.context).to_bytes())
        primes = [*public, *self.oracle.ring(self.oracle.back).primes, *self.oracle.to.primes]
        bits = (self.prime - 1).bit_length()
        at = HEAD + sum(n // 8 * (q - 1).bit_length() for q in primes)
        return [unpacked(data[at : at + n // 8 * bits], bits, n)]

    def naive(self, secret, errors):
        """A message of another ephemeral secret and other errors, by the same formula."""
        product = GroupMessages.times(self.ring, self.a, self.ring.values(secret))
        return GroupMessages.sum(self.ring, GroupMessages.negative(self.ring, product), errors)


def thin_secret(ring, a, b):
    """A secret of weight 3 in b = -a s + e, by a meeting in the middle: 2 N single terms and their 2 N^2
    pairs, in one coefficient. None: there is none."""
    n, p = ring.n, ring.modulus
    rows = ring.coefficients(a).astype(np.int64)
    # Coefficient 0 of a X^j, and of -a X^j.
    first = np.concatenate([rows[:1], p - rows[:0:-1]])
    terms = np.concatenate([first, p - first])
    i, j = np.triu_indices(2 * n)
    pairs = (terms[i] + terms[j]) % p
    order = np.argsort(pairs)
    pairs = pairs[order]
    wanted = (-int(ring.coefficients(b)[0]) - terms) % p
    lows = np.searchsorted(pairs, wanted - LARGEST)
    highs = np.searchsorted(pairs, wanted + LARGEST, side="right")
    for third in np.flatnonzero(highs > lows):
        for at in order[lows[third] : highs[third]]:
            found = np.zeros(n, object)
            for term in (int(third), int(i[at]), int(j[at])):
                found[term % n] += 1 if term < n else -1
            product = GroupMessages.times(ring, a, ring.values(found))
            rest = ring.centred(ring.coefficients(GroupMessages.sum(ring, b, product)))
            if max(abs(int(v)) for v in rest) <= LARGEST:
                return found
    return None


def middle_log2(degree, weight):
    """log2 of the terms of one half, of a meeting in the middle."""
    return math.log2(math.comb(degree, weight // 2)) + weight // 2


# --- O.
def test_o_an_ephemeral_secret_that_is_dealt_in_shares_is_found(members):
    """One secret of weight 32, dealt to the ten pieces of 3 of 5: who lacks one piece faces a weight of 3."""
    seen = Seen(members, nonce("attack o"))
    share = fixed_weight(nonce("thin"), seen.oracle.n, WEIGHT // 10)
    errors = seen.oracle.errors(seen.oracle.to, nonce("some"), 0)[-1:]
    found = thin_secret(seen.ring, seen.a, seen.naive(share, errors))
    assert found is not None
    assert np.array_equal(found, share)
    # Each piece has a whole one here.
    assert thin_secret(seen.ring, seen.a, seen.sent(0)) is None
    assert np.count_nonzero(seen.oracle.secret(members.seeds[0])) == WEIGHT
    # At N = 2^16 a share of three pieces is within reach, and a piece is not.
    assert middle_log2(2**16, WEIGHT // 3) < 80
    assert middle_log2(2**16, WEIGHT) > 225


# --- P.
def recovered(seen, sent):
    """The secret in two messages whose errors are the same: their difference is (a' - a) s."""
    ring = seen[0].ring
    rows = [
        GroupMessages.sum(ring, x, GroupMessages.negative(ring, y)) for x, y in (sent, [s.a for s in seen])
    ]
    return ring.quotient(ring.coefficients(rows[0]), GroupMessages.negative(ring, rows[1]))


def test_p_errors_and_secrets_that_outlive_an_attempt_are_found(members):
    """Both are functions of the piece, where a is of the attempt: who starts again gives the secret away."""
    both = [Seen(members, nonce("attack p", k)) for k in range(2)]
    key = members.seeds[0]
    secret = fixed_weight(prf(key, "ephemeral", WEIGHT), both[0].oracle.n, WEIGHT)
    errors = both[0].oracle.errors(both[0].oracle.to, key, 0)[-1:]
    assert np.array_equal(recovered(both, [each.naive(secret, errors) for each in both]), secret)
    # Here they are of one attempt each: other secrets, and other errors.
    found = recovered(both, [each.sent(0) for each in both])
    own = [each.oracle.secret(key) for each in both]
    assert not np.array_equal(own[0], own[1])
    assert not any(np.array_equal(found, each) for each in own)
    # With either of the two the other is enough.
    for kept in own:
        again = [each.naive(kept, each.oracle.errors(each.oracle.to, key, 0)[-1:]) for each in both]
        assert not np.array_equal(recovered(both, again), kept)
