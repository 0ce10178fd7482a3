"""Keys of one client in the device's memory, with what its requests for one model need."""

from __future__ import annotations

import functools
import logging
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hemera import _core, ckks, interop
from hemera._inspect import HEMERA
from hemera.client.wire import KEYS_FILE
from hemera.errors import MismatchError, OutOfMemoryError
from hemera.interop._library import Library
from hemera.interop._session import Session as LibrarySession
from hemera.objects.batches import concatenate
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.devices import DeviceOptions
from hemera.objects.evaluator import Evaluator
from hemera.objects.keys import Keys
from hemera.package.graphs import Graphs, form_of
from hemera.package.package import Package
from hemera.package.prepared import PreparedModel
from hemera.package.specs import InputSpec
from hemera.serving.logs import log
from hemera.serving.reasons import COMPRESSED, TOO_MANY
from hemera.serving.session_cache import Answer, AnyInputs, Session
from hemera.serving.uploads import FOREIGN, damaged_texts, refuse_secret

_LARGER = 4
"""Times the model's own degree that another library's client may have: costs grow with it."""

_TABLE_BYTES = 64
"""For each prime and coefficient, of a context's tables on the CPU: roots of unity and their quotients, both
ways, for two word sizes. A GPU's are in `Context.memory_used`."""


def memory_of(package: Package, files: Mapping[str, bytes], most: int) -> int:
    """Bytes of memory that the ciphertexts of a request of Hemera's client will take, as their files
    say before they are loaded.

    Raises:
        Refused: (422) where a file is compressed, or has more than `most` evaluations.
        FormatError: when a file is damaged.
        MismatchError: when it is no ciphertext, or its shape does not fit.
    """
    parts = {part.name: part for part in package.inputs}
    total = 0
    for name, data in _named(package, files).items():
        refuse_secret(data)
        extents = _core.ciphertext_extents(data)
        if extents.compressed:
            raise COMPRESSED.refused()
        batch = tuple(extents.batch)
        _require_shape(parts[name], batch)
        if len(batch) > len(parts[name].shape) and batch[0] > most:
            raise TOO_MANY.refused(most=most)
        total += extents.bytes
    return total


