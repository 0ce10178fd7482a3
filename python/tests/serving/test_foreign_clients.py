"""SEAL's clients run packaged models: their keys and ciphertexts in, files of theirs out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera import serving
from hemera.interop import seal

sealapi = pytest.importorskip("tenseal.sealapi", reason="tenseal has no wheel for this Python")

DEGREE = 8192
SCALE = 2.0**40
CKKS_SCHEME, BFV_SCHEME = 2, 1  # tenseal's numbers of SEAL's schemes
PLAIN_MODULUS = 65537


class SealClient:
    """A party that has SEAL alone."""

    def __init__(self, scheme: int, folder: Path, steps: list[int]) -> None:
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

    def saved(self, thing: Any) -> bytes:
        path = self.folder / "object"
        thing.save(str(path))
        return path.read_bytes()

    def encrypt(self, values: Any) -> hm.Ciphertext:
        plaintext, ciphertext = sealapi.Plaintext(), sealapi.Ciphertext()
        if self.ckks:
            self.encoder.encode(np.asarray(values, float).tolist(), SCALE, plaintext)
        else:
            self.encoder.encode((np.asarray(values) % PLAIN_MODULUS).tolist(), plaintext)
        self.encryptor.encrypt(plaintext, ciphertext)
        return self.session.load_ciphertext(self.saved(ciphertext))

    def decrypt(self, result: hm.Ciphertext) -> Any:
        path = self.folder / "object"
        path.write_bytes(self.session.dump_ciphertext(result))
        ciphertext, plaintext = sealapi.Ciphertext(), sealapi.Plaintext()
        ciphertext.load(self.context, str(path))
        self.decryptor.decrypt(ciphertext, plaintext)
        if self.ckks:
            return np.asarray(self.encoder.decode_double(plaintext))
        values = np.asarray(self.encoder.decode_uint64(plaintext), np.int64)
        return np.where(values > PLAIN_MODULUS // 2, values - PLAIN_MODULUS, values)


def test_ckks(tmp_path: Path) -> None:
    slots = DEGREE // 2
    matrix = np.random.default_rng(1).normal(size=(8, 8)) / 4

    def model(x: Any) -> Any:
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

    deep = serving.export(lambda x: x**8, inputs=8, name="deep")
    with pytest.raises(hm.errors.LevelError):
        deep.check(client.session.context, client.session.keys)


def test_bfv(tmp_path: Path) -> None:
    params = hm.bfv.Parameters.for_circuit(2, plain_modulus=PLAIN_MODULUS, slots=DEGREE)
    assert params.max_slots == DEGREE
    weights = np.arange(DEGREE) % 7 - 3

    def model(x: Any) -> Any:
        return (x * x - x * weights).rotate(1) + x.swap_rows()

    package = serving.export(model, inputs=DEGREE, name="exact", params=params)
    client = SealClient(BFV_SCHEME, tmp_path, [1])
    package.check(client.session.context, client.session.keys)
    values = np.random.default_rng(2).integers(-50, 50, DEGREE)
    (result,) = package.prepare(client.session.context).run(client.session.keys, [client.encrypt(values)])
    np.testing.assert_array_equal(client.decrypt(result), package.evaluate_clear(values))

    other = hm.bfv.Parameters.for_circuit(1, plain_bits=20, slots=DEGREE)
    wrong = serving.export(lambda x: x + 1, inputs=DEGREE, name="other", params=other)
    with pytest.raises(hm.errors.MismatchError, match="modulo 65537"):
        wrong.check(client.session.context, client.session.keys)
