"""Attacks on groups, each in two halves: a naive design loses a secret, and must; this one does not.

The letters are those of the design's list of attacks.
"""

import hashlib

import numpy as np
import pytest

import hemera as hm
from hemera import _core, errors

from ..refusals import raises
from .federation_oracle import errors as drawn_errors
from .federation_oracle import ternary, uniform, unpacked, wide_gaussian
from .federation_setting import nonce
from .group_files import Residues, assembled, sections, with_rows
from .group_oracle import GroupMessages, automorphism
from .group_setting import DEGREE, Members, rows_of

HEAD = 4 + 1 + 32 + 32 + 4
"""Bytes of a message of keys before its residues."""
SHARE = 4 + 32 + 32 + 4 + 4


@pytest.fixture(scope="module")
def members():
    return Members("bfv", openings=200)


@pytest.fixture(scope="module")
def keys(members):
    return members.keys([1])


def same(guess, secret):
    return bool(np.array_equal(guess, secret))


def rows_in(data, primes):
    """The first polynomial of packed residues."""
    found, at = [], 0
    for q in primes:
        bits = (q - 1).bit_length()
        size = DEGREE * bits // 8
        found.append(unpacked(data[at : at + size], bits, DEGREE))
        at += size
    return found


def difference(ring, x, y):
    return GroupMessages.sum(ring, x, GroupMessages.negative(ring, y))


def quotient(ring, x, y):
    return ring.quotient(ring.coefficients(x), y)


def rounded(ring, x, w):
    """The secret in w s + small."""
    return (2 * ring.centred(ring.coefficients(x)) + w) // (2 * w)


def constant(ring, value):
    """In evaluation form it is the same everywhere."""
    return [np.full(DEGREE, value % q, object) for q in ring.primes]


def crafted(x, c0, c1):
    """What anybody can write: a ciphertext of these halves, with the metadata of another."""

    def change(found):
        for component, rows in enumerate((c0, c1)):
            for limb, row in enumerate(rows):
                found.rows[0, component, limb] = row

    return x.context.load(with_rows(bytes(x), change))


# --- B.
def test_b_one_flooding_for_two_ciphertexts_is_a_piece(members, keys):
    """Floodings that are named by anything but what is multiplied cancel, at any width."""
    x = members.context.bind(keys).encrypt(np.arange(8))
    ring, s = members.opening(x.level).ring, members.oracle(nonce("attempt")).secret(members.seeds[0])
    c1 = rows_of(x, 1)
    other = [row + 1 for row in c1]
    flooding = ring.values(wide_gaussian(nonce("result 7"), DEGREE, 2.0**60))
    naive = [
        GroupMessages.sum(ring, GroupMessages.times(ring, c, ring.values(s)), flooding) for c in (c1, other)
    ]
    assert same(quotient(ring, difference(ring, *naive), difference(ring, c1, other)), s)
    holder = next(m for m in range(3) if members.access.holds(m, 0))
    ours = [
        rows_in(members.openers[holder].share(y._native, x.noise_bits, 0)[SHARE:], ring.primes)
        for y in (x, crafted(x, rows_of(x, 0), other))
    ]
    assert not same(quotient(ring, difference(ring, *ours), difference(ring, c1, other)), s)


