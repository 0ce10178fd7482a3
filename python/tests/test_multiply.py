"""`hemera.multiply`: engines, transforms, integers, and errors that say what is wrong."""

import json

import numpy as np
import pytest

import hemera as hm
from hemera import multiply
from hemera.cli import main
from hemera.errors import MismatchError, OutOfMemoryError, ParameterError

from .refusals import raises, refuse

DEGREE = 1024
INERT = 2**31 - 1  # 3 modulo 4 and -1 modulo 2^10


def split_primes(count):
    return list(hm.ckks.Parameters.for_circuit(depth=count, degree=DEGREE, security=None).primes[-1][:count])


def schoolbook(a, b, q):
    out = [0] * len(a)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            if i + j < len(a):
                out[i + j] += x * y
            else:
                out[i + j - len(a)] -= x * y
    return [value % q for value in out]


@pytest.mark.parametrize("engine", multiply.engines())
def test_engines_multiply_modulo_every_limb(engine):
    primes = split_primes(2)
    generator = np.random.default_rng(1)
    a = np.stack([generator.integers(0, q, DEGREE, dtype=np.uint64) for q in primes])
    # Sparse, so that the oracle in Python is quick.
    b = np.zeros((2, DEGREE), dtype=np.uint64)
    b[:, 3], b[:, 1000] = 5, np.array(primes) - 1
    product = multiply.RingMultiplier(engine, threads=1).multiply(np.stack([a, b]), b, primes)
    assert product.shape == (2, 2, DEGREE)
    for limb, q in enumerate(primes):
        turned = np.concatenate([-a[limb, -3:].astype(object), a[limb, :-3].astype(object)]) * 5
        turned -= np.concatenate([-a[limb, -1000:].astype(object), a[limb, :-1000].astype(object)])
        assert (product[0, limb] == turned % q).all()


@pytest.mark.parametrize("left", [(), (1,), (2,), (2, 3)])
@pytest.mark.parametrize("right", [(), (1,), (2,), (2, 3)])
def test_leading_axes_are_equal_or_missing_in_either(left, right):
    """Monomials times polynomials: turns, whose coefficients that come around change their signs."""
    (q,) = split_primes(1)
    generator, ring = np.random.default_rng(2), multiply.RingMultiplier("dgt", threads=1)
    a = generator.integers(1, q, (*left, 1, DEGREE), dtype=np.uint64)
    b = np.zeros((*right, 1, DEGREE), np.uint64)
    b[..., 5] = 1
    if left and right and left != right:
        for pair in ((a, b), (b, a)):
            raises(MismatchError, "equal, or missing in one", ring.multiply, *pair, [q])
        return
    shape = left or right
    turned = np.concatenate([np.uint64(q) - a[..., -5:], a[..., :-5]], axis=-1)
    for product in (ring.multiply(a, b, [q]), ring.multiply(b, a, [q])):
        np.testing.assert_array_equal(product, np.broadcast_to(turned, (*shape, 1, DEGREE)))


def test_contexts_give_the_same_bits_with_every_engine():
    params = hm.bgv.Parameters.for_circuit(depth=2, degree=DEGREE, security=None)
    plain = hm.Context(params, "cpu")
    assert plain.multiplier == "ntt"
    sk = plain.generate_secret_key()
    keys = plain.generate_keys(sk)
    ev = plain.bind(keys)
    x = ev.encrypt(np.arange(100))
    expected = bytes(x * x * x)
    for engine in multiply.engines():
        context = hm.Context(params, multiplier=engine)
        assert context.device == "cpu" or engine == "ntt"
        loaded = context.bind(context.load(bytes(keys))).load(bytes(x))
        assert bytes(loaded * loaded * loaded) == expected, engine


def test_unknown_engines_are_named():
    params = hm.bgv.Parameters.for_circuit(depth=1, degree=DEGREE, security=None)
    refuse((lambda: hm.Context(params, multiplier="fft"), ParameterError, "kronecker_ss"))
    refuse((lambda: multiply.RingMultiplier("fft"), ParameterError, "dgt"))


@pytest.mark.parametrize("p", [INERT, multiply.inert_prime_below(2**61, 64), 2**61 - 1, 12289])
def test_galois_transforms_multiply_modulo_both_kinds_of_primes(p):
    transform = multiply.GaloisTransform(64, p)
    assert transform.form == ("split" if p % 4 == 1 else "inert")
    generator = np.random.default_rng(2)
    a, b = generator.integers(0, p, (2, 64), dtype=np.uint64)
    expected = schoolbook(a.tolist(), b.tolist(), p)
    assert transform.multiply(a, b).tolist() == expected


