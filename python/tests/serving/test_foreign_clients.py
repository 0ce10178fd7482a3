"""Clients of SEAL and OpenFHE run packaged models: their keys and ciphertexts in, files of theirs out."""

import numpy as np
import pytest

import hemera as hm
from hemera import serving
from hemera.interop import seal

from ..interop.foreign_files import OpenFheFiles
from ..refusals import raises

try:
    from tenseal import sealapi
except ImportError:  # tenseal has no wheel for this Python
    sealapi = None
with_seal = pytest.mark.skipif(sealapi is None, reason="tenseal has no wheel for this Python")

DEGREE = 8192
SCALE = 2.0**40
CKKS_SCHEME, BFV_SCHEME = 2, 1  # tenseal's numbers of SEAL's schemes
PLAIN_MODULUS = 65537


class SealClient:
    """A party that has SEAL alone."""

    def __init__(self, scheme, folder, steps):
        self.folder = folder
        self.ckks = scheme == CKKS_SCHEME
        self.parms = sealapi.EncryptionParameters(scheme)
        self.parms.set_poly_modulus_degree(DEGREE)
        if self.ckks:
            self.parms.set_coeff_modulus(sealapi.CoeffModulus.Create(DEGREE, [50, 40, 40, 50]))
        else:
            self.parms.set_coeff_modulus(
                sealapi.CoeffModulus.BFVDefault(DEGREE, sealapi.SEC_LEVEL_TYPE.TC128)
            )
            self.parms.set_plain_modulus(PLAIN_MODULUS)
        self.context = sealapi.SEALContext(self.parms, True, sealapi.SEC_LEVEL_TYPE.TC128)
        self.encoder = (sealapi.CKKSEncoder if self.ckks else sealapi.BatchEncoder)(self.context)
        generator = sealapi.KeyGenerator(self.context)
        self.public, relin, galois = sealapi.PublicKey(), sealapi.RelinKeys(), sealapi.GaloisKeys()
        generator.create_public_key(self.public)
        generator.create_relin_keys(relin)
        elements = [pow(3, step % (DEGREE // 2), 2 * DEGREE) for step in steps]
        generator.create_galois_keys([*elements, 2 * DEGREE - 1], galois)
        self.encryptor = sealapi.Encryptor(self.context, self.public)
        self.decryptor = sealapi.Decryptor(self.context, generator.secret_key())
        self.session = seal.Session(self.saved(self.parms), scale=SCALE if self.ckks else None, device="cpu")
        self.session.load_keys(relinearization=self.saved(relin), galois=self.saved(galois))

    def saved(self, thing):
        path = self.folder / "object"
        thing.save(str(path))
        return path.read_bytes()

    def encrypt(self, values):
        plaintext, ciphertext = sealapi.Plaintext(), sealapi.Ciphertext()
        if self.ckks:
            self.encoder.encode(np.asarray(values, float).tolist(), SCALE, plaintext)
        else:
            self.encoder.encode((np.asarray(values) % PLAIN_MODULUS).tolist(), plaintext)
        self.encryptor.encrypt(plaintext, ciphertext)
        return self.session.load_ciphertext(self.saved(ciphertext))

    def decrypt(self, result):
        path = self.folder / "object"
        path.write_bytes(self.session.dump_ciphertext(result))
        ciphertext, plaintext = sealapi.Ciphertext(), sealapi.Plaintext()
        ciphertext.load(self.context, str(path))
        self.decryptor.decrypt(ciphertext, plaintext)
        if self.ckks:
            return np.asarray(self.encoder.decode_double(plaintext))
        values = np.asarray(self.encoder.decode_uint64(plaintext), np.int64)
        return np.where(values > PLAIN_MODULUS // 2, values - PLAIN_MODULUS, values)


@with_seal
def test_ckks(tmp_path):
    slots = DEGREE // 2
    matrix = np.random.default_rng(1).normal(size=(8, 8)) / 4

    def model(x):
        return {"moved": (x * x + 0.5).rotate(1), "matrix": (x @ matrix) * 0.25 + x * x}

    package = serving.export(model, inputs=serving.InputSpec("x", 8, slots), name="model")
    steps = [steps for steps, _ in package.describe()["keys"]["rotations"]]
    few = SealClient(CKKS_SCHEME, tmp_path, [1])
    with pytest.raises(hm.errors.MissingKeyError, match="needs keys that are not there: rotations by"):
        package.check(few.session.context, few.session.keys)

    client = SealClient(CKKS_SCHEME, tmp_path, steps)
    package.check(client.session.context, client.session.keys)
    prepared = package.prepare(client.session.context)
    values = np.linspace(-1, 1, 8)
    (padded,) = package.interface.encode(values)
    bound = prepared.bind(client.session.keys)
    for _ in range(2):
        results = prepared.run(bound, [client.encrypt(padded)])
        found = package.interface.decode([client.decrypt(y) for y in results])
        expected = package.evaluate_clear(values)
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], atol=2**-18)

    (moved, _) = prepared.run(client.session.evaluator, [client.encrypt(padded)])  # its own rules are left
    np.testing.assert_allclose(client.decrypt(moved)[:7], values[1:] ** 2 + 0.5, atol=2**-18)

    # Another client of the same parameters shares what was prepared for the first, and no keys.
    other = SealClient(CKKS_SCHEME, tmp_path, steps)
    results = prepared.run(other.session.keys, [other.encrypt(padded)])
    found = package.interface.decode([other.decrypt(y.to(other.session.context)) for y in results])
    np.testing.assert_allclose(found["matrix"], expected["matrix"], atol=2**-18)

    deep = serving.export(lambda x: x**8, inputs=8, name="deep")
    raises(hm.errors.LevelError, "", deep.check, client.session.context, client.session.keys)


@with_seal
def test_bfv(tmp_path):
    params = hm.bfv.Parameters.for_circuit(2, plain_modulus=PLAIN_MODULUS, slots=DEGREE)
    assert params.max_slots == DEGREE
    weights = np.arange(DEGREE) % 7 - 3

    def model(x):
        return (x * x - x * weights).rotate(1) + x.swap_rows()

    package = serving.export(model, inputs=DEGREE, name="exact", params=params)
    client = SealClient(BFV_SCHEME, tmp_path, [1])
    package.check(client.session.context, client.session.keys)
    values = np.random.default_rng(2).integers(-50, 50, DEGREE)
    (result,) = package.prepare(client.session.context).run(client.session.keys, [client.encrypt(values)])
    np.testing.assert_array_equal(client.decrypt(result), package.evaluate_clear(values))

    other = hm.bfv.Parameters.for_circuit(1, plain_bits=20, slots=DEGREE)
    wrong = serving.export(lambda x: x + 1, inputs=DEGREE, name="other", params=other)
    raises(hm.errors.MismatchError, "modulo 65537", wrong.check, client.session.context, client.session.keys)


def answered(files, package):
    """What comes out of OpenFHE's ciphertext a, and what should."""
    session, context = files.session, files.session.context
    x = session.load_ciphertext(files.bytes_of("ct_a.bin"))
    package.check(context, session.keys)
    (y,) = package.prepare(context).run(session.keys, [x])
    back = session.load_ciphertext(session.dump_ciphertext(y))
    return context.decrypt(back, files.secret), package.evaluate_clear(context.decrypt(x, files.secret))


def test_ckks_of_openfhe():
    files = OpenFheFiles("ckks-flexibleauto")
    files.session.load_keys(
        relinearization=files.bytes_of("eval_mult_key.bin"),
        galois=files.bytes_of("eval_automorphism_keys.bin"),
    )
    package = serving.export(lambda x: (x * x + 0.5).rotate(1) * 0.5, inputs=64, name="model")
    found, expected = answered(files, package)
    np.testing.assert_allclose(found, expected, atol=2**-25)


@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
def test_integers_of_openfhe(scheme):
    files = OpenFheFiles(scheme)
    files.session.load_keys(relinearization=files.bytes_of("eval_mult_key.bin"))
    kind = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}[scheme]
    params = kind.from_bits(
        degree=4096, plain_modulus=PLAIN_MODULUS, prime_bits=[40] * 3, special_bits=[40], security=None
    )
    weights = np.arange(params.max_slots) % 5
    options = {"inputs": params.max_slots, "name": "model", "params": params}
    package = serving.export(lambda x: (x + 1) * (x - weights) + 7, **options)
    found, expected = answered(files, package)
    np.testing.assert_array_equal(found, expected)
