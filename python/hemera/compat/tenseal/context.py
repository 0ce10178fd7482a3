"""`tenseal.Context`: parameters, keys and flags in one object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NoReturn

from hemera.compat.tenseal import parameters
from hemera.compat.tenseal.context_file import ContextFile
from hemera.compat.tenseal.keys import (
    ENCRYPTION_TYPE,
    GaloisKeys,
    NoKeyError,
    PublicKey,
    RelinKeys,
    SecretKey,
    galois_steps,
    require_secret,
)
from hemera.compat.tenseal.matrices import EncodedMatrices
from hemera.compat.tenseal.parameters import SCHEME_TYPE
from hemera.errors import ParameterError
from hemera.inputs.fields import damaged
from hemera.objects import context as own_context
from hemera.objects import keys as own_keys

_RELIN, _RESCALE, _MOD_SWITCH = 1, 2, 4
"""The flags in a file."""
_MOST_KEY_BYTES = 8 << 30
"""The most bytes of keys that are made as a file loads: twice those of the largest secure parameters."""
_ZSTANDARD = 2
"""The compression of SEAL's objects, as SEAL chooses it."""


class Context:
    """Parameters, keys and flags of a program of TenSEAL.

    Args:
        scheme: `SCHEME_TYPE.CKKS` or `SCHEME_TYPE.BFV`.
        poly_modulus_degree: N, a power of two from 1024 to 32768.
        plain_modulus: t of BFV, a prime with slots (t = 1 modulo 2N); CKKS ignores it.
        coeff_mod_bit_sizes: the bits of the primes, the last one for the switching of keys. BFV has a
            default: what 128 bits of security allow.
        encryption_type: what encrypts.
        n_threads: of the CPU; None or 0: as many as the process may run on.
        device: as for `hemera.Context`; TenSEAL has no such argument.

    Raises:
        ParameterError: (a ValueError) if there are no such parameters.
        SecurityError: (a ValueError) if they have less than 128 bits of security by SEAL's table.

    Warns:
        SecurityWarning: if they have 128 bits by SEAL's table and not by Hemera's.
    """

    _home: own_context.Context
    _secret: own_keys.SecretKey | None
    _keys: own_keys.Keys | None
    _global_scale: float | None
    _flags: int

    def __init__(
        self,
        scheme: SCHEME_TYPE | None = None,
        poly_modulus_degree: int | None = None,
        plain_modulus: int | None = None,
        coeff_mod_bit_sizes: Sequence[int] = (),
        encryption_type: ENCRYPTION_TYPE = ENCRYPTION_TYPE.ASYMMETRIC,
        n_threads: int | None = None,
        device: str = "auto",
    ) -> None:
        if scheme not in (SCHEME_TYPE.BFV, SCHEME_TYPE.CKKS):
            raise ParameterError("Invalid scheme type, use either SCHEME_TYPE.BFV or SCHEME_TYPE.CKKS")
        if scheme is SCHEME_TYPE.BFV and plain_modulus is None:
            raise ParameterError("plain_modulus must be provided")
        name: Literal["bfv", "ckks"] = "bfv" if scheme is SCHEME_TYPE.BFV else "ckks"
        found = parameters.from_sizes(name, poly_modulus_degree or 0, plain_modulus or 0, coeff_mod_bit_sizes)
        self._start(found, encryption_type, n_threads, device)
        self._flags = _RELIN | _RESCALE | _MOD_SWITCH
        self._secret = self._home.generate_secret_key()
        asymmetric = encryption_type is ENCRYPTION_TYPE.ASYMMETRIC
        self._hold(self._home.generate_keys(self._secret, public_key=asymmetric))

    def _start(
        self,
        found: parameters.Found,
        encryption_type: ENCRYPTION_TYPE,
        n_threads: int | None,
        device: str = "auto",
    ) -> None:
        """The beginning that all contexts have: no keys, no scale."""
        self._found = found
        self._secret = None
        self._encryption_type = encryption_type
        threads = n_threads if n_threads is not None and n_threads > 0 else None
        self._home = own_context.Context(found.params, device, threads=threads)
        self._session = found.session(self._home._native)
        self._keys = None
        self._evaluator = self._lazy_evaluator = self._home._keyless
        self._global_scale = None
        self._matrices = EncodedMatrices()

    def copy(self) -> Context:
        """A context with the same keys, whose flags, scale and secret key change by themselves."""
        made = object.__new__(Context)
        vars(made).update(vars(self))
        return made

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Context:
        return self.copy()

    # --- Bytes. ---

    @classmethod
    def load(cls, data: bytes, n_threads: int | None = None, device: str = "auto") -> Context:
        """A context from its bytes, or from TenSEAL's.

        Raises:
            FormatError: (a ValueError) if the bytes are damaged or hold something else.
            ParameterError: (a ValueError) if keys of more than 8 GiB had to be made.
        """
        file = ContextFile.from_bytes(data)
        self = object.__new__(cls)
        with damaged("the context of TenSEAL"):
            found = parameters.from_seal(file.parameters, parameters.top_scale(file))
            self._start(found, ENCRYPTION_TYPE(file.encryption_type), n_threads, device)
        self._require_room(file)
        self._flags, self._global_scale = file.flags, file.scale
        public, relin, galois = (
            part or None for part in (file.public_key, file.relin_keys, file.galois_keys)
        )
        with damaged("the context of TenSEAL"):
            for parts in ((public, relin, None), (None, None, galois)):
                if any(parts):
                    self._session.load_keys(*parts)
                    self._hold(own_keys.Keys(self._session.keys, self._home))
            if file.secret_key:
                self._secret = own_keys.SecretKey(self._session.load_secret_key(file.secret_key), self._home)
        if file.secret_key:
            if file.had_relin_keys:
                self.generate_relin_keys()
            if file.had_galois_keys:
                self.generate_galois_keys()
        return self

    def serialize(
        self,
        save_public_key: bool = True,
        save_secret_key: bool = False,
        save_galois_keys: bool = True,
        save_relin_keys: bool = True,
    ) -> bytes:
        """The context as a file of TenSEAL, whose keys are SEAL's.

        A file with the secret key has no relinearization and Galois keys, as TenSEAL's has none: they are
        made again as it loads.
        """
        secret = self._secret if save_secret_key else None
        chosen = {
            "public_key": save_public_key,
            "relinearization": save_relin_keys and secret is None,
            "galois": save_galois_keys and secret is None,
        }
        keys = self._packed_keys(**chosen)
        dumped = {} if keys is None else self._session.dump_keys(keys._native, _ZSTANDARD)
        kept = {name: dumped.get(name, b"") if wanted else b"" for name, wanted in chosen.items()}
        return ContextFile(
            parameters=self._found.seal,
            encryption_type=self._encryption_type.value,
            flags=self._flags,
            scale=self._global_scale,
            top_scale=self._found.scale,
            public_key=kept["public_key"],
            relin_keys=kept["relinearization"],
            galois_keys=kept["galois"],
            secret_key=b"" if secret is None else self._session.dump_secret_key(secret._native, _ZSTANDARD),
            had_relin_keys=save_relin_keys and self.has_relin_keys(),
            had_galois_keys=save_galois_keys and self.has_galois_keys(),
        ).to_bytes()

    def _packed_keys(self, public_key: bool, relinearization: bool, galois: bool) -> own_keys.Keys | None:
        """No more keys than a file holds: Galois keys take the longest to pack."""
        keys = self._keys
        if keys is None or galois:
            return keys
        if relinearization:
            return keys.without_galois_keys()
        return keys.public_only() if public_key and keys.has_public_key else None

    # --- Scale and flags. ---

    @property
    def global_scale(self) -> float:
        """The scale of vectors and tensors that name none. ValueError if it was not set."""
        if self._global_scale is None:
            raise ParameterError("no global scale: set context.global_scale, for example to 2**40")
        return self._global_scale

    @global_scale.setter
    def global_scale(self, value: float) -> None:
        self._global_scale = value

    @property
    def auto_relin(self) -> bool:
        """Kept, and changes nothing: products are relinearized (docs/tenseal.md)."""
        return bool(self._flags & _RELIN)

    @auto_relin.setter
    def auto_relin(self, value: bool) -> None:
        self._set(_RELIN, value)

    @property
    def auto_rescale(self) -> bool:
        """Kept, and changes nothing: products are rescaled when the next one needs it."""
        return bool(self._flags & _RESCALE)

    @auto_rescale.setter
    def auto_rescale(self, value: bool) -> None:
        self._set(_RESCALE, value)

    @property
    def auto_mod_switch(self) -> bool:
        """Kept, and changes nothing: operands are brought to one level."""
        return bool(self._flags & _MOD_SWITCH)

    @auto_mod_switch.setter
    def auto_mod_switch(self, value: bool) -> None:
        self._set(_MOD_SWITCH, value)

    def _set(self, flag: int, value: bool) -> None:
        self._flags = self._flags & ~flag | flag * bool(value)

    # --- Keys. ---

    def is_private(self) -> bool:
        """Whether the context holds the secret key."""
        return self._secret is not None

    def is_public(self) -> bool:
        """Whether the context holds no secret key."""
        return self._secret is None

    has_secret_key = is_private

    def secret_key(self) -> SecretKey:
        """The secret key. ValueError if the context is public."""
        if self._secret is None:
            raise NoKeyError("the current context is public, it doesn't hold a Secret key")
        return SecretKey(self._secret)

    def has_public_key(self) -> bool:
        """Whether the context can encrypt by a public key. ValueError if it is symmetric."""
        self._require_asymmetric("has_public_key")
        return self._keys is not None and self._keys.has_public_key

    def public_key(self) -> PublicKey:
        """The public key. ValueError if there is none."""
        self._require_asymmetric("public_key")
        if not self.has_public_key():
            raise NoKeyError(
                "the current context doesn't hold a Public key: serialize it with save_public_key"
            )
        return PublicKey(self._held().public_only())

    def has_relin_keys(self) -> bool:
        """Whether products of ciphertexts can be computed."""
        return self._keys is not None and self._keys.has_relinearization

    def relin_keys(self) -> RelinKeys:
        """The relinearization keys. ValueError if there are none."""
        require_relin_keys(self)
        return RelinKeys(self._held())

    def generate_relin_keys(self, secret_key: SecretKey | None = None) -> None:
        """Make the relinearization keys, unless the context holds them. ValueError if it is public and
        `secret_key` is None."""
        secret = self._secret_of(secret_key)
        if not self.has_relin_keys():
            self._hold(self._home.generate_keys(secret, public_key=False))

    def has_galois_keys(self) -> bool:
        """Whether slots can be rotated, as sums and matrices do."""
        return self._keys is not None and bool(self._keys.galois_elements)

    def galois_keys(self) -> GaloisKeys:
        """The Galois keys. ValueError if there are none."""
        require_galois_keys(self)
        return GaloisKeys(self._held())

    def generate_galois_keys(self, secret_key: SecretKey | None = None) -> None:
        """Make the Galois keys of rotations by powers of two to both sides, and of conjugation (BFV: of the
        exchange of rows), as SEAL does, unless the context holds them. ValueError if it is public and
        `secret_key` is None."""
        secret = self._secret_of(secret_key)
        if self.has_galois_keys():
            return
        bfv = self._found.params.scheme == "bfv"
        steps = galois_steps(self._found.params.degree)
        self._hold(
            self._home.generate_keys(
                secret,
                public_key=False,
                relinearization=False,
                rotations=steps,
                conjugation=not bfv,
                swap_rows=bfv,
            )
        )

    def _require_room(self, file: ContextFile) -> None:
        """ParameterError for a file that asks for more keys than a process should make unasked."""
        if not file.secret_key:
            return
        params = self._found.params
        count = (len(galois_steps(params.degree)) + 1) * file.had_galois_keys + file.had_relin_keys
        size = count * params.switching_key_bytes
        if size > _MOST_KEY_BYTES:
            raise ParameterError(
                f"the context of TenSEAL asks for {count} keys of {size} bytes in all as it loads, and at "
                f"most {_MOST_KEY_BYTES} are made so: serialize it with save_galois_keys=False and "
                "save_relin_keys=False, and call generate_galois_keys() and generate_relin_keys()"
            )

    def make_context_public(
        self, generate_galois_keys: bool = False, generate_relin_keys: bool = False
    ) -> None:
        """Drop the secret key, after making keys that are asked for. ValueError if the context is symmetric:
        without the secret key it could not encrypt."""
        if self.is_public():
            return
        self._require_asymmetric("make_context_public")
        if generate_galois_keys:
            self.generate_galois_keys()
        if generate_relin_keys:
            self.generate_relin_keys()
        self._secret = None

    def _held(self) -> own_keys.Keys:
        assert self._keys is not None
        return self._keys

    def _hold(self, more: own_keys.Keys) -> None:
        """Add keys, and make the evaluators of all."""
        self._keys = more if self._keys is None else self._keys | more
        self._evaluator = self._home.bind(self._keys)
        self._lazy_evaluator = self._home.bind(self._keys, relinearization="lazy")

    def _secret_of(self, secret_key: SecretKey | None) -> own_keys.SecretKey:
        if secret_key is not None:
            given = require_secret(secret_key)
            moved: own_keys.SecretKey = given if given.context is self._home else given.to(self._home)
            return moved
        if self._secret is None:
            raise NoKeyError("you need to provide a secret_key: this context is public")
        return self._secret

    def _require_asymmetric(self, operation: str) -> None:
        if self._encryption_type is ENCRYPTION_TYPE.SYMMETRIC:
            raise ParameterError(f"{operation} is not supported for symmetric encryption")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Context does not pickle: send context.serialize(), and ts.context_from(bytes)")

    def __repr__(self) -> str:
        kind = "private" if self.is_private() else "public"
        return f"<hemera.compat.tenseal.Context: {kind}, {self._found.params!r} on {self._home.device}>"


def home_of(context: Context) -> own_context.Context:
    """Hemera's context."""
    return context._home


def require_galois_keys(context: Context) -> None:
    """NoKeyError if the context can not rotate."""
    if not context.has_galois_keys():
        raise NoKeyError(
            "the current context doesn't hold a Galois keys: call context.generate_galois_keys(), before "
            "it becomes public"
        )


def require_relin_keys(context: Context) -> None:
    """NoKeyError if the context can not relinearize."""
    if not context.has_relin_keys():
        raise NoKeyError(
            "the current context doesn't hold Relinearization keys: call context.generate_relin_keys(), "
            "or serialize it with save_relin_keys"
        )


def encryption_key(context: Context) -> own_keys.SecretKey | own_keys.Keys:
    """The key that new vectors are encrypted by."""
    if context._encryption_type is ENCRYPTION_TYPE.SYMMETRIC:
        return context.secret_key().data
    if not context.has_public_key():
        context.public_key()  # raises
    return context._held()
