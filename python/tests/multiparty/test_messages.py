"""Damaged and false messages are refused, and change nothing; who sends other ones than a piece is named."""

import random
import threading
import time

import numpy as np
import pytest

import hemera as hm
from hemera import _core, errors
from hemera.multiparty import WaitingError
from hemera.multiparty.keys import Keys

from ..refusals import raises
from .federation_oracle import rounded
from .federation_setting import Committee, integers, nonce, weighted
from .houses import expected, ready
from .parties import Parties, arrays, same
from .parties import expected as averages


def test_damaged_messages_are_refused():
    """Ten thousand of them, and none changes the sum."""
    committee = Committee(values=30)
    listed = committee.list({"x": 1, "y": 1})
    values = {name: integers(k, 30) for k, name in enumerate("xy")}
    good = {name: committee.upload(listed, name, v) for name, v in values.items()}
    shares = committee.shares(listed)
    total = committee.sum(listed, {"y": good["y"]})
    drawn = random.Random(7)
    for trial in range(10_000):
        data = bytearray(good["x"] if trial % 2 else shares[trial % 3])
        kind = trial % 5
        if kind == 0:
            data[drawn.randrange(len(data))] ^= 1 << drawn.randrange(8)
        elif kind == 1:
            del data[drawn.randrange(len(data)) :]
        elif kind == 2:
            data += drawn.randbytes(drawn.randrange(1, 40))
        elif kind == 3:
            data = bytearray(drawn.randbytes(len(data)))
        else:
            at = drawn.randrange(len(data) - 4)
            data[at : at + 4] = drawn.choice([b"\xff" * 4, bytes(4), drawn.randbytes(4)])
        if bytes(data) in (good["x"], shares[trial % 3]):
            continue
        raises((errors.FormatError, errors.MismatchError), "", total.add, bytes(data))
        with pytest.raises((errors.FormatError, errors.MismatchError)):
            _core.share_piece(committee.description, listed, bytes(data))
    total.add(good["x"])
    assert np.array_equal(total.open(shares), values["x"] + values["y"])


