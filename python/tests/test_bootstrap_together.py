"""Several sparse ciphertexts bootstrapped at once: beside the values that went in, as a user meets it."""

import numpy as np
import pytest

import hemera as hm
from hemera.circuits import Bootstrap
from hemera.pool.parts import PoolCiphertext
from hemera.times import DeviceTimes

from .refusals import raises, refuse
from .test_bootstrap import client, params

__all__ = ["client", "params"]

SLOTS = 32
TOGETHER = 5


@pytest.fixture(scope="module")
def boot(params):
    return Bootstrap(params, SLOTS, together=TOGETHER)


def values(*shape, seed=3):
    return np.random.default_rng(seed).uniform(-1, 1, (*shape, SLOTS))


def test_lists_are_bootstrapped_as_one_batch(client, boot):
    ctx, sk, keys = client
    ev = ctx.bind(keys, bootstrap=boot, magnitude=1.0)
    shapes = [(), (2,), (1, 2), ()]
    given = [values(*shape, seed=i) for i, shape in enumerate(shapes)]
    xs = [ev.at_level(ev.encrypt(each), boot.input_level) for each in given]
    ys = hm.bootstrap_many(xs)
    assert [y.shape for y in ys] == shapes
    for y, expected in zip(ys, given, strict=True):
        np.testing.assert_allclose(ctx.decrypt(y, sk), expected, atol=2**-17)
    whole = boot(hm.concatenate([x.reshape(-1) for x in xs]))
    assert [bytes(y.reshape(-1)) for y in ys] == [
        bytes(whole[i:j]) for i, j in ((0, 1), (1, 3), (3, 5), (5, 6))
    ]
    # A plan of its own, and its magnitude.
    (large,) = hm.bootstrap_many([ev.at_level(ev.encrypt(8 * given[1]), boot.input_level)], boot, magnitude=8)
    np.testing.assert_allclose(ctx.decrypt(large, sk), 8 * given[1], atol=2**-14)


def test_lists_of_unequal_ciphertexts_are_refused(client, boot):
    ctx, _, keys = client
    ev = ctx.bind(keys, bootstrap=boot, magnitude=1.0)
    x = ev.at_level(ev.encrypt(values()), boot.input_level)
    refuse((lambda: hm.bootstrap_many([]), hm.errors.ParameterError, "bootstrap_many"))
    with pytest.raises(TypeError, match="bootstrap_many"):
        hm.bootstrap_many([values()])
    refuse((lambda: hm.bootstrap_many([x, ev.encrypt(values())]), hm.errors.MismatchError, "level"))
    with pytest.raises(hm.errors.MismatchError, match="32 and 64"):
        hm.bootstrap_many([x, ev.at_level(ev.encrypt(np.ones(2 * SLOTS)), boot.input_level)])
    with pytest.raises(hm.errors.MismatchError):
        hm.bootstrap_many([x, x * x])  # of another scale
    other = hm.Context(hm.ckks.Parameters.for_circuit(2, slots=SLOTS))
    with pytest.raises(hm.errors.MismatchError):
        hm.bootstrap_many([x, other.encrypt(values(), other.generate_secret_key())])
    raises(hm.errors.LevelError, "", lambda: hm.bootstrap_many([x.rescale(), x.rescale()]))
    refuse((lambda: hm.bootstrap_many([ctx.bind(keys).encrypt(values())]), hm.errors.MissingKeyError, "plan"))


def test_products_of_a_batch_bootstrap_it_at_once(client, boot):
    ctx, sk, keys = client
    ev = ctx.bind(keys, bootstrap=boot, automatic=True, magnitude=1.0)
    expected = values(TOGETHER)
    x = y = ev.encrypt(expected)
    result = expected
    for _ in range(5):
        y, result = y * x, result * expected
    assert ev.bootstraps >= TOGETHER
    assert ev.bootstraps % TOGETHER == 0
    np.testing.assert_allclose(ctx.decrypt(y, sk), result, atol=2**-14)


@pytest.fixture(scope="module")
def pool(params):
    with hm.Pool(params, ["cpu"] * 2, threads=1) as found:
        yield found


def test_members_of_a_pool_take_groups_of_their_own(pool, boot):
    sk = pool.generate_secret_key()
    ev = pool.bind(pool.generate_keys(sk, plan=boot), bootstrap=boot, magnitude=1.0)
    expected = values(7)
    x = ev.at_level(ev.encrypt(expected), boot.input_level)
    y = x.bootstrap()
    np.testing.assert_allclose(pool.decrypt(y, sk), expected, atol=2**-17)
    # Bits of one context, for the part of each member: four elements, and three.
    assert isinstance(x, PoolCiphertext)
    assert isinstance(y, PoolCiphertext)
    assert [part.value.shape for part in x._parts] == [(4,), (3,)]
    for part, found in zip(x._parts, y._parts, strict=True):
        assert bytes(found.value) == bytes(boot(part.value))
    ys = hm.bootstrap_many([x[0], x[1:3], x[3:]])
    assert [each.shape for each in ys] == [(), (2,), (4,)]
    np.testing.assert_allclose(pool.decrypt(ys[2], sk), expected[3:], atol=2**-17)
    refuse((lambda: pool.circuit(boot, members=2), hm.errors.ParameterError, "at once"))


def test_many_take_a_fraction_of_the_time_of_one():
    """Times by the table of an H200: 32 of 1,024 slots at N = 2^16."""
    times = DeviceTimes.find("nvidia-h200")
    params = hm.ckks.Parameters.for_bootstrapping("n16-40")
    one = Bootstrap(params, 1024, merge_parts=True)
    many = Bootstrap(params, 1024, together=32)
    assert many.levels_left == one.levels_left == 12
    each = times.seconds(many._native.cost, graph=True) / 32
    assert each < 0.9e-3
    assert each < times.seconds(one._native.cost, graph=True) / 8
    mean, worst = many.expected_precision()
    assert mean > one.expected_precision()[0] - 0.5
    assert worst > one.expected_precision()[1] - 1.1
