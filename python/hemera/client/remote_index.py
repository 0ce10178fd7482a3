"""The client's side of an index on a server."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera._process import Lock
from hemera.client.remote_keys import RemoteKeys
from hemera.client.transport import Transport
from hemera.client.wire import KEYS_HEADER
from hemera.errors import Error, FormatError, MismatchError, NoiseError, ParameterError
from hemera.inputs.arguments import as_integer
from hemera.inputs.fields import damaged, read_json
from hemera.inputs.plain import plain_array
from hemera.inputs.source import Source
from hemera.package.local_model import no_pickle, secret_key_file
from hemera.parameters import require_security
from hemera.search import Client, Settings
from hemera.search.messages import Want


class RemoteIndex:
    """An index of a server, as `hemera.Client.index` gives it. The secret key stays here; the server gets
    evaluation keys, once, and encrypted queries. Any thread may use it.

    Attributes:
        name: of the index.
        settings: those of the index.
        is_doubtful: whether something did not fit: perhaps the index was replaced by one of other settings.
    """

    def __init__(
        self,
        transport: Transport,
        path: str,
        told: Mapping[str, Any],
        *,
        secret_key: Source | None,
        folder: Path | None,
        security: int | None,
    ) -> None:
        with damaged("the server's description of its index"):
            self.name = str(told["name"])
            self._kind = str(told["kind"])
            self.settings = Settings.from_fields(dict(told["settings"]), self._kind)
            limits = {key: int(value) for key, value in dict(told["limits"]).items()}
        require_security(
            self.settings.params.security, security, f"the server's index {self.name!r} has parameters of"
        )
        self._transport = transport
        self._path = path
        self._most = max(1, limits.get("queries", 1))
        if secret_key is None and folder is not None and not self.settings.owner:
            made = Client(self.settings)
            # A path, from which each process takes the same key.
            secret_key = secret_key_file(folder, self.settings.params, lambda: made.secret_key)
        self._client = Client(self.settings, secret_key)
        self._lock = Lock()
        self.is_doubtful = False
        self.keys = RemoteKeys(
            transport,
            path,
            self.name,
            self._client.secret_key,
            lambda write, _: write(self._client.keys),
            expected=lambda: 0,
            limit=limits.get("key_bytes"),
            folder=folder,
        )

    def __reduce__(self) -> NoReturn:
        raise no_pickle(self)

    def __repr__(self) -> str:
        settings = self.settings
        return f"<RemoteIndex {self.name!r}: {self._kind} of {settings.dims} numbers, {settings.metric!r}>"

    def describe(self) -> dict[str, Any]:
        """The server's description of the index: settings, rows, errors of scores, limits."""
        return self._transport.json("GET", self._path)

    def is_as(self, told: Mapping[str, Any]) -> bool:
        """Whether the index still has the settings that this client is for, by the server's description."""
        settings = told.get("settings")
        try:
            now = Settings.from_fields(dict(settings or {}), str(told.get("kind")))
        except (FormatError, KeyError, TypeError, ValueError):
            return False  # damaged: whoever makes a client of it says so
        return now.digest == self.settings.digest

    @contextlib.contextmanager
    def _doubting(self) -> Iterator[None]:
        """Within it, what does not fit makes the index doubtful, by the server or by this client. An index of
        another kind finds no message of its own in the query."""
        try:
            yield
        except (FormatError, MismatchError):
            self.is_doubtful = True
            raise
        self.is_doubtful = False

    def upload_keys(self) -> None:
        """Send the evaluation keys, unless the server has them. `query` does it when it is needed."""
        self.keys.ensure()

    def remove_keys(self) -> None:
        """Let the server remove the evaluation keys, and prepared answers with them."""
        self.keys.remove()

    def _ask(self, sent: Sequence[bytes]) -> list[bytes]:
        """The answers to queries of the client: all come before the first is decrypted, as
        `hemera.Client.predict` has them."""
        self.keys.ensure()
        answers = []
        for at, body in enumerate(sent):
            self._transport.progress("search", at, len(sent))
            answers.append(self.keys.answer(functools.partial(self._send, body)))
        self._transport.progress("search", len(sent), len(sent))
        return answers

    def _results(self, encrypt: Iterable[bytes], k: int | None = None) -> list[Any]:
        """The results of queries that are encrypted one after the other. The client forgets those that
        fail."""
        sent: list[bytes] = []
        try:
            with self._doubting():
                sent.extend(encrypt)
                return [self._client.decrypt(answer, k) for answer in self._ask(sent)]
        finally:
            for body in sent:
                self._client.forget(body)

    def _send(self, body: bytes, route: str = "query") -> tuple[bytes, str | None]:
        response = self._transport.request("POST", f"{self._path}/{route}", body)
        return response.content, response.headers.get(KEYS_HEADER)

    def prepare(self, count: int) -> int:
        """Let the server do ahead most of the work of later queries, which depends on their seeds alone.
        `query` takes prepared ones first, each once.

        Args:
            count: of queries.

        Returns:
            The number of queries that the server has prepared: fewer where it has no room for more. Others
            it answers as if they were not prepared.

        Raises:
            ParameterError: if the count is out of its range, or the index is encrypted, or compares scores.
            Error: as of `query`.
        """
        left, made = as_integer(count, "prepare", "count"), 0
        self.keys.ensure()
        while True:
            part = min(left, self._most)
            body = self._client.prepare(part)
            with self._doubting(), damaged("the server's number of prepared queries", Error):
                told = self.keys.answer(functools.partial(self._send, body, "prepare"))
                found = int(read_json(told, "no JSON")["prepared"])
            made, left = made + found, left - part
            if left <= 0 or found < part:
                return made

    def query(
        self, x: ArrayLike, k: int | None = 10, *, threshold: float | None = None, payloads: bool = False
    ) -> Any:
        """The best rows for a query, or those beyond a threshold. The server sees none of these numbers.

        Args:
            x: [dims], or several queries [queries, dims], which come in requests of their own, or of several
                for scores: all before the first answer is decrypted. As for `hemera.search.Client.query`.
            k: the number of best rows; all if there are fewer. None: of scores all rows, in the index's
                order. An index with thresholds finds them in several requests, whose number depends on the
                settings alone: as `hemera.search.Client.top`.
            threshold: of an index with thresholds: the rows beyond it, in place of the k best.
            payloads: of comparisons, whether to ask for payloads too. The server sees it.

        Returns:
            - Of scores: `scores, ids`, [k] each, or [queries, k]; as of `hemera.search.Client.decrypt`.
            - Of comparisons: `Matches`, or a list with those of each query.

        Raises:
            MismatchError, ParameterError, RangeError, TypeError: for a query that the index does not take.
            NoiseError: when the answer can not be decrypted. The server must not learn it.
            ServerError: when the server refuses, is not to be reached, or remains too busy.
        """
        given = plain_array(x, "a query")
        rows = [given] if given.ndim < 2 else list(given)
        want: Want = "payloads" if payloads else "mask"
        kind = self.settings.answers.kind
        if threshold is not None and kind != "threshold":
            raise ParameterError(f"threshold= is for an index with thresholds, and {self.name!r} is none")
        if kind == "":
            if payloads:
                raise ParameterError(f"payloads= is for comparisons, and {self.name!r} has scores")
            return self._scores(given, k)
        if kind == "threshold" and threshold is None:
            found = self._tops(rows, k, payloads)
        else:
            rank = None if kind == "threshold" else k
            found = self._results(self._client.query(each, threshold, want, k=rank) for each in rows)
        return found[0] if given.ndim < 2 else found

    def count(self, x: ArrayLike, threshold: ArrayLike) -> Any:
        """The number of rows above a threshold, or above each of several: [thresholds], as
        `hemera.search.Client.decrypt` has it. Raises as `query`."""
        levels = plain_array(threshold, "a threshold")
        at_once = self._thresholds
        parts: list[ArrayLike] = [threshold]
        if levels.ndim == 1 and len(levels) > at_once:
            parts = [levels[at : at + at_once] for at in range(0, len(levels), at_once)]
        found = self._results(self._client.query(x, part, "count") for part in parts)
        return found[0] if len(parts) == 1 else np.concatenate(found)

    def _tops(self, rows: Iterable[NDArray[Any]], k: int | None, payloads: bool) -> list[Any]:
        """The same of several queries, all of which are sent before a NoiseError of one is told."""
        found, failed = [], None
        for each in rows:
            try:
                found.append(self._top(each, k, payloads))
            except NoiseError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return found

    def _top(self, x: NDArray[Any], k: int | None, payloads: bool) -> Any:
        if k is None:
            raise ParameterError("k=None is for scores; give k= or threshold=")
        program: Any = self.settings.program
        width = min(self._thresholds, program.thresholds_of_round)
        with self._doubting():
            return self._client.top(
                x, k, lambda query: self._ask([query])[0], payloads=payloads, thresholds=width
            )

    @property
    def _thresholds(self) -> int:
        """The number of thresholds that one request may have."""
        if self.settings.answers.kind != "threshold":
            raise ParameterError(f"{self.name!r} is no index with thresholds")
        program: Any = self.settings.program
        copies: int = program.layout.copies
        return self._most * copies

    def _scores(self, given: NDArray[Any], k: int | None) -> Any:
        steps = range(0, max(len(given), 1), self._most) if given.ndim > 1 else ()
        parts = [given[at : at + self._most] for at in steps] or [given]
        found = self._results(map(self._encrypt, parts), k)
        if given.ndim < 2:
            return found[0]
        scores, ids = zip(*found, strict=True)
        return np.concatenate(scores), np.concatenate(ids)

    def _encrypt(self, part: NDArray[Any]) -> bytes:
        is_one = part.ndim == 1 or len(part) == 1
        with self._lock:  # no other thread takes the last prepared one in between
            return self._client.query(part, prepared=is_one and self._client.prepared > 0)
