"""Functions, graphs and circuits on the members of a pool."""

import threading

import numpy as np
import pytest

import hemera as hm
from hemera.circuits import Bootstrap, MatrixVectorProduct
from hemera.pool.parts import PoolCiphertext

from ..conftest import make_params
from ..refusals import raises
from .setting import same


def test_map_gives_parts_to_a_function(ckks):
    a, b = ckks.values(7), ckks.values(seed=2)
    x = ckks.ev.encrypt(a)
    seen = []

    def f(evaluator, part, rows, weights, n):
        assert part.evaluator is evaluator
        assert not isinstance(part, PoolCiphertext)
        seen.append((evaluator, len(part)))
        return part * rows * weights, [rows * n, evaluator.encode(rows)]

    for batch in (None, 2, 1, 100):
        seen.clear()
        product, (doubled, plain) = ckks.ev.map(f, x, a, b, 2, batch=batch)
        ckks.check(product, a * a * b)
        np.testing.assert_array_equal(doubled, a * 2)
        np.testing.assert_allclose(ckks.pool.decode(plain), a, atol=2**-18)
        assert product.members == list(range(len(ckks.pool)))
        assert sum(count for _, count in seen) == 7
        assert max(count for _, count in seen) == {None: -(-7 // len(ckks.pool)), 2: 2, 1: 1}.get(
            batch, -(-7 // len(ckks.pool))
        )
        assert {id(evaluator) for evaluator, _ in seen} == {id(each) for each in ckks.ev.evaluators}
    raises(TypeError, "returns ciphertexts", ckks.ev.map, lambda *_: None, x)
    raises(hm.errors.ParameterError, "at least one element", ckks.ev.map, f, x, a, b, 2, batch=0)


def test_map_from_numpy_to_numpy(ckks):
    ckks.pool.replicate(ckks.sk)

    def squared(context, rows):
        evaluator = next(each for each in ckks.ev.evaluators if each.context is context)
        x = evaluator.encrypt(rows)
        return context.decrypt(x * x, ckks.sk.to(context))

    a = ckks.values(9)
    np.testing.assert_allclose(ckks.pool.map(squared, a, batch=2), a * a, atol=2**-18)


def test_calls_in_flight_overlap_and_stay_in_order():
    both = threading.Barrier(2, timeout=60)

    def meet(_, rows):
        both.wait()  # for a call of the same member
        return rows

    with hm.Pool(make_params("ckks"), "cpu", threads=1, in_flight=2) as pool:
        a = np.arange(16.0).reshape(8, 2)
        np.testing.assert_array_equal(pool.map(meet, a, batch=1), a)
    raises(hm.errors.ParameterError, "in_flight", hm.Pool, make_params("ckks"), "cpu", in_flight=0)


def test_members_work_at_the_same_time(ckks):
    """Every member is in the function when one leaves it."""
    together = threading.Barrier(len(ckks.pool), timeout=60)

    def meet(_, part):
        together.wait()
        return part

    a = ckks.values(len(ckks.pool))
    ckks.check(ckks.ev.map(meet, ckks.ev.encrypt(a)), a)


@pytest.mark.fact_of_the_cpu("graphs that copy between devices, as the CPU does at once")
def test_graphs_on_every_member(ckks):
    weights = ckks.pool.replicate(ckks.one.encode(ckks.values(seed=5)))

    def circuit(x, y):
        return (x * y).rotate(1) * weights.to(x.context), x + y

    (x, one_x), (y, one_y) = ckks.pair(ckks.values(5)), ckks.pair(ckks.values(5, seed=2))
    graph = ckks.ev.capture(circuit, x, y)
    expected = circuit(one_x, one_y)
    same(graph(x, y), expected)
    same(graph(y, x)[1], circuit(one_y, one_x)[1])
    single = ckks.ev.capture(lambda z: z * z, x)(x)
    same(single, one_x * one_x)
    assert graph.memory_bytes > 0
    assert not graph.is_recorded  # on the CPU
    assert "graphs" in repr(graph)
    raises(hm.errors.MismatchError, "its batch is", graph, x[:4], y[:4])
    raises(hm.errors.MismatchError, "", graph, x)
    raises(hm.errors.ParameterError, "example", ckks.ev.capture, circuit)


def test_bootstraps_and_encrypted_matrices():
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    plan = Bootstrap(params, 8)
    random = np.random.default_rng(1)
    with hm.Pool(params, ["cpu", "cpu"], threads=1) as pool:
        sk = pool.generate_secret_key()
        product = MatrixVectorProduct(params, 4, 4)
        keys = pool.generate_keys(sk, plan=[plan, product])
        ev = pool.bind(keys, bootstrap=plan, magnitude=1.0)
        a = random.uniform(-1, 1, (2, 8))
        x = ev.at_level(ev.encrypt(a), plan.input_level)
        one = ev.evaluators[0]
        fresh = x.bootstrap()
        assert fresh.level > x.level
        same(fresh, one.bootstrap(x.to(one)))
        np.testing.assert_allclose(pool.decrypt(fresh, sk), a, atol=2**-12)
        assert ev.bootstraps == 4
        same(plan(x), plan(x.to(one)))
        matrix, vectors = random.uniform(-1, 1, (4, 4)), random.uniform(-1, 1, (3, 4))
        m = ev.encrypt(product.pack(matrix))
        v = ev.encrypt(vectors)
        same(product(m, v), product(m.to(one), v.to(one)))
        np.testing.assert_allclose(pool.decrypt(product(m, v), sk), vectors @ matrix.T, atol=2**-12)
