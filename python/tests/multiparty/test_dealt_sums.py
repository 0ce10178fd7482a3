"""Sums by dealt secrets: every share is the oracle's byte for byte, whoever answers; sums are NumPy's."""

import itertools
import math
import pickle
import random

import numpy as np
import pytest

from hemera import _core, errors

from ..refusals import raises
from .federation_oracle import wide_gaussian
from .federation_setting import DEGREE, Committee, integers, nonce, weighted

COMMITTEES = [(t, n) for n in range(1, 10) for t in range(1, n + 1)]


@pytest.mark.parametrize(("threshold", "members"), COMMITTEES)
def test_any_t_members_have_all_pieces_and_fewer_miss_one(threshold, members):
    access = _core.FederationAccess(members, threshold)
    lacking = list(itertools.combinations(range(members), threshold - 1))  # the order of the pieces
    assert access.pieces == math.comb(members, threshold - 1) <= 126
    for piece, without in enumerate(lacking):
        holders = [m for m in range(members) if m not in without]
        assert access.holders(piece) == holders
        assert [access.holds(m, piece) for m in range(members)] == [m in holders for m in range(members)]
    for member in range(members):
        assert access.held_by(member) == [T for T, without in enumerate(lacking) if member not in without]


@pytest.mark.parametrize(("members", "threshold"), [(0, 1), (10, 2), (10, 9), (3, 0), (3, 4), (9, 10)])
def test_other_committees_are_refused(members, threshold):
    raises(errors.ParameterError, "", _core.FederationAccess, members, threshold)


def test_members_and_pieces_that_there_are_not():
    access = _core.FederationAccess(3, 2)
    for call in (lambda: access.holds(3, 0), lambda: access.holds(0, 3), lambda: access.held_by(3)):
        raises(errors.ParameterError, "", call)


@pytest.mark.parametrize("values", [1, 1023, 1024, 1025, 2500])
def test_shares_are_the_formulas_byte_for_byte(values):
    """So an opening minus its phase is the sum of the floodings, exactly: all of a share is known here."""
    committee = Committee(values=values, weight=1000, made=values)
    weights = {"x": 1, "y": 1000, "z": 77}
    listed = committee.list(weights, turn=99, attempt=3)
    oracle = committee.oracle(listed)
    for piece, share in enumerate(committee.shares(listed)):
        assert share == oracle.share(piece, committee.keys[piece], weights)


def test_an_upload_is_the_formula_but_for_its_error():
    committee = Committee(values=1500)
    listed = committee.list({"x": 1, "y": 1})
    oracle, values = committee.oracle(listed), integers(1, 1500)
    z = sum(oracle.secret(oracle.dealt(key, "x")) for key in committee.keys)
    scaled = np.concatenate([oracle.delta * values.astype(object), np.zeros(548, object)])
    exact = [scaled[k * DEGREE :][:DEGREE] - oracle.ring.product(oracle.public(k), z) for k in (0, 1)]
    for _ in range(2):  # errors are fresh, and below what is left out
        message = committee.upload(listed, "x", values)
        b = oracle.values_of(message)
        off = oracle.ring.centred((b << committee.plan.margin.upload_dropped) - np.concatenate(exact)[:1500])
        assert np.abs(off).max() <= 2 ** (committee.plan.margin.upload_dropped - 1) + 30
        assert message == oracle.upload_of("x", b)


@pytest.mark.parametrize(("threshold", "members"), [(1, 1), (1, 3), (2, 3), (4, 4), (5, 9), (9, 9)])
def test_whoever_answers_in_any_order_sends_the_same_bytes(threshold, members):
    """Each holder of each piece: so each active set, in any order, with drops and repeats."""
    committee = Committee(members, threshold, values=8, made=(threshold, members))
    weights = {"x": 1, "y": 1}
    listed = committee.list(weights)
    values = {name: integers(k, 8) for k, name in enumerate(weights)}
    total = committee.sum(listed, {name: committee.upload(listed, name, v) for name, v in values.items()})
    shares = []
    for piece in range(committee.access.pieces):
        sent = {committee.members[m].share(listed, piece) for m in committee.access.holders(piece)}
        assert len(sent) == 1
        shares += sent
    random.Random(5).shuffle(shares)
    assert np.array_equal(total.open(shares + shares[:1]), weighted(values, weights))
    if len(shares) > 1:  # one piece is missing
        raises(errors.MismatchError, "more members", total.open, shares[1:] + shares[1:2])


def test_a_message_sent_again_after_a_crash_has_the_same_bytes():
    committee = Committee()
    listed = committee.list({"x": 1})
    first = committee.members[0].share(listed, 1)
    assert committee.member(0).share(listed, 1) == first == committee.members[0].share(listed, 1)


