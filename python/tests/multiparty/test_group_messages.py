"""Messages of a group against the formulas; keys that are ordinary ones; openings to the coefficient."""

import hashlib
import itertools
import math

import numpy as np
import pytest

import hemera as hm
from hemera import _core, errors
from hemera.errors import NoiseError

from ..refusals import raises, refuse
from .federation_setting import nonce
from .group_files import Residues, sections
from .group_oracle import GroupMessages, Opened
from .group_setting import DEGREE, Members, rows_of

SCHEMES = ["bfv", "bgv"]


@pytest.fixture(scope="module", params=SCHEMES)
def members(request):
    return Members(request.param)


@pytest.fixture(scope="module")
def keys(members):
    return members.keys([1])


def encrypted(members, keys, seed, shape=()):
    t = members.params.plain_modulus
    values = np.random.default_rng(seed).integers(-(t // 2), t // 2, (*shape, members.params.max_slots))
    return values, members.context.bind(keys).encrypt(values)


def true_noise(members, x):
    """What the bound is of: docs/noise.md."""
    ring, t = members.opening(x.level).ring, members.params.plain_modulus
    s = ring.values(members.secret())
    phase = GroupMessages.sum(ring, rows_of(x, 0), GroupMessages.times(ring, rows_of(x, 1), s))
    factor = t if members.params.scheme == "bfv" else 1
    noise = ring.centred(factor * ring.coefficients(phase))
    return math.log2(max(abs(int(v)) for v in noise) / factor)


@pytest.mark.parametrize("scheme", [*SCHEMES, "ckks"])
def test_messages_are_those_of_the_formulas(scheme):
    members, attempt = Members(scheme), nonce("attempt")
    needs = members.needs([1, 5])
    elements = [members.context._native.galois_element(steps) for steps in (1, 5)]
    oracle = members.oracle(attempt)
    of = [members.messages(m, attempt, needs) for m in range(members.count)]
    first = members.round(of, 1)
    second = members.round(of, 2)
    for number, key in enumerate(members.seeds):
        assert first[number] == oracle.first(number, key, elements)
        assert second[number] == oracle.second(number, key, members.seeds)
        assert hashlib.sha256(first[number]).digest() == of[members.sender(number)].digest(1, number)
    files = {hm.Keys(each.keys(), members.context).to_bytes() for each in of}
    assert len(files) == 1  # all have the same keys


def test_errors_of_keys_are_those_of_the_model(members, keys):
    """Public key sqrt(C) sigma; relinearization key |s E0 + u E1 + E2|."""
    oracle, s = members.oracle(nonce("attempt")), members.secret()
    parts = [Residues(content) for tag, content in sections(keys.to_bytes()) if tag == b"RESI"]
    ring, public = oracle.public, parts[0].rows[0, 0]
    a = _a(oracle, "public key", ring.primes, 0)
    phase = GroupMessages.sum(ring, list(public), GroupMessages.times(ring, a, ring.values(s)))
    pieces = members.access.pieces
    deviation = np.std((ring.centred(ring.coefficients(phase)) / oracle.t).astype(float))
    assert 0.9 < deviation / (3.19 * math.sqrt(pieces)) < 1.1
    ring, values = oracle.keys, oracle.keys.values(s)
    squared, b, a = GroupMessages.times(ring, values, values), *parts[1].rows[0]
    message = GroupMessages.negative(ring, GroupMessages.scaled(ring, squared, oracle.gadget[0]))
    phase = GroupMessages.sum(ring, list(b), GroupMessages.times(ring, list(a), values), message)
    deviation = np.std((ring.centred(ring.coefficients(phase)) / oracle.t).astype(float))
    model = 3.19 * math.sqrt(pieces) * math.sqrt(2 * pieces * 2 * DEGREE / 3)
    assert 0.85 < deviation / model < 1.15


def _a(oracle, role, primes, k):
    from .federation_oracle import uniform

    return uniform(oracle.crs(role), k, primes, DEGREE)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("count", "threshold"), [(2, 2), (3, 2), (5, 3)])
def test_bounds_hold_for_a_secret_of_many_pieces(scheme, count, threshold):
    """The true noise after each operation, by the secret that nobody has: C of 2, 3 and 10."""
    some = Members(scheme, count, threshold, depth=2, made=(count, threshold))
    keys, secret = some.keys([1]), some.secret_key()
    x, y = (encrypted(some, keys, seed)[1] for seed in (1, 2))
    product, turned = x * y, x.rotate(1)
    for result in (x, x + y, product, product * x, turned, product.rotate(1), product.shrink(), x.shrink()):
        truth = true_noise(some, result)
        assert truth <= result.noise_bits
        assert truth > result.noise_bits - 30
    values, z = encrypted(some, keys, 3)
    t = some.params.plain_modulus
    assert np.array_equal(some.context.decrypt(z * z, secret) % t, values * values % t)


def test_parameters_keep_their_terms(members):
    params = members.params
    again = type(params).load(params.to_bytes())
    assert again == params
    assert again._native.secret_terms == members.access.pieces
    assert int.from_bytes(params.to_bytes()[8:10], "little") == 7
    single = type(params).for_circuit(1, plain_modulus=12289, degree=DEGREE, terms=4, security=None)
    assert single._native.secret_terms == 1
    assert int.from_bytes(single.to_bytes()[8:10], "little") < 7
    assert single != params


def test_an_opening_is_the_phase_and_the_floodings(members, keys):
    values, x = encrypted(members, keys, 4)
    result = (x * x).shrink()
    ring = members.opening(result.level).ring
    c0, c1 = (rows_of(result, k) for k in (0, 1))
    oracle = members.opening(result.level)
    log2 = oracle.flooding_log2(result.noise_bits)
    shares = members.shares(result)
    for number, key in enumerate(members.seeds):
        assert shares[number] == oracle.share(number, key, c1, log2)
    s = ring.values(members.secret())
    phase = ring.coefficients(GroupMessages.sum(ring, c0, GroupMessages.times(ring, c1, s)))
    floodings = [oracle.flooding(key, c1, log2) for key in members.seeds]
    opened = ring.coefficients(
        GroupMessages.sum(ring, c0, *[oracle.answer(key, c1, log2) for key in members.seeds])
    )
    assert np.array_equal(opened, (phase + sum(floodings)) % ring.modulus)
    for flooding in floodings:
        assert 0.9 < np.std((flooding / oracle.t).astype(float)) / 2.0**log2 < 1.1
    t = members.params.plain_modulus
    assert np.array_equal(members.open(result, shares) % t, values * values % t)


@pytest.mark.parametrize(("count", "threshold"), [(1, 1), (3, 1), (3, 2), (4, 4), (9, 5), (9, 9)])
def test_every_active_set_sends_one_set_of_bytes(count, threshold):
    """Each holder of each piece sends the same share: so any t members do, in any order."""
    some = Members("bfv", count, threshold, made=(count, threshold))
    keys = some.keys(relinearization=False)
    values, x = encrypted(some, keys, 5, (2,))
    shares = []
    for piece in range(some.access.pieces):
        holders = some.access.holders(piece)
        sent = {some.openers[member].share(x._native, x.noise_bits, piece) for member in holders}
        assert len(sent) == 1
        shares += sent
    order = np.random.default_rng(6).permutation(len(shares))
    assert np.array_equal(some.open(x, [shares[i] for i in [*order, order[0]]]), values)


def test_a_receiver_reads_what_is_opened_to_it(members, keys):
    values, x = encrypted(members, keys, 7, (2,))
    secret = members.context.generate_secret_key()
    own = members.context.generate_keys(secret, relinearization=False)
    found = set()
    for active in itertools.combinations(range(members.count), 2):
        who = [next(m for m in active if members.access.holds(m, T)) for T in range(members.access.pieces)]
        shares = [
            members.openers[m].share_for(x._native, x.noise_bits, T, own._native) for T, m in enumerate(who)
        ]
        found.add(tuple(_core.save(each, 0) for each in shares))
        native = members.context._native
        whole = _core.opened_for(native, members.terms, x._native, x.noise_bits, shares)
        ciphertext = members.context._wrap(whole)
        assert np.array_equal(members.context.decrypt(ciphertext, secret), values)
        assert members.context.noise_budget(ciphertext, secret) >= ciphertext.guaranteed_noise_budget - 1
    assert len(found) == 1
    with pytest.raises(NoiseError):  # somebody else's key reads nothing
        members.context.decode(members.context.decrypt(ciphertext, members.secret_key()))


def test_no_two_messages_share_an_a():
    """Seeds of the reference string: of all roles, attempts and groups."""
    found = []
    for made, attempt in itertools.product((0, 1), (nonce("attempt"), nonce("another"))):
        some = Members("bfv", made=made)
        elements = [some.context._native.galois_element(steps) for steps in (1, 2)]
        keys = hm.Keys(some.run(attempt, some.needs([1, 2]))[0].keys(), some.context).to_bytes()
        oracle = some.oracle(attempt)
        seeds = [oracle.crs("public key"), *(oracle.crs("galois", g) for g in elements)]
        for seed in seeds:  # they are those of the keys
            assert keys.count(seed) == 1
        found += [*seeds, oracle.crs("relin")]
    assert len(set(found)) == len(found) == 16


def test_one_c1_has_one_flooding_and_another_one_another(members, keys):
    _, x = encrypted(members, keys, 8)
    plain = members.context.bind(keys).encrypt(np.ones(members.params.max_slots, np.int64))
    shares = members.shares(x)
    assert members.shares(x + 1) == shares or members.params.scheme == "bgv"  # c0 alone differs
    assert members.shares(x) == shares
    assert members.shares(plain) != shares
    nudged = members.shares(x, noise_log2=x.noise_bits + 0.01)
    further = members.shares(x, noise_log2=x.noise_bits + 1.5)
    log2 = [int.from_bytes(each[0][68:72], "little") for each in (shares, nudged, further)]
    assert log2[2] > log2[0]
    assert (nudged == shares) == (log2[1] == log2[0])  # deviations are powers of two


def test_openings_are_counted():
    some = Members("bfv", openings=3)
    keys = some.keys(relinearization=False)
    _, x = encrypted(some, keys, 9, (2,))
    _, y = encrypted(some, keys, 10)
    shares = some.shares(x)
    some.shares(y)
    assert some.shares(x) == shares  # again: not counted
    _, z = encrypted(some, keys, 11)
    raises(NoiseError, "openings are used up", some.shares, z)


def test_mask_and_margin_are_tied():
    """Moving either constant without the other is refused, where shares are made and combined."""
    openings = _core.Openings(3, 100, 40)
    noise, degree = 9.0, 4096
    log2 = openings.flooding_log2(degree, noise)
    room = openings.opened_noise_log2(degree, noise, log2)
    openings.require(degree, noise, log2, room)
    refuse(
        (lambda: openings.require(degree, noise, log2 - 1, room), NoiseError, "does not hide"),
        (lambda: openings.require(degree, noise + 1, log2, room + 1), NoiseError, "does not hide"),
        (lambda: openings.require(degree, noise, log2 + 1, room), NoiseError, "room"),
        (lambda: openings.require(degree, noise, log2, room - 0.1), NoiseError, "room"),
        (lambda: _core.Openings(4, 100, 40).require(degree, noise, log2, room), NoiseError, "room"),
        (lambda: _core.Openings(3, 400, 40).require(degree, noise, log2, room), NoiseError, "does not hide"),
    )
    for failure in (41, 128):
        rarely = _core.Openings(3, 100, 40, failure)
        raises(NoiseError, "room", rarely.require, degree, noise, log2, room)
        opened = rarely.opened_noise_log2(degree, noise, log2)
        tail = math.sqrt(2 * math.log(2 * degree * 2.0**failure))
        assert opened == pytest.approx(math.log2(2.0**log2 * (1 + tail * math.sqrt(3))), abs=1e-9)
        rarely.require(degree, noise, log2, opened)
    for bits in ((65, 40), (40, 39), (40, 129)):
        with pytest.raises(errors.ParameterError):
            _core.Openings(3, 100, *bits).require(degree, noise, log2, room + 9)
    least = math.sqrt(12 * 100) * 2**20 * math.sqrt(degree) * 2**noise
    assert 2.0 ** (log2 - 1) < least <= 2.0**log2


def test_a_ciphertext_without_room_is_not_opened(members, keys):
    _, x = encrypted(members, keys, 12)
    raises(NoiseError, "", members.shares, x, noise_log2=members.params.level_bits(x.level) - 20)
    raises(NoiseError, "", members.shares, x, noise_log2=math.inf)
    lazy = members.context.bind(keys, relinearization="lazy")
    product = x.to(lazy) * x.to(lazy)
    assert product.size == 3
    raises(errors.LevelError, "", members.shares, product)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("opened", [2, 1000])
def test_parameters_have_room_for_openings_at_each_level(scheme, opened):
    openings = _core.Openings(3, opened, 40)
    params = getattr(hm, scheme).Parameters
    own = params.for_circuit(2, plain_bits=20, slots=4096, openings=openings)
    without = params.for_circuit(2, plain_bits=20, slots=4096)
    spent = own.level_bits(own.levels - 1) - without.level_bits(without.levels - 1)
    assert 25 < spent < 60
    some = Members.__new__(Members)
    some.access, some.openings, some.count = _core.FederationAccess(3, 2), openings, 3
    some.params, some.context, some.id = own, hm.Context(own), nonce("room")
    some.terms = _core.GroupTerms(some.access, openings, some.id)
    some.seeds = [nonce("room", T) for T in range(3)]
    some.opened = [set() for _ in range(3)]
    some.openers = [some.opener(m) for m in range(3)]
    keys = some.keys()
    values, x = encrypted(some, keys, 13)
    cube = (x * x) * x
    for result in (cube, cube.shrink()):
        found = some.open(result, some.shares(result))
        expected = values.astype(object) ** 3 % own.plain_modulus
        assert np.array_equal(found.astype(object) % own.plain_modulus, expected)


def test_opened_is_an_oracle_of_its_own():
    """The test's own power of two is the library's."""
    some = Members("bgv")
    for noise in (20.0, 23.7, 30.2):
        own = Opened(some.id, some.params, 0, some.openings).flooding_log2(noise)
        x = 2.0**noise / some.params.plain_modulus + 0.5
        assert some.openings.flooding_log2(DEGREE, math.log2(x)) == own