# --- C.
def test_c_who_speaks_last_makes_the_public_key_its_own(members):
    attempt = nonce("attack c")
    oracle, ring = members.oracle(attempt), members.oracle(attempt).public
    a = uniform(oracle.crs("public key"), 0, ring.primes, DEGREE)
    honest = [oracle.public_key(key) for key in members.seeds[:2]]
    mine = ternary(nonce("mine"), DEGREE)
    own = GroupMessages.sum(
        ring,
        GroupMessages.negative(ring, GroupMessages.times(ring, a, ring.values(mine))),
        ring.values(drawn_errors(nonce("e"), 0, DEGREE, 3.19)),
    )
    rogue = difference(ring, own, GroupMessages.sum(ring, *honest))
    whole = GroupMessages.sum(ring, *honest, rogue)
    u, m = ring.values(ternary(nonce("u"), DEGREE)), 5 << 60
    c0 = GroupMessages.sum(ring, GroupMessages.times(ring, whole, u), constant(ring, m))
    c1 = GroupMessages.times(ring, a, u)
    phase = GroupMessages.sum(ring, c0, GroupMessages.times(ring, c1, ring.values(mine)))
    error = ring.centred(ring.coefficients(phase))
    error[0] -= m
    assert max(abs(int(v)) for v in error) < 2**20  # one party reads every input

    needs = members.needs(relinearization=False)
    of = [members.messages(k, attempt, needs) for k in range(3)]
    evil = members.sender(2)
    victim = of[members.sender(0)]
    digests = [of[members.sender(piece)].digest(1, piece) for piece in range(3)]
    for piece in range(2):
        victim.accept_digest(1, piece, digests[piece])
    with pytest.raises(errors.MismatchError, match="come before the first message"):
        victim.message(1, 0)  # nobody sees it until the last has said what it will send
    victim.accept_digest(1, 2, digests[2])
    sent = victim.message(1, 0)
    forged = oracle.envelope(1, 2, GroupMessages.packed(ring, rogue))
    assert len(forged) == len(sent)
    raises(errors.MismatchError, "another digest", victim.accept, 1, 2, forged)
    raises(errors.MismatchError, "two messages", victim.accept_digest, 1, 2, hashlib.sha256(forged).digest())
    assert evil != members.sender(0)


# --- D.
def test_d_a_second_first_round_after_a_restored_disk(members):
    """The nonce on a disk: the first message is known when another one is chosen to cancel it."""
    large = 1 << 80
    oracle = members.oracle(nonce("on disk"))
    ring, s = oracle.keys, oracle.secret(members.seeds[0])
    first = oracle.relin_1(members.seeds[0])
    forged = [
        (difference(ring, constant(ring, large), h0), GroupMessages.negative(ring, h1)) for h0, h1 in first
    ]
    sums = [
        tuple(GroupMessages.sum(ring, x, y) for x, y in zip(own, lie, strict=True))
        for own, lie in zip(first, forged, strict=True)
    ]
    assert same(rounded(ring, oracle.relin_2(members.seeds[0], sums)[0], large), s)  # the piece
    # The nonce in memory alone: a process that starts again has another attempt.
    again = members.oracle(nonce("in memory"))
    sums = [
        tuple(GroupMessages.sum(ring, x, y) for x, y in zip(own, lie, strict=True))
        for own, lie in zip(again.relin_1(members.seeds[0]), forged, strict=True)
    ]
    assert not same(rounded(ring, again.relin_2(members.seeds[0], sums)[0], large), s)
    # And within an attempt round 2 is answered for what was said before, once.
    needs = members.needs()
    of = [members.messages(k, nonce("attack d"), needs) for k in range(3)]
    victim = of[members.sender(0)]
    raises(errors.MismatchError, "round 2 answers the sums of round 1", victim.digest, 2, 0)
    members.round(of, 1)
    victim.digest(2, 0)
    raises(errors.MismatchError, "two messages", victim.accept_digest, 1, 1, nonce("another"))
    raises(errors.MismatchError, "", victim.accept, 1, 1, b"another")


