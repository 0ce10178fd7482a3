"""Groups of CKKS: values by NumPy to the bits that are told before, messages by the formulas."""

import itertools
import math

import numpy as np
import pytest

import hemera as hm
from hemera import _core, errors
from hemera.multiparty.bounds import Bounds
from hemera.package.error_bounds import own_noise_bounds

from ..refusals import raises
from .group_oracle import GroupMessages
from .group_setting import DEGREE, Members, rows_of
from .houses import OF_NUMBERS, TERMS, Houses, program_of


@pytest.fixture(scope="module")
def members():
    return Members("ckks")


@pytest.fixture(scope="module")
def keys(members):
    return members.keys([1])


def bound_of(members, x, depth):
    """What openings take."""
    noise = members.context.noise_bound(depth=depth, largest=1)
    return _core.coefficient_noise_log2(members.context._native, noise, x.scale)


def test_an_opening_is_the_phase_and_the_floodings(members, keys):
    values = np.random.default_rng(1).uniform(-1, 1, DEGREE // 2)
    x = members.context.bind(keys).encrypt(values)
    y = (x * x).rotate(1).shrink()
    noise = bound_of(members, y, 1)
    oracle = members.opening(y.level)
    log2, (c0, c1) = oracle.flooding_log2(noise), (rows_of(y, k) for k in (0, 1))
    found = set()
    for active in itertools.combinations(range(members.count), 2):
        shares = members.shares(y, active, noise)
        found.add(tuple(shares))
        for number, key in enumerate(members.seeds):
            assert shares[number] == oracle.share(number, key, c1, log2)
    assert len(found) == 1  # whoever is active
    ring = oracle.ring
    phase = GroupMessages.sum(ring, c0, GroupMessages.times(ring, c1, ring.values(members.secret())))
    floodings = sum(oracle.flooding(key, c1, log2) for key in members.seeds)
    opened = GroupMessages.sum(ring, c0, *[oracle.answer(key, c1, log2) for key in members.seeds])
    assert np.array_equal(ring.coefficients(opened), (ring.coefficients(phase) + floodings) % ring.modulus)
    plain = _core.opened(members.context._native, members.terms, y._native, noise, shares)
    assert all(
        np.array_equal(a, b) for a, b in zip(rows_of(members.context._wrap(plain), 0), opened, strict=True)
    )
    # The error is the floodings' and, far below, the noise: |v| is at most the bound.
    error = members.open(y, shares, noise) - np.roll(values**2, -1)
    deviation = math.sqrt(2 * DEGREE / 2 * members.access.pieces / 2) * 2.0**log2 / y.scale
    assert 0.9 < np.std(error) / deviation < 1.1
    exact = members.context.encode(np.roll(values**2, -1), level=y.level, scale=y.scale)
    v = ring.centred(ring.coefficients(phase) - ring.coefficients(rows_of(exact, 0)))
    true_norm = math.sqrt(float(sum(int(each) ** 2 for each in v)))
    assert true_norm <= math.sqrt(DEGREE) * 2.0**noise
    assert true_norm >= math.sqrt(DEGREE) * 2.0 ** (noise - 16)


def test_one_c1_has_one_flooding(members, keys):
    x = members.context.bind(keys).encrypt(np.zeros(DEGREE // 2)).shrink()
    noise = bound_of(members, x, 0)
    shares = members.shares(x, noise_log2=noise)
    assert members.shares(x + 1, noise_log2=noise) == shares
    assert members.shares(-x, noise_log2=noise) != shares


def test_what_leaves_no_precision_is_refused_at_the_edge(members, keys):
    """Slots are off by less than a half, but for 2^-40."""
    x = members.context.bind(keys).encrypt(np.zeros(DEGREE // 2)).shrink()
    openings = members.openings
    room = math.log2(x.scale) - 1 - 0.5 * math.log2(2 * x.slots)

    def needs(log2):  # with a noise far below
        return openings.opened_noise_log2(DEGREE, log2 - 30, log2)

    last = max(log2 for log2 in range(20, 80) if needs(log2) <= room)
    widest = last - openings.flooding_log2(DEGREE, 0)  # the largest noise with this flooding
    assert len(members.shares(x, noise_log2=widest)) == members.access.pieces
    for noise in (widest + 1, math.inf, math.nan):
        raises(errors.NoiseError, "", members.shares, x, noise_log2=noise)


@pytest.mark.parametrize(("pieces", "count", "bits"), [(1, 1, 40), (3, 1000, 40), (10, 1000, 64)])
def test_parameters_have_the_room_for_floodings(pieces, count, bits):
    openings = _core.Openings(pieces, count, bits)
    params = hm.ckks.Parameters.for_circuit(2, scale_bits=30, slots=4096, openings=openings)
    least = bits / 2 + math.log2(12 * count * params.degree) / 2
    more = 0 if pieces == 1 else 1 + math.ceil(math.log2(pieces) / 2)
    assert math.log2(params.scale) == 30 + math.ceil(least) + more
    assert params._native.secret_terms == pieces
    assert hm.load_parameters(params.to_bytes()) == params
    with pytest.raises(errors.ParameterError, match="have their own bits"):
        hm.ckks.Parameters.for_circuit(2, sharing_bits=40, openings=openings)


# --- Whole studies.
def study(a, b, c):
    mean = (a.sum() + b.sum() + c.sum()) / 120
    return {"mean": mean, "products": (a * b - c * 0.25) / 100}


def exact(houses):
    a, b, c = (houses.rows[name].astype(float) for name in houses.names)
    return {"mean": (a.sum() + b.sum() + c.sum()) / 120, "products": (a * b - c * 0.25) / 100}


@pytest.fixture(scope="module")
def program():
    return program_of("ckks", study)


def told(group, program):
    lines = dict(line.split(": ") for line in group.report(program).splitlines())
    return {name: float(line.split(" ")[0]) for name, line in lines.items()}


@pytest.mark.parametrize("to", ["r", "members"])
def test_results_have_the_bits_that_are_told(tmp_path, program, to):
    houses = Houses(tmp_path, program)
    bits = told(houses.groups["a"], program)  # before there are keys
    made = houses.keys()
    assert len({each.to_bytes() for each in made}) == 1
    receiver = houses.receiver() if to == "r" else None
    houses.put()
    request = houses.groups["b"].request(program, to=to)
    for name in ("a", "c"):
        houses.groups[name].requests()[0].approve(program)
    found = request.open(program, wait=0) if receiver is None else receiver.open(program, wait=0)
    for name, values in exact(houses).items():
        error = float(np.abs(np.asarray(found[name]) - values).max())
        assert error <= 2.0 ** -bits[name]
        # One value may be right by chance.
        assert error >= 2.0 ** -(bits[name] + 8) or name == "mean"
        assert 8 < bits[name] < 40


def test_a_claimed_result_is_recomputed_and_its_place_is_checked(tmp_path, program):
    houses = Houses(tmp_path, program)
    houses.keys()
    houses.put()
    group = houses.groups["a"]
    results = program.package.prepare(group._own_keys().context).run(group._own_keys(), group.inputs())
    request = group.request(program, to="members", results=[each + 0.5 for each in results])
    raises(errors.MismatchError, "not the result of the program", request.approve, program)
    other = group.request(program, to="members", results=[each + each for each in results])
    raises(errors.MismatchError, "not the result of the program", other.approve, program)


def test_bounds_follow_from_the_program_alone(program):
    """A file may claim any; without ranges, or for an operation that has no bound, there is none."""
    bounds = Bounds.of(program.package)
    found = own_noise_bounds(program.package.interface, program.package.program)
    native = hm.Context(program.params, threads=1)._native
    for noise, bound, x in zip(bounds.noise, found, bounds.outputs, strict=True):
        assert noise == pytest.approx(_core.coefficient_noise_log2(native, bound, x.scale), abs=1e-9)
    assert all(noise < math.log2(x.scale) - 20 for noise, x in zip(bounds.noise, bounds.outputs, strict=True))
    interface = program.package.interface
    tight = [spec.low for spec in interface.inputs]
    assert tight == [0.0] * len(interface.inputs)
    wide = hm.ArraySpec((40,), range=(0, 12000))
    params = program.params
    wider = hm.compile(study, wide, OF_NUMBERS, OF_NUMBERS, params=params, security=None)
    assert max(Bounds.of(wider.package).noise) > max(bounds.noise)


def test_a_group_of_five_opens_too(tmp_path):
    openings = _core.Openings(10, 5, 40)
    params = hm.ckks.Parameters.for_circuit(
        3, scale_bits=40, slots=64, degree=1024, security=None, openings=openings
    )
    terms = TERMS | {"members": list("abcde"), "threshold": 3, "openings": 5, "receivers": []}
    spec = OF_NUMBERS
    program = hm.compile(lambda a, b, c, d, e: a * b + c - d + e, *[spec] * 5, params=params, security=None)
    houses = Houses(tmp_path, program, terms)
    bits = float(houses.groups["a"].report(program).split(": ")[1].split(" ")[0])
    houses.keys()
    houses.put()
    request = houses.groups["e"].request(program, to="members")
    for name in "bde":
        houses.groups[name].requests()[0].approve(program)
    found = np.asarray(request.open(program, wait=0))
    a, b, c, d, e = (houses.rows[name].astype(float) for name in "abcde")
    assert np.abs(found - (a * b + c - d + e)).max() <= 2.0**-bits
