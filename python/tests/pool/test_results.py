"""Results of members: joined on any axis of a grid, with the bits of one context."""

import threading

import numpy as np
import pytest

import hemera as hm
from hemera.circuits import TransformGrid
from hemera.pool import LinkTimes, Step
from hemera.pool import circuits as pool_circuits
from hemera.pool.circuits import PoolGrid
from hemera.pool.cuts import grid_step
from hemera.pool.parts import PoolCiphertext
from hemera.times import DeviceTimes

from ..conftest import make_params
from ..refusals import raises

ROWS = np.random.default_rng(4).uniform(-1, 1, (11, 6))


@pytest.fixture(scope="module", params=[1, 3])
def pool(request):
    with hm.Pool(make_params("ckks"), ["cpu"] * request.param, threads=1, in_flight=2) as found:
        yield found


def parts(pool, batch):
    """The rows of each call."""
    own = np.array_split(ROWS, len(pool))
    return [
        part[at : at + (batch or len(part))] for part in own for at in range(0, len(part), batch or len(part))
    ]


def with_a_mask(rows):
    return np.ma.MaskedArray(rows, mask=rows < 0)


FUNCTIONS = {
    "as they are": lambda rows: rows,
    "real parts, not contiguous": lambda rows: (rows + 1j).real,
    "more axes": lambda rows: np.stack([rows, -rows], axis=1),
    "one axis": lambda rows: rows.sum(axis=1),
    "of another type": lambda rows: (9 * rows).astype(np.int64),
    "one row for all": lambda rows: rows[:1],
    "twice as many": lambda rows: np.concatenate([rows, rows]),
    "none": lambda rows: rows[:0],
    "types that differ": lambda rows: rows if rows[0, 0] < ROWS[-1, 0] else rows * 1j,
    "masked": with_a_mask,
    "all rows, turned": lambda rows: rows[::-1],
}


@pytest.mark.parametrize("batch", [None, 1, 2])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_parts_are_joined_as_by_numpy(pool, name, batch):
    f = FUNCTIONS[name]
    each = [f(rows) for rows in parts(pool, batch)]
    expected = np.ma.concatenate(each) if name == "masked" else np.concatenate(each)
    found = pool.map(lambda _, rows: f(rows), ROWS, batch=batch)
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if name == "masked":
        np.testing.assert_array_equal(found.mask, expected.mask)


@pytest.mark.parametrize("factors", [(1, 1j), (1j, 1), (1, 1, 1j), (1j, 1, 1)])
def test_the_first_part_does_not_decide_on_the_type(factors):
    """Calls that come one after the other."""
    values = ROWS[: 2 * len(factors)]
    each = [factor * values[2 * at : 2 * at + 2] for at, factor in enumerate(factors)]
    left = iter(each)
    with hm.Pool(make_params("ckks"), "cpu", threads=1) as pool:
        found = pool.map(lambda *_: next(left), values, batch=2)
    np.testing.assert_array_equal(found, np.concatenate(each))
    assert found.dtype == np.complex128


def test_parts_that_do_not_fit_are_an_error_as_by_numpy(pool):
    widths = iter(range(1, 7))
    lock = threading.Lock()

    def f(_, rows):
        with lock:
            return rows[:, : next(widths)]

    raises(ValueError, "must match exactly", pool.map, f, ROWS, batch=2)


def test_several_arrays_of_each_call(pool):
    found = pool.map(lambda _, rows: (rows, [2 * rows, rows.sum(axis=1)]), ROWS, batch=2)
    assert isinstance(found, tuple)
    np.testing.assert_array_equal(found[0], ROWS)
    np.testing.assert_array_equal(found[1][0], 2 * ROWS)
    np.testing.assert_allclose(found[1][1], ROWS.sum(axis=1))


def test_results_are_copied_by_the_members(monkeypatch):
    """And not by the caller, after all of them: nothing is left to concatenate."""
    threads = set()
    concatenate = np.concatenate

    def note(*args, **kwargs):
        threads.add(threading.get_ident())
        return concatenate(*args, **kwargs)

    with hm.Pool(make_params("ckks"), ["cpu"] * 2, threads=1) as pool:
        sk = pool.replicate(pool.generate_secret_key())
        values = np.random.default_rng(1).uniform(-1, 1, (8, 8))
        x = pool.encrypt(values, sk)
        monkeypatch.setattr(np, "concatenate", note)
        found = pool.decrypt(x, sk), pool.map(lambda _, rows: rows, values, batch=2)
        monkeypatch.undo()
    assert not threads
    for each in found:
        np.testing.assert_allclose(each, values, atol=2**-18)
        assert each.flags.c_contiguous
        assert each.base is None


def test_two_calls_do_not_share_their_results(pool):
    first = pool.map(lambda _, rows: rows + 1, ROWS, batch=2)
    second = pool.map(lambda _, rows: rows + 2, ROWS, batch=2)
    np.testing.assert_array_equal(first, ROWS + 1)
    np.testing.assert_array_equal(second, ROWS + 2)
    assert not np.shares_memory(first, second)


SLOTS = 16
RANDOM = np.random.default_rng(6)
MATRICES = [RANDOM.uniform(-1, 1, (SLOTS, SLOTS)) for _ in range(3)]


def diagonals(matrix):
    """Diagonal d holds the entries (k, k + d)."""
    rows = np.arange(SLOTS)
    return {number: matrix[rows, (rows + number) % SLOTS] for number in range(SLOTS)}


