"""The client of a server: keys stay here, ciphertexts travel."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from hemera import errors
from hemera._extras import how_to_install
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.keys import SecretKey
from hemera.parameters import check_security, require_security
from hemera.serving.files import locked, write_atomically
from hemera.serving.interface import Interface
from hemera.serving.problems import ServerError, error_of
from hemera.serving.sharing import Shown
from hemera.serving.specs import InputSpec
from hemera.serving.uploads import OWN
from hemera.serving.wire import KEYS_HEADER, OCTETS, read_body, write_body

if TYPE_CHECKING:
    import httpx

__all__ = ["Client", "LocalModel", "Progress"]

Progress = Callable[[str, int, int], None]
"""Called with what is done ("upload", "predict"), how much of it, and how much there is."""

_PIECE = 1 << 20
_LONGEST_PAUSE = 30.0
_NOTED = 1000
_UPLOADS = 3
"""Times that a request is sent, each but the first after another upload of keys."""


class LocalModel:
    """The client's side of one model: its context, the secret key, and what goes into requests.

    Args:
        interface: what the server tells of the model, `Interface.from_dict`.
        folder: where the secret key is kept, for its owner alone; None: in memory only. Processes that begin
            with one new folder at the same time get the same key.
        device: where to encrypt and decrypt.
        security: bits (128, 192, 256) that the parameters must have, which the server chose; None: any.

    Raises:
        FileError, FormatError: when the folder's key can not be read.
        SecurityError: for parameters, or levels of inputs, of less security.
    """

    def __init__(
        self,
        interface: Interface,
        *,
        folder: Path | None = None,
        device: str = "cpu",
        security: int | None = 128,
    ) -> None:
        check_security(security)
        _require_secure(interface, security)
        self.interface = interface
        self.context = Context(interface.params, device)
        self.folder = folder
        self._security = security
        self.secret_key = self._secret_key()
        self._shown = Shown(None if folder is None else folder / f"shown-{self._place}.json")

    @property
    def _place(self) -> str:
        """In the names of files of one secret key."""
        return self.interface.params.fingerprint[:16]

    def __reduce__(self) -> NoReturn:
        raise _no_pickle(self)

    def _secret_key(self) -> SecretKey:
        if self.folder is None:
            return self.context.generate_secret_key()
        path = self.folder / f"secret-{self._place}.hemera"
        with locked(self.folder / ".lock", wait=True):  # or two processes would each make a key
            if not path.exists():
                made = self.context.generate_secret_key()
                made.save(path)
                return made
        found = self.context.load(path)
        if not isinstance(found, SecretKey):
            raise MismatchError(f"{path} is no secret key")
        return found

    def generate_keys(self) -> bytes:
        """The file of evaluation keys, which goes to the server. SecurityError where a key is over a modulus
        of less security than is asked for: levels of circuits are no part of the parameters' own class."""
        keys = self.interface.generate_keys(self.context, self.secret_key)
        require_security(
            keys.security, self._security, f"the evaluation keys of the model {self.interface.name!r} have"
        )
        return bytes(keys)

    def encode(self, rows: Any) -> tuple[list[NDArray[Any]], bool]:
        """The arrays to encrypt, each with a first axis of evaluations, and whether there was none."""
        arrays = self.interface.encode(rows)
        spec = self.interface.inputs[0]
        single = arrays[0].ndim == len(spec.shape) + 1
        return [array[np.newaxis] if single else array for array in arrays], single

    def encrypt(self, arrays: Sequence[NDArray[Any]]) -> dict[str, bytes]:
        """The files of one request, by input."""
        return {
            spec.name: bytes(self._encrypt(array, spec))
            for spec, array in zip(self.interface.inputs, arrays, strict=True)
        }

    def _encrypt(self, array: NDArray[Any], spec: InputSpec) -> Ciphertext:
        return self.context.encrypt(self.context.encode(array, level=spec.level), self.secret_key)

    def decrypt(self, files: Mapping[str, bytes]) -> list[NDArray[Any]]:
        """The decrypted outputs of an answer, in the model's order. SecurityError where more would be shown
        to others than the noise is for."""
        wanted = [spec.name for spec in self.interface.outputs]
        if len(wanted) == 1 and len(files) == 1:
            files = {wanted[0]: next(iter(files.values()))}
        if set(files) != set(wanted):
            raise FormatError(f"the answer has {', '.join(files)}, and the outputs are {', '.join(wanted)}")
        outputs = [self.context.load(files[name]) for name in wanted]
        return self.interface.decrypt(self.context, outputs, self.secret_key, self._shown)

    def decode(self, arrays: Sequence[NDArray[Any]], single: bool, rows: int | None) -> Any:
        """The results of decrypted outputs with a first axis of evaluations."""
        return self.interface.decode([array[0] if single else array for array in arrays], rows)


