"""The part of the backend that makes keys, and brings values into ciphertexts and out of them."""

# ruff: noqa: N802  # Orion's names
from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hemera.compat.orion.numbered import Numbered
from hemera.compat.orion.ring import Ring
from hemera.compat.orion.values import ClearValues, as_bytes, as_reals
from hemera.errors import MismatchError, MissingKeyError, ParameterError, ScaleError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.objects.keys import Keys, SecretKey


class Tensors:
    """Keys, plaintexts and ciphertexts: a base of `hemera.compat.orion.Backend`."""

    def __init__(self, ring: Ring, device: str) -> None:
        self._ring = ring
        self._context = Context(ring.params, device)
        self._secret: SecretKey | None = None
        self._keys: Keys | None = None
        self._evaluator: Evaluator | None = None
        self._plaintexts = Numbered[ClearValues]("plaintext")
        self._ciphertexts = Numbered[Ciphertext]("ciphertext")
        self._scales: dict[int, float] = {}
        self._turned: set[int] = set()
        """Galois elements of the rotations whose keys serve every level; those of bootstraps serve theirs."""

    @property
    def context(self) -> Context:
        """Hemera's context, with the parameters and the device."""
        return self._context

    def DeleteScheme(self) -> None:
        """Forget all keys and values."""
        self._secret = self._keys = self._evaluator = None
        self._turned.clear()
        self._plaintexts.clear()
        self._ciphertexts.clear()

    def FreeCArray(self, pointer: object) -> None:
        """Nothing: results are Python's objects."""

    # --- Keys. ---

    def NewKeyGenerator(self) -> None:
        """Nothing: the context makes keys."""

    NewEncoder = NewEncryptor = NewDecryptor = GenerateEvaluationKeys = NewKeyGenerator

    def GenerateSecretKey(self) -> None:
        """A fresh secret key. Keys of another one are forgotten."""
        self._take_secret(self._context.generate_secret_key())

    def SerializeSecretKey(self) -> tuple[NDArray[np.uint8], None]:
        """The secret key in Hemera's file format."""
        return as_bytes(self._require_secret().to_bytes())

    def LoadSecretKey(self, data: NDArray[np.uint8]) -> None:
        """The secret key of `SerializeSecretKey`. Keys of another one are forgotten.

        Raises:
            MismatchError: if the bytes hold something else.
        """
        found = self._context.load(np.asarray(data, dtype=np.uint8).tobytes())
        if not isinstance(found, SecretKey):
            raise MismatchError(f"LoadSecretKey takes a secret key, not a {type(found).__name__}")
        self._take_secret(found)

    def GeneratePublicKey(self) -> None:
        """The key that encrypts."""
        self._add_keys(
            self._context.generate_keys(self._require_secret(), public_key=True, relinearization=False)
        )

    def GenerateRelinearizationKey(self) -> None:
        """The key for products."""
        self._add_keys(
            self._context.generate_keys(self._require_secret(), public_key=False, relinearization=True)
        )

    def NewEvaluator(self) -> None:
        """The keys of rotations by powers of two, with which Orion adds partial sums up."""
        self._add_rotations([1 << bit for bit in range(self._ring.slots.bit_length() - 1)])

    def AddRotationKey(self, amount: int) -> None:
        """The key of a rotation, if it is not there yet."""
        self._add_rotations([amount])

    def _add_rotations(self, amounts: Iterable[int]) -> None:
        wanted = {self._context._native.galois_element(amount): amount for amount in amounts}
        steps = [amount for element, amount in wanted.items() if element not in self._turned]
        if steps:
            self._add_keys(self._rotation_keys(steps))
            self._turned.update(wanted)

    def _rotation_keys(self, steps: Iterable[int]) -> Keys:
        return self._context.generate_keys(
            self._require_secret(),
            public_key=False,
            relinearization=False,
            rotations=steps,
            galois_level=self._ring.native_level(self._ring.levels),
        )

    def _take_secret(self, secret: SecretKey) -> None:
        self._secret, self._keys, self._evaluator = secret, None, None
        self._turned.clear()

    def _add_keys(self, keys: Keys) -> None:
        self._keys = keys if self._keys is None else keys | self._keys
        self._evaluator = self._context.bind(self._keys)

    def _require_secret(self) -> SecretKey:
        if self._secret is None:
            raise MissingKeyError("there is no secret key: GenerateSecretKey or LoadSecretKey comes first")
        return self._secret

    @property
    def _with_keys(self) -> Evaluator:
        """The evaluator with all keys but those of linear transforms."""
        if self._evaluator is None:
            raise MissingKeyError("there are no keys: GeneratePublicKey and the like come first")
        return self._evaluator

    # --- Values. ---

    def Encode(self, values: Sequence[float], level: int, scale: int) -> int:
        """Values for the slots, filled up with zeros.

        Raises:
            LevelError: if there is no such level.
            ParameterError: if there are more values than slots, or the scale is not positive.
        """
        given = as_reals(values)
        if len(given) > self._ring.slots:
            raise ParameterError(f"{len(given)} values are more than the {self._ring.slots} slots")
        if scale <= 0:
            raise ParameterError(f"a scale is above 0, and not {scale}")
        self._ring.native_level(level)
        padded = np.zeros(self._ring.slots)
        padded[: len(given)] = given
        return self._plaintexts.add(ClearValues(padded, level, scale))

    def Decode(self, plaintext: int) -> list[float]:
        """The values of all slots."""
        found: list[float] = self._plaintexts[plaintext].values.tolist()
        return found

    def Encrypt(self, plaintext: int) -> int:
        """Encrypt with the public key, at the plaintext's level."""
        clear = self._plaintexts[plaintext]
        encoded = clear.encoded(self._context, self._ring.native_level(clear.level))
        return self._ciphertexts.add(self._with_keys.encrypt(encoded))

    def Decrypt(self, ciphertext: int) -> int:
        """The values of a ciphertext, as a plaintext of its level.

        Raises:
            NoiseError: if the values are too large for the level's modulus, as far as decryption notices
                (docs/ckks.md).
        """
        x = self._ciphertexts[ciphertext]
        values = self._context.decrypt(x, self._require_secret(), dtype=np.float64)
        return self._plaintexts.add(ClearValues(values, self._level(x), self._named_scale(x)))

    def DeletePlaintext(self, plaintext: int) -> None:
        """Forget a plaintext."""
        self._plaintexts.delete(plaintext)

    def DeleteCiphertext(self, ciphertext: int) -> None:
        """Forget a ciphertext."""
        self._ciphertexts.delete(ciphertext)

    def GetLivePlaintexts(self) -> list[int]:
        """The numbers of all plaintexts."""
        return self._plaintexts.numbers

    def GetLiveCiphertexts(self) -> list[int]:
        """The numbers of all ciphertexts."""
        return self._ciphertexts.numbers

    # --- Levels and scales. ---

    def GetModuliChain(self) -> list[int]:
        """About the modulus that each level drops, the lowest level first."""
        return self._ring.moduli

    def GetAuxModuliChain(self) -> list[int]:
        """The special primes of key-switching."""
        return [int(prime) for prime in self._ring.params.special_primes]

    def GetPlaintextLevel(self, plaintext: int) -> int:
        """Orion's level."""
        return self._plaintexts[plaintext].level

    def GetCiphertextLevel(self, ciphertext: int) -> int:
        """Orion's level. A product that waits for its rescale is still at that of its factors."""
        return self._level(self._ciphertexts[ciphertext])

    def GetPlaintextScale(self, plaintext: int) -> int:
        """The scale by its name: that of `Encode`."""
        return self._plaintexts[plaintext].scale

    def GetCiphertextScale(self, ciphertext: int) -> int:
        """The scale by its name: the default one of the configuration at each level, and its square, about,
        of a product that waits for its rescale. Hemera's own scales are exact (docs/ckks.md)."""
        return self._named_scale(self._ciphertexts[ciphertext])

    def SetPlaintextScale(self, plaintext: int, scale: int) -> None:
        """Another scale for the same polynomial, so that values change by the quotient."""
        if scale <= 0:
            raise ParameterError(f"a scale is above 0, and not {scale}")
        self._plaintexts[plaintext].set_scale(scale)

    def SetCiphertextScale(self, ciphertext: int, scale: int) -> None:
        """Nothing, for a scale that is the ciphertext's but for the distance of its primes from the default
        one. Orion forgets that distance so, after each square; here values are exact without.

        Raises:
            ScaleError: if the scale is another one.
        """
        own = self._named_scale(self._ciphertexts[ciphertext])
        if scale <= 0 or not 0.5 < own / scale < 2:
            raise ScaleError(
                f"SetCiphertextScale: the scale is {own}, and {scale} would change the values by the "
                "quotient: multiply by that number"
            )

    def GetPlaintextSlots(self, plaintext: int) -> int:
        """The number of slots."""
        return len(self._plaintexts[plaintext].values)

    def GetCiphertextSlots(self, ciphertext: int) -> int:
        """The number of slots."""
        return self._ciphertexts[ciphertext].slots

    def GetCiphertextDegree(self, ciphertext: int) -> int:
        """The number of the ciphertext's polynomials, less one."""
        return self._ciphertexts[ciphertext].size - 1

    def _level(self, x: Ciphertext) -> int:
        return x.level - self._ring.lowest

    def _named_scale(self, x: Ciphertext) -> int:
        if x.level not in self._scales:
            self._scales[x.level] = self._context.encode([0.0], level=x.level).scale
        return round(x.scale / self._scales[x.level] * 2.0**self._ring.scale_bits)