# --- E.
def test_e_an_opening_of_a_reference_polynomial_is_a_piece(members, keys):
    """At any flooding, from one answer and a message of set-up. No list of refused ciphertexts helps, since
    combinations of such polynomials do as well: only that results are recomputed does
    (test_group.py, test_a_result_that_is_not_the_programs_is_not_opened)."""
    attempt, n = nonce("attempt"), DEGREE
    g = members.context._native.galois_element(1)
    oracle = members.oracle(attempt)
    x = members.context.bind(keys).encrypt(np.arange(8))
    ring = members.opening(x.level).ring
    count = len(ring.primes)
    assert ring.primes == oracle.keys.primes[:count]
    a = uniform(oracle.crs("galois", g), 0, oracle.keys.primes, n)[:count]
    turned = ring.values(automorphism(ring.coefficients(a), g))
    asked = crafted(x, constant(ring, 0), turned)
    holder = next(m for m in range(3) if members.access.holds(m, 0))
    answer = rows_in(members.openers[holder].share(asked._native, x.noise_bits, 0)[SHARE:], ring.primes)
    # phi(a) s_T + E, turned back, and -a phi^-1(s_T) + w s_T + e.
    back = ring.values(automorphism(ring.coefficients(answer), pow(g, -1, 2 * n)))
    message = oracle.galois(members.seeds[0], g)[0][:count]
    total = ring.coefficients(GroupMessages.sum(ring, back, message))
    w = int(ring.coefficients([np.full(n, f, object) for f in oracle.gadget[0][:count]])[0])
    errors_of = np.array([np.abs(ring.centred(total - s * w)) for s in (-1, 0, 1)])
    assert same(np.argmin(errors_of, axis=0) - 1, oracle.secret(members.seeds[0]))


# --- J.
def test_j_a_receivers_key_that_hides_nothing_is_refused(members, keys):
    x = members.context.bind(keys).encrypt(np.arange(8))
    secret = members.context.generate_secret_key()
    honest = members.context.generate_keys(secret, relinearization=False)
    parts = sections(honest.to_bytes())
    found = Residues(parts[-1][1])
    found.rows[0, 0, 0][17] = 0
    data = assembled(honest.to_bytes()[:64], [*parts[:-1], (parts[-1][0], found.content())])
    evil = members.context.load(data)
    opener = members.openers[members.sender(0)]
    opener.share_for(x._native, x.noise_bits, 0, honest._native)
    raises(errors.MismatchError, "has a zero", opener.share_for, x._native, x.noise_bits, 0, evil._native)


