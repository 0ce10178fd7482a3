"""Groups over a folder: whole studies, processes that start again, and what is refused; the letters are
those of the list of attacks in the design."""

import itertools
import os

import numpy as np
import pytest

import hemera as hm
from hemera import _core, errors
from hemera.multiparty import Group, WaitingError
from hemera.multiparty.setup import newest_attempt
from hemera.serving.home import Home

from ..refusals import raises
from ..serving.conftest import serving
from .federation_oracle import ternary
from .group_files import Residues, sections, with_rows
from .group_oracle import GroupMessages, prf, ring_of
from .group_setting import rows_of
from .houses import SPEC, TERMS, Houses, expected, program_of, ready, statistics
from .test_group_attacks import SHARE, constant, crafted, rows_in, same


def test_three_houses_open_a_study_to_a_receiver(houses):
    keys = houses.keys()
    assert len({each.to_bytes() for each in keys}) == 1
    receiver = houses.receiver()
    houses.put()
    request = houses.groups["b"].request(houses.program)
    assert request.missing == [0, 1, 2]
    raises(WaitingError, "shares of 3 pieces", receiver.open, houses.program, wait=0)
    houses.groups["a"].requests()[0].approve(houses.program)
    raises(WaitingError, "", receiver.open, houses.program, wait=0)
    houses.groups["c"].requests()[0].approve(houses.program)
    found = receiver.open(houses.program, wait=0)
    assert {name: int(value) for name, value in found.items()} == expected(houses)
    assert "2 of 20 openings used" in houses.groups["a"].status()
    assert "0 of 20 openings used" in houses.groups["b"].status()
    raises(errors.MismatchError, "who alone reads", request.open, houses.program, wait=0)


def test_any_two_open_the_same_bytes_to_all(houses):
    houses.keys()
    houses.put()
    request = houses.groups["a"].request(houses.program, to="members")
    place, found = houses.place / f"request-{request.name}", []
    for active in itertools.combinations(houses.names, 2):
        for path in place.glob("share-*"):
            path.unlink()
        for name in active:
            houses.groups[name].requests()[0].approve(houses.program)
        opened = request.open(houses.program, wait=0)
        assert {name: int(value) for name, value in opened.items()} == expected(houses)
        found.append({path.name.rsplit("-", 1)[0]: path.read_bytes() for path in place.glob("share-*")})
    assert found[0] == found[1] == found[2]
    third = found[0]
    houses.groups["a"].requests()[0].approve(houses.program)  # a third, later: nothing changes
    assert third == {path.name.rsplit("-", 1)[0]: path.read_bytes() for path in place.glob("share-*")}
    assert houses.groups["a"].status().splitlines()[1].startswith("2 of 20")


def test_keys_are_ordinary_ones(houses, tmp_path):
    (keys, *_) = houses.keys()
    path = tmp_path / "keys.hemera"
    keys.save(path)
    context = hm.Context(houses.program.params)
    again = context.load(path)
    assert again.to_bytes() == keys.to_bytes()
    assert again.has_public_key
    houses.program.package.check(context, again)
    process = houses.groups["a"] = houses.join("a")  # keys are in its folder
    assert process.make_keys(houses.program, wait=0).to_bytes() == keys.to_bytes()


def test_keys_for_parameters_without_a_program(houses):
    params = houses.program.params
    made = houses.together(
        lambda group, _: group.make_keys(params, relinearization=True, rotations=[1], sum_slots=8, wait=60)
    )
    assert made[0].has_relinearization
    assert all(made[0].has_rotation(steps) for steps in (1, 2, 4))
    with pytest.raises(errors.MismatchError, match="another content"):
        houses.join("a").make_keys(
            program_of(params.scheme, lambda a, b, c: a + b + c).params.load(
                type(params).for_circuit(depth=1, plain_bits=20, degree=1024, security=None).to_bytes()
            )
        )


