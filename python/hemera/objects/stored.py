"""What every object that has a file form shares."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, NoReturn, Protocol

from hemera import _core
from hemera.inputs.arguments import in_own_words


class Target(Protocol):
    """Where objects can be copied to: a context or, for ciphertexts, an evaluator."""

    def _copy_of(self, stored: Stored) -> Any: ...


class Home(Target, Protocol):
    """A context, as far as every stored object needs it."""

    def on(self, device: str) -> Target: ...


@in_own_words
class Stored(ABC):
    """An object with a form in Hemera's file format."""

    __slots__ = ("_native",)

    _native: Any

    @property
    @abstractmethod
    def context(self) -> Home:
        """The context that the object belongs to."""

    def to_bytes(self, *, compression: int = 0) -> bytes:
        """The object in Hemera's file format.

        Args:
            compression: 0 stores residues in as many bits as their moduli have; 1 to 19 tries zstd at that
                level. Residues of ciphertexts and keys look random, so it helps for small plaintexts only.

        Raises:
            ParameterError: for another compression level.
        """
        return _core.save(self._native, compression)

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    def save(self, path: str | os.PathLike[str], *, compression: int = 0) -> None:
        """Write the object to a file, which appears under its name only when it is complete.

        Raises:
            FileError: when it can not be written; a good file of that name is then still there.
        """
        _core.save_file(os.fsencode(path), self._native, compression)

    def to(self, target: Target | str) -> Any:
        """A copy of the object in another context of the same parameters, for example on another device.

        Between GPUs it travels without the host.

        Args:
            target: a context; or, for ciphertexts, an evaluator that the result is then bound to; or the name
                of a device, which stands for `Context.on` of that device.

        Raises:
            DeviceError: when the device is not there.
            MismatchError: when the target has other parameters, or is an evaluator and this no ciphertext.
            OutOfMemoryError: when its device has no room.
        """
        if isinstance(target, str):
            target = self.context.on(target)
        if not hasattr(target, "_copy_of"):
            raise TypeError(
                f"to takes a context, an evaluator or the name of a device, not {type(target).__name__}"
            )
        return target._copy_of(self)

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(
            f"{name} does not pickle: it belongs to a context and its device. Send bytes(x) or x.save(path), "
            "and read them with load() of a context that has the same parameters"
        )
