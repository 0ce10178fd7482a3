"""Two fresh ciphertexts and their product, in Hemera by each engine and in SEAL, at moduli of equal size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera_apps.bench.seal_api import SCHEMES, accepted, seal_api

# The largest log2(Q P) with 128 bits of security (docs/security.md).
_MODULUS_BITS = {4096: 106, 8192: 214, 16384: 430, 32768: 868, 65536: 1747, 131072: 3523}
_LARGEST_PRIME = 49  # Hemera's primes stay below 2^49, where its transforms are fastest
_SEAL_LARGEST_PRIME = 60
_SEAL_LEAST_PRIMES = 3  # fewer leave BFV at 2^12 no room for a product
_PLAIN_MODULUS = 3 * 2**18 + 1  # has slots at every degree


@dataclass(frozen=True)
class Case:
    """One scheme at one degree. `seal_bits`: the bits of SEAL's primes, the special one last. `scale_bits`:
    log2 of the scale of CKKS."""

    scheme: str
    n: int
    params: hm.Parameters
    seal_bits: list[int]
    scale_bits: int

    def operands(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Clear values of two ciphertexts."""
        generator = np.random.default_rng(self.n)
        if self.scheme == "ckks":
            reals = generator.uniform(-1, 1, (2, self.n // 2))
            return reals[0], reals[1]
        integers = generator.integers(-1000, 1000, (2, self.n))
        return integers[0], integers[1]


def _split(bits: int, largest: int, least: int = 1) -> list[int]:
    """The fewest nearly equal parts of at most `largest` bits that make up `bits`, but at least `least`."""
    count = max(least, math.ceil(bits / largest))
    return [bits // count + (1 if i < bits % count else 0) for i in range(count)]


def cases(schemes: Iterable[str], degrees: Iterable[int]) -> Iterator[Case]:
    """The cases of these schemes and degrees: all of the secure modulus, one special prime."""
    for scheme in schemes:
        for n in degrees:
            # The largest prime is the special one.
            *bits, special = sorted(_split(_MODULUS_BITS[n], _LARGEST_PRIME))
            params: hm.Parameters
            # The product of two must fit the modulus at 2^12.
            scale_bits = 28 if n == 4096 else 40
            if scheme == "ckks":
                params = hm.ckks.Parameters.from_bits(
                    degree=n,
                    prime_bits=bits,
                    special_bits=[special],
                    scale_bits=scale_bits,
                    last_base=len(bits),
                    digits=len(bits),
                    security=None,
                )
            else:
                kind = hm.bfv.Parameters if scheme == "bfv" else hm.bgv.Parameters
                params = kind.from_bits(
                    degree=n,
                    plain_modulus=_PLAIN_MODULUS,
                    prime_bits=bits,
                    special_bits=[special],
                    digits=len(bits),
                    security=None,
                )
            seal_bits = sorted(_split(_MODULUS_BITS[n], _SEAL_LARGEST_PRIME, _SEAL_LEAST_PRIMES))
            yield Case(scheme, n, params, seal_bits, scale_bits)


class HemeraProducts:
    """The product of two fresh ciphertexts, always the same ones, of size 3 (not relinearized)."""

    def __init__(self, case: Case, threads: int) -> None:
        self._case, self._threads = case, threads
        context = hm.Context(case.params, "cpu", threads=threads)
        keys = context.generate_keys(context.generate_secret_key(), relinearization=False)
        self._keys = bytes(keys)
        self._x, self._y = (bytes(context.encrypt(values, keys)) for values in case.operands())

    def make(self, engine: str) -> Callable[[], hm.Ciphertext]:
        """The product in a context with this engine."""
        context = hm.Context(self._case.params, threads=self._threads, multiplier=engine)
        evaluator = context.bind(context.load(self._keys), relinearization="lazy")
        left, right = evaluator.load(self._x), evaluator.load(self._y)

        def product() -> hm.Ciphertext:
            result = evaluator.multiply(left, right)
            assert isinstance(result, hm.Ciphertext)
            return result

        return product


class SealProduct:
    """The product in SEAL (one thread). A call multiplies."""

    def __init__(self, case: Case) -> None:
        seal = seal_api()
        self._seal = seal
        self._ckks = case.scheme == "ckks"
        parameters = seal.EncryptionParameters(SCHEMES[case.scheme])
        parameters.set_poly_modulus_degree(case.n)
        parameters.set_coeff_modulus(seal.CoeffModulus.Create(case.n, case.seal_bits))
        if not self._ckks:
            parameters.set_plain_modulus(_PLAIN_MODULUS)
        # SEAL's table of secure parameters ends at 2^15, so the check is off; the moduli are those above. No
        # chain of lower levels: its tables would take many gigabytes at 2^17.
        context = accepted(seal.SEALContext(parameters, False, seal.SEC_LEVEL_TYPE.NONE))
        generator = seal.KeyGenerator(context)
        public = seal.PublicKey()
        generator.create_public_key(public)
        encryptor = seal.Encryptor(context, public)
        self._decryptor = seal.Decryptor(context, generator.secret_key())
        self._evaluator = seal.Evaluator(context)
        self._encoder = seal.CKKSEncoder(context) if self._ckks else seal.BatchEncoder(context)
        self._values = case.operands()
        self._operands = []
        for values in self._values:
            plain, cipher = seal.Plaintext(), seal.Ciphertext()
            if self._ckks:
                self._encoder.encode(values.astype(complex).tolist(), 2.0**case.scale_bits, plain)
            else:
                self._encoder.encode(values.tolist(), plain)
            encryptor.encrypt(plain, cipher)
            self._operands.append(cipher)

    def __call__(self) -> Any:
        result = self._seal.Ciphertext()
        self._evaluator.multiply(self._operands[0], self._operands[1], result)
        return result

    def is_right(self) -> bool:
        """Whether the product decrypts to the products of the values."""
        plain = self._seal.Plaintext()
        self._decryptor.decrypt(self(), plain)
        expected = self._values[0] * self._values[1]
        if self._ckks:
            found = np.asarray(self._encoder.decode_complex(plain))
            return bool(np.abs(found - expected).max() < 2.0**-8)
        found = np.asarray(self._encoder.decode_int64(plain), dtype=np.int64)
        return not np.any((found - expected) % _PLAIN_MODULUS)
