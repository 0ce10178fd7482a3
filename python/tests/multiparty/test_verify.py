"""Messages of other holders of a piece: who sends something else than the piece does is named.

A false message that is whole spoils keys or a result without a trace; that is each test's naive half.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera import _core, errors
from hemera.multiparty import WaitingError
from hemera.multiparty.keys import Keys

from ..refusals import raises
from .federation_setting import nonce
from .houses import Houses, expected, ready
from .parties import Parties, arrays, same
from .parties import expected as averages


def with_another_piece(group: Any, piece: int) -> None:
    """A member that answers for a piece with a key of its own, where others hold the right one."""
    own = group._pieces.own

    def changed(number: int) -> list[_core.FederationPiece]:
        return [
            _core.FederationPiece(piece, nonce("false")) if each.number == piece else each
            for each in own(number)
        ]

    group._pieces.own = changed


@pytest.mark.parametrize("verify", [False, True])
def test_a_message_of_keys_that_is_not_its_pieces(houses: Houses, verify: bool) -> None:
    liar = houses.groups["b"]
    (piece,) = liar._agreed.sent_by(1)[:1]
    with_another_piece(liar, piece)
    holder = next(n for n in "ac" if liar._terms.access.holds("abc".index(n), piece))

    noticed = threading.Event()

    def make(group: Any, name: str) -> hm.Keys | str:
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


def test_honest_messages_pass(houses: Houses) -> None:
    made = houses.together(lambda group, _: group.make_keys(houses.program, verify=True, wait=60))
    assert len({each.to_bytes() for each in made}) == 1
    houses.put()
    request = houses.groups["a"].request(houses.program, to="members")
    for name in houses.names:
        houses.groups[name].requests()[0].approve(houses.program, verify=True)
    opened = request.open(houses.program, wait=0)
    assert {name: int(value) for name, value in opened.items()} == expected(houses)


@pytest.mark.parametrize("to", ["members", "r"])
def test_a_share_that_is_not_its_pieces(houses: Houses, to: str) -> None:
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


def test_a_share_of_a_sum_that_is_not_its_pieces(tmp_path: Path) -> None:
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


def test_a_member_computes_each_of_its_shares_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed, share = list[tuple[str, int]](), Keys.share

    def noted(keys: Keys, listed: _core.FederationList, piece: int) -> bytes:
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
