"""Attacks on sums, each in two halves: a naive design loses a secret, and must; this one does not."""

import numpy as np
import pytest

from hemera import _core, errors

from ..refusals import raises
from .federation_oracle import Ring, ternary, wide_gaussian
from .federation_oracle import errors as drawn_errors
from .federation_setting import DEGREE, Committee, integers, nonce, weighted

FLOODING = 2.0**38


def same(guess, secret):
    return bool(np.array_equal(guess, secret))


@pytest.fixture(scope="module")
def committee():
    return Committee(values=DEGREE, weight=4)


@pytest.fixture(scope="module")
def ring(committee):
    return Ring(DEGREE, committee.plan.primes)


def anything(ring, seed):
    """A polynomial modulo Q."""
    drawn = np.random.default_rng(seed).integers(0, 2**62, (2, DEGREE)).astype(object)
    return (drawn[0] + (drawn[1] << 62)) % ring.modulus


def test_k_a_malformed_upload_takes_the_secret_of_the_naive_design(committee, ring):
    """Collective public key, ordinary ciphertexts, full flooding: one contributor sends (Delta, K)."""
    delta = ring.modulus >> 17  # room for one value of 16 bits
    large, flooding = delta // 8, 2.0**committee.plan.margin.flooding_log2
    pieces = [ternary(nonce("piece", T), DEGREE) for T in range(3)]
    s, a = sum(pieces), anything(ring, 1)
    b = -ring.product(ring.values(a), s) + drawn_errors(nonce("key"), 0, DEGREE, 3.19)
    u, m = ring.values(ternary(nonce("u"), DEGREE)), integers(3, DEGREE).astype(object)
    honest = (
        ring.product(u, b) + drawn_errors(nonce("key"), 1, DEGREE, 3.19) + delta * m,
        ring.product(u, a) + drawn_errors(nonce("key"), 2, DEGREE, 3.19),
    )
    constant = np.zeros(DEGREE, object)
    constant[0] = large
    c0, c1 = honest[0] + delta, honest[1] + constant
    shares = [
        ring.product(ring.values(c1), piece) + wide_gaussian(nonce("E", T), DEGREE, flooding)
        for T, piece in enumerate(pieces)
    ]
    phase = ring.centred(c0 + sum(shares))
    result = (2 * phase + delta) // (2 * delta)
    assert same(result, m + 1)  # nobody sees anything wrong
    assert same((2 * (phase - delta * result) + large) // (2 * large), s)


def test_k_a_malformed_upload_can_only_spoil_a_sum(committee, ring):
    weights = {"attacker": 3, "x": 1, "y": 4}
    listed = committee.list(weights)
    oracle, margin = committee.oracle(listed), committee.plan.margin
    values = {name: integers(k, DEGREE) for k, name in enumerate("xy")}
    honest = {name: committee.upload(listed, name, v) for name, v in values.items()}
    shares = committee.shares(listed)
    expected = weighted(values, {"x": 1, "y": 4}).astype(object)
    rho = oracle.public(0)
    z = {n: sum(oracle.secret(oracle.dealt(k, n)) for k in committee.keys) for n in weights}
    b = {name: oracle.values_of(message) << margin.upload_dropped for name, message in honest.items()}
    constant = np.zeros(DEGREE, object)
    constant[0] = 1 << (margin.flooding_log2 + 5)
    evil = [
        oracle.delta + constant,  # K3: looks like ones
        constant - b["x"] - 4 * b["y"],  # chosen last, with the others' in sight
        4 * b["y"],  # a copy of another's
        ring.product(ring.values(constant), z["attacker"]),
        anything(ring, 2),
    ]
    for sent in evil:
        cut = (sent % ring.modulus) >> margin.upload_dropped
        upload = oracle.upload_of("attacker", cut)
        total = committee.sum(listed, {"attacker": upload})
        for message in honest.values():
            total.add(message)
        # No share was made from an upload: these are the shares, whatever is sent.
        phase = oracle.phase(honest | {"attacker": upload}, weights, shares)
        known = (cut << margin.upload_dropped) + ring.product(rho, z["attacker"])
        rest = ring.centred(phase - 3 * known)
        opened = (2 * rest + oracle.delta) // (2 * oracle.delta)
        assert same(opened, expected)  # the others' sum, and flooding: what an honest opening shows
        noise = np.abs(rest - oracle.delta * opened)
        assert noise.max() <= 2**margin.noise_log2
        assert np.std((rest - oracle.delta * opened).astype(float)) > 2.0**margin.flooding_log2
        for secret in (*z.values(), sum(z.values())):
            assert not same((2 * rest + int(constant[0])) // (2 * int(constant[0])), secret)
        raises(errors.NoiseError, "", total.open, shares)


def test_b_one_flooding_for_two_products_is_the_piece(committee, ring):
    """Floodings that are named by anything but the polynomials that are multiplied cancel."""
    weights = {"x": 1}
    listed = committee.list(weights, turn=1)
    oracle, key = committee.oracle(listed), committee.keys[0]
    z = oracle.secret(oracle.dealt(key, "x"))
    rho = oracle.public(0)
    other = [row.copy() for row in rho]
    other[0][17] ^= 4  # a fault, or another writer
    other[1][3] ^= 1
    difference = [(p - q) % prime for p, q, prime in zip(rho, other, ring.primes, strict=True)]

    def answer(multiplied, hashed):
        return ring.product(multiplied, z) + oracle.flooding(key, 0, hashed)

    changed = np.array([row != 0 for row in difference])
    gap = ring.values(answer(rho, rho) - answer(other, rho))
    for row, d, at, prime, values in zip(gap, difference, changed, ring.primes, ring.values(z), strict=True):
        quotient = [int(v) * pow(int(w), -1, prime) % prime for v, w in zip(row[at], d[at], strict=True)]
        assert quotient == list(values[at])  # the piece, where the polynomials differ, at any flooding
    # Named by what is multiplied: the difference is two floodings.
    gap = ring.values(answer(rho, rho) - answer(other, other))
    quotient = [
        int(v) * pow(int(w), -1, ring.primes[0])
        for v, w in zip(gap[0][17:18], difference[0][17:18], strict=True)
    ]
    assert quotient[0] % ring.primes[0] != ring.values(z)[0][17]
    # And the library's share is that of the polynomials that it multiplies; tests/multiparty has the fault.
    assert committee.members[1].share(listed, 0) == oracle.share(0, key, weights)


def test_a_deviations_are_powers_of_two_with_noise_of_their_own(committee, ring):
    rho, z = ring.values(anything(ring, 3)), ternary(nonce("z"), DEGREE)
    product, unit = ring.product(rho, z), wide_gaussian(nonce("unit"), DEGREE, 2.0**20)
    one, two = (product + scale * unit for scale in (1 << 20, 1 << 21))  # naive: one Gaussian, scaled to fit
    assert same(ring.quotient(2 * one - two, rho), z)
    # Here: a deviation is a whole number of bits, and floodings of two are independent.
    oracle = committee.oracle(committee.list({"x": 1}))
    assert isinstance(committee.plan.margin.flooding_log2, int)
    drawn = []
    for bits in (0, 1):
        oracle.margin.flooding_log2 = committee.plan.margin.flooding_log2 + bits
        drawn.append(oracle.flooding(committee.keys[0], 0).astype(float))
    assert np.std(drawn[1]) / np.std(drawn[0]) == pytest.approx(2, rel=0.15)
    assert abs(np.corrcoef(drawn)[0, 1]) < 6 / DEGREE**0.5


def opened_with(committee, listed, values, weights):
    uploads = {name: committee.upload(listed, name, values[name]) for name in weights}
    return committee.sum(listed, uploads).open(committee.shares(listed))


def test_m_two_lists_of_a_round_open_one_contributor():
    committee = Committee(values=DEGREE)
    values = {name: integers(k, DEGREE) for k, name in enumerate("xyz")}
    both = committee.list({"x": 1, "y": 1, "z": 1})
    fewer = committee.list({"x": 1, "y": 1}, attempt=1)
    first = opened_with(committee, both, values, {"x": 1, "y": 1, "z": 1})
    # Naive: members that forget what they answered.
    forgetful = Committee(values=DEGREE)
    second = opened_with(forgetful, fewer, values, {"x": 1, "y": 1})
    assert np.array_equal(first - second, values["z"])
    # Here: by memory, and by the ledger of a process that starts again.
    for member in (committee.members[0], committee.member(0)):
        raises(errors.MismatchError, "another list", member.share, fewer, 1)
        member.share(both, 1)
    memory_only = Committee(values=DEGREE)
    memory_only.members[0].share(both, 1)
    assert memory_only.ledgers[0] == {0: both.digest}  # before the first share leaves
    memory_only.ledgers[0].clear()
    raises(errors.MismatchError, "another list", memory_only.members[0].share, fewer, 1)
    committee.members[0].share(committee.list({"x": 1}, turn=1), 1)  # another round is another list


def test_m_no_share_leaves_before_the_ledger_has_its_list():
    committee = Committee()

    def note(turn, _):
        raise OSError(f"no room for round {turn}")

    pieces = [_core.FederationPiece(piece, committee.keys[piece]) for piece in (1, 2)]
    member = _core.FederationMember(
        committee.context._native, committee.description, 0, pieces, lambda _: None, note
    )
    listed = committee.list({"x": 1})
    for _ in range(2):
        raises(OSError, "no room", member.share, listed, 1)


def test_m_noise_that_does_not_know_the_weights_gives_a_secret(committee, ring):
    rho = ring.values(anything(ring, 4))
    z = [ternary(nonce("z", i), DEGREE) for i in range(2)]
    noise = wide_gaussian(nonce("the round alone"), DEGREE, FLOODING)
    one, two = (ring.product(rho, z[0] + w * z[1]) + noise for w in (1, 2))
    assert same(ring.quotient(two - one, rho), z[1])
    # Here the weights are in the list, whose digest names secrets and noise alike.
    lists = [committee.list({"x": 1, "y": w}) for w in (1, 2)]
    shares = []
    for listed in lists:
        committee.ledgers[0].clear()  # a member that forgets
        shares.append(committee.oracle(listed).values_of(committee.member(0).share(listed, 1)))
    oracle = committee.oracle(lists[0])
    gap = (shares[1] - shares[0]) << committee.plan.margin.share_dropped
    assert not same(ring.quotient(gap, oracle.public(0)), oracle.secret(committee.dealt("y")[1]))


def test_n_two_uploads_of_one_list_tell_their_difference(committee):
    """Why a contributor's nonce lives in memory alone: it never uploads twice for a list (Federation)."""
    listed = committee.list({"x": 1})
    oracle, margin = committee.oracle(listed), committee.plan.margin
    before, after = integers(1, DEGREE), integers(2, DEGREE)
    b = [oracle.values_of(committee.upload(listed, "x", v)) << margin.upload_dropped for v in (before, after)]
    gap = oracle.ring.centred(b[1] - b[0])
    assert same((2 * gap + oracle.delta) // (2 * oracle.delta), (after - before).astype(object))
    again = committee.list({"x": 1}, attempt=1)  # another list: another secret under other polynomials
    other = committee.oracle(again).values_of(committee.upload(again, "x", before)) << margin.upload_dropped
    gap = oracle.ring.centred(other - b[0])
    assert np.std((gap / float(oracle.ring.modulus)).astype(float)) == pytest.approx(12**-0.5, rel=0.1)


def test_names_without_their_dealt_secrets_isolate_nobody(committee):
    """Who writes announcements of absent contributors, and uploads for them, opens nothing of the others."""
    weights = {"absent": 1, "x": 1}
    listed = committee.list(weights, turn=7)
    oracle = committee.oracle(listed)
    values = integers(1, DEGREE)
    uploads = {"x": committee.upload(listed, "x", values), "absent": oracle.upload_of("absent", [0] * DEGREE)}
    shares = committee.shares(listed)
    raises(errors.NoiseError, "", committee.sum(listed, uploads).open, shares)
    phase = oracle.phase(uploads, weights, shares)
    assert np.std((phase / float(oracle.ring.modulus)).astype(float)) == pytest.approx(12**-0.5, rel=0.1)
    assert abs(np.corrcoef(phase.astype(float), values)[0, 1]) < 6 / DEGREE**0.5


def test_a_false_dealt_part_spoils_a_sum_and_is_noticed(committee):
    listed = committee.list({"x": 1}, turn=8)
    dealt = [*committee.dealt("x")[:2], nonce("false")]
    upload = _core.federation_upload(
        committee.context._native, committee.description, listed, "x", dealt, integers(1, DEGREE)
    )
    with pytest.raises(errors.NoiseError, match="something else"):
        committee.sum(listed, {"x": upload}).open(committee.shares(listed))
