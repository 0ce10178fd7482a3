"""The state of encrypted vectors and tensors: ciphertexts, their context, their bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from hemera.compat.tenseal.context import Context, encryption_key, home_of
from hemera.compat.tenseal.keys import NoKeyError, SecretKey, require_secret
from hemera.compat.tenseal.messages import read_message, write_message
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.encoding import power_of_two
from hemera.inputs.fields import damaged
from hemera.objects.ciphertext import Ciphertext

if TYPE_CHECKING:
    from typing_extensions import Self

TensorT = TypeVar("TensorT", bound="StoredTensor")

_CIPHERTEXTS, _PERIOD, _CLEAN = 2, 1001, 1002
"""Fields of a file. The last two are Hemera's own."""


class StoredTensor(ABC):
    """An array of encrypted values. Names that end with _ change the array itself, and return it."""

    __array_ufunc__ = None  # NumPy's arrays leave their operators to this class.

    _scheme: Literal["bfv", "ckks"]
    _dtype: Literal["float", "int"]

    _context: Context | None
    _unread: bytes | None
    """Bytes that wait for a context."""
    _cipher: Ciphertext
    _period: int
    _clean: bool
    _scale: float

    # --- Making. ---

    def _encrypt(self, context: Context, values: NDArray[Any], scale: float | None) -> None:
        """Become the encryption of an array: its last axis is that of the slots, of one period."""
        if home_of(context).params.scheme != self._scheme:
            raise MismatchError(
                f"{type(self).__name__} takes a context of SCHEME_TYPE.{self._scheme.upper()}, and this one "
                f"is of {home_of(context).params.scheme.upper()}"
            )
        if values.size == 0:
            raise ParameterError("Attempting to encrypt an empty vector")
        self._context, self._unread = context, None
        self._scale = 1.0
        self._period, self._clean = values.shape[-1], True
        home, finer = home_of(context), None
        if self._scheme == "ckks":
            self._scale = context.global_scale if scale is None else float(scale)
            top = float(home.params.scale)  # type: ignore[attr-defined]
            # Products keep the scale of the primes. A scale that is much larger is for precision.
            finer = self._scale if self._scale > 4 * top else None
        plain = home.encode(self._repeated(values), scale=finer)
        self._cipher = home.encrypt(plain, encryption_key(context))

    def _repeated(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of one period as those of all slots that an encoder takes. CKKS repeats by itself."""
        if self._scheme == "ckks":
            return values
        copies = home_of(self._linked).params.max_slots // values.shape[-1]
        return np.tile(values, (1,) * (values.ndim - 1) + (copies,))

    def _become(self, other: Self) -> Self:
        vars(self).update(vars(other))
        return self

    @property
    def _linked(self) -> Context:
        if self._context is None:
            raise NoKeyError("missing context: call link_context(context) first")
        return self._context

    def context(self) -> Context:
        """The context. ValueError if none is linked."""
        return self._linked

    def link_context(self, ctx: Context) -> None:
        """Give the tensor a context, whose keys serve from now on. Reads what was loaded without one. If the
        context does not fit, the tensor stays as it was.

        Raises:
            FormatError: (a ValueError) if bytes are damaged, or of other parameters.
            MismatchError: (a ValueError) if the tensor has other parameters.
        """
        if self._unread is None:
            self._cipher, self._context = in_context(self._cipher, ctx), ctx
            return
        read = object.__new__(type(self))
        read._context, read._unread = ctx, None
        with damaged(f"the {type(self).__name__}"):
            read._read(self._unread)
        self._become(read)

    def copy(self) -> Self:
        """A tensor that changes by itself."""
        return like(self, self._cipher) if self._unread is None else self.lazy_load(self._unread)

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def scale(self) -> float:
        """The scale that was asked for. Ciphertexts have that of the primes, if it is larger."""
        return self._scale

    @property
    @abstractmethod
    def shape(self) -> list[int]:
        """The extents."""

    @abstractmethod
    def _mask(self) -> NDArray[Any]:
        """1 for each value, and 0 for the rest of the period: an operand of the ciphertext."""

    @abstractmethod
    def _operand(self, values: NDArray[Any]) -> NDArray[Any]:
        """A plain array as an operand of the ciphertext, with zeros beyond the values."""

    # --- Bytes. ---

    @classmethod
    def load(cls, context: Context, data: bytes) -> Self:
        """A tensor of its bytes, or of TenSEAL's.

        Raises:
            FormatError: (a ValueError) if they are damaged, or of other parameters.
        """
        if not isinstance(context, Context) or not isinstance(data, bytes):
            raise TypeError(f"Invalid input types context: {type(context)} and vector: {type(data)}")
        made = cls.lazy_load(data)
        made.link_context(context)
        return made

    @classmethod
    def lazy_load(cls, data: bytes) -> Self:
        """A tensor of bytes that `link_context` reads."""
        if not isinstance(data, bytes):
            raise TypeError(f"Invalid input types vector: {type(data)}")
        made = object.__new__(cls)
        made._context, made._unread = None, data
        return made

    def serialize(self) -> bytes:
        """The tensor as a file of TenSEAL, whose ciphertexts are SEAL's."""
        if self._unread is not None:
            return self._unread
        cipher = bound(self)
        if cipher._native.noise_scale_degree > 1 and cipher.level > 0:
            cipher = cipher.rescale()
        files = self._linked._session.dump_ciphertexts(cipher._native, 2)
        return write_message(
            {
                **self._extents(),
                _CIPHERTEXTS: files,
                **({3: float(self._scale)} if self._scheme == "ckks" else {}),
                _PERIOD: self._period,
                _CLEAN: int(self._clean),
            }
        )

    @abstractmethod
    def _extents(self) -> dict[int, Any]:
        """The fields of the shape."""

    @abstractmethod
    def _read_extents(self, found: dict[int, Any], ciphertexts: int) -> tuple[int, ...]:
        """Become of the shape of a file, whose ciphertexts get the batch shape that is returned."""

    def _read(self, data: bytes) -> None:
        context = self._linked
        found = read_message(data)
        files = [part for part in found.get(_CIPHERTEXTS, []) if isinstance(part, bytes)]
        if not files:
            raise FormatError(f"the bytes are no {type(self).__name__}: they have no ciphertext")
        loaded = context._session.load_ciphertexts(files)
        slots = home_of(context).params.max_slots
        period, clean = (
            found.get(field, [missing])[-1] for field, missing in ((_PERIOD, slots), (_CLEAN, 0))
        )
        if not isinstance(period, int) or power_of_two(period) != period or period > slots:
            raise FormatError(f"the bytes are no {type(self).__name__}: a period of {period!r}")
        scale = found.get(3, [1.0])[-1]
        self._scale = scale if isinstance(scale, float) else 1.0
        self._period, self._clean = period, bool(clean)
        cipher = Ciphertext(loaded, context._evaluator).reshape(*self._read_extents(found, len(files)))
        self._cipher = cipher.with_slots(period) if self._scheme == "ckks" else cipher

    # --- Decryption. ---

    def _decrypted(self, secret_key: SecretKey | None) -> NDArray[Any]:
        """The values of all slots of one period."""
        context = self._linked
        if secret_key is not None:
            secret = require_secret(secret_key)
        elif context.is_public():
            raise NoKeyError(
                "the current context of the tensor doesn't hold a secret_key, please provide one as argument"
            )
        else:
            secret = context.secret_key().data
        secret = secret if secret.context is home_of(context) else secret.to(home_of(context))
        kind = np.float64 if self._scheme == "ckks" else np.int64
        return home_of(context).decrypt(self._cipher, secret, dtype=kind)[..., : self._period]

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} does not pickle: send serialize(), and load the bytes")

    def __repr__(self) -> str:
        if self._unread is not None:
            return f"<{type(self).__name__} of {len(self._unread)} bytes, without a context>"
        return f"<{type(self).__name__} of shape {self.shape}>"


