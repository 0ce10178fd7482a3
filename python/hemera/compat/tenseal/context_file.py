"""The file of a context: TenSEAL's message, `TenSEALContextProto`."""

from __future__ import annotations

from dataclasses import dataclass

from hemera.compat.tenseal.messages import Value, read_message, write_message
from hemera.errors import FormatError
from hemera.inputs.fields import Whole

_PARAMETERS, _PUBLIC, _PRIVATE, _ENCRYPTION, _TOP_SCALE = 1, 2, 3, 4, 1001
"""Fields of the message. `_TOP_SCALE` is Hemera's own."""
_PUBLIC_KEY, _FLAGS, _SCALE, _RELIN_KEYS, _GALOIS_KEYS = 1, 2, 3, 4, 5
"""Fields of its public part."""
_SECRET_KEY, _HAD_RELIN_KEYS, _HAD_GALOIS_KEYS = 1, 2, 3
"""Fields of its private part."""
_NO_SCALE = -1.0
_LARGEST_SCALE = 2.0**120
_MOST_FLAGS = (1 << 32) - 1


@dataclass(frozen=True)
class ContextFile:
    """The fields of the message; bytes are objects of SEAL, and empty where there is none."""

    parameters: bytes
    encryption_type: int
    flags: int
    scale: float | None
    """The global scale."""
    top_scale: float | None = None
    """The scale of the top level, if Hemera wrote the file."""
    public_key: bytes = b""
    relin_keys: bytes = b""
    galois_keys: bytes = b""
    secret_key: bytes = b""
    had_relin_keys: bool = False
    """With a secret key: whether relinearization keys are made as the file loads."""
    had_galois_keys: bool = False
    """With a secret key: whether Galois keys are made as the file loads."""

    def to_bytes(self) -> bytes:
        """The message."""
        public: dict[int, Value] = {
            _FLAGS: self.flags,
            _SCALE: _NO_SCALE if self.scale is None else float(self.scale),
            _PUBLIC_KEY: self.public_key,
            _RELIN_KEYS: self.relin_keys,
            _GALOIS_KEYS: self.galois_keys,
        }
        message: dict[int, Value] = {
            _PARAMETERS: self.parameters,
            _PUBLIC: write_message({field: value for field, value in public.items() if value != b""}),
            _ENCRYPTION: self.encryption_type,
        }
        if self.secret_key:
            had = {_HAD_RELIN_KEYS: int(self.had_relin_keys), _HAD_GALOIS_KEYS: int(self.had_galois_keys)}
            message[_PRIVATE] = write_message({_SECRET_KEY: self.secret_key, **had})
        if self.top_scale is not None:
            message[_TOP_SCALE] = float(self.top_scale)
        return write_message(message)

    @classmethod
    def from_bytes(cls, data: bytes) -> ContextFile:
        """The fields of a message.

        Raises:
            FormatError: if the bytes are no such message.
        """
        message = read_message(data)
        public, private = (read_message(_bytes(message, part)) for part in (_PUBLIC, _PRIVATE))
        encryption_type = _whole(message, _ENCRYPTION, 1)
        if not _bytes(message, _PARAMETERS):
            raise FormatError("the bytes are no context of TenSEAL: they have no parameters")
        return cls(
            parameters=_bytes(message, _PARAMETERS),
            encryption_type=encryption_type,
            flags=_whole(public, _FLAGS, _MOST_FLAGS),
            scale=_scale(_number(public, _SCALE, _NO_SCALE)),
            top_scale=_scale(_number(message, _TOP_SCALE, _NO_SCALE)),
            public_key=_bytes(public, _PUBLIC_KEY),
            relin_keys=_bytes(public, _RELIN_KEYS),
            galois_keys=_bytes(public, _GALOIS_KEYS),
            secret_key=_bytes(private, _SECRET_KEY),
            had_relin_keys=bool(_whole(private, _HAD_RELIN_KEYS, 1)),
            had_galois_keys=bool(_whole(private, _HAD_GALOIS_KEYS, 1)),
        )


def _scale(value: float) -> float | None:
    if value == _NO_SCALE:
        return None
    if not 0 <= value <= _LARGEST_SCALE:  # a number that is none is not, either
        raise FormatError(f"the bytes are no context of TenSEAL: a scale of {value}")
    return float(value)


def _bytes(message: dict[int, list[Value]], field: int) -> bytes:
    """The last value of a field, as Protocol Buffers read it; no bytes if it is missing."""
    value = message.get(field, [b""])[-1]
    if not isinstance(value, bytes):
        raise FormatError(f"the bytes are no context of TenSEAL: field {field} is a number")
    return value


def _whole(message: dict[int, list[Value]], field: int, most: int) -> int:
    """An integer from 0; 0 if it is missing."""
    value = _number(message, field, 0)
    if not Whole(0, most).has(value):
        raise FormatError(
            f"the bytes are no context of TenSEAL: field {field} is {value}, and not 0 to {most}"
        )
    return int(value)


def _number(message: dict[int, list[Value]], field: int, missing: float) -> float:
    value = message.get(field, [missing])[-1]
    if isinstance(value, bytes):
        raise FormatError(f"the bytes are no context of TenSEAL: field {field} is no number")
    return value
