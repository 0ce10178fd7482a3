"""OpenFHE 1.4 to 1.6 as a client (docs/clients.md)."""

from __future__ import annotations

import weakref
from typing import Any, Literal, cast

from hemera import _core, errors
from hemera.circuits.bootstrap import Bootstrap
from hemera.inputs.arguments import in_own_words, require_type
from hemera.interop import _session
from hemera.interop._library import Library
from hemera.interop._session import Source, read_source
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.objects.keys import Keys, SecretKey
from hemera.parameters import parameters_of

__all__ = ["LIBRARY", "Format", "Session", "Source"]

Format = Literal["binary", "json"]
"""OpenFHE's SerType::BINARY and SerType::JSON. Sources may have either."""


@in_own_words
class Session(_session.Session[_core.OpenFheSession]):
    """One client that uses OpenFHE: its crypto context and one key pair.

    Loaded ciphertexts follow the context's scaling technique, so a result has the level, noise-scale degree
    and scaling factor that OpenFHE gives it. FIXEDMANUAL rescales by `rescale` alone, the others just before
    the next product. The noise of loaded BFV and BGV ciphertexts is unknown: their guaranteed budget is 0,
    and no warning says so.

    `x.rotate(k)` is OpenFHE's EvalRotate for every k. By N/2 steps or more, either way, BFV and BGV also
    exchange the two rows; by 2N - 1 steps CKKS conjugates. These rotations need keys of their own.

    `x.bootstrap()` is OpenFHE's EvalBootstrap of one iteration, with the client's own keys (of
    EvalBootstrapKeyGen). The context has its settings by the ciphertext's number of slots, with CoeffToSlot
    or SlotToCoeff first.

    Args:
        source: a crypto context, or any other object of OpenFHE: each holds its context. The first key
            decides the special primes. If a ciphertext or secret key comes before it, they are those of
            OpenFHE's rule up to 1.5. So load keys first, or open the session from a key.
        device: as for `Context`.
        options: other options of `Context` (threads, memory_limit, stream, multiplier).

    Raises:
        FormatError: if the bytes are damaged or hold something else, or if the context has composite scaling,
            several parties or scheme switching.
        FileError: if the file can not be read.
    """

    def __init__(self, source: Source, *, device: str = "auto", **options: Any) -> None:
        data = read_source(source, "Session")
        # The last one is the session's: keys may need another one than the first.
        made: list[Context] = []
        self._made = made

        def make_context(native: _core.Parameters) -> _core.Context:
            made.append(_Context(parameters_of(native), device, **options))
            return made[-1]._native

        native = _core.OpenFheSession(data, make_context)
        super().__init__(native, made[-1])

    def load_keys(
        self,
        *,
        public_key: Source | None = None,
        relinearization: Source | None = None,
        galois: Source | None = None,
    ) -> Keys:
        """Add keys of the client; each is optional. Ciphertexts that were loaded before keep their keys. If
        the first keys have other special primes than the session, its `context` and `params` change.

        Returns:
            All keys loaded so far.

        Raises:
            FormatError: if the bytes are damaged or hold something else.
            MismatchError: if they belong to another context or key pair, or if their special primes come too
                late for the session.
            FileError: if a file can not be read.
        """
        try:
            return super().load_keys(public_key=public_key, relinearization=relinearization, galois=galois)
        except BaseException:
            del self._made[1:]
            raise

    def _current_context(self) -> Context:
        del self._made[:-1]
        return self._made[-1]

    def _bind(self, keys: Keys) -> Evaluator:
        if self.params.scheme != "ckks":
            return super()._bind(keys)
        # OpenFHE's bootstrap in the place of Hemera's plan: `Ciphertext.bootstrap` calls it.
        return Evaluator(self._context, keys, bootstrap=cast(Bootstrap, _Bootstrap(self._native)))

    def bootstrap(self, ciphertext: Ciphertext, *, iterations: int = 1, precision: int = 0) -> Ciphertext:
        """OpenFHE's EvalBootstrap(ciphertext, iterations, precision). `ciphertext.bootstrap()` runs one
        iteration.

        Args:
            ciphertext: of this session.
            iterations: 1, or 2, which also bootstraps the error and takes one level more.
            precision: with two iterations: the bits of precision of one, from 1 to 30.

        Raises:
            MissingKeyError: if the keys of EvalBootstrapKeyGen are missing.
            ParameterError: if the context was not set up for the ciphertext's number of slots, or has
                settings that Hemera lacks, or if a number is out of range.
            LevelError: if the ciphertext is at the last level, or, with SlotToCoeff first, lacks the levels
                of its budget.
        """
        core = self._own(ciphertext, "bootstrap")
        counts = self._evaluator._native
        return Ciphertext(self._native.bootstrap(core, iterations, precision, counts), self._evaluator)

    @property
    def bootstrap_input_levels(self) -> dict[int, int]:
        """For each number of slots the lowest level at which `bootstrap` takes a ciphertext that waits for no
        rescale. The level is 1, or, with SlotToCoeff first, the levels of its budget. The numbers of slots
        are those that the context was set up for."""
        return self._native.bootstrap_input_levels()

    def dump_context(self, *, format: Format = "binary") -> bytes:  # noqa: A002
        """The crypto context, as it was loaded."""
        return self._native.dump_context(_is_json(format))

    def dump_keys(self, keys: Keys, *, format: Format = "binary") -> dict[str, bytes]:  # noqa: A002
        """Keys as OpenFHE's files: a dict that `load_keys(**d)` takes, with an entry for each kind there is.

        Raises:
            MismatchError: if the keys have other parameters, if OpenFHE has no place for one of them, or if
                the session has loaded nothing with a key tag.
        """
        require_type(keys, Keys, "dump_keys", "keys")
        self._require_own(keys, "dump_keys")
        return self._native.dump_keys(keys._native, _is_json(format))

    def dump_secret_key(self, key: SecretKey, *, format: Format = "binary") -> bytes:  # noqa: A002
        """A secret key as OpenFHE's file: keep it from others."""
        require_type(key, SecretKey, "dump_secret_key", "a secret key")
        self._require_own(key, "dump_secret_key")
        return self._native.dump_secret_key(key._native, _is_json(format))

    def dump_ciphertext(
        self,
        ciphertext: Ciphertext,
        *,
        format: Format = "binary",  # noqa: A002
    ) -> bytes | list[bytes]:
        """A ciphertext as OpenFHE's file; of a batch a list of them, row by row.

        Raises:
            MismatchError: if the ciphertext has other parameters, or the session has loaded nothing with a
                key tag.
        """
        core = self._own(ciphertext, "dump_ciphertext")
        files = self._native.dump_ciphertexts(core, _is_json(format))
        return files if ciphertext.shape else files[0]


