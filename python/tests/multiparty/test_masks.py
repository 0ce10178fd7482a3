"""One-time masks in the place of ring-LWE: messages by the formulas, exact sums, and attacks."""

import itertools

import numpy as np
import pytest

from hemera import _core, errors

from ..refusals import raises
from .federation_setting import Committee, integers, nonce, weighted
from .parties import arrays, expected, join, same

WEIGHTS = {"x": 1, "y": 3, "z": 2}


def committee_of(values=3000, **options):
    return Committee(method="masks", values=values, weight=4, contributors=4, **options)


@pytest.mark.parametrize(("version", "count"), [(1, 3000), (2, 2**14), (2, 2**14 + 1)])
def test_messages_are_those_of_the_formulas(version, count):
    """Both versions; digests of version 2 have pieces of 2^14 values."""
    committee = committee_of(count, messages=version)
    listed = committee.list(WEIGHTS)
    oracle, values = committee.oracle(listed), {name: integers(ord(name), count) for name in WEIGHTS}
    for name, own in values.items():
        message = committee.upload(listed, name, own)
        assert message == oracle.masked(name, own, committee.dealt(name))
        assert message == committee.upload(listed, name, own)  # nothing else is drawn
    for piece, share in enumerate(committee.shares(listed)):
        assert share == oracle.masks_share(piece, committee.keys[piece], WEIGHTS)
    assert len(message) * 8 / count < 24
    damaged = message[:-40] + bytes([message[-40] ^ 1]) + message[-39:]
    raises(errors.FormatError, "damaged", _core.upload_sender, committee.description, listed, damaged)
    for other, told in (
        (3 - version, f"of version {3 - version}, and"),
        (3, "newer Hemera"),
        (0, "no message"),
    ):
        with pytest.raises(errors.MismatchError if other in (1, 2) else errors.FormatError, match=told):
            _core.upload_sender(committee.description, listed, b"HMP%d" % other + message[4:])


def test_a_federation_of_before_has_its_name_still():
    """Ids that Hemera gave when all messages were of version 1."""
    ids = [Committee(method=method, messages=1).description.id.hex()[:16] for method in ("lattice", "masks")]
    assert ids == ["a459e3ae5826439f", "30d6c7c02dfa10d5"]
    for version in (0, 3):
        raises(errors.ParameterError, "newer Hemera", Committee, messages=version)


@pytest.mark.parametrize(("members", "threshold"), [(1, 1), (3, 2), (3, 3), (4, 3)])
def test_sums_are_exact_at_both_ends(members, threshold):
    committee = committee_of(members=members, threshold=threshold)
    names, largest = list("wxyz"), 2**15 - 1
    weights = dict.fromkeys(names, 4)  # the largest sum that the plan has, with both signs
    listed = committee.list(weights)
    ends = np.where(np.arange(3000) % 2 == 0, largest, -largest)
    values = dict.fromkeys(names, ends)
    total = committee.sum(listed, {name: committee.upload(listed, name, values[name]) for name in names})
    found = set()
    for active in itertools.combinations(range(members), threshold):
        shares = committee.shares(listed, active)
        found.add(tuple(shares))
        assert np.array_equal(total.open(shares), weighted(values, weights))
    assert len(found) == 1
    raises(errors.RangeError, "", committee.upload, listed, "x", ends + 2 * np.sign(ends))


def test_a_mask_of_a_round_alone_tells_a_difference():
    """A second list of one round, as after somebody vanished: masks that are bound to the round cancel."""
    committee = committee_of()
    first, second = committee.list(WEIGHTS), committee.list({"x": 1, "y": 3}, attempt=1)
    mine, other = integers(1, 3000), integers(2, 3000)
    q = committee.plan.primes[0]
    oracle = committee.oracle(first)
    naive = [oracle.values_of(oracle.masked("x", own, committee.dealt("x"))) for own in (mine, other)]
    assert np.array_equal(oracle.ring.centred(naive[1] - naive[0]), (other - mine).astype(object))
    ours = [
        oracle.values_of(committee.upload(listed, "x", own))
        for listed, own in ((first, mine), (second, other))
    ]
    assert np.mean(oracle.ring.centred(ours[1] - ours[0]) == other - mine) < 0.01
    assert q > 2 * 16 * (2**15 - 1)