def test_sums_of_a_hundred_are_exact():
    committee = Committee(values=700, contributors=100, weight=3)
    weights = {f"client {i}": 1 + i % 3 for i in range(100)}
    values = {name: integers(i, 700) for i, name in enumerate(weights)}
    listed = committee.list(weights)
    uploads = {name: committee.upload(listed, name, v) for name, v in values.items()}
    total = committee.sum(listed, uploads)
    assert total.missing == []
    assert np.array_equal(total.open(committee.shares(listed)), weighted(values, weights))


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_values_with_the_largest_weights_are_exact(sign):
    committee = Committee(values=20, contributors=5, weight=1_000_000)
    weights = dict.fromkeys("vwxyz", 1_000_000)
    listed = committee.list(weights)
    values = {name: np.full(20, sign * (2**15 - 1)) for name in weights}
    total = committee.sum(listed, {name: committee.upload(listed, name, v) for name, v in values.items()})
    assert np.array_equal(total.open(committee.shares(listed)), weighted(values, weights))
    raises(errors.RangeError, "", committee.upload, listed, "x", np.full(20, sign * 2**15))


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [("b", 1, nonce()), ("a", 1, nonce())],
        [("a", 1, nonce()), ("a", 1, nonce())],
        [("a", 0, nonce())],
        [("a", 5, nonce())],
        [("", 1, nonce())],
        [("n" * 129, 1, nonce())],
        [("a", 1, b"short")],
        [(f"{i}", 1, nonce()) for i in range(9)],
    ],
)
def test_lists_that_are_refused(entries):
    committee = Committee(weight=4)
    raises(errors.ParameterError, "", _core.FederationList, committee.description, 0, 0, entries)


def test_lists_are_read_whole_and_of_this_federation_alone():
    committee = Committee(weight=4)
    entries = [("a", 4, nonce(1)), ("n" * 128, 1, nonce(2))]
    listed = _core.FederationList(committee.description, 99, 7, entries)
    again = _core.FederationList.read(committee.description, listed.data)
    assert (again.round, again.attempt, again.entries, again.digest) == (99, 7, entries, listed.digest)
    raises(errors.ParameterError, "round 100", _core.FederationList, committee.description, 100, 0, entries)
    with pytest.raises(errors.MismatchError):
        _core.FederationList.read(Committee(weight=4, made=1).description, listed.data)
    for end in range(len(listed.data)):
        raises(errors.FormatError, "", _core.FederationList.read, committee.description, listed.data[:end])
    raises(errors.FormatError, "", _core.FederationList.read, committee.description, listed.data + b"\0")


def test_what_differs_in_anything_has_another_name():
    usual = {}
    changes = [{"values": 41}, {"contributors": 9}, {"weight": 2}, {"value_bits": 15}]
    changes += [{"rounds": 101}, {"made": 1}, {"threshold": 3}, {"members": 4, "threshold": 2}, usual]
    made = [Committee(**change).description.id for change in changes]
    assert len(set(made)) == len(made)
    committee = Committee(weight=2)
    a, b = ("a", 1, nonce(1)), ("b", 1, nonce(2))
    lists = [(0, 0, [a]), (0, 1, [a]), (1, 0, [a]), (0, 0, [a, b]), (0, 0, [("a", 2, nonce(1))])]
    lists += [(0, 0, [("a", 1, nonce(3))]), (0, 0, [("c", 1, nonce(1))])]
    digests = [_core.FederationList(committee.description, *each).digest for each in lists]
    assert len(set(digests)) == len(digests)


def test_no_two_lists_share_their_public_polynomials_or_secrets():
    committee = Committee()
    listed = [committee.list({"x": 1}), committee.list({"x": 1}, attempt=1), committee.list({"x": 1, "y": 1})]
    oracles = [committee.oracle(each) for each in listed]
    assert len({str(o.public(0)) for o in oracles}) == 3
    assert len({str(o.secret(o.dealt(committee.keys[0], "x"))) for o in oracles}) == 3


def test_pieces_are_neither_printed_nor_pickled():
    piece = _core.FederationPiece(0, bytes(range(32)))
    assert bytes(range(32)).hex() not in repr(piece) + str(piece) + repr(vars(type(piece)))
    raises(TypeError, "", pickle.dumps, piece)
    assert _core.FederationPiece.fresh(0).key_for_holder() != _core.FederationPiece.fresh(0).key_for_holder()
    committee = Committee()
    assert piece.commitment(committee.description) != piece.commitment(Committee(made=1).description)


def test_a_member_has_the_pieces_that_it_holds():
    committee = Committee()
    pieces = [_core.FederationPiece(T, committee.keys[T]) for T in range(3)]
    for wrong in ([pieces[0], pieces[1]], [pieces[2], pieces[1]], [pieces[1]], pieces):
        with pytest.raises(errors.MismatchError):
            _core.FederationMember(
                committee.context._native, committee.description, 0, wrong, {}.get, {}.__setitem__
            )
    raises(errors.ParameterError, "", committee.members[0].share, committee.list({"x": 1}), 0)
    other = Committee(made=1)
    raises(errors.MismatchError, "", committee.members[0].share, other.list({"x": 1}), 1)


def test_uploads_that_are_refused():
    committee = Committee()
    listed, values = committee.list({"x": 1}), integers(1, 40)
    upload, context = _core.federation_upload, committee.context._native
    with pytest.raises(errors.MismatchError, match="not on the list"):
        upload(context, committee.description, listed, "y", committee.dealt("y"), values)
    with pytest.raises(errors.MismatchError, match="parts of 2 pieces"):
        upload(context, committee.description, listed, "x", committee.dealt("x")[:2], values)
    with pytest.raises(errors.MismatchError, match="40 values, not 39"):
        upload(context, committee.description, listed, "x", committee.dealt("x"), values[:39])
    with pytest.raises(errors.MismatchError, match="other parameters"):
        upload(
            Committee(value_bits=8).context._native,
            committee.description,
            listed,
            "x",
            committee.dealt("x"),
            values,
        )


def test_the_oracle_draws_narrow_gaussians_as_they_are():
    assert np.std(wide_gaussian(nonce(), DEGREE, 20).astype(float)) == pytest.approx(20, rel=0.1)
