"""Maps and sums of products as turns of ciphertexts: done slot by slot in NumPy, against the arrays' own."""

import itertools

import numpy as np
import pytest

from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tokens import EVERY, Places, products_of, turns_of

RNG = np.random.default_rng(17)
TOKENS = 8
WEIGHTS = RNG.normal(size=(3, 2))


def slots_of(values, places):
    """Ciphertexts x tokens."""
    found = np.full((places.count, TOKENS), np.nan)
    for value, own, token in zip(values, places.ciphertexts, places.tokens, strict=True):
        found[own, slice(None) if token == EVERY else token] = value
    assert not np.isnan(found).any()
    return found


def turned(slots, turns, count):
    """What a map of ciphertexts makes of them."""
    found = np.zeros((count, TOKENS))
    for by, target, source, weight in zip(turns.by, turns.targets, turns.sources, turns.weights, strict=True):
        found[target] += weight * np.roll(slots[source], -by)
    return np.broadcast_to(found.sum(1, keepdims=True), found.shape) if turns.sums else found


MAPS = {
    # The shape of an array with tokens, and a linear function that does the same with each token.
    "layer": ((TOKENS, 3), lambda x: x @ WEIGHTS),
    "turned features": ((3, TOKENS), lambda x: (x.T @ WEIGHTS)[:, ::-1]),
    "neighbours": (
        (TOKENS, 3),
        lambda x: np.roll(x, 1, axis=0) - 2 * np.roll(x, -3, axis=0) @ np.ones((3, 1)),
    ),
    "sum": ((TOKENS, 3), lambda x: 0.5 * x.sum(0)),
    "sum of pairs": ((2, TOKENS, TOKENS), lambda x: x.sum(2)),
    "sum of the other": ((2, TOKENS, TOKENS), lambda x: x.sum(1)),
    "pairs with themselves": ((TOKENS, TOKENS), lambda x: np.diagonal(x)),
    "pairs": ((TOKENS, TOKENS), lambda x: x.T + 2 * x),
    "to pairs": ((TOKENS, 2), lambda x: x[:, None, 0] - 3 * x[None, :, 1]),
}


@pytest.mark.parametrize("name", MAPS)
def test_maps_are_those_of_the_arrays(name):
    shape, function = MAPS[name]
    size = int(np.prod(shape))
    columns = [np.asarray(function(unit.reshape(shape))) for unit in np.eye(size)]
    own = SparseMap.dense(np.stack([each.ravel() for each in columns], axis=1))
    x = RNG.normal(size=size)
    found = 0
    pairs = itertools.product(Places.candidates(shape, TOKENS), Places.candidates(columns[0].shape, TOKENS))
    for source, target in pairs:
        turns = turns_of(own, source, target, TOKENS)
        if turns is None:
            continue
        found += 1
        wanted = slots_of(own.apply(x), target)
        np.testing.assert_allclose(turned(slots_of(x, source), turns, target.count), wanted, atol=1e-12)
        moved = turns.by != 0
        for of, both in ((turns.sources, turns.turns_sources), (turns.targets, not turns.turns_sources)):
            if both and not turns.sums:
                assert turns.cost == len({*zip(turns.by[moved], of[moved], strict=True)})
    assert found


def test_sums_over_pairs_turn_few_ciphertexts():
    """The giant steps alone turn: one of two, and of eight tokens not seven."""
    own = SparseMap.of(8, 64, np.repeat(np.arange(8), 8), np.arange(64), np.ones(64))
    turns = turns_of(own, Places.turned((8, 8), 0, 1), Places.along((8,), 0), TOKENS)
    assert turns is not None
    assert turns.cost == 1
    assert not turns.turns_sources


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[0],
        lambda x: np.cumsum(x, axis=0),
        lambda x: x[::-1],
        lambda x: x * np.arange(1.0, 9.0)[:, None],
        lambda x: np.concatenate([x[1:], x[:1] * 2]),
        lambda x: np.concatenate([x[1:], x[:1] * 0]),
        lambda x: np.arange(1.0, 9.0) @ x,
    ],
)
def test_what_differs_between_tokens_is_none(function):
    columns = [function(unit.reshape(8, 2)) for unit in np.eye(16)]
    own = SparseMap.dense(np.stack([each.ravel() for each in columns], axis=1))
    for target in Places.candidates(columns[0].shape, TOKENS):
        assert turns_of(own, Places.along((8, 2), 0), target, TOKENS) is None