@pytest.mark.parametrize(("degree", "p"), [(100, INERT), (64, 2**62 + 1), (64, 7), (64, 65535), (0, INERT)])
def test_galois_transforms_refuse_other_degrees_and_moduli(degree, p):
    refuse((lambda: multiply.GaloisTransform(degree, p), ParameterError, None))


def test_integers_multiply_with_any_size_and_sign():
    multiplier = multiply.IntegerMultiplier(threads=2)
    for bits in (0, 1, 63, 64, 4000, 50001, 400000):
        a, b = (1 << bits) - 1, -((1 << bits) // 3)
        assert (multiplier.multiply(a, b), multiplier.multiply(b, b)) == (a * b, b * b)


def test_packing_goes_both_ways():
    multiplier = multiply.IntegerMultiplier(threads=1)
    assert multiplier.pack([1, 2, 3], 8) == 0x030201
    assert multiplier.unpack(0x030201, 3, 8).tolist() == [1, 2, 3]
    assert multiplier.pack([1, -2, -3], 8, signed=True) == 1 - 2 * 256 - 3 * 65536
    assert multiplier.unpack(1 - 2 * 256 - 3 * 65536, 3, 8, signed=True).tolist() == [1, -2, -3]


def test_bad_input_is_an_error_that_says_so():
    multiplier = multiply.IntegerMultiplier(threads=1)
    refuse(
        (lambda: multiplier.pack([1], -5), ParameterError, "-5"),
        (lambda: multiplier.pack([256], 8), ParameterError, "larger exponent"),
        (lambda: multiplier.unpack(-1, 3, 8), ParameterError, "negative"),
        (lambda: multiplier.unpack(1 << 30, 3, 8), ParameterError, "bits above"),
        (lambda: multiply.IntegerMultiplier(threads=0), ParameterError, "threads"),
    )
    ring = multiply.RingMultiplier("dgt", threads=1)
    row = np.zeros((1, DEGREE), dtype=np.uint64)
    refuse(
        (lambda: ring.multiply(row, row, [2**61 + 1]), ParameterError, "2\\^61"),
        (lambda: ring.multiply(row[0], row, split_primes(1)), MismatchError, None),
        (lambda: ring.multiply(row.astype(float), row, split_primes(1)), TypeError, None),
        (lambda: hm._core.plan_integer_product(2**40, 2**40), OutOfMemoryError, "2\\^38"),
        (lambda: ring.multiply(row[:, :9], row[:, :9], split_primes(1)), ParameterError, "power of two"),
        (lambda: ring.multiply(row + np.uint64(2**60), row, split_primes(1)), ParameterError, "not below"),
    )


def test_the_benchmark_measures_checks_and_draws(tmp_path):
    results, figure = tmp_path / "results.json", tmp_path / "figure.svg"
    arguments = (
        "bench multiply --part integers --part rings --n 4096 --bits 20000 --threads 1 --seconds 0.001"
    )
    assert main([*arguments.split(), "--json", str(results)]) == 0
    rows = json.loads(results.read_text())["rows"]
    assert all(row["checked"] and row["ms"] > 0 for row in rows)
    assert {row["engine"] for row in rows} >= {"hemera ntt", "hemera dgt", "hemera kronecker_ss", "hemera"}
    pytest.importorskip("matplotlib")
    assert main(["bench", "multiply", "--load", str(results), "--plot", str(figure)]) == 0
    assert "<svg" in figure.read_text()


@pytest.mark.parametrize("built", [True, False])
def test_a_build_without_gmp_is_told_with_the_way_out(built, monkeypatch, capsys):
    monkeypatch.setattr(hm._core, "built_with_gmp", lambda: built)
    arguments = "bench multiply --part rings --n 4096 --threads 1 --seconds 0.001"
    assert main(arguments.split()) == 0
    told = "apt-get install libgmp-dev, then build Hemera again with HEMERA_GMP=ON"
    assert (told in " ".join(capsys.readouterr().out.split())) != built
    assert multiply.IntegerMultiplier().multiply(3**9000, 5**9000) == 15**9000
