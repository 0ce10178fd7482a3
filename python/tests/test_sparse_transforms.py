"""Transforms from diagonals and from entries: NumPy and SciPy's rules are the judge."""

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, MismatchError, ParameterError

from .beside import printed
from .conftest import CIRCUIT_SLOTS as SLOTS
from .refusals import raises, refuse


def dense_of(diagonals, slots=SLOTS):
    """The matrix with these diagonals, as the definition says: entry (k, k + n modulo slots) for row k."""
    matrix = np.zeros((slots, slots), np.complex128)
    for number, entries in diagonals.items():
        for row in range(slots):
            matrix[row, (row + number) % slots] = np.broadcast_to(entries, slots)[row]
    return matrix


def random(*shape, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def run(client, transform, x):
    ctx, sk = client
    ev = ctx.bind(ctx.generate_keys(sk, plan=transform))
    whole = np.zeros((*x.shape[:-1], transform.slots))
    whole[..., : x.shape[-1]] = x
    return np.asarray(ctx.decrypt(transform(ev.encrypt(whole)), sk, dtype=complex))


FAMILIES = {
    "main": {0: random(SLOTS)},
    "one number": {0: 0.5},
    "numbers": {1: 0.5, -1: -0.25, 5: 2},
    "both kinds": {0: random(SLOTS), 3: 0.75, -4: random(SLOTS, seed=2)},
    "complex": {2: random(SLOTS) + 1j * random(SLOTS, seed=3), 0: random(SLOTS), 7: 0.5j},
    "floats of 32 bits": {1: random(SLOTS).astype(np.float32)},
    "integers": {1: np.arange(SLOTS) % 3 - 1, 2: np.arange(SLOTS) % 2 == 0},
    "ends": {SLOTS - 1: random(SLOTS), 1 - SLOTS: random(SLOTS, seed=4)},
    "strided": {n: random(SLOTS, seed=n) for n in range(0, SLOTS, 4)},
}


@pytest.mark.parametrize("fewest_keys", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_diagonals_lie_where_the_definition_says(client, params, name, fewest_keys):
    diagonals = FAMILIES[name]
    transform = hm.circuits.LinearTransform.from_diagonals(
        diagonals, params, slots=SLOTS, fewest_keys=fewest_keys
    )
    x = random(2, SLOTS, seed=9)
    expected = x @ dense_of(diagonals).T
    np.testing.assert_allclose(run(client, transform, x), expected, atol=1e-5)
    np.testing.assert_allclose(transform.evaluate_clear(x), expected, atol=1e-12)
    assert (transform.shape, transform._native.diagonals) == ((SLOTS, SLOTS), len(diagonals))


def test_the_type_of_results_is_that_of_the_diagonals(client, params):
    ctx, sk = client
    for values, dtype in ((0.5, np.float64), (0.5 + 0j, np.complex128)):
        transform = hm.circuits.LinearTransform.from_diagonals({0: values}, params, slots=SLOTS)
        ev = ctx.bind(ctx.generate_keys(sk, plan=transform))
        assert transform(ev.encrypt(random(SLOTS))).dtype == dtype


def test_steps_may_be_given(client, params):
    diagonals = {n: random(SLOTS, seed=n) for n in (0, 1, 8, 9)}
    make = hm.circuits.LinearTransform.from_diagonals
    transform = make(diagonals, params, slots=SLOTS, steps=([0, 1], (0, 8)))
    assert transform.rotations == [1, 8]
    x = random(SLOTS, seed=9)
    np.testing.assert_allclose(run(client, transform, x), dense_of(diagonals) @ x, atol=1e-5)
    for wrong in (([0], [0, 8]), ([0, 1], [0, 8, SLOTS]), ([0, 1], [0, -8]), ([], [])):
        raises(ParameterError, "", make, diagonals, params, slots=SLOTS, steps=wrong)
    with pytest.raises(ParameterError, match="one of these"):
        make(diagonals, params, slots=SLOTS, steps=([0, 1], [0, 8]), baby_steps=2)
    refuse((lambda: make(diagonals, params, slots=SLOTS, steps=([0.5, 1], [0, 8])), TypeError, None))


@pytest.mark.parametrize("kind", [np.float64, np.complex128, np.float32, np.int64])
@pytest.mark.parametrize("shape", [(SLOTS, SLOTS), (5, 11), (SLOTS, 1)])
def test_entries_are_those_of_scipy(client, params, shape, kind):
    generator = np.random.default_rng(sum(shape))
    count = 3 * max(shape)  # places occur more than once
    rows, columns = generator.integers(0, shape[0], count), generator.integers(0, shape[1], count)
    values = (1 + 4 * generator.uniform(0, 1, count)).astype(kind)
    if kind is np.complex128:
        values = values * np.exp(1j * np.arange(count))
    matrix = np.zeros(shape, np.complex128)
    np.add.at(matrix, (rows, columns), values)
    transform = hm.circuits.LinearTransform.from_entries(
        rows, columns.astype(np.int32), values, params, shape=shape, slots=SLOTS
    )
    dense = hm.circuits.LinearTransform(matrix, params, slots=SLOTS)
    assert transform.rotations == dense.rotations
    x = random(2, shape[1], seed=9)
    np.testing.assert_allclose(transform.evaluate_clear(x), x @ matrix.T, atol=1e-12)
    np.testing.assert_allclose(run(client, transform, x), x @ matrix.T, atol=2e-5)


def test_entries_take_the_slots_of_their_shape(params):
    make = hm.circuits.LinearTransform.from_entries
    transform = make([0, 0, 4], [2, 2, 9], [1.0, 2.0, 3.0], params, shape=(5, 10))
    assert (transform.shape, transform.slots) == ((5, 10), 16)
    x = np.arange(10.0)
    np.testing.assert_array_equal(transform.evaluate_clear(x), [6, 0, 0, 0, 27])
    # Values that cancel leave no diagonal.
    assert make([0, 0, 1], [2, 2, 1], [1.0, -1.0, 3.0], params, shape=(5, 10))._native.diagonals == 1


def test_what_does_not_fit_is_refused(params):
    diagonals = hm.circuits.LinearTransform.from_diagonals
    entries = hm.circuits.LinearTransform.from_entries
    one = {0: np.ones(SLOTS)}
    for slots in (0, -SLOTS, SLOTS - 1, 1 << 20, 1 << 40, 1 << 70):
        raises(ParameterError, "", diagonals, {0: 1.0}, params, slots=slots)
    for wrong in (
        *({}, {0: 0.0}, {0: np.zeros(SLOTS)}, {0: np.nan}, {0: np.full(SLOTS, np.inf)}, {0: 1j * np.inf}),
        *({0: np.ones(SLOTS - 1)}, {0: np.ones(1)}, {0: np.ones((1, SLOTS))}, {0: []}),
        *({SLOTS: np.ones(SLOTS)}, {-SLOTS: np.ones(SLOTS)}, {1: 1.0, 1 - SLOTS: 2.0}, {1 << 70: 1.0}),
    ):
        raises(ParameterError, "", diagonals, wrong, params, slots=SLOTS)
    refuse((lambda: diagonals({0.5: 1.0}, params, slots=SLOTS), TypeError, None))
    for options in ({"baby_steps": 3}, {"baby_steps": -1}, {"level": -1}):
        raises(ParameterError, "", diagonals, one, params, slots=SLOTS, **options)
    for level in (0, 99):
        raises(LevelError, "", diagonals, one, params, slots=SLOTS, level=level)
        raises(LevelError, "", entries, [0], [0], [1.0], params, shape=(1, 1), level=level)
    integers = hm.bfv.Parameters.for_circuit(depth=1, security=None, degree=1024)
    refuse((lambda: diagonals(one, integers, slots=SLOTS), MismatchError, "CKKS"))
    for rows, columns, values, shape in (
        ([0], [0], [1.0, 2.0], (4, 4)),
        ([0, 1], [0], [1.0], (4, 4)),
        ([4], [0], [1.0], (4, 4)),
        ([0], [4], [1.0], (4, 4)),
        ([-1], [0], [1.0], (4, 4)),
        ([0], [-1], [1.0], (4, 4)),
        ([[0]], [[0]], [[1.0]], (4, 4)),
        ([0], [0], [0.0], (4, 4)),
        ([0], [0], [np.nan], (4, 4)),
        ([0, 0], [0, 0], [1e308, 1e308], (4, 4)),
        ([], [], [], (4, 4)),
        ([0], [0], [1.0], (0, 4)),
        ([0], [0], [1.0], (-1, 4)),
        ([0], [0], [1.0], (1 << 70, 4)),
        (np.array([1 << 63], np.uint64), [0], [1.0], (4, 4)),
    ):
        raises(ParameterError, "", entries, rows, columns, values, params, shape=shape, slots=4)
    raises(TypeError, "rows of entries are integers", entries, [0.0], [0], [1.0], params, shape=(4, 4))


MEMORY = """
import re
import numpy as np
import hemera as hm

def peak():  # of this process alone, in bytes
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])

SLOTS, COUNT = 16384, 400
params = hm.ckks.Parameters.for_circuit(depth=1, slots=SLOTS, security=None)
hm.circuits.LinearTransform.from_diagonals({0: 1.0}, params, slots=2)
entries = np.random.default_rng(1).uniform(size=SLOTS)
at = np.arange(COUNT)
own = COUNT * SLOTS * 8
before = peak()
"""
WAYS = {
    "diagonals": "from_diagonals({n: entries for n in range(COUNT)}, params, slots=SLOTS)",
    # one entry in each diagonal
    "entries": "from_entries(at, 2 * at, entries[:COUNT], params, shape=(SLOTS, SLOTS))",
}


@pytest.mark.parametrize("way", WAYS)
def test_transforms_take_the_memory_of_their_diagonals(way):
    """A dense matrix of these slots has 2 GiB, complex diagonals twice the bytes."""
    code = f"""{MEMORY}
t = hm.circuits.LinearTransform.{WAYS[way]}
assert t._native.diagonals == COUNT
print((peak() - before) / own)
"""
    assert 0.9 < float(printed(code)) < 1.2


def test_a_matrix_that_does_not_fit_is_refused_before_it_is_copied():
    code = f"""{MEMORY}
wide = np.broadcast_to(np.float32(1), (4, 1 << 24))
for shape in ((4, 1 << 24), (1 << 24, 4)):
    try:
        hm.circuits.LinearTransform(np.broadcast_to(np.float32(1), shape), params)
    except hm.errors.ParameterError:
        print((peak() - before) / (1 << 24))
"""
    found = [float(line) for line in printed(code).split()]
    assert len(found) == 2
    assert max(found) < 0.5