# --- K.
def test_k_a_malformed_input_is_the_collective_secret(members, keys):
    """(Delta, K), K above the flooding and below Delta, looks like any ciphertext: the rounded sum is right,
    and who sees the shares has the secret. That is why contributors are assumed to encrypt as the library
    does, and why results go to receivers, whose shares tell nobody else anything."""
    context, t = members.context, members.params.plain_modulus
    values = np.random.default_rng(1).integers(0, t // 2, members.params.max_slots)
    x = context.bind(keys).encrypt(context.encode(values, encoding="coefficients"))
    ring = members.opening(x.level).ring
    large, delta = 1 << (members.opening(x.level).flooding_log2(x.noise_bits + 1) + 8), ring.modulus // t
    assert large < delta // 8
    evil = crafted(x, ring.values(np.full(DEGREE, delta, object)), constant(ring, large))
    total = x + evil
    shares = members.shares(total)
    assert np.array_equal(members.open(total, shares), values + 1)  # nobody sees anything wrong
    answers = [rows_in(share[SHARE:], ring.primes) for share in shares]
    phase = ring.coefficients(GroupMessages.sum(ring, rows_of(total, 0), *answers))
    message = (t * phase + ring.modulus // 2) // ring.modulus
    rest = ring.centred(phase - message * ring.modulus // t)
    assert same((2 * rest + large) // (2 * large), members.secret())
    # To a receiver: what others see of the shares is no phase.
    own = context.generate_keys(context.generate_secret_key(), relinearization=False)
    sealed = [
        members.openers[members.sender(piece)].share_for(total._native, total.noise_bits, piece, own._native)
        for piece in range(3)
    ]
    halves = [rows_of(context._wrap(each), 0) for each in sealed]
    phase = ring.coefficients(GroupMessages.sum(ring, rows_of(total, 0), *halves))
    message = (t * phase + ring.modulus // 2) // ring.modulus
    rest = ring.centred(phase - message * ring.modulus // t)
    assert not same((2 * rest + large) // (2 * large), members.secret())


# --- Damage.
def test_no_damaged_message_is_accepted(members):
    """Damage by accident, and by one who says the digest of what it sends."""
    needs, rng = members.needs(relinearization=False), np.random.default_rng(3)
    clean = [members.messages(k, nonce("damage"), needs) for k in range(3)]
    sent = members.round(clean, 1)
    expected = clean[0].keys()
    of = members.messages(members.sender(0), nonce("damage"), needs)
    of.digest(1, 0)
    for piece in (1, 2):
        of.accept_digest(1, piece, hashlib.sha256(sent[piece]).digest())
    for data in _damaged(sent[1], rng, 1500):
        raises((errors.MismatchError, errors.FormatError), "", of.accept, 1, 1, data)
    for piece in (1, 2):
        of.accept(1, piece, sent[piece])
    raises(errors.MismatchError, "added before", of.accept, 1, 1, sent[1])
    assert hm.Keys(of.keys(), members.context).to_bytes() == hm.Keys(expected, members.context).to_bytes()
    # An insider who commits to what is no message.
    q = members.oracle(nonce("damage")).public.primes[0]
    bits = (q - 1).bit_length()
    too_large = bytearray(sent[1])
    first = int.from_bytes(too_large[HEAD : HEAD + 8], "little") | ((1 << bits) - 1)
    too_large[HEAD : HEAD + 8] = first.to_bytes(8, "little")
    for data in (bytes(too_large), sent[1][:-1], sent[1] + b"\0", b"", sent[2], b"\0" * 60):
        evil = members.messages(members.sender(0), nonce("damage"), needs)
        evil.digest(1, 0)
        evil.accept_digest(1, 1, hashlib.sha256(data).digest())
        evil.accept_digest(1, 2, hashlib.sha256(sent[2]).digest())
        raises((errors.MismatchError, errors.FormatError), "", evil.accept, 1, 1, data)


def test_no_damaged_share_is_accepted(members, keys):
    rng, native = np.random.default_rng(4), members.context._native
    x = members.context.bind(keys).encrypt(np.arange(8)).shrink()
    shares = members.shares(x)
    for data in _damaged(shares[1], rng, 1500):
        with pytest.raises((errors.MismatchError, errors.FormatError)):
            _core.opening_piece(native, members.terms, x._native, x.noise_bits, data)
    other = Members("bfv", openings=200, made="another")
    y = members.context.bind(keys).encrypt(np.arange(8)).shrink()
    assert other.params == members.params
    for terms, ciphertext, bound in (
        (other.terms, x, x.noise_bits),
        (members.terms, y, x.noise_bits),
        (members.terms, x, x.noise_bits + 2),
    ):
        with pytest.raises(errors.MismatchError):
            _core.opening_piece(native, terms, ciphertext._native, bound, shares[1])
    raises(errors.MismatchError, "2 pieces of 3", members.open, x, shares[:2])
    wrong = bytearray(shares[1][:-32])
    wrong[SHARE] ^= 1
    forged = bytes(wrong) + hashlib.sha256(wrong).digest()
    raises(errors.MismatchError, "differ", members.open, x, [*shares, forged])


def _damaged(data, rng, count):
    """Bits changed anywhere and in the head, parts cut off, put in and exchanged."""
    found = []
    for k in range(count):
        out = bytearray(data)
        at = int(rng.integers(HEAD if k % 3 == 0 else len(out)))
        if k % 5 == 0:
            out = out[:at]
        elif k % 5 == 1:
            out[at:at] = rng.bytes(int(rng.integers(1, 9)))
        else:
            out[at] ^= 1 << int(rng.integers(8))
        found.append(bytes(out))
    return found
