"""Arrays of many ciphertexts, which operations take in parts, beside NumPy."""

import numpy as np
import pytest

import hemera as hm
from hemera.integers import parts
from hemera.integers.engine import Engine

from .setting import check, context

MOST = 4
VECTORS = 5  # the last one is not full
TABLE = np.arange(16, dtype=np.uint8)[::-1].copy() * 7


def _squared(a):
    """The square of operands with too few levels: both are one, which is refreshed once."""
    low = a.shrink(1)
    return low * low


@pytest.fixture
def sizes(monkeypatch):
    """Vectors of each refresh; operations take four at a time."""
    found = []
    plain = Engine.exponential

    def noted(self, x, period):
        found.append(x.value.shape[0])
        return plain(self, x, period)

    monkeypatch.setattr(parts, "MOST_VECTORS", MOST)
    monkeypatch.setattr(Engine, "exponential", noted)
    return found


def operands(dtype, vectors=VECTORS):
    random, limits = np.random.default_rng(8), np.iinfo(dtype)
    count = context(8).values * vectors - 5
    a, b = random.integers(limits.min, limits.max, (2, count), dtype, endpoint=True)
    b[::3] = a[::3]
    return a, b


@pytest.mark.parametrize(
    ("dtype", "operation", "expected", "refreshes"),
    [
        ("uint8", lambda a, b: a + b, None, 1),
        ("int8", lambda a, b: a * b, None, 1),
        ("uint8", lambda a, _: _squared(a), lambda a, _: a * a, 2),
        ("int8", lambda a, b: a < b, None, 2),
        ("uint8", lambda a, b: a & b, None, 1),
        ("uint8", lambda a, _: a << 3, None, 1),
        ("int8", lambda a, _: a // -3, None, 0.5),
        ("uint8", lambda a, b: a >> (b & 7), None, 3),
        ("uint8", lambda a, _: hm.integers.Table(TABLE)[a], lambda a, _: TABLE[a % 16], 0.5),
        ("int8", lambda a, _: abs(a), None, 2),
        ("uint8", lambda a, _: a.shrink().refresh(), lambda a, _: a, 1),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_parts(sizes, dtype, operation, expected, refreshes):
    ints = context(8)
    # Two vectors of a table stand in one.
    vectors = VECTORS if refreshes >= 1 else 2 * VECTORS
    a, b = operands(dtype, vectors)
    x, y = ints.encrypt(a), ints.encrypt(b)
    check(operation(x, y), (expected or operation)(a, b), ints)
    assert max(sizes) <= (2 if dtype == "int8" else 1) * MOST  # signs of both operands share a refresh
    assert 1 not in sizes
    assert sum(sizes) == refreshes * vectors


def test_parts_give_what_the_whole_gives(sizes, monkeypatch):
    """All but the parts: levels, bounds and failures; of results in tuples, too."""
    ints = context(8)
    a, b = operands("uint8")
    x, y = ints.encrypt(a), ints.encrypt(b)
    in_parts = hm.integers.overflowing_add(x, y)
    assert sizes == [2, 3]
    monkeypatch.setattr(parts, "MOST_VECTORS", 8)
    del sizes[:]
    whole = hm.integers.overflowing_add(x[: 4 * ints.values], y[: 4 * ints.values])
    assert sizes == [4]
    for found, one in zip(in_parts, whole, strict=True):
        assert (found.levels, found.error) == (one.levels, one.error)
        assert abs(found.failure_log2 - one.failure_log2 - np.log2(3 / 2)) < 0.1  # of three pairs and of two
    check(in_parts[0], a + b, ints)
    check(in_parts[1], a.astype(int) + b > 255, ints)
