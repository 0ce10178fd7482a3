"""The client of a server: keys stay here, ciphertexts travel."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote

import numpy as np

from hemera._process import Lock
from hemera.client.problems import ServerError
from hemera.client.remote_index import RemoteIndex
from hemera.client.remote_keys import RemoteKeys
from hemera.client.transport import Transport
from hemera.client.wire import KEYS_HEADER, MODEL_HEADER, read_body, write_body
from hemera.errors import Error, FormatError
from hemera.inputs.arguments import Progress
from hemera.inputs.source import Source
from hemera.package.interface import Interface
from hemera.package.local_model import LocalModel, no_pickle
from hemera.parameters import check_security

T = TypeVar("T")


_DESCRIPTIONS = 3
"""The most descriptions that a call asks for, of a model that is replaced again and again."""
_MODEL_CHANGED = "model_changed"


@dataclass(frozen=True)
class _Model:
    """A model, as the server described it."""

    name: str
    digest: str | None
    """None: of a server that names none."""
    local: LocalModel
    limits: Mapping[str, int]
    keys: RemoteKeys

    @property
    def headers(self) -> dict[str, str]:
        """The headers of requests: the model that they were encoded for."""
        return {} if self.digest is None else {MODEL_HEADER: self.digest}


class Client:
    """A client of `hemera serve`.

        with hm.Client("http://127.0.0.1:8000", token=token) as client:
            scores = client.predict("scores", rows)

    The first `predict` of a model makes the secret key, which stays here, and sends evaluation keys, once.
    May be used from several threads: their requests run as batches on the server.

    Args:
        url: of the server.
        token: that its operator gave out; None: the environment variable HEMERA_TOKEN.
        folder: where secret keys are kept, for their owner alone, and which keys the server has: later runs
            send none. None: a new secret key for each `Client`.
        device: where to encrypt and decrypt.
        certificates: a file of certificates to trust instead of the usual ones, for https.
        seconds: how long to wait for an answer.
        patience: how long to try again, in seconds, while the server is busy or not to be reached.
        progress: called while keys are made ("keys") and sent ("upload"), and rows are predicted. An
            exception that it raises ends the work.
        security: bits (128, 192, 256) that a model's parameters must have. The server chooses them, so
            `predict` refuses weaker ones before it encrypts; None: any.

    Raises:
        ParameterError: without a token, for an address that is none, or for other bits of security.
        FileError, FormatError: for files that can not be read.
        ImportError: without httpx (`pip install httpx`).
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        folder: str | os.PathLike[str] | None = None,
        device: str = "cpu",
        certificates: str | os.PathLike[str] | None = None,
        seconds: float = 300.0,
        patience: float = 60.0,
        progress: Progress = None,
        security: int | None = 128,
    ) -> None:
        check_security(security)
        self._transport = Transport(
            url, token=token, certificates=certificates, seconds=seconds, patience=patience, progress=progress
        )
        self._folder = None if folder is None else Path(folder)
        self._device = device
        self._security = security
        self._lock = Lock()
        self._models: dict[str, _Model] = {}
        self._indexes: dict[str, RemoteIndex] = {}

    def __reduce__(self) -> NoReturn:
        raise no_pickle(self)

    def close(self) -> None:
        """Close the connections. Keys that are not all sent are left to later clients of the folder."""
        models, indexes = self._models.values(), self._indexes.values()
        for keys in (*(each.keys for each in models), *(each.keys for each in indexes)):
            keys.close()
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self._transport.url}>"

    def models(self) -> list[dict[str, Any]]:
        """The server's models: `name`, `description`, `digest` and `version` (or None) of each."""
        return _list_of(self._transport.json("GET", "/v1/models"), "models")

    def describe(self, model: str) -> dict[str, Any]:
        """The server's description of a model: parameters, keys, inputs, outputs, limits."""
        return self._transport.json("GET", _path("models", model))

    def local(self, model: str) -> LocalModel:
        """The client's side of a model, as the server last described it. SecurityError for one of less
        security than this client asks for."""
        return self._model(model).local

    def upload_bytes(self, model: str) -> int:
        """The bytes of evaluation keys that `upload_keys`, or the next `predict`, will send, but for some
        hundred for each key: known before they are made. 0 where the server has keys of this client."""

        def of(found: _Model) -> int:
            interface = found.local.interface
            return 0 if found.keys.are_there() else interface.keys.upload_bytes(interface.params)

        return self._of_model_now(model, of)

    def upload_keys(self, model: str) -> None:
        """Send the evaluation keys, unless the server has them. `predict` does it when it is needed."""
        self._of_model_now(model, lambda found: found.keys.ensure())

    def remove_keys(self, model: str) -> None:
        """Let the server remove the evaluation keys, also of a model that it does not have any more."""
        if model in self._models:
            self._models[model].keys.remove()
        else:
            self._transport.request("DELETE", f"{_path('models', model)}/keys")

    def indexes(self) -> list[dict[str, Any]]:
        """The server's indexes for encrypted search: `name`, `kind` ("index", "encrypted index", "threshold
        index", "encrypted threshold index" or "top index"), `dims`, `metric` and `rows` of each."""
        return _list_of(self._transport.json("GET", "/v1/indexes"), "indexes")

    def index(self, name: str, *, secret_key: Source | None = None) -> RemoteIndex:
        """An index of the server, for encrypted queries.

            scores, ids = client.index("documents").query(x, k=10)
            matches = client.index("products").query(x, threshold=0.7)

        Args:
            name: its name.
            secret_key: of an encrypted index its owner's, as bytes or a file's path. None: that of the
                client's folder, which is made where there is none; without a folder a fresh one.

        Raises:
            FormatError: for an index of a kind that this client does not know.
            ParameterError: for an encrypted index without its owner's key.
            SecurityError: for more security than searches have, 128 bits.
            ServerError: when there is no such index, or the server is not to be reached.
        """
        with self._lock:
            # Without a folder each has a key of its own, and prepared queries: one object for all calls.
            found = self._indexes.get(name) if secret_key is None else None
            if found is not None and not found.is_doubtful:
                return found
            path = _path("indexes", name)
            told = self._transport.json("GET", path)
            if found is not None and found.is_as(told):
                return found
            made = RemoteIndex(
                self._transport,
                path,
                told,
                secret_key=secret_key,
                folder=self._folder,
                security=self._security,
            )
            if secret_key is None:
                self._indexes[name] = made
            return made

    def predict(self, model: str, rows: Any) -> Any:
        """The model's results for rows, which only this client can read. Where the model was replaced under
        its name, the rows are encoded and sent anew, by its new description, before anything is decrypted.

        Args:
            model: its name.
            rows: what the model takes: a table of shape (rows, features) for models of tables; else one array
                a input, of shape (..., values), in a sequence or a dict by name.

        Returns:
            What the model's outputs are read as (`hemera.serving.OutputSpec`): an array, or a dict by name.

        Raises:
            MismatchError, ParameterError: for rows that the model does not take.
            SecurityError: for a model of less security than this client asks for, and where more results
                would be shown to others than its noise is for.
            ServerError: when the server refuses, is not to be reached, or remains too busy.
            NoiseError: when an answer can not be decrypted. The server must not learn it: what this client
                sends never depends on it, and neither should what its caller does.
        """
        return self._of_model_now(model, lambda found: self._predict(found, rows))

    def _predict(self, found: _Model, rows: Any) -> Any:
        local = found.local
        try:
            arrays, single = local.encode(rows)
        except Error:
            self._require_described(found)  # the rows may be for the model that there is now
            raise
        found.keys.ensure()
        count = len(arrays[0])
        # All requests before the first decryption: whether one fails is one bit about the secret key for
        # each answer, and a request that does not come any more would reveal it (docs/security.md).
        answers = []
        for begin, end in _chunks(count, self._evaluations(found)):
            self._transport.progress("predict", begin, count)
            files = local.encrypt([each[begin:end] for each in arrays])
            answers.append(found.keys.answer(functools.partial(self._send, found, files)))
        parts = [local.decrypt(answer) for answer in answers]
        self._transport.progress("predict", count, count)
        joined = [np.concatenate(each) for each in zip(*parts, strict=True)]
        return local.decode(joined, single, local.interface.count(rows))

    def _of_model_now(self, name: str, ask: Callable[[_Model], T]) -> T:
        """What a function of a model gives, which is called again where the server has another model now.

        Raises:
            ServerError: ("model_changed") for a model that is replaced again and again, and as of `ask`.
        """
        for left in reversed(range(_DESCRIPTIONS)):
            found = self._model(name)
            try:
                return ask(found)
            except ServerError as error:
                if error.code != _MODEL_CHANGED or not left:
                    raise
            with self._lock:
                if self._models.get(name) is found:
                    self._models[name] = self._described(name, found)
        raise AssertionError  # the last one raises

    def _require_described(self, model: _Model) -> None:
        """ServerError ("model_changed") where the server describes another model by now."""
        if model.digest is not None and self.describe(model.name).get("digest") != model.digest:
            raise _changed(f"the model {model.name!r} was replaced")

    def _model(self, name: str) -> _Model:
        with self._lock:
            if name not in self._models:
                self._models[name] = self._described(name, None)
            return self._models[name]

    def _described(self, name: str, before: _Model | None) -> _Model:
        told = self.describe(name)
        digest = None if told.get("digest") is None else str(told["digest"])
        interface = Interface.from_dict(told)
        # The server keeps one set of keys for all versions of a model: they have one secret key here.
        alike = (each for each in self._models.values() if each.local.interface.params == interface.params)
        before = before or next(alike, None)
        local = LocalModel(
            interface,
            folder=self._folder,
            device=self._device,
            security=self._security,
            before=None if before is None else before.local,
            digest=digest,
        )
        limits = {key: int(value) for key, value in dict(told.get("limits", {})).items() if int(value) > 0}
        keys = RemoteKeys(
            self._transport,
            _path("models", name),
            name,
            local.secret_key,
            local.write_keys,
            expected=lambda: local.interface.keys.upload_bytes(local.interface.params),
            limit=limits.get("key_bytes"),
            folder=self._folder,
            headers={} if digest is None else {MODEL_HEADER: digest},
            before=None if before is None else before.keys,
        )
        return _Model(name, digest, local, limits, keys)

    def _evaluations(self, model: _Model) -> int:
        """How many evaluations fit into a request."""
        interface = model.local.interface
        params = interface.params
        # Fresh encryptions for the secret key: one polynomial, packed, and some bytes around it.
        ciphertexts = sum(int(np.prod(spec.shape, dtype=np.int64)) for spec in interface.inputs)
        each = ciphertexts * (params.degree * params.log_modulus / 8 * 1.02 + 1) + 4096
        room = int(model.limits.get("request_bytes", 1 << 28) // each)
        return max(1, min(room, model.limits.get("evaluations", 1 << 20)))

    def _send(self, model: _Model, files: Mapping[str, bytes]) -> tuple[dict[str, bytes], str | None]:
        """The files of the answer, and the digest of the keys that it was computed with. ServerError
        ("model_changed") for the answer of another model."""
        kind, pieces = write_body(files)
        path = f"{_path('models', model.name)}/evaluate"
        response = self._transport.request("POST", path, b"".join(pieces), kind=kind, headers=model.headers)
        computed = response.headers.get(MODEL_HEADER)
        if None not in (computed, model.digest) and computed != model.digest:
            raise _changed(f"the answer is of {computed} and not of the model {model.name!r}, {model.digest}")
        single = model.local.interface.outputs[0].name
        answer = read_body(response.headers.get("content-type"), response.content, single)
        return answer, response.headers.get(KEYS_HEADER)


def _changed(why: str) -> ServerError:
    """As the server refuses a request that was encoded for another model."""
    return ServerError(f"{why}: ask again", 409, _MODEL_CHANGED)


def _chunks(count: int, most: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, count, most):
        yield begin, min(begin + most, count)


def _path(kind: str, name: str) -> str:
    return f"/v1/{kind}/{quote(name, safe='')}"


def _list_of(told: Mapping[str, Any], what: str) -> list[dict[str, Any]]:
    found = told.get(what)
    if not isinstance(found, list):
        raise FormatError(f"the server does not tell its {what}")
    return found