def test_messages_with_a_right_digest_and_wrong_contents():
    committee = Committee(values=30)
    listed, other = committee.list({"x": 1}), committee.list({"x": 1}, turn=1)
    oracle, margin = committee.oracle(listed), committee.plan.margin
    values = integers(1, 30)
    good = committee.upload(listed, "x", values)
    largest = int(rounded(np.array([oracle.ring.modulus - 1], object), margin.upload_dropped)[0])
    payload = committee.plan.upload_bits * 30
    wrong = {
        "a value above the modulus": (oracle.upload_of("x", [largest + 1] + [0] * 29), errors.FormatError),
        "a share": (committee.shares(listed)[0], errors.FormatError),
        "another round": (committee.upload(other, "x", values), errors.MismatchError),
        "another federation": (
            Committee(values=30, made=2).upload(listed, "x", values),
            errors.MismatchError,
        ),
        "another name": (oracle.upload_of("y", [0] * 30), errors.MismatchError),
        "no name": (oracle.upload_of("", [0] * 30), errors.MismatchError),
        "another plan": (
            oracle.envelope(1, "x", 0, margin.upload_dropped - 1, bytes(-(-payload // 8))),
            errors.MismatchError,
        ),
        "one value more": (oracle.upload_of("x", [0] * 31), errors.FormatError),
        "bits behind the last value": (
            oracle.envelope(1, "x", 0, margin.upload_dropped, bytes(payload // 8) + b"\xff"),
            errors.FormatError,
        ),
    }
    assert payload % 8 != 0
    for what, (message, error) in wrong.items():
        total = _core.UploadSum(committee.description, listed)
        raises(error, "", total.add, message)
        assert total.missing == ["x"], what
    total = committee.sum(listed, {"x": good})
    raises(errors.MismatchError, "already", total.add, good)
    total = committee.sum(listed, {"x": oracle.upload_of("x", [largest] * 30)})  # the largest is one


COUNT = 2 * 16384 + 1500
"""Values that end behind two ranges of the threads, in the middle of a block; one message has two threads."""


# Values of 17 to 60 bits, in sums of a word and of two.
@pytest.mark.parametrize(
    ("method", "value_bits", "weight", "count"),
    [
        ("lattice", 16, 1, 1),
        ("lattice", 16, 1, 100),
        ("masks", 16, 3, 100),
        ("masks", 30, 2**20, 5),
        ("masks", 40, 2**16, 5),
    ],
)
def test_a_list_of_messages_is_added_at_once(method, value_bits, weight, count):
    committee = Committee(
        values=COUNT, contributors=count, method=method, value_bits=value_bits, weight=weight
    )
    weights = {f"c{k:02}": 1 + (k + weight - 1) % weight for k in range(count)}
    listed = committee.list(weights)
    values = {name: integers(k, COUNT, value_bits) for k, name in enumerate(weights)}
    messages = [committee.upload(listed, name, values[name]) for name in weights]
    total = _core.UploadSum(committee.description, listed)
    assert total.add() == []
    raises(TypeError, "bytes", total.add, messages)
    assert total.add(*messages[: count // 3]) == list(weights)[: count // 3]
    for wrong, told in refused(committee, listed, messages[count // 3 :]):
        raises((errors.FormatError, errors.MismatchError), told, total.add, *wrong)
        assert total.missing == list(weights)[count // 3 :]
    assert total.add(*messages[count // 3 :]) == list(weights)[count // 3 :]
    assert np.array_equal(total.open(committee.shares(listed)), weighted(values, weights))


def refused(committee, listed, messages):
    """Lists with one wrong message in the middle, and what is said of it."""
    middle, oracle = len(messages) // 2, committee.oracle(listed)
    name = _core.upload_sender(committee.description, listed, messages[middle])
    which = f"message {middle + 1} of {len(messages)}" if len(messages) > 1 else "a message"
    largest = int(
        rounded(np.array([oracle.ring.modulus - 1], object), committee.plan.margin.upload_dropped)[0]
    )
    zeros = [0] * COUNT
    damaged = [bytearray(messages[middle]) for _ in range(3)]
    for each, at in zip(damaged, (-40, 200, messages[middle].index(name.encode())), strict=True):
        each[at] ^= 1
    put = [
        *((bytes(each), f"{which}.*damaged") for each in damaged),
        (oracle.upload_of(name, [*zeros[:-1], largest + 1]), f"{which}.*not below the modulus"),
        (oracle.upload_of("nobody", zeros), "'nobody', who is not on the list"),
    ]
    wrong = [([*messages[:middle], each, *messages[middle + 1 :]], told) for each, told in put]
    return [*wrong, ([*messages, messages[middle]], f"'{name}' is in the sum already")]


def test_shares_that_differ_or_are_false():
    committee = Committee(values=30)
    weights = {"x": 1}
    listed = committee.list(weights)
    total = committee.sum(listed, {"x": committee.upload(listed, "x", integers(1, 30))})
    shares, oracle = committee.shares(listed), committee.oracle(listed)
    false = oracle.share(1, nonce("no key"), weights)
    raises(errors.MismatchError, "differ", total.open, [*shares, false])
    raises(errors.NoiseError, "something else", total.open, [shares[0], false, shares[2]])
    raises(errors.MismatchError, "", total.open, [*shares, oracle.share(3, nonce("no key"), weights)])


def test_a_sum_with_a_missing_upload_is_not_opened():
    committee = Committee()
    listed = committee.list({"x": 1, "y": 1})
    total = committee.sum(listed, {"x": committee.upload(listed, "x", integers(1, 40))})
    assert total.missing == ["y"]
    raises(errors.MismatchError, "'y'", total.open, committee.shares(listed))


def with_another_piece(group, piece):
    """A member that answers for a piece with a key of its own, where others hold the right one."""
    own = group._pieces.own

    def changed(number):
        return [
            _core.FederationPiece(piece, nonce("false")) if each.number == piece else each
            for each in own(number)
        ]

    group._pieces.own = changed


@pytest.mark.parametrize("verify", [False, True])
def test_a_message_of_keys_that_is_not_its_pieces(houses, verify):
    liar = houses.groups["b"]
    (piece,) = liar._agreed.sent_by(1)[:1]
    with_another_piece(liar, piece)
    holder = next(n for n in "ac" if liar._terms.access.holds("abc".index(n), piece))

    noticed = threading.Event()

    def make(group, name):
        """The others wait for the holder until it has noticed."""
        end = time.monotonic() + 60
        while time.monotonic() < end and not noticed.is_set():
            try:
                return group.make_keys(houses.program, verify=verify and name == holder, wait=0.2)
            except errors.MismatchError as error:
                noticed.set()
                return str(error)
            except WaitingError:
                pass
        return "waits"

    found = dict(zip(houses.names, houses.together(make), strict=True))
    if verify:
        assert f"b gives another message of piece {piece} in round 1" in str(found[holder])
        return
    keys = found["a"]
    assert isinstance(keys, hm.Keys)  # of a secret that no pieces have: nothing opens
    context = keys.context
    assert np.array_equal(context.encrypt([1, 2], keys).shape, context.encrypt([3], keys).shape)


def test_honest_messages_pass(houses):
    made = houses.together(lambda group, _: group.make_keys(houses.program, verify=True, wait=60))
    assert len({each.to_bytes() for each in made}) == 1
    houses.put()
    request = houses.groups["a"].request(houses.program, to="members")
    for name in houses.names:
        houses.groups[name].requests()[0].approve(houses.program, verify=True)
    opened = request.open(houses.program, wait=0)
    assert {name: int(value) for name, value in opened.items()} == expected(houses)


@pytest.mark.parametrize("to", ["members", "r"])
def test_a_share_that_is_not_its_pieces(houses, to):
    ready(houses)
    receiver = houses.receiver()
    request = houses.groups["a"].request(houses.program, to=to)
    liar = houses.groups["b"]
    piece = liar._terms.access.held_by(1)[0]
    with_another_piece(liar, piece)
    liar.requests()[0].approve(houses.program)
    holder = next(n for n in "ac" if liar._terms.access.holds("abc".index(n), piece))
    honest = {name: houses.groups[name].requests()[0] for name in "ac"}
    for each in honest.values():
        each.approve(houses.program)  # takes what is there as it is
    opener = request if to == "members" else receiver
    try:
        values = {name: int(value) for name, value in opener.open(houses.program, wait=0).items()}
    except errors.NoiseError:
        values = {}
    assert values != expected(houses)  # and nobody knows who lies
    with pytest.raises(errors.MismatchError, match=f"b gives another share of piece {piece}"):
        honest[holder].approve(houses.program, verify=True)
    for path in (houses.place / f"request-{request.name}").glob("share-*-b"):
        path.unlink()
    for each in honest.values():
        each.approve(houses.program, verify=True)
    found = opener.open(houses.program, wait=0)
    assert {name: int(value) for name, value in found.items()} == expected(houses)


def test_a_share_of_a_sum_that_is_not_its_pieces(tmp_path):
    parties = Parties(tmp_path)
    given = {name: arrays(i) for i, name in enumerate("abc")}
    parties.push(given)
    fed = parties.of["a"]
    files = fed._round(0)
    listed = files.lists()[0]
    liar, piece = parties.of["b"], parties.of["b"]._keys.held[0]
    keys = [nonce("false") if piece == T else liar._keys._party.piece(T) for T in liar._keys.held]
    pieces = [_core.FederationPiece(T, key) for T, key in zip(liar._keys.held, keys, strict=True)]
    native = liar._keys._context._native
    member = _core.FederationMember(native, files._description, 1, pieces, lambda _: None, lambda *_: None)
    parties.file(0, files.share_path(listed, piece, "b").name).write_bytes(member.share(listed, piece))
    raises(errors.NoiseError, "something else", parties.work, 0)
    holder = next(n for n in "ac" if piece in parties.of[n]._keys.held)
    with pytest.raises(errors.MismatchError, match=f"b gives another share of piece {piece}"):
        parties.of[holder].average(0, wait=0, verify=True)
    parties.file(0, files.share_path(listed, piece, "b").name).unlink()
    parties.work(0)
    assert same(fed.average(0, wait=0, verify=True), averages(given, dict.fromkeys("abc", 1)))


def test_a_member_computes_each_of_its_shares_once(tmp_path, monkeypatch):
    computed, share = list[tuple[str, int]](), Keys.share

    def noted(keys, listed, piece):
        computed.append((keys._party.name, piece))
        return share(keys, listed, piece)

    monkeypatch.setattr(Keys, "share", noted)
    parties = Parties(tmp_path)
    parties.push({name: arrays(i) for i, name in enumerate("abc")})
    parties.work(0)
    for _ in range(3):
        for name in "abc":
            parties.of[name].average(0, wait=0, verify=True)
    assert sorted(computed) == [(name, piece) for name in "abc" for piece in parties.of[name]._keys.held]
