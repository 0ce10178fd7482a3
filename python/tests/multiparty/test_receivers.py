"""Receivers of results, and evaluation by groups."""

import hashlib

import numpy as np
import pytest

import hemera as hm
from hemera import _core, errors
from hemera.multiparty import WaitingError
from hemera.multiparty.bounds import Bounds
from hemera.multiparty.identity import Unsigned

from ..refusals import raises
from .federation_setting import nonce
from .group_setting import Members
from .houses import expected, ready
from .test_group_messages import encrypted, true_noise


def another_key(houses):
    """The attacker's."""
    context = hm.Context(houses.program.params, threads=1)
    secret = context.generate_secret_key()
    return context, secret, context.generate_keys(secret, relinearization=False).to_bytes()


def taken_as_it_lies(houses, name):
    """The naive answer of a member, by pieces: to the key that the folder has when the request comes."""
    study, bounds = houses.groups[name]._study(), Bounds.of(houses.program.package)
    key = study.context.load((houses.place / "receivers" / "r").read_bytes())
    opening = _core.Opening(study.context._native, study.terms, study.number, study.pieces, lambda _: 1)
    results = houses.groups[name].requests()[0].results()
    pairs = list(zip(results, bounds.noise, strict=True))
    return {
        piece: [
            study.context.load(_core.save(opening.share_for(x._native, noise, piece, key._native), 0))
            for x, noise in pairs
        ]
        for piece in study.access.held_by(study.number)
    }


def read_by(context, secret, houses, request):
    """What two naive members' shares tell whoever has the secret."""
    shares = taken_as_it_lies(houses, "a") | taken_as_it_lies(houses, "b")
    values, bounds, terms = [], Bounds.of(houses.program.package), houses.groups["a"]._study().terms
    for number, (x, noise) in enumerate(zip(request.results(), bounds.noise, strict=True)):
        mine, of_pieces = context.load(bytes(x)), [shares[piece][number] for piece in sorted(shares)]
        natives = [context.load(bytes(each))._native for each in of_pieces]
        whole = _core.opened_for(context._native, terms, mine._native, noise, natives)
        values.append(context.decrypt(context.load(_core.save(whole, 0)), secret))
    found = houses.program.package.interface.decode(values)
    return {name: int(value) for name, value in found.items()}


def test_j_a_key_in_the_place_of_a_receivers(houses):
    """Members that take the key that lies there let the attacker read the result, and must. Those that made
    the group's keys with it do not."""
    ready(houses)
    receiver = houses.receiver()
    request = houses.groups["a"].request(houses.program)
    place = houses.place / "receivers" / "r"
    honest = place.read_bytes()
    context, secret, evil = another_key(houses)
    place.write_bytes(evil)
    assert read_by(context, secret, houses, request) == expected(houses)

    answers = houses.place / f"request-{request.name}"
    for group in (houses.groups["a"], houses.groups["b"]):
        raises(errors.MismatchError, "another key of r", group.requests()[0].approve, houses.program)
    place.unlink()
    raises(errors.MismatchError, "another key of r", request.approve, houses.program)
    assert not list(answers.glob("share-*"))
    place.write_bytes(honest)
    for name in ("a", "b"):
        houses.groups[name].requests()[0].approve(houses.program)
    found = receiver.open(houses.program, wait=0)
    assert {name: int(value) for name, value in found.items()} == expected(houses)


class Shown(Unsigned):
    """A folder that shows one member another key."""

    def __init__(self, evil):
        self.evil = evil

    def read(self, path, by):
        return self.evil if path.parts[-2:] == ("receivers", "r") else super().read(path, by)


def test_j_a_folder_that_shows_members_two_keys(houses):
    houses.groups["c"]._shared = Shown(another_key(houses)[2])
    raises(errors.MismatchError, "another key of r", houses.keys)
    assert not list(houses.place.glob("keys-*/message-*"))


def test_j_a_receiver_notices_a_key_in_its_place(houses):
    receiver = houses.receiver()
    (houses.place / "receivers" / "r").write_bytes(another_key(houses)[2])
    raises(errors.MismatchError, "another key than r's", receiver.make_key, houses.program)