def _named(package: Package, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The files by the model's inputs. MismatchError where they are others."""
    wanted = [part.name for part in package.inputs]
    if len(wanted) == 1 and len(files) == 1:
        files = {wanted[0]: next(iter(files.values()))}
    if set(files) != set(wanted):
        raise MismatchError(
            f"the model {package.name!r} takes the inputs {', '.join(wanted)}; the request has "
            + (", ".join(files) or "none")
        )
    return files


def _require_shape(part: InputSpec, shape: tuple[int, ...]) -> None:
    own = len(part.shape)
    if shape[len(shape) - own :] != tuple(part.shape) or len(shape) > own + 1:
        raise MismatchError(
            f"input {part.name!r} has the shape {tuple(part.shape)}, or one axis more for several "
            f"evaluations at once, not {shape}"
        )


@dataclass(frozen=True)
class Inputs:
    """The inputs of one request, with an axis of evaluations before the model's own axes."""

    values: list[Ciphertext]
    count: int
    """Evaluations."""
    single: bool
    """Whether the request had no such axis, and gets an answer without it."""

    def fit(self, other: AnyInputs) -> bool:
        """Whether both can run as one batch."""
        pairs = zip(self.values, other.values, strict=True)
        return all(form_of(x)[:-1] == form_of(y)[:-1] and x.shape[1:] == y.shape[1:] for x, y in pairs)

    def divided(self, first: int) -> tuple[Inputs, Inputs]:
        """The first evaluations and the others."""
        head = Inputs([x[:first] for x in self.values], first, self.single)
        return head, Inputs([x[first:] for x in self.values], self.count - first, self.single)


def _not_captured(error: Exception) -> None:
    log("not captured", level=logging.WARNING, error=error)


class ModelSession(Session):
    """Keys of one client and a model that is prepared for them."""

    def __init__(self, package: Package, prepared: PreparedModel, keys: Keys, graphs: int = 0) -> None:
        super().__init__()
        self.model_digest = package.digest
        self._package = package
        self._package.check(prepared.context, keys)
        self._prepared = prepared
        self._evaluator: Evaluator = prepared.bind(keys)
        self._graphs = Graphs(graphs if prepared.captures else 0, _not_captured)

    @property
    def graphs(self) -> int:
        return len(self._graphs)

    def load(self, files: Mapping[str, bytes]) -> Inputs:
        """The inputs of a request.

        Raises:
            FormatError: when a file is damaged.
            MismatchError: when inputs are missing or are another client's, or their shapes do not fit.
        """
        files = _named(self._package, files)
        loaded = []
        single = True
        for part in self._package.inputs:
            refuse_secret(files[part.name])
            x = self._load(files[part.name])
            _require_shape(part, x.shape)
            own = len(part.shape)
            single = single and x.ndim == own
            loaded.append(x if x.ndim > own else x.reshape(1, *x.shape))
        if len({len(x) for x in loaded}) != 1:
            raise MismatchError(
                "the inputs are for different numbers of evaluations: "
                + ", ".join(
                    f"{part.name} for {len(x)}" for part, x in zip(self._package.inputs, loaded, strict=True)
                )
            )
        return Inputs(loaded, len(loaded[0]), single)

    def run(self, requests: Sequence[Sequence[Ciphertext]]) -> list[list[Ciphertext]]:
        """The outputs of each of several requests, which run as one batch."""
        joined = [x[0] if len(x) == 1 else concatenate(x) for x in zip(*requests, strict=True)]
        capture = functools.partial(self._prepared.capture, self._evaluator)
        try:
            outputs = self._graphs.run(joined, capture) or self._prepared.run(self._evaluator, joined)
        except OutOfMemoryError:
            if not self._graphs:
                raise
            self._graphs.give_up()
            outputs = self._prepared.run(self._evaluator, joined)
        found: list[list[Ciphertext]] = []
        begin = 0
        for request in requests:
            end = begin + len(request[0])
            found.append([y if len(requests) == 1 else y[begin:end] for y in outputs])
            begin = end
        # An error of the device is this batch's, and not the next one's.
        self._prepared.context.synchronize()
        return found

    def join(self, parts: Sequence[Sequence[Ciphertext]]) -> list[Ciphertext]:
        """The outputs of a request by those of its parts."""
        return [y[0] if len(y) == 1 else concatenate(y) for y in zip(*parts, strict=True)]

    def dump(self, outputs: Sequence[Ciphertext], single: bool) -> Answer:
        """The outputs of one request as files; `single`: of a request for one evaluation."""
        return {
            part.name: self._dump(y.reshape(*y.shape[1:]) if single else y)
            for part, y in zip(self._package.outputs, outputs, strict=True)
        }

    def copied_to(self, loader: Loader) -> ModelSession | None:
        """The session on another device, by a copy of its keys from device to device; None: its files are to
        be loaded there."""
        del loader
        return None

    @abstractmethod
    def _load(self, data: bytes) -> Ciphertext: ...

    @abstractmethod
    def _dump(self, y: Ciphertext) -> bytes: ...


class _OwnSession(ModelSession):
    """A session of Hemera's clients, who share a context and encoded weights for each model."""

    def __init__(self, package: Package, prepared: PreparedModel, keys: Keys, graphs: int) -> None:
        super().__init__(package, prepared, keys, graphs)
        self._keys = keys

    @property
    def memory_bytes(self) -> int:
        return self._keys.memory_bytes + self._graphs.memory_bytes

    def copied_to(self, loader: Loader) -> ModelSession:
        return loader.own_session(self._package, self._keys.to(loader.context(self._package)))

    def _load(self, data: bytes) -> Ciphertext:
        return self._evaluator.load(data)

    def _dump(self, y: Ciphertext) -> bytes:
        return bytes(y)


class _ForeignSession(ModelSession):
    """A session of another library's client, with its parameters and a context for these: all that it holds
    counts, the keys, the weights encoded for it, and the tables of its transforms."""

    def __init__(self, package: Package, session: LibrarySession[Any]) -> None:
        super().__init__(package, package.prepare(session.context), session.keys)
        self._session = session
        params = session.params
        primes = {prime for base in (*params.primes, params.special_primes) for prime in base}
        self._tables = _TABLE_BYTES * len(primes) * params.degree if session.context.device == "cpu" else 0

    @property
    def memory_bytes(self) -> int:
        return self._prepared.memory_used + self._tables

    def _load(self, data: bytes) -> Ciphertext:
        with damaged_texts():
            return self._session.load_ciphertext(data)

    def _dump(self, y: Ciphertext) -> bytes:
        if math.prod(y.shape) != 1:
            raise MismatchError("a client's library has files of one ciphertext each: ask for one evaluation")
        data = self._session.dump_ciphertext(y)
        return data if isinstance(data, bytes) else data[0]


class Loader:
    """Makes sessions on one device. Contexts and prepared models of Hemera's clients are shared.

    Args:
        options: of the contexts.
        graphs: as of `Settings`.
    """

    def __init__(self, options: DeviceOptions, graphs: int = 0) -> None:
        self._options = options
        self._graphs = graphs
        self._contexts: dict[str, Context] = {}
        self._prepared: dict[str, PreparedModel] = {}

    def context(self, package: Package) -> Context:
        """The context of a model's own parameters."""
        key = package.params.fingerprint
        if key not in self._contexts:
            self._contexts[key] = Context(package.params, **self._options.arguments)
        return self._contexts[key]

    def prepare(self, package: Package) -> PreparedModel:
        """The model, ready for Hemera's clients."""
        if package.digest not in self._prepared:
            self._prepared[package.digest] = package.prepare(self.context(package))
        return self._prepared[package.digest]

    def forget(self, package: Package) -> None:
        """The model is not served any more: what was prepared of it goes with its last session."""
        self._prepared.pop(package.digest, None)

    def load(self, package: Package, library: str, files: Mapping[str, Path]) -> ModelSession:
        """The session of a client's files.

        Raises:
            FormatError, MismatchError: when they are damaged, or of other parameters than the model's.
            MissingKeyError, LevelError, MismatchError: when the model needs more (`Package.check`).
        """
        if library == HEMERA:
            keys = self.context(package).load(files[KEYS_FILE])
            if not isinstance(keys, Keys):
                raise MismatchError(f"evaluation keys are needed, and this is a {type(keys).__name__}")
            return self.own_session(package, keys)
        with damaged_texts():
            return self._load_foreign(package, interop.library_of_name(library), files)

    def own_session(self, package: Package, keys: Keys) -> ModelSession:
        """The session of keys of Hemera's client, in this device's context."""
        return _OwnSession(package, self.prepare(package), keys, self._graphs)

    def _load_foreign(self, package: Package, library: Library, files: Mapping[str, Path]) -> ModelSession:
        options = self._options.arguments
        if library.takes_scale and isinstance(package.params, ckks.Parameters):
            options["scale"] = package.params.scale
        session = library.session(str(files[FOREIGN[0]]), **options)
        if session.params.scheme != package.scheme:
            raise MismatchError(
                f"the model {package.name!r} computes with {package.scheme.upper()}, and these keys are of "
                f"{session.params.scheme.upper()}"
            )
        if session.params.degree > _LARGER * package.params.degree:
            raise MismatchError(
                f"these keys have the degree {session.params.degree}, and the model {package.name!r} is for "
                f"{package.params.degree}: make smaller parameters"
            )
        session.load_keys(**{name: str(files[name]) for name in FOREIGN[1:] if name in files})
        return _ForeignSession(package, session)
