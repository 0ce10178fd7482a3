"""Sessions with other libraries: the part that all libraries share."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, BinaryIO, Generic, Protocol, TypeVar, Union

from hemera import _core, errors
from hemera.inputs.arguments import described, in_own_words, require_type
from hemera.inputs.source import read_bytes
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.objects.keys import Keys, SecretKey
from hemera.parameters import Parameters

Source = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]", BinaryIO]
"""Bytes of a foreign object, the path of a file that holds them, or a binary stream at their beginning."""


def read_source(source: Source, operation: str) -> bytes:
    """All bytes of a source.

    Raises:
        FileError: if a file can not be read.
        TypeError: if it is no source.
    """
    if isinstance(source, (bytes, bytearray, memoryview, str, os.PathLike)):
        return read_bytes(source)
    if hasattr(source, "read"):
        try:
            data = source.read()
        except OSError as error:
            raise errors.FileError(f"{operation}: cannot read the stream: {error}") from None
        if isinstance(data, bytes):
            return data
        raise TypeError(f"{operation} takes binary streams; this one reads {described(data)}")
    raise TypeError(f"{operation} takes bytes, a path or a binary stream, not {described(source)}")


class NativeSession(Protocol):
    """A session of the core: the methods that those of all libraries have."""

    @property
    def keys(self) -> _core.EvaluationKeys:
        """All keys that were loaded."""

    def load_keys(
        self, public_key: bytes | None, relinearization: bytes | None, galois: bytes | None
    ) -> None: ...

    def load_ciphertext(self, source: bytes) -> _core.Ciphertext: ...

    def load_ciphertexts(self, sources: list[bytes]) -> _core.Ciphertext:
        """A batch of shape [sources]."""

    def load_secret_key(self, source: bytes) -> _core.SecretKey: ...

    def metadata(self, ciphertext: _core.Ciphertext) -> dict[str, Any]: ...


Native = TypeVar("Native", bound=NativeSession)


@in_own_words
class Session(ABC, Generic[Native]):
    """One context and one key pair of a client that uses another library. Loaded objects are ordinary ones:
    they compute on the device of the context and can be saved in Hemera's format."""

    _native: Native

    def __init__(self, native: Native, context: Context) -> None:
        self._native = native
        self._context = context
        self._evaluator = self._bind(Keys(native.keys, context))

    def _current_context(self) -> Context:
        """The context of the keys. It changes if loaded keys need another one."""
        return self._context

    def _bind(self, keys: Keys) -> Evaluator:
        """The evaluator of ciphertexts that load after these keys."""
        return self._context.bind(keys)

    @property
    def params(self) -> Parameters:
        """Hemera's parameters that reproduce the other library's."""
        return self._context.params

    @property
    def context(self) -> Context:
        """The context that everything is loaded into."""
        return self._context

    @property
    def keys(self) -> Keys:
        """All keys loaded so far."""
        return self._evaluator.keys

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator with these keys. Ciphertexts are bound to it as they are loaded."""
        return self._evaluator

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.Session of {self._context!r} with {self.keys!r}>"

    def load_keys(
        self,
        *,
        public_key: Source | None = None,
        relinearization: Source | None = None,
        galois: Source | None = None,
    ) -> Keys:
        """Add keys of the client; each is optional. Ciphertexts that were loaded before keep their keys.

        Returns:
            All keys loaded so far.

        Raises:
            FormatError: if the bytes are damaged or hold something else.
            MismatchError: if they belong to another context or key pair.
            FileError: if a file can not be read.
        """
        given = [
            None if source is None else read_source(source, "load_keys")
            for source in (public_key, relinearization, galois)
        ]
        self._native.load_keys(*given)
        self._context = self._current_context()
        self._evaluator = self._bind(Keys(self._native.keys, self._context))
        return self.keys

    def load_ciphertext(self, source: Source | Sequence[Source]) -> Ciphertext:
        """A ciphertext of the client, bound to the keys loaded so far.

        Args:
            source: bytes, a path or a binary stream; a list of them gives a batch, whose ciphertexts must
                have one level, size and scale.

        Returns:
            A ciphertext of shape (), or (n,) for a list of n sources.

        Raises:
            FormatError: if the bytes are damaged or hold something else.
            MismatchError: if they belong to another context or key pair, or the parts of a batch differ.
            FileError: if a file can not be read.
        """
        if isinstance(source, (list, tuple)):
            if not source:
                raise errors.ParameterError("load_ciphertext: a batch needs one source at least")
            core = self._native.load_ciphertexts([read_source(part, "load_ciphertext") for part in source])
        else:
            core = self._native.load_ciphertext(read_source(source, "load_ciphertext"))  # type: ignore[arg-type]
        return Ciphertext(core, self._evaluator)

    def load_secret_key(self, source: Source) -> SecretKey:
        """The client's secret key. Whoever holds it decrypts.

        Raises:
            FormatError: if the bytes are damaged or hold something else.
            MismatchError: if they belong to another context or key pair.
            FileError: if a file can not be read.
        """
        core = self._native.load_secret_key(read_source(source, "load_secret_key"))
        return SecretKey(core, self._context)

    @abstractmethod
    def dump_context(self) -> bytes:
        """The context as the library's file."""

    @abstractmethod
    def dump_keys(self, keys: Keys) -> dict[str, bytes]:
        """Keys as the library's files, by the arguments of `load_keys`."""

    @abstractmethod
    def dump_secret_key(self, key: SecretKey) -> bytes:
        """A secret key as the library's file."""

    @abstractmethod
    def dump_ciphertext(self, ciphertext: Ciphertext) -> bytes | list[bytes]:
        """A ciphertext as the library's file; of a batch a list of them, row by row."""

    def metadata(self, ciphertext: Ciphertext) -> dict[str, Any]:
        """The fields that the library stores with a ciphertext, by their names there. `dump_ciphertext`
        writes them in addition to the residues."""
        return self._native.metadata(self._own(ciphertext, "metadata"))

    def _own(self, ciphertext: Ciphertext, operation: str) -> _core.Ciphertext:
        """The core's object of the ciphertext. MismatchError if it has other parameters."""
        require_type(ciphertext, Ciphertext, operation, "a ciphertext")
        self._require_own(ciphertext, operation)
        return ciphertext._native

    def _require_own(self, thing: Ciphertext | Plaintext | Keys | SecretKey, operation: str) -> None:
        if thing.context.params != self.params:
            raise errors.MismatchError(
                f"{operation}: the object belongs to {thing.context!r}, not to this {self._context!r}"
            )
