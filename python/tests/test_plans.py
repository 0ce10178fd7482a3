"""Circuits with plans on encrypted values: products, sums and masks as NumPy's, and what they refuse."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import hemera as hm
from hemera import circuits
from hemera.errors import MismatchError, RangeError

from .conftest import CIRCUIT_SLOTS as SLOTS
from .refusals import refuse
from .test_sparse_transforms import dense_of

Transform = circuits.LinearTransform
BFV = hm.bfv.Parameters.for_circuit(depth=1, security=None, degree=1024)


def random(*shape, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def complexes(*shape):
    return random(*shape) + 1j * random(*shape, seed=2)


class Case(NamedTuple):
    """A plan with values in the clear, as they are encrypted, and its result."""

    plan: Any
    given: tuple[Any, ...]
    packed: tuple[Any, ...]
    expected: Any
    unpack: Any = np.asarray
    tolerance: float = 1e-5
    clear_tolerance: float = 1e-12


def dense(params, shape, **options):
    matrix, x = complexes(*shape), random(2, shape[1], seed=3)
    filled = np.pad(x, ((0, 0), (0, SLOTS - shape[1])))
    return Case(Transform(matrix, params, slots=SLOTS, **options), (x,), (filled,), x @ matrix.T)


def wrapped(params, shape, entries=False, **options):
    """Wide and tall matrices take a diagonal for each of the fewer rows or columns."""
    matrix, x = random(*shape), random(2, shape[1], seed=2)
    row, column = np.nonzero(matrix)
    plan = (
        Transform.from_entries(row, column, matrix[row, column], params, shape=shape, wrapped=True, **options)
        if entries
        else Transform(matrix, params, wrapped=True, **options)
    )
    rows, columns = (1 << (extent - 1).bit_length() for extent in shape)
    assert plan.slots == plan.result_slots == columns
    assert plan.diagonals <= rows
    return Case(plan, (x,), (x,), x @ matrix.T, tolerance=1e-4)


def of_slots(plan, expected):
    x = random(2, SLOTS)
    return Case(plan, (x,), (x,), np.stack([expected(row) for row in x]))


def vector_product(params, *shape):
    plan, matrix, x = (
        circuits.MatrixVectorProduct(params, *shape),
        random(*shape),
        random(2, shape[1], seed=2),
    )
    assert len(plan.pack(matrix)) == plan.diagonals
    return Case(plan, (matrix, x), (plan.pack(matrix), x), x @ matrix.T)


def matrix_product(params, size, rows, columns, **options):
    """Smaller matrices are filled up with zeros."""
    plan, a, b = circuits.MatrixProduct(params, size, **options), random(rows, size), random(size, columns)
    whole = circuits.MatrixProduct(params, size)
    assert (plan.packed, plan.depth) == ((True, 2) if options else (False, 3))
    assert (plan.plaintext_bytes < whole.plaintext_bytes) == plan.packed
    expected = np.zeros((size, size))
    expected[:rows, :columns] = a @ b
    packed = plan.pack(a, "left"), plan.pack(b, "right")
    return Case(plan, (a, b), packed, expected, lambda found: found.reshape(size, size))


def pairs(params, size):
    plan = circuits.MatrixBatchProduct(params, size)
    assert (plan.size, plan.pairs, plan.depth) == (size, params.max_slots // size, 1)
    kinds = ["galois"] * (size - 1) + ["relinearization"] + ["turned product"] * (size - 1)
    assert sorted(need.kind for need in plan.needed_keys) == kinds
    a, b = random(plan.pairs, size, size), random(plan.pairs - 1, size, size - 1, seed=2)
    np.testing.assert_allclose(plan.unpack(plan.pack(a, "left"), "left"), a, atol=1e-12)
    expected = np.zeros((plan.pairs, size, size))
    expected[:-1, :, :-1] = a[:-1] @ b
    return Case(plan, (a, b), (plan.pack(a, "left"), plan.pack(b, "right")), expected, plan.unpack)


def rows_product(params, shape, bits, tolerance):
    weights, x = random(*shape), random(shape[1], SLOTS, seed=2)
    plan = circuits.PlainMatrixProduct(weights, params, bits=bits)
    assert (plan.shape, plan.bits, plan.depth, plan.needed_keys) == (shape, bits, 1, [])
    return Case(plan, (x,), (x,), weights @ x, tolerance=tolerance, clear_tolerance=tolerance)


def packed_rows(params, shape, vectors, bits, tolerance):
    weights, x = random(*shape), random(shape[1], vectors, seed=2)
    plan = circuits.PackedRowsProduct(weights, params, vectors, bits=bits)
    packed, filled = plan.pack(x), max(32, 1 << (vectors - 1).bit_length())
    assert (plan.shape, plan.vectors, plan.parts) == (shape, vectors, params.max_slots // filled)
    assert [need.kind for need in plan.needed_keys] == ["part of the secret"] * plan.parts
    assert packed.shape == (-(-shape[1] // plan.parts), params.max_slots)
    np.testing.assert_allclose(plan.unpack(packed, shape[1]), x, atol=1e-12)
    return Case(plan, (x,), (packed,), weights @ x, plan.unpack, tolerance, tolerance)


def periodic(params, shape, period, numbers=random, **options):
    weights = numbers(*shape)
    plan = circuits.PeriodicTransform(weights, params, period, **options)
    assert (plan.shape, plan.period, plan.vectors) == (shape, period, params.max_slots // period)
    x = random(plan.vectors, shape[1], seed=2)
    packed = plan.pack(x)
    assert packed.shape == (-(-shape[1] // period), params.max_slots)
    assert packed[-1, period * 3 + 1 % period] == x[3, (len(packed) - 1) * period + 1 % period]
    np.testing.assert_array_equal(plan.unpack(packed, shape[1]), x)
    return Case(plan, (x,), (packed,), x @ weights.T, plan.unpack)


SUM, COPY = circuits.InnerSum, circuits.Replication
KEPT = np.arange(SLOTS) % 5 == 2
CASES = {
    "dense": lambda p: dense(p, (SLOTS, SLOTS)),
    "dense, few keys": lambda p: dense(p, (5, SLOTS), fewest_keys=True),
    "dense, tall": lambda p: dense(p, (SLOTS, 3)),
    "dense, one": lambda p: dense(p, (1, 1), fewest_keys=True),
    "wrapped, two": lambda p: wrapped(p, (1, 2)),
    "wrapped, few keys": lambda p: wrapped(p, (3, 17), fewest_keys=True),
    "wrapped entries": lambda p: wrapped(p, (16, 32), entries=True),
    "wrapped entries, own keys": lambda p: wrapped(p, (5, 64), entries=True, own_keys=True),
    "wrapped, a level": lambda p: wrapped(p, (25, 245), level=2),
    "wrapped, many": lambda p: wrapped(p, (100, 300), fewest_keys=True),
    "wrapped, own keys": lambda p: wrapped(p, (2, 500), own_keys=True),
    "sum": lambda p: of_slots(SUM(p, SLOTS, 8, everywhere=True), lambda x: x.reshape(-1, 8).sum(1).repeat(8)),
    "sum of columns": lambda p: of_slots(
        SUM(p, SLOTS, 8, stride=4), lambda x: np.tile(x.reshape(8, 4).sum(0), 8)
    ),
    "copy": lambda p: of_slots(COPY(p, SLOTS, 4, position=2), lambda x: x.reshape(-1, 4)[:, 2].repeat(4)),
    "copy of a row": lambda p: of_slots(
        COPY(p, SLOTS, 4, position=3, stride=2),
        lambda x: np.tile(x.reshape(-1, 4, 2)[:, 3:], (1, 4, 1)).ravel(),
    ),
    "mask": lambda p: of_slots(circuits.Mask(KEPT, p), lambda x: np.where(KEPT, x, 0)),
    **{
        f"encrypted {shape}": lambda p, shape=shape: vector_product(p, *shape)
        for shape in ((8, 8), (3, 20), (30, 5), (1, 16), (16, 1))
    },
    "product": lambda p: matrix_product(p, 8, 8, 8),
    "packed product": lambda p: matrix_product(p, 4, 3, 2, packed=True),
    **{f"pairs of {size}": lambda p, size=size: pairs(p, size) for size in (2, 16)},
    **{
        f"rows {shape}": lambda p, shape=shape, bits=bits, by=by: rows_product(p, shape, bits, by)
        for shape, bits, by in (((8, 8), 8, 0.1), ((3, 20), 16, 4e-4), ((20, 3), 8, 0.1), ((16, 1), 16, 4e-4))
    },
    **{
        f"packed rows {shape}": lambda p, shape=shape, n=n, bits=bits, by=by: packed_rows(
            p, shape, n, bits, by
        )
        for shape, n, bits, by in (((20, 24), 32, 8, 0.15), ((9, 5), 3, 16, 6e-4), ((3, 40), 100, 16, 6e-4))
    },
    "periodic, complex": lambda p: periodic(p, (40, 32), 16, complexes),
    "periodic": lambda p: periodic(p, (16, 16), 16),
    "periodic, several": lambda p: periodic(p, (48, 32), 16, kept=False),
    "periodic, baby steps": lambda p: periodic(p, (32, 48), 16, baby_steps=4),
    "periodic, parts": lambda p: periodic(p, (5, 21), 8, level=1),
    "periodic, no giant steps": lambda p: periodic(p, (40, 3), 32, baby_steps=32),
    "periodic, no baby steps": lambda p: periodic(p, (2, 2), 2, baby_steps=1),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(client, params, name):
    (ctx, sk), case = client, CASES[name](params)
    ev = ctx.bind(ctx.generate_keys(sk, relinearization=False, plan=case.plan))
    y = case.plan(*map(ev.encrypt, case.packed))
    assert y.level == case.plan.result_level == case.plan.level - case.plan.depth
    np.testing.assert_allclose(y.scale, case.plan.result_scale, rtol=2**-40)
    found = case.unpack(ctx.decrypt(y, sk, dtype=complex))
    assert found.shape == case.expected.shape
    np.testing.assert_allclose(found, case.expected, atol=case.tolerance)
    np.testing.assert_allclose(
        case.plan.evaluate_clear(*case.given), case.expected, atol=case.clear_tolerance
    )
    mean, worst = case.plan.expected_error()
    error = np.abs(found - case.expected)
    assert mean / 8 < np.sqrt((error**2).mean()) < 4 * mean
    assert mean <= worst
    assert error.max() < 8 * worst


def test_results_are_inputs_of_further_plans(client, params):
    """They have the next level; keys were saved."""
    ctx, sk = client
    x, a, b = random(64, 16, seed=4), random(18, 20), random(4, 18, seed=3)
    first, second = random(24, 16), random(8, 24, seed=3)
    for make, left, right, given, expected in (
        (
            lambda m, **o: circuits.PeriodicTransform(m, params, 8, **o),
            first,
            second,
            x,
            x @ first.T @ second.T,
        ),
        (lambda m, **o: circuits.PackedRowsProduct(m, params, 32, **o), a, b, random(20, 32), None),
    ):
        one = make(left)
        two = make(right, level=one.result_level)
        ev = ctx.bind(ctx.load(ctx.generate_keys(sk, plan=[one, two]).to_bytes()))
        found = two.unpack(ctx.decrypt(two(one(ev.encrypt(one.pack(given)))), sk))
        np.testing.assert_allclose(found, b @ a @ given if expected is None else expected, atol=4e-3)
    one = circuits.MatrixProduct(params, 8)
    two = circuits.MatrixProduct(params, 8, level=one.result_level)
    ev = ctx.bind(ctx.generate_keys(sk, plan=[one, two]))
    a, b = random(2, 8, 8), random(8, 8, seed=2)
    right = ev.encrypt(one.pack(b, "right"))
    found = ctx.decrypt(two(one(ev.encrypt(one.pack(a, "left")), right), right), sk)
    np.testing.assert_allclose(found.reshape(2, 8, 8), a @ b @ b, atol=1e-4)


def test_pools_multiply_packed_rows(params):
    weights, x = random(20, 24), random(24, 32, seed=2)
    with hm.Pool(params, ["cpu", "cpu"], threads=1) as pool:
        sk = pool.generate_secret_key()
        layer = circuits.PackedRowsProduct(weights, params, 32)
        ev = pool.bind(pool.generate_keys(sk, plan=layer))
        y = layer(ev.encrypt(layer.pack(x)))
        np.testing.assert_allclose(layer.unpack(pool.decrypt(y, sk)), weights @ x, atol=6e-4)


def test_what_fills_up_is_no_value(client, params):
    """Behind a wrapped matrix other slots are not 0, and nothing reads them."""
    ctx, sk = client
    matrix, x = random(5, 64), random(64, seed=2)
    plan = Transform(matrix, params, wrapped=True)
    after = Transform(np.ones((3, 5)), params, slots=64, level=plan.result_level - 1)
    ev = ctx.bind(ctx.generate_keys(sk, plan=[plan, after], sum_slots=64, rotations=[1]))
    y, expected = plan(ev.encrypt(x)), matrix @ x
    assert (y.slots, y.filled, y._native.padding) == (64, 5, "unknown")
    np.testing.assert_allclose(ctx.decrypt(y.sum(), sk), np.full(5, expected.sum()), atol=1e-4)
    np.testing.assert_allclose(ctx.decrypt(y + np.arange(5), sk), expected + np.arange(5), atol=1e-4)
    np.testing.assert_allclose(ctx.decrypt(after(y), sk), np.full(3, expected.sum()), atol=1e-4)
    short = Transform(matrix[:, :60], params, wrapped=True, level=3)
    own = ctx.bind(ctx.generate_keys(sk, plan=short, relinearization=True))
    z = own.encrypt(x[:60]).polyval([1, 1])
    np.testing.assert_allclose(ctx.decrypt(short(z), sk), matrix[:, :60] @ (1 + x[:60]), atol=1e-4)


def test_options_of_sums_and_copies(client, params):
    ctx, sk = client
    few = SUM(params, SLOTS, 16, fewest_keys=True)
    assert (few.rotations, SUM(params, SLOTS, 16).rotations) == ([1, 2, 4, 8], [1, 2, 3, 4, 8, 12])
    # The usual rotation keys serve, and sums work at every level.
    y = few(ctx.bind(ctx.generate_keys(sk, rotations=[1, 2, 4, 8])).encrypt(np.ones(SLOTS)).at_level(1))
    assert y.level == 1
    np.testing.assert_allclose(ctx.decrypt(y, sk), 16, atol=1e-4)
    # Copies of what stands alone need no level.
    copy = COPY(params, SLOTS, 16, others_are_zero=True)
    assert copy.depth == 0
    alone = ctx.bind(ctx.generate_keys(sk, plan=copy)).encrypt(np.where(np.arange(SLOTS) % 16 == 0, 2, 0))
    np.testing.assert_allclose(ctx.decrypt(copy(alone), sk), 2, atol=1e-4)


def test_diagonals_of_periodic_transforms(params):
    """Diagonals of zeros take no keys, and diagonals that are not kept less memory."""
    blocks = np.kron(np.eye(4), random(4, 4))  # 7 of 31 diagonals
    layer = circuits.PeriodicTransform(blocks, params, 16, baby_steps=4)
    assert len(layer.needed_keys) == 3 + 1  # baby steps 1, 2, 3; giant steps 0 and -4
    assert circuits.PeriodicTransform(np.diag(random(16)), params, 16).needed_keys == []
    kept, encoded = (
        circuits.PeriodicTransform(random(64, 64), params, 32, baby_steps=8, kept=kept)
        for kept in (True, False)
    )
    assert encoded.plaintext_bytes == 4 * 64 * 32 * 8  # numbers of the diagonals of four blocks
    assert kept.plaintext_bytes > 10 * encoded.plaintext_bytes


def test_the_page_has_a_program(client, params):
    page = (Path(__file__).parents[2] / "docs" / "matrices.md").read_text(encoding="utf-8")
    program = page.partition("## Short vectors")[2].partition("```python\n")[2].partition("```")[0]
    ctx, sk = client
    names = {"hm": hm, "np": np, "params": params, "ctx": ctx, "sk": sk}
    names["tokens"] = random(params.max_slots // 16, 32)
    exec(compile(program, "matrices.md", "exec"), names)
    found = names["layer"].unpack(ctx.decrypt(names["y"], sk))
    np.testing.assert_allclose(found, names["tokens"] @ names["wide"].T, atol=1e-4)


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.bool_, np.uint16])
def test_integers_of_16_bits_take_no_level(client, ev, kind):
    ctx, sk = client
    few = kind is np.bool_
    weights = np.array([[1, 0, 1], [0, 1, 1]] if few else [[1, 0, 127], [3, 2, 100]]).astype(kind)
    x = random(3, SLOTS)
    before = ev.encrypt(x)
    y = ev.multiply_rows(weights, before)
    assert (y.level, y.scale) == (before.level, before.scale)
    wanted = weights.astype(float) @ x
    np.testing.assert_allclose(ctx.decrypt(y, sk), wanted, atol=1e-5)
    assert y.largest >= np.abs(wanted).max()
    squares = ev.multiply_rows(weights, before**2)  # before its rescale, too
    np.testing.assert_allclose(ctx.decrypt(squares, sk), weights.astype(float) @ x**2, atol=1e-4)


@pytest.mark.parametrize("scheme", [hm.bfv, hm.bgv])
def test_integers_are_exact(scheme):
    ctx = hm.Context(scheme.Parameters.for_circuit(depth=2, slots=8))
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk))
    generator, t = np.random.default_rng(5), ctx.params.plain_modulus
    for low, high in ((-128, 128), (-32768, 32768)):
        w, a = generator.integers(low, high, (3, 6)), generator.integers(0, t, (6, 8))
        y = w @ hm.EncryptedMatrix.encrypt(a, ev)
        expected = (w.astype(object) @ a.astype(object)) % t
        assert (y.decrypt(sk, dtype=np.uint64) == expected.astype(np.uint64)).all()
        assert y.level == ev.encrypt(a).level
        assert y.ciphertexts.guaranteed_noise_budget > 0
    x = hm.EncryptedMatrix.encrypt(a, ev)
    refuse(
        (lambda: np.array([[40000] * 6]) @ x, RangeError, "16 bits"),
        (lambda: np.ones((2, 6)) @ x, TypeError, "integers"),
        (lambda: np.ones(6, int) @ x, MismatchError, "two axes"),
    )


def block(*numbers, seed=1):
    return {number: random(SLOTS, seed=100 * seed + number) for number in numbers}


GRIDS = {
    "one": [[block(0, 1, 5)]],
    "a convolution and its shortcut": [[block(*range(-4, 5))], [block(0, seed=2)]],
    "several ciphertexts": [[block(*range(16)), block(3, 9, seed=2), {0: 0.5}]],
    "square": [
        [block(0, 4), None],
        [block(*range(SLOTS), seed=2), block(-1, seed=3)],
        [None, {1: 2, 2: -0.5}],
    ],
    "complex": [[{0: complexes(SLOTS), 3: 0.5j}], [{1: 0.25}]],
}


@pytest.mark.parametrize("name", GRIDS)
def test_results_of_grids_are_sums_of_products(client, params, name):
    (ctx, sk), blocks = client, GRIDS[name]
    grid = circuits.TransformGrid(blocks, params, slots=SLOTS, own_keys=name in ("one", "square"))
    rows, columns = len(blocks), len(blocks[0])
    assert grid.shape == (rows, columns)
    assert grid.diagonals == sum(len(own or {}) for row in blocks for own in row)
    ev = ctx.bind(ctx.generate_keys(sk, plan=grid))
    x = random(columns, 2, 3, SLOTS, seed=5)
    matrix = np.block([[dense_of(own or {}) for own in row] for row in blocks])
    stacked = x.transpose(1, 2, 0, 3).reshape(2, 3, -1)
    expected = (stacked @ matrix.T).reshape(2, 3, rows, SLOTS).transpose(2, 0, 1, 3)
    results = grid(*map(ev.encrypt, x))
    assert [(y.shape, y.level) for y in results] == [((2, 3), grid.level - 1)] * rows
    found = np.stack([ctx.decrypt(y, sk, dtype=complex) for y in results])
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(grid.evaluate_clear(*x), expected, atol=1e-10)
