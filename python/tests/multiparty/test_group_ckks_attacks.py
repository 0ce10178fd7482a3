"""Attacks on approximate results (B. Li, D. Micciancio, 2020/1533), each in two halves: a design that hides
errors too little loses the secret, and must; this one does not."""

import math

import numpy as np
import pytest

import hemera as hm
from hemera import _core, errors

from ..refusals import raises
from .federation_oracle import wide_gaussian
from .federation_setting import nonce
from .group_files import Residues, sections
from .group_oracle import GroupMessages
from .group_setting import DEGREE, Members, rows_of
from .test_group_attacks import crafted, difference, quotient, same
from .test_group_ckks import bound_of

VALUES = np.random.default_rng(7).uniform(-1, 1, DEGREE // 2)


@pytest.fixture(scope="module")
def members():
    return Members("ckks", openings=200)


@pytest.fixture(scope="module")
def keys(members):
    return members.keys(relinearization=False)


def ring_of(members, x):
    return members.opening(x.level).ring


def phase_of(members, x):
    ring = ring_of(members, x)
    product = GroupMessages.times(ring, rows_of(x, 1), ring.values(members.secret()))
    return GroupMessages.sum(ring, rows_of(x, 0), product)


def secret_in(ring, phase, x):
    """The secret by a division: c0 + c1 s is the phase."""
    return ring.centred(quotient(ring, difference(ring, phase, rows_of(x, 0)), rows_of(x, 1)))


def encoded_again(members, x, values):
    """What an outsider does with shown values: the polynomial that they are of."""
    plain = members.context.encode(values, level=x.level, scale=x.scale)
    return list(Residues(sections(bytes(plain))[-1][1]).rows[0, 0])


def test_l_a_result_that_is_shown_as_it_is_is_the_secret(members, keys):
    """Values of more bits than the noise are the phase, and the phase of one ciphertext is the secret."""
    x = members.context.bind(keys).encrypt(VALUES).shrink()
    ring, s = ring_of(members, x), members.secret()
    shown = members.context.decrypt(x, members.secret_key(), dtype=hm.ckks.COMPLEX_PAIR)
    assert same(secret_in(ring, encoded_again(members, x, shown), x), s)
    noise = bound_of(members, x, 0)
    opened = members.open(x, members.shares(x, noise_log2=noise), noise, dtype=hm.ckks.COMPLEX_PAIR)
    assert np.abs(opened["value"].real - VALUES).max() < 2.0**-20  # it is the result
    assert not same(secret_in(ring, encoded_again(members, x, opened), x), s)


def test_l_without_flooding_each_share_is_its_piece(members, keys):
    x = members.context.bind(keys).encrypt(VALUES).shrink()
    ring, c1 = ring_of(members, x), rows_of(x, 1)
    s = members.oracle(nonce("attempt")).secret(members.seeds[0])
    assert same(ring.centred(quotient(ring, GroupMessages.times(ring, c1, ring.values(s)), c1)), s)
    answer = members.opening(x.level).answer(
        members.seeds[0], c1, members.opening(x.level).flooding_log2(bound_of(members, x, 0))
    )
    assert not same(ring.centred(quotient(ring, answer, c1)), s)


@pytest.mark.parametrize(("doublings", "bits"), [(50, 10), (80, 40)])
def test_l_a_typical_error_in_the_place_of_a_bound(members, keys, doublings, bits):
    """A sum of 2^k copies of one ciphertext has 2^k times its error, and an estimate for independent terms
    says 2^(k/2) (Q. Guo, D. Nabokov, E. Suvanto, T. Johansson, USENIX Security 2024). Flooding that would
    hide the estimate is rounded away."""
    x = members.context.bind(keys).encrypt(VALUES)
    ring, s, many = ring_of(members, x), members.secret(), 1 << doublings
    total = multiple(x, ring, many)
    typical = math.sqrt(2 * DEGREE * members.access.pieces * 2 / 3 + 1) * 3.19
    deviation = math.sqrt(12 * DEGREE) * 2.0 ** (bits / 2) * typical * 2.0 ** (doublings / 2)
    flooding = ring.values(wide_gaussian(nonce("naive"), DEGREE, deviation))
    opened = GroupMessages.sum(ring, phase_of(members, total), flooding)
    assert same(secret_in(ring, divided(ring, opened, many), x), s)
    # The bound is of the sum as it is, the members' own, from the program: no precision is left, and nothing
    # is opened.
    raises(errors.NoiseError, "room", members.shares, total, noise_log2=bound_of_multiple(members, x, many))


def test_l_a_sum_of_equal_errors_is_hidden(members, keys):
    """Where there is room for its bound."""
    x = members.context.bind(keys).encrypt(VALUES)
    ring, s, many = ring_of(members, x), members.secret(), 1 << 12
    total, noise = multiple(x, ring, many), bound_of_multiple(members, x, many)
    oracle = members.opening(x.level)
    log2 = oracle.flooding_log2(noise)
    shares = members.shares(total, noise_log2=noise)
    assert shares[1] == oracle.share(1, members.seeds[1], rows_of(total, 1), log2)
    answers = [oracle.answer(key, rows_of(total, 1), log2) for key in members.seeds]
    opened = GroupMessages.sum(ring, rows_of(total, 0), *answers)
    assert not same(secret_in(ring, divided(ring, opened, many), x), s)
    exact = divided(ring, phase_of(members, total), many)
    assert same(secret_in(ring, exact, x), s)  # without flooding


def multiple(x, ring, many):
    """Many copies, summed."""
    halves = ([row * many % q for row, q in zip(rows_of(x, k), ring.primes, strict=True)] for k in (0, 1))
    return crafted(x, *halves)


def bound_of_multiple(members, x, many):
    noise = many * members.context.noise_bound(depth=0, largest=1)
    return _core.coefficient_noise_log2(members.context._native, noise, x.scale)


def divided(ring, rows, many):
    return ring.values((2 * ring.centred(ring.coefficients(rows)) + many) // (2 * many))


def test_a_means_of_many_openings_of_one_c1(members, keys):
    """Fresh noise for each of c, c + 1, c + 2, ...: their mean is the phase. Here all have one flooding."""
    x = members.context.bind(keys).encrypt(VALUES).shrink()
    ring, count, deviation = ring_of(members, x), 400, 4.0
    phase = ring.centred(ring.coefficients(phase_of(members, x)))
    fresh = sum(wide_gaussian(nonce("fresh", k), DEGREE, deviation) for k in range(count))
    mean = phase + (2 * fresh + count) // (2 * count)
    assert np.mean(np.array([int(v) for v in mean - phase]) == 0) > 0.95  # naive: nearly all of it
    noise = bound_of(members, x, 0)
    alone = members.shares(x, noise_log2=noise)
    for k in range(1, 4):
        assert members.shares(x + k, noise_log2=noise) == alone
