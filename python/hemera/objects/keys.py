"""Keys: the secret key that decrypts, and the keys with which a server evaluates; steps of rotations, and
those that make up sums and other rotations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

from hemera import _core
from hemera.errors import FormatError
from hemera.inputs.arguments import as_integer, described, in_own_words, require_type
from hemera.objects.stored import Belonging
from hemera.parameters import Parameters

if TYPE_CHECKING:
    from hemera.objects.context import Context
    from hemera.objects.sealed import Way


@in_own_words
class SecretKey(Belonging["Context"]):
    """The key that decrypts. Its memory is zeroed on release; a file of it is readable by its owner alone.

    `Context.generate_secret_key` and `Context.load` make one.
    """

    __slots__ = ()

    _native: _core.SecretKey

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a SecretKey does not pickle: pickles travel, and stay in queues, stores and caches. Keep it "
            "where it was made: save(path) writes a file for its owner alone, a context's load(path) reads it"
        )

    def seal(self, wrap: Way) -> bytes:
        """A file of the key that is useless without a passphrase, or without a keeper of keys.

        Args:
            wrap: a passphrase; or a function that encrypts 32 bytes under a key of a KMS or an HSM, and gives
                bytes that the function of `unseal` decrypts.

        Raises:
            ParameterError: without the package `cryptography` (extra `sealing`), for an empty passphrase, and
                for a function that does not hide what it gets.
        """
        from hemera.objects.sealed import require_way, sealed

        require_way(wrap, "seal")
        return sealed(bytes(self), wrap)

    @staticmethod
    def unseal(data: bytes, unwrap: Way, context: Context) -> SecretKey:
        """The key of a file of `seal`.

        Args:
            data: the file's bytes.
            unwrap: the passphrase, or the function that decrypts what `wrap` gave.
            context: of the key's parameters.

        Raises:
            FormatError: for what is no such file, a damaged one, and for another passphrase or key.
            MismatchError: for a context of other parameters, and for a passphrase where a function is needed
                or the other way around.
            ParameterError: without the package `cryptography` (extra `sealing`).
        """
        from hemera.objects.sealed import require_way, unsealed

        require_type(data, bytes, "unseal", "the bytes of seal")
        require_way(unwrap, "unseal")
        if not hasattr(context, "load"):
            raise TypeError(f"unseal takes a context, not {described(context)}")
        found = context.load(unsealed(data, unwrap))
        if not isinstance(found, SecretKey):
            raise FormatError("what is sealed is no secret key")
        return found

    def __repr__(self) -> str:
        return f"<SecretKey of {self._context!r}>"

    def _repr_html_(self) -> str:
        """A table for notebooks, without anything of the key itself."""
        from hemera import _html

        return _html.table("Secret key", {"context": repr(self._context), "value": "not shown"})


@in_own_words
class Keys(Belonging["Context"]):
    """Public, relinearization and Galois keys: they encrypt and evaluate, and can not decrypt.

    `Context.generate_keys` and `Context.load` make them.
    """

    __slots__ = ()

    _native: _core.EvaluationKeys

    @property
    def has_public_key(self) -> bool:
        """Whether the keys can encrypt."""
        return self._native.has_public_key

    @property
    def has_relinearization(self) -> bool:
        """Whether products can be relinearized."""
        return self._native.has_relinearization

    @property
    def galois_elements(self) -> list[int]:
        """The Galois elements that have a key: odd numbers below 2N."""
        return self._native.galois_elements

    @property
    def memory_bytes(self) -> int:
        """Bytes that the keys take in the device's memory: those of a pool's member are copied when they are
        first used."""
        return self._native.memory_bytes

    @property
    def security(self) -> str | None:
        """The class of classical security of the weakest of the keys, by the modulus of each (see
        `Parameters.security`); None without keys."""
        return self._native.security

    def has_rotation(self, steps: int) -> bool:
        """Whether there is a key of its own for this rotation."""
        return self._context._native.galois_element(steps) in self._native.galois_elements

    @property
    def has_conjugation(self) -> bool:
        """Whether CKKS slots can be conjugated, or the rows of BFV and BGV exchanged."""
        return self._context._native.conjugation_element() in self._native.galois_elements

    def public_only(self) -> Keys:
        """The public key alone, which is enough to encrypt.

        Raises:
            MissingKeyError: if there is no public key.
        """
        if not self.has_public_key:
            raise _core.MissingKeyError(
                "these keys have no public key; make them with generate_keys(secret_key, public_key=True)"
            )
        return Keys(self._native.public_only(), self._context)

    def without_galois_keys(self) -> Keys:
        """The public and relinearization keys alone, for circuits without rotations, sums and bootstraps.
        Galois keys are by far the largest to save and to send.

        Examples:
            >>> ctx = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=8))
            >>> ctx.generate_keys(ctx.generate_secret_key(), sum_slots=True).without_galois_keys()
            <Keys: public, relinearization, 0 Galois; 1.8 MiB>
        """
        return Keys(self._native.without_galois_keys(), self._context)

    def _copied_on_use(self, context: Context) -> Keys:
        """The keys in another context of the same parameters, which copies each when it first uses it."""
        return Keys(_core.copied_on_use(context._native, self._native), context)

    def __or__(self, other: Keys) -> Keys:
        """The keys of both, which belong to one secret. If both have a key, the left one stays."""
        require_type(other, Keys, "keys | other", "other keys")
        return Keys(self._native.merged(other._native), self._context)

    def __repr__(self) -> str:
        parts = []
        if self.has_public_key:
            parts.append("public")
        if self.has_relinearization:
            parts.append("relinearization")
        parts.append(f"{len(self.galois_elements)} Galois")
        return f"<Keys: {', '.join(parts)}; {self.memory_bytes / 2**20:.1f} MiB>"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        from hemera import _html

        return _html.table(
            "Keys of a server",
            {
                "public key": self.has_public_key,
                "relinearization": self.has_relinearization,
                "Galois keys": len(self.galois_elements),
                "security": self.security,
                "bytes of memory": self.memory_bytes,
            },
        )


@in_own_words
class SwitchingKey(Belonging["Context"]):
    """A key from one secret to another, for `Evaluator.reencrypt`."""

    __slots__ = ()

    _native: _core.SwitchingKey

    @property
    def level(self) -> int:
        """The highest level of the ciphertexts that this key switches."""
        return self._native.level

    @property
    def security(self) -> str:
        """The class of classical security of the key's modulus (see `Parameters.security`)."""
        return self._native.security

    def __repr__(self) -> str:
        return f"<SwitchingKey up to level {self.level} of {self._context!r}>"


