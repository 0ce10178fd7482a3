"""`Context`: parameters, keys, flags; and its errors."""

import copy
import importlib
import pickle
import warnings

import numpy as np
import pytest

import hemera as hm
import hemera.compat.tenseal as ts
from hemera.compat.tenseal import parameters
from hemera.compat.tenseal.context_file import ContextFile
from hemera.errors import SecurityWarning

from ..refusals import raises, refuse_each

CKKS, BFV = ts.SCHEME_TYPE.CKKS, ts.SCHEME_TYPE.BFV
TUTORIALS = [
    (8192, [60, 40, 40, 60], 2**40),
    (4096, [40, 20, 40], 2**20),
    (8192, [40, 21, 21, 21, 21, 21, 21, 40], 2**21),
    (8192, [31, 26, 26, 26, 26, 26, 26, 31], 2**26),
    (16384, [60, 40, 40, 40, 40, 60], 2**40),
    (4096, [30, 20, 30], 2**20),
    (2048, [20, 20], 2**18),
    (2048, [18, 18, 18], 2**16),
    (8192, [60, 60], 2**38),
]


@pytest.mark.parametrize(("degree", "bits", "scale"), TUTORIALS)
def test_parameters_of_the_tutorials(degree, bits, scale):
    """Accepted in silence where Hemera's table gives them 128 bits. Each level multiplies."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        context = ts.context(CKKS, degree, -1, bits, n_threads=1)
    assert [each.category for each in caught] == [SecurityWarning] * (sum(bits) == 218)
    context.global_scale = scale
    values = np.array([0.5, -0.25, 1])
    x = ts.ckks_vector(context, values)
    y, expected = x, values
    for _ in bits[2:]:
        y, expected = y * x, expected * values
    error = 2.0**-4 if scale < 2**22 else 2.0**-10
    np.testing.assert_allclose(y.decrypt(), expected, rtol=0, atol=error)


def test_bfv_has_parameters_of_its_own():
    for degree, plain_modulus in ((4096, 1032193), (8192, 1032193), (16384, 786433)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            context = ts.context(BFV, degree, plain_modulus)
        x = ts.bfv_vector(context, [2, -3])
        assert (x * [4, 5]).decrypt() == [8, -15]
        assert (x * x).decrypt() == [4, 9]


@pytest.mark.filterwarnings("ignore::hemera.errors.NoiseWarning")
@pytest.mark.parametrize("bits", [[19, 19, 19], [20, 20, 20], [20, 20, 20, 22], [21, 21, 21]])
def test_bfv_takes_a_plaintext_modulus_above_the_last_prime(bits):
    """As SEAL, whose chain of moduli ends where the plaintext modulus fits."""
    context = ts.context(BFV, 4096, 786433, bits)
    values = [1, 2, -3, 300_000, -393_216]
    assert ts.bfv_vector(context, values).decrypt() == values
    answer = ts.bfv_vector(ts.context_from(context.serialize(save_secret_key=True)), values).decrypt()
    assert answer == values


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((CKKS, 8192, -1, [60, 60, 60, 60]), "allows 218"),
        ((CKKS, 8000, -1, [60, 40, 60]), "poly_modulus_degree"),
        ((CKKS, 65536, -1, [60, 40, 60]), "poly_modulus_degree"),
        ((CKKS,), "poly_modulus_degree"),
        ((CKKS, 8192), "coeff_mod_bit_sizes"),
        ((CKKS, 8192, -1, [60]), "switching of keys"),
        ((BFV, 8192), "plain_modulus must be provided"),
        ((BFV, 4096, 1032192, [40, 40]), "slots"),
        ((BFV, 2048, 786433, [20, 20]), "does not fit"),
        ((ts.SCHEME_TYPE.NONE, 8192), "Invalid scheme type"),
        ((), "Invalid scheme type"),
    ],
)
def test_parameters_that_are_refused(arguments, reason):
    raises(ValueError, reason, ts.context, *arguments)


def test_scale_and_flags():
    context = ts.context(CKKS, 4096, -1, [40, 20, 40])
    raises(ValueError, "no global scale", lambda: context.global_scale)
    raises(ValueError, "no global scale", ts.ckks_vector, context, [1])
    assert ts.ckks_vector(context, [1], 2**20).scale() == 2**20
    context.global_scale = 2**20
    assert context.global_scale == 2**20
    for flag in ("auto_relin", "auto_rescale", "auto_mod_switch"):
        assert getattr(context, flag) is True
        setattr(context, flag, False)
        assert getattr(context, flag) is False
    x = ts.ckks_vector(context, [1.5])
    # The flags change nothing. The error is 0.004 in the mean: scales of 20 bits at N = 4096.
    assert (x * x).decrypt() == pytest.approx([2.25], abs=0.05)
    found = ts.context_from(context.serialize())
    assert (found.auto_relin, found.auto_rescale, found.auto_mod_switch) == (False, False, False)
    for scale in (0, 1, 2**60):
        context.global_scale = scale
        assert ts.context_from(context.serialize()).global_scale == scale
    context.auto_rescale = True
    assert (context.auto_relin, context.auto_rescale, context.auto_mod_switch) == (False, True, False)


def test_keys_of_a_private_context():
    context = ts.context(CKKS, 4096, -1, [40, 20, 40])
    context.global_scale = 2**20
    assert context.is_private()
    assert not context.is_public()
    assert context.has_secret_key()
    assert context.has_public_key()
    assert context.has_relin_keys()
    assert not context.has_galois_keys()
    assert isinstance(context.public_key(), ts.PublicKey)
    assert isinstance(context.relin_keys(), ts.RelinKeys)
    x = ts.ckks_vector(context, [1, 2, 3])
    for refused in (x.sum, lambda: x.mm(np.eye(3)), context.galois_keys, lambda: x.dot(x)):
        raises(ValueError, "generate_galois_keys", refused)
    context.generate_galois_keys()
    assert isinstance(context.galois_keys(), ts.GaloisKeys)
    # Made before the keys. At a scale of 2^20 the sum has a deviation of 0.0042 (300 sums under one key).
    assert x.sum().decrypt() == pytest.approx([6], abs=0.05)
    context.generate_galois_keys()
    context.generate_relin_keys()
    assert "private" in repr(context)
    every = ts.context(CKKS, 4096, -1, [40, 20, 40], n_threads=0)._home.description
    assert every == context._home.description


def test_a_context_that_becomes_public():
    context = ts.context(CKKS, 4096, -1, [40, 20, 40])
    context.global_scale = 2**20
    private, secret = context.copy(), context.secret_key()
    context.make_context_public(generate_galois_keys=True, generate_relin_keys=True)
    assert context.is_public()
    assert context.has_galois_keys()
    assert private.is_private()
    assert not private.has_galois_keys()
    for refused in (context.secret_key, context.generate_relin_keys, context.generate_galois_keys):
        raises(ValueError, r"public", refused)
    x = ts.ckks_vector(context, [1, 2])
    raises(ValueError, "provide one as argument", x.decrypt)
    with pytest.raises(TypeError, match="SecretKey"):
        x.decrypt(1)
    assert x.sum().decrypt(secret) == pytest.approx([3], abs=0.01)
    x.link_context(private)
    assert x.context() is private
    assert x.decrypt() == pytest.approx([1, 2], abs=0.01)
    context.make_context_public()
    context.generate_galois_keys(secret)
    assert "public" in repr(context)


def test_symmetric_contexts():
    context = ts.context(CKKS, 4096, -1, [40, 20, 40], ts.ENCRYPTION_TYPE.SYMMETRIC)
    context.global_scale = 2**20
    for refused in (context.has_public_key, context.public_key, context.make_context_public):
        raises(ValueError, "symmetric", refused)
    x = ts.ckks_vector(context, [1.5, 2])
    assert (x * x).decrypt() == pytest.approx([2.25, 4], abs=0.01)
    server = ts.context_from(context.serialize())
    raises(ValueError, "Secret key", ts.ckks_vector, server, [1])
    found = ts.ckks_vector_from(server, x.serialize()) * 2
    assert ts.ckks_vector_from(context, found.serialize()).decrypt() == pytest.approx([3, 4], abs=0.01)
    again = ts.context_from(context.serialize(save_secret_key=True))
    raises(ValueError, "symmetric", again.has_public_key)
    assert ts.ckks_vector(again, [1.5]).decrypt() == pytest.approx([1.5], abs=0.01)


def test_copies_share_keys_and_no_pickles(ckks):
    x = ts.ckks_vector(ckks, [1, 2])
    for copied in (copy.copy(ckks), copy.deepcopy(ckks)):
        copied.global_scale = 2**41
        assert ckks.global_scale == 2**40
        assert ts.ckks_vector_from(copied, x.serialize()).decrypt() == pytest.approx([1, 2])
    for thing in (copy.copy(x), copy.deepcopy(x)):
        thing.square_()
        assert x.decrypt() == pytest.approx([1, 2])
    refuse_each(pickle.dumps, (ckks, x), TypeError, "does not pickle")


def test_every_name_of_tenseal_is_there():
    theirs = pytest.importorskip("tenseal", reason="TenSEAL is a requirement of benchmarks alone")
    assert set(theirs.__all__) <= set(ts.__all__)
    # Handles of SEAL's C++ objects, and the wrapping of one.
    left_out = {"seal_context", "encryptor", "decryptor", "data", "ciphertext"}
    for name in ("Context", "CKKSVector", "CKKSTensor", "BFVVector", "BFVTensor", "PlainTensor"):
        names = {each for each in dir(getattr(theirs, name)) if not each.startswith("_")}
        assert names - left_out <= set(dir(getattr(ts, name))), name


def test_keys_made_while_loading_have_a_limit(monkeypatch):
    context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=[60, 40, 40, 60])
    context.generate_galois_keys()
    data = context.serialize(save_secret_key=True)
    module = importlib.import_module(
        "hemera.compat.tenseal.context"
    )  # `context` of the package is a function
    # Rotations by 12 powers of two, to both sides but for half a turn; conjugation; relinearization. A key
    # has 3 digits of 2 polynomials modulo 4 primes.
    size = (12 + 11 + 1 + 1) * 3 * 2 * 4 * 8192 * 8
    monkeypatch.setattr(module, "_MOST_KEY_BYTES", size)
    assert ts.context_from(data).has_galois_keys()
    monkeypatch.setattr(module, "_MOST_KEY_BYTES", size - 1)
    with pytest.raises(hm.errors.ParameterError, match=rf"25 keys of {size} bytes.*save_galois_keys=False"):
        ts.context_from(data)
    monkeypatch.setattr(module, "_MOST_KEY_BYTES", size // 25)
    few = ts.context_from(context.serialize(save_secret_key=True, save_galois_keys=False))
    assert few.has_relin_keys()
    assert not few.has_galois_keys()
    # Keys in the file are as large as it is, and are not made.
    monkeypatch.setattr(module, "_MOST_KEY_BYTES", 0)
    assert ts.context_from(context.serialize()).has_galois_keys()


@pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
def test_a_small_file_that_asks_for_large_keys():
    """27 rotations and conjugation, of 39 digits of 2 polynomials modulo 40 primes: 23 GB by 2 KB."""
    params = hm.ckks.Parameters.from_bits(
        degree=32768, prime_bits=[50] * 39, special_bits=[50], scale_bits=50, security=None
    )
    seal = parameters._seal_file("ckks", 32768, [*params.primes[-1], *params.special_primes], 0)
    file = ContextFile(seal, 0, 7, None, params.scale, secret_key=b"x", had_galois_keys=True)
    assert len(file.to_bytes()) < 2000
    raises(hm.errors.ParameterError, "28 keys of 22900899840 bytes", lambda: ts.context_from(file.to_bytes()))
