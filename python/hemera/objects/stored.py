"""The base of all objects that have a form as a file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from hemera import _core
from hemera.inputs.arguments import in_own_words


class Target(Protocol):
    """The target of a copy: a context or, for ciphertexts, an evaluator."""

    def _copy_of(self, stored: Stored) -> Any: ...


class Home(Target, Protocol):
    """A context: the part of it that stored objects use."""

    def on(self, device: str) -> Target: ...


HomeT = TypeVar("HomeT", bound=Home)


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
            compression: 0: residues take as many bits as their moduli have; 1 to 19: zstd at that level, if
                it makes them smaller. Residues of ciphertexts and keys look random, so zstd helps with small
                plaintexts only.

        Raises:
            ParameterError: if `compression` is out of range.
        """
        return _core.save(self._native, compression)

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    def save(self, path: str | os.PathLike[str], *, compression: int = 0) -> None:
        """Write the object to a file. The file appears under its name only when it is complete.

        Raises:
            FileError: if the file can not be written. An older file of that name is then untouched.
        """
        _core.save_file(os.fsencode(path), self._native, compression)

    def to(self, target: Target | str) -> Any:
        """A copy of the object in another context of the same parameters, for example on another device.
        Copies between GPUs do not pass the host.

        Args:
            target: a context; for ciphertexts also an evaluator, to which the result is bound; or the name of
                a device, which stands for `Context.on` of that device.

        Raises:
            DeviceError: if there is no such device.
            MismatchError: if the target has other parameters, or is an evaluator and the object is no
                ciphertext.
            OutOfMemoryError: if the target's device has no room.
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


class Belonging(Stored, Generic[HomeT]):
    """An object of the core together with the context that it belongs to. It does not change."""

    __slots__ = ("_context", "_copies")

    def __init__(self, core: Any, context: HomeT) -> None:
        self._native = core
        self._context = context
        self._copies: list[Any] = []
        """Copies in contexts of a pool, for as long as this object lives."""

    @property
    def context(self) -> HomeT:
        """The context that the object belongs to."""
        return self._context

    def to(self, target: Target | str) -> Any:
        """The object in another context of the same parameters, for example on another device: a copy, or the
        one that `Pool.replicate` made there. Copies between GPUs do not pass the host.

        Args:
            target: a context, or the name of a device, which stands for `Context.on` of that device.

        Raises:
            DeviceError: if there is no such device.
            MismatchError: if the target has other parameters, or is an evaluator.
            OutOfMemoryError: if the target's device has no room.
        """
        kept = next((copy for copy in self._copies if copy.context is target), None)
        return super().to(target) if kept is None else kept
