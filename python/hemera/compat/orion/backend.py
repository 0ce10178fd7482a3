"""The backend: every call that Orion makes to Lattigo, answered by Hemera."""

# ruff: noqa: N802  # Orion's names
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.circuits import Bootstrap, Polynomial
from hemera.compat.orion.arithmetic import Arithmetic
from hemera.compat.orion.numbered import Numbered
from hemera.compat.orion.ring import make_ring
from hemera.compat.orion.sign import step_composition
from hemera.compat.orion.transforms import Transform
from hemera.compat.orion.values import as_bytes, as_reals
from hemera.errors import MismatchError, ParameterError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.evaluator import Evaluator
from hemera.objects.keys import Keys, SecretKey


class Configuration(Protocol):
    """Orion's parameters, as its schemes have them."""

    params_json: dict[str, Any]
    """The configuration's file."""

    def get_logn(self) -> int: ...
    def get_logq(self) -> list[int]: ...
    def get_logp(self) -> list[int]: ...
    def get_logscale(self) -> int: ...
    def get_ringtype(self) -> Literal["standard", "conjugateinvariant"]: ...


class Backend(Arithmetic):
    """The backend, as Orion calls it: keys, encoder, encryptor, and evaluators of arithmetic, of polynomials,
    of linear transforms and of bootstraps, by Orion's names. Numbers name plaintexts, ciphertexts,
    polynomials and transforms; levels are Orion's, from 0.

    Values are right at each level whatever the primes are: scales are exact, and those that Orion asks for
    name them only (docs/orion.md).

    Args:
        log_degree, log_primes, log_special, log_scale, ring, bootstraps, security: see
            `hemera.compat.orion.ring.make_ring`.
        device: "cpu", "cuda", ..., or "auto" for the best device there is.

    Raises:
        ParameterError: if there are no such parameters.
        SecurityError: if they are weaker than `security`.
        DeviceError: if there is no such device.

    Examples:
        >>> from hemera.compat.orion import Backend
        >>> backend = Backend(log_degree=12, log_primes=[40, 30], log_special=[30], log_scale=30)
        >>> backend.GenerateSecretKey()
        >>> backend.GeneratePublicKey()
        >>> x = backend.Encrypt(backend.Encode([1.0, 2.0], 1, 2**30))
        >>> y = backend.Rescale(backend.MulScalarFloat(x, 0.5))
        >>> [round(value, 3) for value in backend.Decode(backend.Decrypt(y))[:2]]
        [0.5, 1.0]
    """

    def __init__(
        self,
        *,
        log_degree: int,
        log_primes: Sequence[int],
        log_special: Sequence[int],
        log_scale: int,
        ring: Literal["standard", "conjugateinvariant"] = "standard",
        bootstraps: bool = False,
        device: str = "auto",
        security: int | None = 128,
    ) -> None:
        found = make_ring(
            log_degree=log_degree,
            log_primes=log_primes,
            log_special=log_special,
            log_scale=log_scale,
            ring=ring,
            bootstraps=bootstraps,
            security=security,
        )
        super().__init__(found, device)
        self._polynomials = Numbered[Polynomial]("polynomial")
        self._transforms = Numbered[Transform]("linear transform")
        self._transform_keys: Keys | None = None
        self._of_transforms: Evaluator | None = None
        self._rotations: dict[int, int] = {}
        self._bootstraps: dict[int, Bootstrap] = {}
        self._takes_bootstraps = bootstraps

    @classmethod
    def of(cls, configuration: Configuration, *, device: str = "auto", security: int | None = 128) -> Backend:
        """The backend for Orion's parameters. It bootstraps if their file has `boot_params`."""
        return cls(
            log_degree=configuration.get_logn(),
            log_primes=configuration.get_logq(),
            log_special=configuration.get_logp(),
            log_scale=configuration.get_logscale(),
            ring=configuration.get_ringtype(),
            bootstraps="boot_params" in configuration.params_json,
            device=device,
            security=security,
        )

    def DeleteScheme(self) -> None:
        """Forget all keys, values and circuits."""
        super().DeleteScheme()
        self._polynomials.clear()
        self._transforms.clear()
        self._transform_keys = self._of_transforms = None
        self.DeleteBootstrappers()

    # --- Polynomials. ---

    def NewPolynomialEvaluator(self) -> None:
        """Nothing: polynomials evaluate themselves."""

    def GenerateMonomial(self, coefficients: ArrayLike) -> int:
        """A polynomial by its coefficients, the lowest power first."""
        return self._polynomials.add(Polynomial(as_reals(coefficients)))

    def GenerateChebyshev(self, coefficients: ArrayLike) -> int:
        """A polynomial on [-1, 1] by its Chebyshev coefficients, the lowest first."""
        return self._polynomials.add(Polynomial(as_reals(coefficients), basis="chebyshev"))

    def GetPolyDepth(self, polynomial: int) -> int:
        """The number of levels that a polynomial takes."""
        return self._polynomials[polynomial].depth

    def EvaluatePolynomial(self, ciphertext: int, polynomial: int, scale: int) -> int:
        """A polynomial of each slot, at that many levels less. Values are those of a Chebyshev series only if
        they are from -1 to 1; nothing checks that. The scale is that of the level, whatever is asked for."""
        del scale
        x = self._declared(self._ciphertexts[ciphertext], 1.0)
        y = self._with_keys.apply(self._polynomials[polynomial], x)
        return self._ciphertexts.add(self._declared(self._rescaled(y), math.inf))

    def GenerateMinimaxSignCoeffs(
        self, degrees: int | Sequence[int], precision: int, log_gap: int, log_error: int, debug: int = 0
    ) -> list[float]:
        """The Chebyshev coefficients of polynomials whose composition is 0 below -2^-log_gap and 1 above
        2^-log_gap, one after the other: `hemera.compat.orion.sign.step_composition`. They are computed in
        doubles, whatever the precision is."""
        del precision, debug
        of_each = [degrees] if isinstance(degrees, int) else degrees
        return [float(each) for row in step_composition(of_each, log_gap, log_error) for each in row]

    # --- Linear transforms. ---

    def NewLinearTransformEvaluator(self) -> None:
        """Nothing: transforms evaluate themselves."""

    def GenerateLinearTransform(
        self, numbers: Sequence[int], data: ArrayLike, level: int, ratio: float, mode: str
    ) -> int:
        """A matrix over the slots by its diagonals, encoded for a level.

        Args:
            numbers: of the diagonals. Diagonal n has for row k the entry of column k + n, modulo the slots.
            data: the diagonals one after the other, each of as many values as there are slots.
            level: of the vectors.
            ratio: of giant to baby steps. Hemera takes what costs least, and ignores it.
            mode: "none"; "save" and "load", where the diagonals are on disk between products.

        Raises:
            ParameterError: for another mode, or values that do not fit the numbers.
            LevelError: if there is no such level, or it is 0.
        """
        del ratio
        if mode not in ("none", "save", "load"):
            raise ParameterError(f"io_mode is 'none', 'save' or 'load', not {mode!r}")
        found = Transform.from_flat(self._context, self._ring, numbers, as_reals(data), level)
        if mode == "none":
            found.encode()
        elif mode == "load":
            found.drop()
        return self._transforms.add(found)

    def EvaluateLinearTransform(self, transform: int, ciphertext: int) -> int:
        """A matrix times a vector, one level lower, and rescaled already.

        Raises:
            LevelError: if the ciphertext is at a lower level than the transform.
            MissingKeyError: if the key of a rotation is missing.
            ParameterError: if diagonals are missing.
        """
        found = self._transforms[transform]
        plan = found.plan()
        x = self._ciphertexts[ciphertext]
        if plan is None:
            nothing = self._with_keys.multiply(self._with_keys.at_level(x, found.level - 1), 0)
            return self._ciphertexts.add(nothing)
        return self._ciphertexts.add(self._with_transform_keys.transform(x, plan))

    def DeleteLinearTransform(self, transform: int) -> None:
        """Forget a transform."""
        self._transforms.delete(transform)

    def GetLinearTransformRotationKeys(self, transform: int) -> list[int]:
        """The Galois elements of the rotations that a transform takes."""
        steps = self._transforms[transform].rotations
        elements = [self._context._native.galois_element(each) for each in steps]
        self._rotations.update(zip(elements, steps, strict=True))
        return elements

    def GenerateLinearTransformRotationKey(self, element: int) -> None:
        """The key of a Galois element of `GetLinearTransformRotationKeys`."""
        self._add_transform_keys(self._key_of(element))

    def GenerateAndSerializeRotationKey(self, element: int) -> tuple[NDArray[np.uint8], None]:
        """The key of a Galois element in Hemera's file format. The backend does not keep it."""
        return as_bytes(self._key_of(element).to_bytes())

    def LoadRotationKey(self, data: NDArray[np.uint8], element: int) -> None:
        """The key of `GenerateAndSerializeRotationKey`.

        Raises:
            MismatchError: if the bytes hold something else.
        """
        keys = self._context.load(np.asarray(data, dtype=np.uint8).tobytes())
        if not isinstance(keys, Keys) or element not in keys.galois_elements:
            raise MismatchError(f"LoadRotationKey: the bytes are not the key of the Galois element {element}")
        self._add_transform_keys(keys)

    def RemoveRotationKeys(self) -> None:
        """Forget the keys of transforms. Keys of `AddRotationKey` stay."""
        self._transform_keys = self._of_transforms = None

    def SerializeDiagonal(self, transform: int, number: int) -> tuple[NDArray[np.uint8], None]:
        """A diagonal as bytes. The transform lacks it from then on."""
        return as_bytes(self._transforms[transform].take(number))

    def LoadPlaintextDiagonal(self, data: NDArray[np.uint8], transform: int, number: int) -> None:
        """The diagonal of `SerializeDiagonal`."""
        self._transforms[transform].give(number, np.asarray(data, dtype=np.uint8).tobytes())

    def RemovePlaintextDiagonals(self, transform: int) -> None:
        """Forget the diagonals of a transform until they are loaded again."""
        self._transforms[transform].drop()

    def _key_of(self, element: int) -> Keys:
        if element not in self._rotations:
            raise ParameterError(
                f"no transform takes the Galois element {element}: GetLinearTransformRotationKeys has those "
                "of one"
            )
        return self._rotation_keys([self._rotations[element]])

    def _take_secret(self, secret: SecretKey) -> None:
        super()._take_secret(secret)
        self.RemoveRotationKeys()
        self.DeleteBootstrappers()

    def _add_keys(self, keys: Keys) -> None:
        super()._add_keys(keys)
        self._of_transforms = None

    def _add_transform_keys(self, keys: Keys) -> None:
        self._transform_keys = keys if self._transform_keys is None else self._transform_keys | keys
        self._of_transforms = None

    @property
    def _with_transform_keys(self) -> Evaluator:
        """The evaluator with all keys."""
        if self._of_transforms is None:
            base = self._with_keys.keys
            both = base if self._transform_keys is None else base | self._transform_keys
            self._of_transforms = self._context.bind(both)
        return self._of_transforms

    # --- Bootstraps. ---

    def NewBootstrapper(self, log_special: Sequence[int], slots: int) -> None:
        """A bootstrap of the first slots, and its keys.

        Args:
            log_special: Orion's sizes of special primes. Hemera's plan has its own.
            slots: a power of two, from 2 to all.

        Raises:
            ParameterError: if the parameters have no levels for bootstraps, or for another number of slots.
        """
        del log_special
        if slots in self._bootstraps:
            return
        if not self._takes_bootstraps:
            raise ParameterError(
                "the network needs bootstraps, and the configuration has no boot_params: with them Hemera's "
                "parameters have levels for bootstraps"
            )
        plan = Bootstrap(self._ring.params, slots, real=True)
        keys = self._context.generate_keys(
            self._require_secret(), public_key=False, relinearization=False, plan=plan
        )
        self._add_keys(keys)
        plan.prepare(self._context)
        self._bootstraps[slots] = plan

    def Bootstrap(self, ciphertext: int, slots: int) -> int:
        """The first slots at the highest level, repeated in all others. The others must be 0, and values from
        -1 to 1.

        Raises:
            ParameterError: if there is no such bootstrapper.
        """
        if slots not in self._bootstraps:
            raise ParameterError(f"there is no bootstrapper for {slots} slots: NewBootstrapper makes one")
        plan = self._bootstraps[slots]
        x = self._lowest(self._rescaled(self._ciphertexts[ciphertext]))
        step = slots
        while step < self._ring.slots:
            x = self._with_keys.add(x, self._with_keys.rotate(x, step))
            step *= 2
        fresh = self._with_keys.bootstrap(self._declared(x.with_slots(slots), 1.0), plan)
        return self._ciphertexts.add(self._declared(fresh.with_slots(self._ring.slots), math.inf))

    def DeleteBootstrappers(self) -> None:
        """Forget all bootstraps."""
        self._bootstraps.clear()

    def _lowest(self, x: Ciphertext) -> Ciphertext:
        """The ciphertext at Orion's level 0, where rotations cost least."""
        return self._with_keys.at_level(x, self._ring.lowest)

    def _declared(self, x: Ciphertext, largest: float) -> Ciphertext:
        """With a bound that circuits ask for, or without one: Orion scales values by its own statistics."""
        return self._with_keys.declare(x, largest)