def as_steps(params: Parameters, operation: str, steps: int) -> int:
    """The steps of a rotation as a number that the core takes; they count modulo N/2. TypeError if they are
    no integer."""
    number = as_integer(steps, operation, "steps")
    # N/2 is added back: OpenFHE's rotations by N/2 steps or more are others (rlwe::LongRotations).
    half = params.degree // 2
    return number if abs(number) < 1 << 62 else number % half + half


def all_steps(params: Parameters, operation: str, steps: Iterable[int]) -> list[int]:
    """The steps of several rotations. Raises as `as_steps`, and TypeError if `steps` is no sequence."""
    if not isinstance(steps, Iterable):
        raise TypeError(f"{operation} takes a sequence of steps, like [{steps}], not {described(steps)}")
    return [as_steps(params, operation, step) for step in steps]


def rotations_for_sum(params: Parameters, slots: int | None = None) -> list[int]:
    """The steps of the rotations that `Ciphertext.sum` takes for ciphertexts of `slots` slots (None: all).
    TypeError if the arguments are no parameters and no integer, ParameterError for a number of slots that no
    ciphertext has.
    """
    require_type(params, Parameters, "rotations_for_sum", "parameters and a number of slots")
    if slots is not None:
        slots = as_integer(slots, "rotations_for_sum", "slots")
        if not 1 <= slots <= params.max_slots:
            raise _core.ParameterError(
                f"rotations_for_sum: ciphertexts have 1 to {params.max_slots} slots here, not {slots}"
            )
    return _core.rotations_for_sum(params._native, params.max_slots if slots is None else slots)


def rotations_needed(params: Parameters, steps: Iterable[int]) -> list[int]:
    """The power-of-two steps, as few as possible, that make up each of `steps`. Keys for them serve all.

    These keys are fewer to send; a rotation with a key of its own is faster. TypeError if the arguments are
    no parameters and no integers.

    Examples:
        >>> params = hm.ckks.Parameters.for_circuit(depth=1, slots=4096)
        >>> hm.rotations_needed(params, [3, 5])
        [-1, 1, 4]
    """
    require_type(params, Parameters, "rotations_needed", "parameters and steps")
    if not isinstance(steps, Iterable):
        raise TypeError(f"rotations_needed takes a sequence of steps, not {described(steps)}")
    row = params.max_slots if params.scheme == "ckks" else params.max_slots // 2
    return _core.rotations_needed(
        [as_integer(step, "rotations_needed", "steps") for step in steps], row or params.degree // 2
    )