PRODUCTS = {
    # Subscripts of numpy.einsum, and the shapes of the factors.
    "scores": ("if,jf->ij", (8, 3), (8, 3)),
    "scores of heads": ("hif,hjf->hij", (2, 8, 3), (2, 8, 3)),
    "weighted values": ("ij,jf->if", (8, 8), (8, 3)),
    "values of the other": ("ij,if->jf", (8, 8), (8, 3)),
    "norms": ("if,if->i", (8, 3), (8, 3)),
    "covariances": ("if,ig->fg", (8, 3), (8, 2)),
    "all": ("if,if->", (8, 3), (8, 3)),
    "with one for all": ("if,f->i", (8, 3), (3,)),
    "without tokens": ("fg,g->f", (3, 2), (2,)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_sums_of_products_are_numpys(name):
    subscripts, *shapes = PRODUCTS[name]
    a, b = (RNG.normal(size=shape) for shape in shapes)
    wanted = np.einsum(subscripts, a, b)
    (left, right), out = subscripts.partition("->")[0].split(","), subscripts.partition("->")[2]
    extents = {**dict(zip(left, a.shape, strict=True)), **dict(zip(right, b.shape, strict=True))}
    dropped = sorted({*left, *right} - set(out))
    # For each result, and each product that it is a sum of, the numbers of both factors.
    taken = []
    for labels, shape in ((left, a.shape), (right, b.shape)):
        grid = np.indices([extents[label] for label in (*dropped, *out)])
        index = [grid[[*dropped, *out].index(label)] for label in labels]
        numbers = np.ravel_multi_index(index, shape) if labels else np.zeros(grid.shape[1:], np.int64)
        taken.append(numbers.reshape(-1, max(1, wanted.size)))
    rows, found = np.arange(wanted.size), 0
    factors = itertools.product(*(Places.candidates(shape, TOKENS) for shape in shapes))
    for sources in factors:
        for target, where in itertools.product(
            Places.candidates(wanted.shape, TOKENS), ("left", "right", "target")
        ):
            own = products_of(rows, taken, sources, target, where, TOKENS)
            if own is None:
                continue
            found += 1
            slots = []
            for x, places, (by, numbers) in zip((a, b), sources, own.turned, strict=True):
                before = slots_of(x.ravel(), places)
                slots.append(np.stack([np.roll(before[k], -t) for t, k in zip(by, numbers, strict=True)]))
            sums = sum(slots[0][one] * slots[1][other] for one, other in zip(*own.terms, strict=True))
            result = turned(sums, own.sums, target.count)
            np.testing.assert_allclose(result, slots_of(wanted.ravel(), target), atol=1e-12)
            assert own.cost >= own.sums.cost
    assert found


def test_products_with_a_giant_and_a_baby_step():
    """Eight tokens: 4 baby steps and 2 giant steps, so that 3 + 1 turns of each feature are enough."""
    columns = np.arange(3)[:, None]
    rows = np.arange(64)
    taken = [3 * (rows // 8) + columns, 3 * (rows % 8) + columns]
    tokens = Places.along((8, 3), 0)
    costs = {
        where: products_of(rows, taken, (tokens, tokens), Places.turned((8, 8), 0, 1), where, 8).cost
        for where in ("left", "right", "target")
    }
    assert costs["target"] == 3 * (3 + 1)
    assert min(costs.values()) == costs["target"]