def test_keys_wait_for_those_of_receivers(houses):
    group, place = houses.groups["a"], houses.place / "receivers" / "r"
    place.unlink()
    for name in ("b", "c", "a"):
        with pytest.raises(WaitingError, match=r"lacks|receivers r: they call make_key"):
            houses.groups[name].make_keys(houses.program, wait=0)
    raises(WaitingError, "receivers r: they call make_key", group.make_keys, houses.program, wait=0)
    receiver = houses.receiver()
    houses.keys()
    assert f"r's key is {receiver.fingerprint}" in group.status().splitlines()
    assert receiver.fingerprint == hashlib.sha256(place.read_bytes()).hexdigest()[:32]


def test_a_receivers_key_of_other_parameters_is_refused(houses):
    other = hm.bfv.Parameters.for_circuit(depth=0, plain_bits=20, degree=1024, security=None)
    context = hm.Context(other, threads=1)
    keys = context.generate_keys(context.generate_secret_key())
    (houses.place / "receivers" / "r").write_bytes(keys.to_bytes())
    raises(errors.MismatchError, "parameters", houses.keys)


PIECES = 10
"""With 3 of 5: where a rule forgets that a secret is a sum, its bound is too small by a factor of 3."""


class Setting:
    """Two ciphertexts of a group of 3 of 5, with keys for all sums of slots."""

    def __init__(self, scheme):
        self.members = Members(scheme, 5, 3, depth=3, made=("evaluation", scheme))
        native, params = self.members.context._native, self.members.params._native
        assert self.members.access.pieces == PIECES
        needs = self.members.needs([1 << k for k in range(9)])
        needs.append(_core.key_need(params, 1, native.conjugation_element(), params.highest_user_level))
        made = self.members.run(nonce("attempt"), needs)
        self.keys = hm.Keys(made[0].keys(), self.members.context)
        self.secret = self.members.secret_key()
        (self.a, self.x), (self.b, self.y) = (encrypted(self.members, self.keys, seed) for seed in (1, 2))


@pytest.fixture(scope="module", params=["bfv", "bgv"])
def setting(request):
    return Setting(request.param)


def rotated(a, steps):
    return np.concatenate([np.roll(row, -steps) for row in np.split(a, 2)])


PLAIN = np.arange(1024) % 97 - 40
OPERATIONS = {
    "sum": (lambda x, y: x + y, lambda a, b: a + b),
    "difference": (lambda x, y: x - y, lambda a, b: a - b),
    "negative": (lambda x, _: -x, lambda a, _: -a),
    "times a number": (lambda x, _: x * 7, lambda a, _: a * 7),
    "plus numbers": (lambda x, _: x + PLAIN, lambda a, _: a + PLAIN),
    "times numbers": (lambda x, _: x * PLAIN, lambda a, _: a * PLAIN),
    "product": (lambda x, y: x * y, lambda a, b: a * b),
    "square": (lambda x, _: x.square(), lambda a, _: a * a),
    "product of three": (lambda x, y: x * y * x, lambda a, b: a * b * a),
    "power": (lambda x, _: x**4, lambda a, _: a**4),
    "rotation": (lambda x, _: x.rotate(3), lambda a, _: rotated(a, 3)),
    "rows": (lambda x, _: x.swap_rows(), lambda a, _: np.concatenate(np.split(a, 2)[::-1])),
    "rotated product": (lambda x, y: (x * y).rotate(1), lambda a, b: rotated(a * b, 1)),
    "sum of slots": (lambda x, _: x.sum(), lambda a, _: np.full(1024, a.sum())),
    "inner product": (lambda x, y: x.evaluator.dot([x, y], [y, y]), lambda a, b: a * b + b * b),
    "lower level": (lambda x, y: (x * y).shrink(), lambda a, b: a * b),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_on_collective_keys(setting, name):
    encrypted_run, clear = OPERATIONS[name]
    result = encrypted_run(setting.x, setting.y)
    t = setting.members.params.plain_modulus
    expected = clear(setting.a.astype(object), setting.b.astype(object)) % t
    found = np.asarray(setting.members.context.decrypt(result, setting.secret)).astype(object) % t
    assert np.array_equal(np.broadcast_to(found, expected.shape), expected)
    truth = true_noise(setting.members, result)
    assert truth <= result.noise_bits
    assert truth > result.noise_bits - 40
