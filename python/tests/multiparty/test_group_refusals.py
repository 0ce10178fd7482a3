"""Requests, inputs and shares that a group refuses; the letters are those of the design's list of attacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hemera import errors
from hemera.multiparty import WaitingError

from ..refusals import raises
from .federation_oracle import ternary
from .group_files import Residues, sections
from .group_oracle import GroupMessages, prf, ring_of
from .group_setting import rows_of
from .houses import Houses, expected, program_of, ready, statistics
from .test_group_attacks import SHARE, constant, crafted, rows_in, same


def test_a_result_that_is_not_the_programs_is_not_opened(houses: Houses) -> None:
    """Attacks E and 5: (0, K) opens to the collective secret, at any flooding. With recompute=False whoever
    evaluates is trusted, and the attack must succeed."""
    context = ready(houses)
    evil = houses.groups["c"]
    inputs = evil.inputs()
    honest = houses.program.package.prepare(context).run(evil._own_keys(), inputs)
    ring = _ring(honest[0])
    large = 1 << (ring.modulus.bit_length() - 6)
    forged = crafted(honest[0], constant(ring, 0), constant(ring, large))
    request = evil.request(houses.program, to="members", results=[forged, honest[1]])
    for name in ("a", "b"):
        with pytest.raises(errors.MismatchError, match="is not the result of the program"):
            houses.groups[name].requests()[0].approve(houses.program)
    assert not list((houses.place / f"request-{request.name}").glob("share-*"))
    for name in ("a", "b"):
        houses.groups[name].requests()[0].approve(houses.program, recompute=False)
    phase = _phase(houses, request, forged, ring)
    secret = _secret(houses)
    assert same((2 * ring.centred(phase) + large) // (2 * large), secret)


def _ring(x: Any) -> Any:

    return ring_of(1024, tuple(Residues(sections(bytes(x))[-1][1]).moduli))


def _phase(houses: Houses, request: Any, x: Any, ring: Any) -> Any:

    paths = sorted((houses.place / f"request-{request.name}").glob("share-0-*"))
    by_piece = {path.name.split("-")[2]: path.read_bytes() for path in paths}
    shares = [rows_in(data[SHARE:], ring.primes) for data in by_piece.values()]
    return ring.coefficients(GroupMessages.sum(ring, rows_of(x, 0), *shares))


def _secret(houses: Houses) -> Any:

    keys = {
        path.name: path.read_bytes()
        for name in houses.names
        for path in (houses.folder / f"{name}.party").glob("piece-*")
    }
    assert len(keys) == 3
    return sum(ternary(prf(key, "ternary"), 1024) for key in keys.values())


def test_requests_that_differ_are_refused(houses: Houses) -> None:
    context = ready(houses)
    other = program_of(houses.program.params.scheme, lambda a, b, c: (a + b + c).sum())
    request = houses.groups["c"].request(houses.program, to="members")
    raises(errors.MismatchError, "asks for the program", request.approve, other)
    raises(errors.ParameterError, "receivers", houses.groups["c"].request, houses.program, to="somebody")
    mine = houses.groups["a"].requests()[0]
    request.content["inputs"][0] = "0" * 64
    mine.content["keys"] = "0" * 64
    raises(errors.MismatchError, "other inputs", request.approve, houses.program)
    raises(errors.MismatchError, "other keys", mine.approve, houses.program)
    raises(TypeError, "", mine.approve, statistics)
    assert context.params == houses.program.params


def test_inputs_that_are_no_fresh_encryptions_are_refused(houses: Houses) -> None:
    houses.keys()
    context = houses.groups["c"]._own_keys().context
    encrypted = houses.groups["c"]._encrypted(
        houses.program.package, houses.rows["c"], houses.groups["c"]._own_keys()
    )
    doubled = [each + each for each in encrypted]
    houses.together(
        lambda group, name: group.put(
            *((doubled,) if name == "c" else (houses.rows[name],)),
            **({} if name == "c" else {"program": houses.program}),
            wait=60,
        )
    )
    with pytest.raises(errors.MismatchError, match="no fresh encryption"):
        houses.groups["a"].request(houses.program, to="members")
    assert context.params == houses.program.params


def test_shares_that_are_damaged_do_not_count(houses: Houses) -> None:
    ready(houses)
    request = houses.groups["a"].request(houses.program, to="members")
    for name in ("a", "b"):
        houses.groups[name].requests()[0].approve(houses.program)
    place = houses.place / f"request-{request.name}"
    some = sorted(place.glob("share-0-*"))[0]
    whole = some.read_bytes()
    rng = np.random.default_rng(2)
    for _ in range(300):
        data = bytearray(whole)
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        some.write_bytes(data)
        raises(WaitingError, "", request.open, houses.program, wait=0)
    some.write_bytes(whole)
    for name in ("share-0-x", "share-0-99-a", "share-0-1-", "share-0-1-zz", "share-0-" + "9" * 20 + "-a"):
        (place / name).write_bytes(whole)
    (houses.place / "attempts" / ("9" * 30 + "-a")).write_bytes(b"")
    (houses.place / "requests" / ("0" * 32 + "-a")).write_bytes(b"[" * 10_000)
    assert [each.name for each in houses.groups["c"].requests()] == [request.name]
    assert request.missing == []
    opened = request.open(houses.program, wait=0)
    assert {name: int(value) for name, value in opened.items()} == expected(houses)