class _Context(Context):
    """A context with OpenFHE's rotations: by N/2 steps or more, BFV and BGV also exchange the rows."""

    _rotates_as_openfhe = True


class _Bootstrap:
    """OpenFHE's EvalBootstrap in the place of a plan."""

    def __init__(self, native: _core.OpenFheSession) -> None:
        self._session = native
        self._prepared: weakref.WeakKeyDictionary[Context, _Bootstrap] = weakref.WeakKeyDictionary()

    @property
    def input_level(self) -> int:
        """The lowest level of ciphertexts of any number of slots that a bootstrap takes."""
        return max(self._session.bootstrap_input_levels().values(), default=1)

    def _prepare(self, _: Context) -> _Bootstrap:
        return self

    def apply(self, evaluator: _core.Evaluator, native: _core.Ciphertext) -> _core.Ciphertext:
        """As of the core's plans: the result for a ciphertext."""
        return self._session.bootstrap(native, 1, 0, evaluator)


def _is_json(form: str) -> bool:
    if form not in ("binary", "json"):
        raise errors.ParameterError(f'format must be "binary" or "json", not {form!r}')
    return form == "json"


LIBRARY = Library(
    name="OpenFHE",
    describe=lambda data, _: _core.describe_openfhe(data),
    session=Session,
    context_kind="crypto context",
    formats={"openfhe": {"format": "binary"}, "openfhe-json": {"format": "json"}},
    context_in_files=True,
)