def test_a_process_that_starts_again_takes_part_in_another_attempt(houses):
    """Its nonce is gone, and with it all polynomials of the attempt that it was in."""
    first = houses.groups["a"]
    for name in houses.names:  # all have their pieces
        for _ in range(3):
            raises(WaitingError, "", houses.groups[name].make_keys, houses.program, wait=0)
    attempts = houses.place / "attempts"
    assert newest_attempt(attempts, houses.names)[0] == 0
    houses.groups["a"] = houses.join("a")
    keys = houses.keys()
    assert newest_attempt(attempts, houses.names) == (1, {"a", "b", "c"})
    assert len({each.to_bytes() for each in keys}) == 1
    nonces = [path.read_bytes() for path in sorted(houses.place.glob("keys-*/nonce-0-a"))]
    assert len(set(nonces)) == len(nonces)
    assert first is not houses.groups["a"]


def test_inputs_come_after_all_digests(houses):
    """Who sees another's input can not make its own of it: 4000 times a ciphertext opens it (attack G)."""
    houses.keys()
    for name in ("a", "b"):
        raises(WaitingError, "c", houses.groups[name].put, houses.rows[name], program=houses.program, wait=0)
    inputs = houses.place / "inputs-0"
    assert {path.name for path in inputs.iterdir()} == {"digest-input-0-a", "digest-input-1-b"}
    raises(WaitingError, "", houses.groups["c"].put, houses.rows["c"], program=houses.program, wait=0)
    raises(WaitingError, "", houses.groups["a"].put, houses.rows["a"], program=houses.program, wait=0)
    seen = (inputs / "input-0-a").read_bytes()
    (inputs / "input-2-c").write_bytes(seen)
    with pytest.raises(errors.MismatchError, match="another input-2"):
        houses.groups["b"].put(houses.rows["b"], program=houses.program, wait=0)


def test_a_process_that_starts_again_gives_the_same_input(houses):
    houses.keys()
    raises(WaitingError, "", houses.groups["a"].put, houses.rows["a"], program=houses.program, wait=0)
    houses.groups["a"] = houses.join("a")
    houses.groups["a"].make_keys(houses.program, wait=0)
    houses.put()
    assert len(houses.groups["b"].inputs()) == len(houses.program.package.inputs)


def test_openings_are_counted_over_processes(tmp_path):
    terms = TERMS | {"openings": 2}
    openings = _core.Openings(3, 2, 40)
    params = hm.bfv.Parameters.for_circuit(
        depth=1, plain_bits=25, slots=64, terms=512, degree=1024, security=None, openings=openings
    )
    program = hm.compile(statistics, SPEC, SPEC, SPEC, scheme="bfv", params=params, security=None)
    houses = Houses(tmp_path, program, terms)
    ready(houses)
    houses.put(1)
    request = houses.groups["b"].request(program, to="members")
    houses.groups["a"].requests()[0].approve(program)
    houses.groups["a"] = houses.join("a")
    houses.groups["a"].make_keys(program, wait=0)
    request.approve(program)
    second = houses.groups["b"].request(program, to="members", turn=1)
    asked = {each.name: each for each in houses.groups["a"].requests()}
    asked[request.name].approve(program)  # again
    raises(errors.NoiseError, "openings are used up", asked[second.name].approve, program)


def test_terms_are_the_folders(houses):
    changed = [{"threshold": 3}, {"openings": 21}, {"receivers": []}]
    for terms in (*changed, {"members": ["a", "b", "d"]}, {"failure_bits": 128}):
        raises(errors.MismatchError, "", Group.join, houses.place, houses.folder / "a.party", **TERMS | terms)
    raises(errors.ParameterError, "", Group.join, houses.place, houses.folder / "z.party", **TERMS)
    with pytest.raises(errors.MismatchError):  # another group's folder
        Group.join(houses.folder / "other", houses.folder / "a.party", **TERMS)


