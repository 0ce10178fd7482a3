"""Requests of a client to a server, over HTTP."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hemera import errors
from hemera._extras import how_to_install
from hemera._process import OfProcess
from hemera.client.problems import ServerError, error_of
from hemera.client.wire import NONCE_HEADER, OCTETS, new_nonce
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.arguments import Progress
from hemera.inputs.fields import read_json

if TYPE_CHECKING:
    import httpx

_GOES_ON = ("offset", "digest", "too_slow", "hung_up")
"""Codes of refusals after which a body that goes on is sent from where it stands now."""
_LONGEST_PAUSE = 30.0
Part = Callable[[], tuple[int, dict[str, str], Iterator[bytes]]]
"""Gives what is left to send of a body that goes on after an interruption: where it begins, the headers that
it has, and its pieces."""
_NO_JSON = "http"
"""The code of an error whose answer is not of a server of Hemera."""


class Transport:
    """Connections to a server, that ask again while it is busy or away. Each process has its own: on a
    connection that two share, each may read the other's answers.

    Args:
        url: of the server.
        token: that its operator gave out; None: the environment variable HEMERA_TOKEN.
        certificates: a file of certificates to trust instead of the usual ones, for https.
        seconds: how long to wait for an answer.
        patience: how long to try again, in seconds.
        progress: called while bodies are sent.

    Raises:
        ParameterError: without a token, or for an address that is none.
        FileError: for certificates that can not be read.
        ImportError: without httpx (`pip install httpx`).
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None,
        certificates: str | os.PathLike[str] | None,
        seconds: float,
        patience: float,
        progress: Progress,
    ) -> None:
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
        self.url = url.rstrip("/")
        self.progress = progress or (lambda *_: None)
        self._patience = patience

        def connect() -> httpx.Client:
            return httpx.Client(
                headers={"Authorization": f"Bearer {token}"},
                timeout=httpx.Timeout(seconds, connect=10.0),
                verify=verify,
                limits=httpx.Limits(max_connections=None),
            )

        self._http = OfProcess(connect)
        self._repeats = False
        """Whether the server has repeated the name of a request: then all of its answers have to."""

    def close(self) -> None:
        """Close the connections."""
        self._http.value.close()

    def json(self, method: str, path: str) -> dict[str, Any]:
        """The object that a path answers with. FormatError for anything else; errors as of `request`."""
        answer = self.request(method, path)
        told = f"{self.url}{path} is no server of Hemera: it does not answer with JSON"
        found = read_json(answer.content, told)
        if not isinstance(found, dict):
            raise FormatError(told)
        return found

    def request(
        self,
        method: str,
        path: str,
        body: bytes | Part | None = None,
        *,
        kind: str = OCTETS,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """The answer of 2xx. Tries again while the server is busy or away; a body that goes on has its
        patience anew with each byte that the server got.

        Raises:
            MismatchError: for the answer to another request.
            Error: one of Hemera's, as the server names it; ServerError where it is none of them.
        """
        import httpx

        reached = -1
        until = time.monotonic() + self._patience
        pause = 0.1
        content: bytes | Iterator[bytes] | None
        while True:
            wait: float | None = None
            sent = dict(headers or {}) if body is None else {**(headers or {}), "Content-Type": kind}
            if callable(body):
                begin, own, content = body()
                sent.update(own)
                if begin > reached:
                    reached, until, pause = begin, time.monotonic() + self._patience, 0.1
            else:
                content = body
            try:
                http = self._http.value
                sent[NONCE_HEADER] = new_nonce()
                response = http.request(method, self.url + path, content=content, headers=sent)
                self._require_own(response, sent[NONCE_HEADER], http)
                if response.is_success:
                    return response
                error = _error_in(response)
                if response.status_code in (429, 503):
                    wait = _retry_after(response)
                elif isinstance(error, ServerError):
                    is_away = response.status_code in (502, 504) and error.code == _NO_JSON
                    wait = pause if is_away or (callable(body) and error.code in _GOES_ON) else None
            except httpx.InvalidURL as reason:
                raise ParameterError(f"{self.url} is no address: {reason}") from None
            except httpx.TimeoutException:
                error = ServerError(f"{self.url} did not answer in time")
                wait = pause if callable(body) else None
            except httpx.TransportError as reason:
                error = ServerError(f"{self.url} is not to be reached: {reason or type(reason).__name__}")
                wait = pause
            if wait is None or time.monotonic() + max(wait, pause) > until:
                raise error
            time.sleep(min(max(wait, pause), _LONGEST_PAUSE))
            pause = min(2 * pause, 5.0)

    def _require_own(self, response: httpx.Response, nonce: str, http: httpx.Client) -> None:
        """MismatchError for the answer to another request, as where two clients share a connection: whatever
        comes on these connections is not to be trusted. Refusals of proxies, and servers before 0.3, have no
        name."""
        told = response.headers.get(NONCE_HEADER)
        if told == nonce:
            self._repeats = True
        elif told is not None or (self._repeats and response.is_success):
            self._http.renew(http)
            raise MismatchError(
                f"{self.url} has given the answer to another request, and nothing of it was read: something "
                "between here and the server mixes connections up, or shares them. Send the request again"
            )


def _error_in(response: httpx.Response) -> errors.Error:
    try:
        told = read_json(response.content, _NO_JSON)["error"]
        return error_of(response.status_code, str(told["code"]), str(told["message"]))
    except (FormatError, LookupError, TypeError):
        return ServerError(
            f"the server answered with HTTP {response.status_code}", response.status_code, _NO_JSON
        )


def _retry_after(response: httpx.Response) -> float:
    try:
        return max(0.0, float(response.headers.get("retry-after", "1")))  # 0 for NaN
    except ValueError:
        return 1.0