def like(x: TensorT, cipher: Ciphertext, **changed: Any) -> TensorT:
    """A tensor of the same kind with other values, and other fields that are named."""
    made = object.__new__(type(x))
    vars(made).update(vars(x))
    made._cipher = cipher
    vars(made).update(changed)
    return made


def bound(x: StoredTensor) -> Ciphertext:
    """The ciphertext with the keys that the context holds now. ValueError if no context is linked."""
    return x._linked._evaluator.bind(x._cipher)


def cipher_of(x: StoredTensor) -> Ciphertext:
    """The ciphertext. ValueError if no context is linked."""
    assert x._linked is not None
    return x._cipher


def has_zeros(x: StoredTensor) -> bool:
    """Whether each period holds zeros beyond the values."""
    return x._clean


def in_context(cipher: Ciphertext, context: Context) -> Ciphertext:
    """The ciphertext in a context. MismatchError if it has other parameters."""
    if cipher.context is home_of(context):
        return cipher
    if cipher.context.params != home_of(context).params:
        raise MismatchError("can't compute on tensors that have different contexts: their parameters differ")
    moved: Ciphertext = cipher.to(home_of(context))
    return moved


def aligned(a: TensorT, b: TensorT) -> tuple[TensorT, TensorT]:
    """Both tensors with one period, in the context of the first."""
    b = like(b, in_context(cipher_of(b), a.context()), _context=a.context())
    period = max(a._period, b._period)
    return widened(a, period), widened(b, period)


def widened(x: TensorT, period: int) -> TensorT:
    """The same values, repeated up to a longer period."""
    if period == x._period:
        return x
    cipher = bound(x).with_slots(period) if home_of(x.context()).params.scheme == "ckks" else cipher_of(x)
    return like(x, cipher, _period=period, _clean=False)