def test_a_loss_of_one_folder_costs_nothing(houses):
    """2 of 3: the others open without it."""
    ready(houses)
    receiver = houses.receiver()
    houses.groups["a"].request(houses.program)
    for name in ("b", "c"):
        again = houses.join(name)
        again.make_keys(houses.program, wait=0)
        again.requests()[0].approve(houses.program)
    found = receiver.open(houses.program, wait=0)
    assert {name: int(value) for name, value in found.items()} == expected(houses)


def test_crafted_residues_are_read_back():
    """The test's own writer changes what it says, and no more."""
    context = hm.Context(program_of("bfv").params, threads=1)
    x = context.encrypt([1, 2], context.generate_keys(context.generate_secret_key()))
    assert with_rows(bytes(x), lambda _: None) == bytes(x)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_child_of_a_fork_has_no_nonce_of_its_parent(houses):
    for name in houses.names:
        for _ in range(3):
            raises(WaitingError, "", houses.groups[name].make_keys, houses.program, wait=0)
    group = houses.groups["a"]
    assert len(group._attempts.value) == 1
    child = os.fork()
    if child == 0:
        os._exit(len(group._attempts.value))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_with_identities_pieces_are_sealed_and_files_signed(tmp_path, program):
    pytest.importorskip(
        "cryptography.hazmat.primitives.hpke",
        reason="cryptography is not installed: tools/setup frameworks brings it",
    )
    houses = Houses(tmp_path, program, own=lambda _: {"identities": tmp_path / "known"})
    study, receiver = houses.place, houses.receiver()
    houses.keys()
    assert len(list((study / "sealed").glob("piece-*"))) == 3
    assert not (tmp_path / "a.party" / "outbox").exists()
    houses.put()
    houses.groups["b"].request(program)
    # An outsider's request, result and share count as not there.
    asked = next((study / "requests").iterdir())
    (study / "requests" / f"{asked.name[:32]}-a").write_bytes(asked.read_bytes())
    assert [each.asker for each in houses.groups["a"].requests()] == ["b"]
    place = study / f"request-{asked.name[:32]}"
    (place / "share-0-1-c").write_bytes(b"\0" * 64)
    for name in ("a", "c"):
        for request in houses.groups[name].requests():
            request.approve(program)
    found = receiver.open(program, wait=0)
    assert {name: int(value) for name, value in found.items()} == expected(houses)


def test_a_group_has_its_folder_on_a_server(tmp_path, program):
    home = Home(tmp_path / "home")
    with serving(home, federations=["fl"]) as running:
        tokens = {name: home.clients.add(name) for name in (*TERMS["members"], "r")}
        url = f"{running.url}/v1/federations/fl"
        houses = Houses(tmp_path, program, url=url, own=lambda name: {"token": tokens[name]})
        receiver = houses.receiver()
        houses.keys()
        houses.put()
        houses.groups["b"].request(program)
        for name in ("a", "c"):
            houses.groups[name].requests()[0].approve(program)
        found = receiver.open(program, wait=5)
    assert {name: int(value) for name, value in found.items()} == expected(houses)


def test_a_result_that_is_not_the_programs_is_not_opened(houses):
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


def _ring(x):

    return ring_of(1024, tuple(Residues(sections(bytes(x))[-1][1]).moduli))


def _phase(houses, request, x, ring):

    paths = sorted((houses.place / f"request-{request.name}").glob("share-0-*"))
    by_piece = {path.name.split("-")[2]: path.read_bytes() for path in paths}
    shares = [rows_in(data[SHARE:], ring.primes) for data in by_piece.values()]
    return ring.coefficients(GroupMessages.sum(ring, rows_of(x, 0), *shares))


def _secret(houses):

    keys = {
        path.name: path.read_bytes()
        for name in houses.names
        for path in (houses.folder / f"{name}.party").glob("piece-*")
    }
    assert len(keys) == 3
    return sum(ternary(prf(key, "ternary"), 1024) for key in keys.values())


def test_requests_that_differ_are_refused(houses):
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


def test_inputs_that_are_no_fresh_encryptions_are_refused(houses):
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


def test_shares_that_are_damaged_do_not_count(houses):
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
