"""Microsoft SEAL 4 as a client (docs/clients.md)."""

from __future__ import annotations

from typing import Any, Literal

from hemera import _core, errors
from hemera.inputs.arguments import in_own_words, require_type
from hemera.interop import _session
from hemera.interop._library import Library
from hemera.interop._session import Source, read_source
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.keys import Keys, SecretKey
from hemera.parameters import parameters_of

__all__ = ["LIBRARY", "Compression", "Session", "Source"]

Compression = Literal["zstd", "zlib", "none"]
"""The compression of SEAL's files."""

_COMPRESSIONS = {"none": 0, "zlib": 1, "zstd": 2}


@in_own_words
class Session(_session.Session[_core.SealSession]):
    """One client that uses SEAL: its encryption parameters and one key pair.

    Loaded ciphertexts follow SEAL's rules, so a result has the level, scale and correction factor that SEAL
    gives it. No operation rescales or changes levels by itself. A rescale divides the scale by the prime.
    Rotations are those of the generator 3. The noise of loaded BFV and BGV ciphertexts is unknown: their
    guaranteed budget is 0, and no warning says so.

    Args:
        parms: SEAL's encryption parameters, as `parms.save` writes them.
        scale: CKKS (required): the scale that the client encodes with; plain values get it too. BFV and BGV:
            None.
        encoding: BFV and BGV: "slots" or "coefficients"; None: slots if the plain modulus has them.
        device: as for `Context`.
        options: other options of `Context` (threads, memory_limit, ...).

    Raises:
        FormatError: if the bytes are damaged or hold something else.
        ParameterError: if the scale is missing, or Hemera has no such parameters.
        FileError: if the file can not be read.
    """

    def __init__(
        self,
        parms: Source,
        *,
        scale: float | None = None,
        encoding: str | None = None,
        device: str = "auto",
        **options: Any,
    ) -> None:
        if encoding not in (None, "slots", "coefficients"):
            raise errors.ParameterError(f'encoding must be "slots" or "coefficients", not {encoding!r}')
        data = read_source(parms, "Session")
        params = parameters_of(_core.seal_parameters(data, scale, encoding))
        context = Context(params, device, **options)
        super().__init__(_core.SealSession(context._native, data, scale, encoding), context)

    def load_plaintext(self, source: Source) -> Plaintext:
        """An encoded plaintext of the client.

        Raises:
            FormatError: if the bytes are damaged or hold something else.
            MismatchError: if they belong to other parameters, or are a plaintext of BFV or BGV in NTT form.
            FileError: if a file can not be read.
        """
        core = self._native.load_plaintext(read_source(source, "load_plaintext"))
        return Plaintext(core, self._context)

    def dump_context(self, *, compression: Compression = "zstd") -> bytes:
        """SEAL's encryption parameters."""
        return self._native.dump_context(_number(compression))

    def dump_keys(self, keys: Keys, *, compression: Compression = "zstd") -> dict[str, bytes]:
        """Keys as SEAL's files: a dict that `load_keys(**d)` takes, with an entry for each kind there is.

        Raises:
            MismatchError: if the keys have other parameters, or gadgets that SEAL does not have.
        """
        require_type(keys, Keys, "dump_keys", "keys")
        self._require_own(keys, "dump_keys")
        return self._native.dump_keys(keys._native, _number(compression))

    def dump_secret_key(self, key: SecretKey, *, compression: Compression = "zstd") -> bytes:
        """A secret key as SEAL's file: keep it from others."""
        require_type(key, SecretKey, "dump_secret_key", "a secret key")
        self._require_own(key, "dump_secret_key")
        return self._native.dump_secret_key(key._native, _number(compression))

    def dump_ciphertext(
        self, ciphertext: Ciphertext, *, compression: Compression = "zstd"
    ) -> bytes | list[bytes]:
        """A ciphertext as SEAL's file; of a batch a list of them, row by row.

        Raises:
            MismatchError: if the ciphertext has other parameters.
        """
        core = self._own(ciphertext, "dump_ciphertext")
        files = self._native.dump_ciphertexts(core, _number(compression))
        return files if ciphertext.shape else files[0]

    def dump_plaintext(
        self, plaintext: Plaintext, *, compression: Compression = "zstd"
    ) -> bytes | list[bytes]:
        """An encoded plaintext as SEAL's file; of a batch a list of them, row by row.

        Raises:
            MismatchError: if the plaintext has other parameters.
        """
        require_type(plaintext, Plaintext, "dump_plaintext", "a plaintext")
        self._require_own(plaintext, "dump_plaintext")
        files = self._native.dump_plaintexts(plaintext._native, _number(compression))
        return files if plaintext.shape else files[0]


def _number(compression: str) -> int:
    if compression not in _COMPRESSIONS:
        raise errors.ParameterError(f'compression must be "zstd", "zlib" or "none", not {compression!r}')
    return _COMPRESSIONS[compression]


LIBRARY = Library(
    name="SEAL",
    describe=_core.describe_seal,
    session=Session,
    context_kind="encryption parameters",
    formats={
        "seal": {"compression": "zstd"},
        "seal-zlib": {"compression": "zlib"},
        "seal-none": {"compression": "none"},
    },
    takes_scale=True,
)
