"""The operations of Microsoft SEAL, from the tenseal wheel, for the comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import Error
from hemera_apps.bench.cases import Case
from hemera_apps.bench.seal_api import SCHEMES, accepted, seal_api


class SealSide:
    """Keys and operands of one case. `operations` maps an operation's name to a call of it."""

    def __init__(self, case: Case, a: NDArray[Any], b: NDArray[Any]) -> None:
        seal = seal_api()
        self._seal = seal
        self._ckks = case.scheme == "ckks"
        self._scale = case.scale
        parameters = seal.EncryptionParameters(SCHEMES[case.scheme])
        parameters.set_poly_modulus_degree(case.n)
        if self._ckks:
            parameters.set_coeff_modulus(seal.CoeffModulus.Create(case.n, case.seal_bits))
        else:
            parameters.set_coeff_modulus(seal.CoeffModulus.BFVDefault(case.n, seal.SEC_LEVEL_TYPE.TC128))
            parameters.set_plain_modulus(case.plain_modulus)
        context = accepted(seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.TC128))
        self._context = context
        generator = seal.KeyGenerator(context)
        public, self._relinearization, self._galois = seal.PublicKey(), seal.RelinKeys(), seal.GaloisKeys()
        generator.create_public_key(public)
        generator.create_relin_keys(self._relinearization)
        # One key: a rotation of the slots to the left by one step.
        generator.create_galois_keys([3], self._galois)
        self._encryptor = seal.Encryptor(context, public)
        self._decryptor = seal.Decryptor(context, generator.secret_key())
        self._evaluator = seal.Evaluator(context)
        self._encoder = seal.CKKSEncoder(context) if self._ckks else seal.BatchEncoder(context)
        self._a, self._b = a.tolist(), b.tolist()
        self._plain, self._other = self._encode(self._a), self._encode(self._b)
        self._x, self._y = self._encrypt(self._plain), self._encrypt(self._other)
        self._product = self._multiplied()
        self.operations: dict[str, Callable[[], Any]] = {
            "encode": lambda: self._encode(self._a),
            "encrypt": lambda: self._encrypt(self._plain),
            "decrypt": lambda: self._decrypted(self._x),
            "add": self._added,
            "multiply_plain": self._multiplied_plain,
            "multiply_relinearize": self._multiplied,
            "rotate": self._rotated,
        }
        if self._ckks:
            self.operations["rescale"] = self._rescaled

    def conversion(self) -> None:
        """Convert a Python list, which is the part of encoding before SEAL's. The measured list has one value
        too many, and SEAL refuses it after the conversion."""
        too_long = self._too_long
        try:
            if self._ckks:
                self._encoder.encode(too_long, self._scale, self._seal.Plaintext())
            else:
                self._encoder.encode(too_long, self._seal.Plaintext())
        except (ValueError, RuntimeError):
            return
        raise Error("SEAL encoded more values than it has slots: the conversion of lists was not measured")

    @property
    def _too_long(self) -> list[Any]:
        if not hasattr(self, "_long_list"):
            slots = self._encoder.slot_count()
            self._long_list = [*self._a, *self._a[: slots + 1 - len(self._a)]]
        return self._long_list

    def values(self, result: Any) -> NDArray[Any]:
        """The clear values of a plaintext or ciphertext."""
        plain = result if isinstance(result, self._seal.Plaintext) else self._decrypted(result)
        if self._ckks:
            return np.asarray(self._encoder.decode_complex(plain))
        return np.asarray(self._encoder.decode_int64(plain), dtype=np.int64)

    def noise_budget(self, result: Any) -> int:
        """BFV and BGV: bits of noise budget left."""
        return int(self._decryptor.invariant_noise_budget(result))

    def levels(self, result: Any) -> int:
        """CKKS: rescalings left."""
        return int(self._context.get_context_data(result.parms_id()).chain_index())

    def _encode(self, values: list[Any]) -> Any:
        plain = self._seal.Plaintext()
        if self._ckks:
            self._encoder.encode(values, self._scale, plain)
        else:
            self._encoder.encode(values, plain)
        return plain

    def _encrypt(self, plain: Any) -> Any:
        result = self._seal.Ciphertext()
        self._encryptor.encrypt(plain, result)
        return result

    def _decrypted(self, ciphertext: Any) -> Any:
        plain = self._seal.Plaintext()
        self._decryptor.decrypt(ciphertext, plain)
        return plain

    def _added(self) -> Any:
        result = self._seal.Ciphertext()
        self._evaluator.add(self._x, self._y, result)
        return result

    def _multiplied_plain(self) -> Any:
        result = self._seal.Ciphertext()
        self._evaluator.multiply_plain(self._x, self._other, result)
        return result

    def _multiplied(self) -> Any:
        result = self._seal.Ciphertext()
        self._evaluator.multiply(self._x, self._y, result)
        self._evaluator.relinearize_inplace(result, self._relinearization)
        return result

    def _rotated(self) -> Any:
        result = self._seal.Ciphertext()
        if self._ckks:
            self._evaluator.rotate_vector(self._x, 1, self._galois, result)
        else:
            self._evaluator.rotate_rows(self._x, 1, self._galois, result)
        return result

    def _rescaled(self) -> Any:
        result = self._seal.Ciphertext()
        self._evaluator.rescale_to_next(self._product, result)
        return result