def _require_secure(interface: Interface, security: int | None) -> None:
    params = interface.params
    what = f"the server's model {interface.name!r} has"
    require_security(params.security, security, f"{what} parameters of")
    for spec in interface.inputs:
        # Levels of circuits have larger moduli than the parameters' class of security is for.
        if spec.level is not None and params.level_bits(spec.level) > params.log_modulus:
            require_security("below 128", security, f"{what} an input at level {spec.level}, of")


def _no_pickle(held: object) -> TypeError:
    """What an object with a secret key raises where it is pickled."""
    return TypeError(
        f"a {type(held).__name__} does not pickle: it holds a secret key, and pickles travel. Make one in "
        "each process: those with the same folder= share the key"
    )


@dataclass
class _Model:
    local: LocalModel
    limits: Mapping[str, int]
    lock: threading.Lock
    sent: set[str] = field(default_factory=set)
    """Digests of keys of this secret key that some server was sent."""
    uploaded: bool = False


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
        progress: called while keys are sent and rows are predicted.
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
        progress: Progress | None = None,
        security: int | None = 128,
    ) -> None:
        check_security(security)
        try:
            import httpx
        except ImportError:
            raise ImportError(f"hm.Client needs httpx: {how_to_install('serving', 'httpx')}") from None
        token = token or os.environ.get("HEMERA_TOKEN")
        if not token:
            raise ParameterError("a server's client needs its token: Client(url, token=...), or HEMERA_TOKEN")
        if not re.match(r"https?://[^/]", url):
            raise ParameterError(f"the server's address begins with http:// or https://, unlike {url!r}")
        verify: Any = True
        if certificates is not None:
            import ssl

            try:
                verify = ssl.create_default_context(cafile=os.fspath(certificates))
            except OSError as error:
                raise errors.FileError(f"cannot read certificates of {certificates}: {error}") from None
        self._url = url.rstrip("/")
        self._folder = None if folder is None else Path(folder)
        self._device = device
        self._patience = patience
        self._security = security
        self._progress = progress or (lambda *_: None)
        self._lock = threading.Lock()
        self._models: dict[str, _Model] = {}
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(seconds, connect=10.0),
            verify=verify,
            limits=httpx.Limits(max_connections=None),
        )

    def __reduce__(self) -> NoReturn:
        raise _no_pickle(self)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self._url}>"

    def models(self) -> list[dict[str, str]]:
        """The server's models: `name`, `description` and `digest` of each."""
        found: list[dict[str, str]] = self._json("GET", "/v1/models")["models"]
        return found

    def describe(self, model: str) -> dict[str, Any]:
        """What the server tells of a model: parameters, keys, inputs, outputs, limits."""
        return self._json("GET", _path(model))

    def local(self, model: str) -> LocalModel:
        """The client's side of a model. SecurityError for one of less security than this client asks for."""
        return self._model(model).local

    def upload_keys(self, model: str) -> None:
        """Send the evaluation keys, unless the server has them. `predict` does it when it is needed."""
        self._ensure_keys(model, self._model(model))

    def remove_keys(self, model: str) -> None:
        """Let the server remove the evaluation keys."""
        found = self._model(model)
        with found.lock:
            self._request("DELETE", f"{_path(model)}/keys")
            found.uploaded = False

    def predict(self, model: str, rows: Any) -> Any:
        """The model's results for rows, which only this client can read.

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
        found = self._model(model)
        local = found.local
        arrays, single = local.encode(rows)
        self._ensure_keys(model, found)
        count = len(arrays[0])
        # All requests before the first decryption: whether one fails is one bit about the secret key for
        # each answer, and a request that does not come any more would tell it (docs/security.md).
        answers = []
        for begin, end in _chunks(count, self._evaluations(found)):
            self._progress("predict", begin, count)
            answers.append(self._evaluate(model, found, [each[begin:end] for each in arrays]))
        parts = [local.decrypt(answer) for answer in answers]
        self._progress("predict", count, count)
        joined = [np.concatenate(each) for each in zip(*parts, strict=True)]
        return local.decode(joined, single, local.interface.count(rows))

    # --- Keys. ---

    def _model(self, name: str) -> _Model:
        with self._lock:
            if name not in self._models:
                told = self.describe(name)
                local = LocalModel(
                    Interface.from_dict(told),
                    folder=self._folder,
                    device=self._device,
                    security=self._security,
                )
                limits = {
                    key: int(value) for key, value in dict(told.get("limits", {})).items() if int(value) > 0
                }
                self._models[name] = _Model(local, limits, threading.Lock())
            return self._models[name]

    def _ensure_keys(self, name: str, model: _Model) -> None:
        with model.lock:
            if model.uploaded:
                return
            known = model.sent or self._noted(model)
            if not known or not self._is_ours(model, self._digest_there(name)):
                keys = model.local.generate_keys()
                limit = model.limits.get("key_bytes")
                if limit is not None and len(keys) > limit:
                    raise ServerError(
                        f"the keys of {name!r} have {len(keys)} bytes, and the server takes {limit}",
                        413,
                        "too_large",
                    )
                # Noted first: other processes of this folder may meet the keys before the server's answer
                # is here.
                self._note(model, _digest_of(keys))
                self._request("PUT", f"{_path(name)}/keys", keys, progress="upload")
            model.uploaded = True

    def _digest_there(self, name: str) -> str | None:
        try:
            return str(self._json("GET", f"{_path(name)}/keys").get("digest"))
        except ServerError as error:
            if error.status == 404:
                return None
            raise

    def _note_path(self, model: _Model) -> Path | None:
        """Where it is noted which keys were sent, of the secret key that is there."""
        if self._folder is None:
            return None
        secret = hashlib.sha256(bytes(model.local.secret_key)).hexdigest()
        return self._folder / f"sent-{secret[:16]}.json"

    def _noted(self, model: _Model) -> list[str]:
        """Digests of all keys of this secret key that some server was sent, as the folder has them."""
        path = self._note_path(model)
        try:
            return [] if path is None else list(map(str, json.loads(path.read_bytes())["digests"]))
        except (OSError, ValueError, KeyError, TypeError):
            return []  # then they are sent again

    def _note(self, model: _Model, digest: str) -> None:
        model.sent.add(digest)
        path = self._note_path(model)
        if path is not None:
            with locked(path.parent / ".lock", wait=True):
                digests = [*self._noted(model), digest][-_NOTED:]
                write_atomically(path, json.dumps({"digests": digests}).encode())

    def _is_ours(self, model: _Model, digest: str | None) -> bool:
        """Whether keys of this digest are of this client's secret key, whichever process has sent them."""
        if digest is not None and digest not in model.sent:
            model.sent.update(self._noted(model))
        return digest in model.sent

    # --- Requests. ---

    def _evaluations(self, model: _Model) -> int:
        """How many evaluations fit into a request."""
        interface = model.local.interface
        params = interface.params
        # Fresh encryptions for the secret key: one polynomial, packed, and some bytes around it.
        ciphertexts = sum(int(np.prod(spec.shape, dtype=np.int64)) for spec in interface.inputs)
        each = ciphertexts * (params.degree * params.log_modulus / 8 * 1.02 + 1) + 4096
        room = int(model.limits.get("request_bytes", 1 << 28) // each)
        return max(1, min(room, model.limits.get("evaluations", 1 << 20)))

    def _evaluate(self, name: str, model: _Model, arrays: Sequence[NDArray[Any]]) -> dict[str, bytes]:
        """The files of an answer, which was computed with this client's keys as far as the server tells."""
        files = model.local.encrypt(arrays)
        for left in reversed(range(_UPLOADS)):
            try:
                answer, digest = self._send(name, model, files)
            except ServerError as error:
                if error.code != "no_keys" or not left:
                    raise
                # The server has lost the keys: its folder may be another one now.
            else:
                if digest is None or self._is_ours(model, digest):
                    return answer
                # Another client of this token has sent its keys in place of these.
            if left:
                model.uploaded = False
                self._ensure_keys(name, model)
        raise ServerError(
            f"another client replaces this one's keys for {name!r} again and again: clients of one token "
            "need one folder (Client(folder=...)), or a token each",
            409,
            "other_keys",
        )

    def _send(
        self, name: str, model: _Model, files: Mapping[str, bytes]
    ) -> tuple[dict[str, bytes], str | None]:
        """The files of the answer, and the digest of the keys that it was computed with."""
        kind, pieces = write_body(files)
        response = self._request("POST", f"{_path(name)}/evaluate", b"".join(pieces), kind=kind)
        single = model.local.interface.outputs[0].name
        answer = read_body(response.headers.get("content-type"), response.content, single)
        return answer, response.headers.get(KEYS_HEADER)

    def _json(self, method: str, path: str) -> dict[str, Any]:
        try:
            found = self._request(method, path).json()
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise FormatError(f"{self._url}{path} is no server of Hemera: it does not answer with JSON")
        return found

    def _request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        kind: str = OCTETS,
        progress: str | None = None,
    ) -> httpx.Response:
        """The answer of 2xx. Tries again while the server is busy."""
        import httpx

        headers = {} if body is None else {"Content-Type": kind, "Content-Length": str(len(body))}
        until = time.monotonic() + self._patience
        pause = 0.1
        while True:
            wait: float | None = None
            try:
                content = body if body is None or progress is None else self._pieces(body, progress)
                response = self._http.request(method, self._url + path, content=content, headers=headers)
                if response.is_success:
                    return response
                error = _error_in(response)
                if response.status_code in (429, 503):
                    wait = _retry_after(response)
            except httpx.InvalidURL as reason:
                raise ParameterError(f"{self._url} is no address: {reason}") from None
            except httpx.TimeoutException:
                error = ServerError(f"{self._url} did not answer in time")
            except httpx.TransportError as reason:
                error = ServerError(f"{self._url} is not to be reached: {reason or type(reason).__name__}")
                wait = pause
            if wait is None or time.monotonic() + wait > until:
                raise error
            time.sleep(min(max(wait, pause), _LONGEST_PAUSE))
            pause = min(2 * pause, 5.0)

    def _pieces(self, body: bytes, what: str) -> Iterator[bytes]:
        for begin in range(0, len(body), _PIECE):
            self._progress(what, begin, len(body))
            yield body[begin : begin + _PIECE]
        self._progress(what, len(body), len(body))


def _chunks(count: int, most: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, count, most):
        yield begin, min(begin + most, count)


def _path(model: str) -> str:
    return f"/v1/models/{quote(model, safe='')}"


def _digest_of(keys: bytes) -> str:
    """As the server's store tells it."""
    return hashlib.sha256(f"{len(OWN)}:{OWN}".encode() + keys).hexdigest()


def _error_in(response: httpx.Response) -> errors.Error:
    try:
        told = response.json()["error"]
        return error_of(response.status_code, str(told["code"]), str(told["message"]))
    except (ValueError, KeyError, TypeError):
        return ServerError(
            f"the server answered with HTTP {response.status_code}", response.status_code, "http"
        )


def _retry_after(response: httpx.Response) -> float:
    try:
        return max(float(response.headers.get("retry-after", "1")), 0.0)
    except ValueError:
        return 1.0