class Setting:
    """Three rows over two vectors, on a pool of four members."""

    def __init__(self):
        a, b, c = MATRICES
        self.params = make_params("ckks")
        blocks = [[diagonals(a), {0: 0.5}], [diagonals(b), None], [None, diagonals(c)]]
        self.plan = TransformGrid(blocks, self.params, slots=SLOTS)
        self.pool = hm.Pool(self.params, ["cpu"] * 4, threads=1)
        self.sk = self.pool.generate_secret_key()
        self.ev = self.pool.bind(self.pool.generate_keys(self.sk, plan=self.plan))
        self.values = RANDOM.uniform(-1, 1, (2, SLOTS))
        x, y = self.values
        self.expected = [a @ x + 0.5 * y, b @ x, c @ y]

    def encrypted(self, *homes):
        """The vectors, each on one member."""
        return [
            self.ev.bind(self.ev.evaluators[member].encrypt(values, largest=1.0))
            for member, values in zip(homes, self.values, strict=True)
        ]


@pytest.fixture(scope="module")
def setting():
    found = Setting()
    yield found
    found.pool.close()


@pytest.mark.parametrize("members", [1, 2, 3, 4])
@pytest.mark.parametrize("homes", [(0, 0), (3, 1)])
def test_rows_have_the_bits_of_one_context(setting, members, homes):
    circuit = setting.pool.circuit(setting.plan, members=members)
    assert isinstance(circuit, PoolGrid)
    assert (circuit.plan, circuit.cut, circuit.members) == (setting.plan, None, min(members, 3))
    vectors = setting.encrypted(*homes)
    one = setting.plan(*(x.to(setting.pool.contexts[0]).to(setting.ev.evaluators[0]) for x in vectors))
    found = circuit(*vectors)
    assert len(found) == 3
    for y, alone, expected in zip(found, one, setting.expected, strict=True):
        assert isinstance(y, PoolCiphertext)
        assert y.members == [0]
        assert bytes(y) == bytes(alone)
        assert y.largest == alone.largest
        np.testing.assert_allclose(setting.pool.decrypt(y, setting.sk), expected, atol=2**-18)


def test_batches_in_parts_are_multiplied_where_they_are(setting):
    rows = RANDOM.uniform(-1, 1, (2, 5, SLOTS))
    x, y = (setting.ev.encrypt(each) for each in rows)
    found = setting.pool.circuit(setting.plan, members=2)(x, y)
    assert found[0].members == x.members == [0, 1, 2, 3]
    np.testing.assert_allclose(
        setting.pool.decrypt(found[1], setting.sk), rows[0] @ MATRICES[1].T, atol=2**-18
    )


def test_members_keep_the_plaintexts_of_their_rows(setting):
    before = [context.memory_used for context in setting.pool.contexts]
    circuit = setting.pool.circuit(setting.plan, members=3)
    used = [context.memory_used - was for context, was in zip(setting.pool.contexts, before, strict=True)]
    # 17, 16 and 16 diagonals; the one number takes less.
    assert used[1] == used[2]
    assert used[1] < used[0] < 1.1 * used[1]
    assert used[3] == 0
    del circuit


def test_what_does_not_fit_is_named(setting):
    circuit = setting.pool.circuit(setting.plan, members=2)
    x, y = setting.encrypted(0, 0)
    raises(hm.errors.MismatchError, "takes 2 vectors, not 1", circuit, x)
    raises(hm.errors.MismatchError, "none came", circuit)
    raises(TypeError, "ciphertext of the pool, not Ciphertext", circuit, x, y.parts[0])
    raises(hm.errors.LevelError, "", circuit, x, setting.ev.at_level(y, 0))
    keyless = setting.pool.bind(setting.pool.generate_keys(setting.sk))
    raises(hm.errors.MissingKeyError, "rotation", circuit, keyless.bind(x), keyless.bind(y))
    raises(hm.errors.ParameterError, "no magnitude", setting.pool.circuit, setting.plan, magnitude=2.0)
    with pytest.raises(hm.errors.ParameterError, match="5 members of a pool that has 4"):
        setting.pool.circuit(setting.plan, members=5)
    with pytest.raises(TypeError, match="a LinearTransform, a TransformGrid or a Bootstrap"):
        setting.pool.circuit(hm.circuits.sigmoid((-1, 1)))
    assert bytes(circuit(x, y)[2]) == bytes(setting.plan(x, y)[2])


def test_steps_bring_results_together():
    links = LinkTimes(1e6, 0.5)
    # Half of 2 MB is on the first of two members, and a quarter on the first of four.
    assert links.gather(2 * 10**6, 2) == 1.5
    assert links.gather(2 * 10**6, 4) == 2.0
    assert links.gather(2 * 10**6, 1) == links.gather(0, 3) == 0
    step = Step("rows", {1: 4.0, 2: 2.0}, result_bytes=2 * 10**6, ends_on_one=True)
    assert (step.time(1, links), step.time(2, links)) == (4.0, 3.5)


def test_the_cut_of_a_grid_is_counted(setting, monkeypatch):
    times = DeviceTimes.find("cpu-avx512-16")
    step = grid_step(setting.plan, times, 4)
    assert list(step.seconds) == [1, 2, 3]
    # The first member of two has two of the three rows.
    assert step.seconds[1] > step.seconds[2] >= step.seconds[3]
    assert step.input_bytes > 0
    assert step.result_bytes > 0
    monkeypatch.setattr(pool_circuits, "device_name", lambda _: "cpu-avx512-16")
    slow, fast = (
        setting.pool.circuit(setting.plan, links=links) for links in (LinkTimes(1.0, 1.0), LinkTimes(1e15, 0))
    )
    assert (slow.members, fast.members) == (1, 3)
    assert fast.cut is not None
    assert fast.cut.seconds < fast.cut.alone