def test_two_lists_of_a_round_would_open_a_contributor():
    committee = committee_of()
    lists = committee.list(WEIGHTS), committee.list({"y": 3, "z": 2}, attempt=1)
    values = {name: integers(ord(name), 3000) for name in WEIGHTS}
    sums = []
    for number, listed in enumerate(lists):
        careless = committee_of()  # without the ledger
        names = [name for name, *_ in listed.entries]
        uploads = {name: careless.upload(listed, name, values[name]) for name in names}
        sums.append(careless.sum(listed, uploads).open(careless.shares(listed)))
        assert number == len(sums) - 1
    assert np.array_equal(sums[0] - sums[1], values["x"])
    committee.shares(lists[0])
    raises(errors.MismatchError, "another list", committee.shares, lists[1])


def test_who_lacks_a_piece_sees_masked_values():
    """Members without one piece take off all other masks: with two they would have the values."""
    committee = committee_of()
    listed, values = committee.list(WEIGHTS), integers(3, 3000)
    oracle = committee.oracle(listed)
    seen = oracle.values_of(committee.upload(listed, "x", values))
    parts = [oracle.mask(part) for part in committee.dealt("x")]
    assert np.array_equal(oracle.ring.centred(seen - sum(parts)), values.astype(object))
    for lacking in range(3):
        rest = oracle.ring.centred(seen - sum(parts[:lacking] + parts[lacking + 1 :]))
        spread = np.abs(rest.astype(float)) / (oracle.ring.modulus / 2)
        assert abs(spread.mean() - 0.5) < 0.03  # uniform, where values are a thousandth as large
        assert np.mean(rest == values) < 0.01


def test_what_a_contributor_sends_reaches_no_share():
    """It spoils the sum by what it added, and that is not noticed where the sum stays in its range."""
    committee = committee_of()
    listed = committee.list(WEIGHTS)
    oracle, values = committee.oracle(listed), {name: integers(ord(name), 3000) for name in WEIGHTS}
    uploads = {name: committee.upload(listed, name, own) for name, own in values.items()}
    shares = committee.shares(listed)
    lie = oracle.upload_of("x", (oracle.values_of(uploads["x"]) + 5) % oracle.ring.modulus)
    total = committee.sum(listed, {**uploads, "x": lie})
    assert np.array_equal(total.open(shares), weighted(values, WEIGHTS) + 5)
    garbage = oracle.upload_of("x", [int(v) for v in integers(9, 3000, 24) % oracle.ring.modulus])
    assert committee.shares(listed) == shares
    raises(errors.NoiseError, "in their range", committee.sum(listed, {**uploads, "x": garbage}).open, shares)


def test_federations_average_by_masks(tmp_path):
    given = {name: arrays(seed) for seed, name in enumerate("abc")}
    terms = {"like": given["a"], "secrets": tmp_path / "secrets", "least": 3}
    parties = {
        name: join(tmp_path / "fl", tmp_path / f"{name}.party", method="masks", **terms) for name in given
    }
    for _ in range(4):
        for name, party in parties.items():
            party.push(0, given[name], wait=0)
    found = parties["b"].average(0, wait=5)
    assert same(found, expected(given, dict.fromkeys(given, 1)))
    assert "one-time masks" in parties["a"].report()
    raises(errors.MismatchError, "method", join, tmp_path / "fl", tmp_path / "d.party", **terms)


def test_methods_are_of_their_own():
    plans = {
        method: _core.FederationPlan(
            values=30,
            value_bits=16,
            contributors=100,
            weight=1,
            rounds=10,
            opening_bits=40,
            pieces=3,
            degree=1024,
            security=None,
            method=method,
        )
        for method in ("lattice", "masks")
    }
    assert (plans["masks"].upload_bits, plans["masks"].share_bits) == (23, 23)
    assert plans["lattice"].upload_bits > 28
    ids = {
        _core.FederationDescription(_core.FederationAccess(3, 2), plan, list("abc"), nonce(1), nonce(2)).id
        for plan in plans.values()
    }
    assert len(ids) == 2
    raises(errors.ParameterError, "'lattice' or 'masks'", Committee, method="other")
