"""The client of an index that ranks its rows."""

from __future__ import annotations

import functools
import threading

import numpy as np
from numpy.typing import ArrayLike

from hemera.errors import MismatchError, ParameterError
from hemera.inputs.arguments import as_integer, in_own_words, require_type
from hemera.inputs.source import Source
from hemera.objects.context import Context
from hemera.objects.keys import SecretKey
from hemera.search.ranks import circuit
from hemera.search.ranks.messages import Answer, pack_query
from hemera.search.ranks.settings import TopSettings
from hemera.search.requests import name_of
from hemera.search.thresholds.client import Matches, matches_of
from hemera.search.thresholds.messages import require_want
from hemera.search.thresholds.scores import Asked

__all__ = ["TopClient"]


@in_own_words
class TopClient:
    """A client of a `TopIndex`: keys, queries, results.

    Args:
        settings: those of the index, `TopIndex.settings`, or their bytes.
        secret_key: a key that an earlier client of such settings had, as bytes or a file's path. None: a
            fresh one.
        threads: the number of threads; None: as many as the process may run on.

    Raises:
        FormatError: if bytes are damaged.
        MismatchError: if the secret key belongs to other parameters.
    """

    def __init__(
        self,
        settings: TopSettings | Source,
        secret_key: Source | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        self._settings = settings if isinstance(settings, TopSettings) else TopSettings.load(settings)
        self._context = Context(self._settings.params, "cpu", threads=threads)
        self._waiting: dict[str, str] = {}  # of each query what it wants
        self._lock = threading.Lock()
        self._secret_key = (
            self._context.generate_secret_key()
            if secret_key is None
            else require_type(self._context.load(secret_key), SecretKey, "TopClient", "a secret key")
        )

    @property
    def settings(self) -> TopSettings:
        """The settings of the index."""
        return self._settings

    @property
    def secret_key(self) -> SecretKey:
        """The key that decrypts results. It stays with the client; `save(path)` writes a file of it."""
        return self._secret_key

    @functools.cached_property
    def keys(self) -> bytes:
        """The keys that an index needs to answer. They can not decrypt. Made at the first use."""
        made = self._context.generate_keys(
            self._secret_key, public_key=False, relinearization=False, plan=circuit.cost_of(self._settings)
        )
        return made.to_bytes()

    def query(self, x: ArrayLike, k: int, *, payloads: bool = False) -> bytes:
        """Encrypt a query and its k.

        Args:
            x: [dims]: real numbers.
            k: 1 or more; the server does not see it.
            payloads: whether to ask for payloads too. The server sees it.

        Returns:
            The message for `TopIndex.query`.

        Raises:
            MismatchError: if x has another number of dims.
            RangeError: if numbers are not finite.
            ParameterError: if a query of cosines is zero, k is below 1, or there are no payloads.
        """
        settings, context = self._settings, self._context
        want = "payloads" if payloads else "mask"
        require_want(want, settings)
        if as_integer(k, "query", "k") < 1:
            raise ParameterError(f"k must be 1 or more, not {k}")
        asked = Asked.of(x, settings)
        share = (min(k, settings.rows) - 0.5) / settings.rows
        slots = context.encode(asked.slots, level=settings.top)
        last = context.encode(np.full(settings.layout.slots, share), level=settings.rank_level)
        encrypted = [context.encrypt(each, self._secret_key) for each in (slots, last)]
        sent = pack_query(settings, want, *encrypted)
        with self._lock:
            self._waiting[name_of(sent)] = want
        return sent

    def forget(self, query: bytes) -> None:
        """Give up a query whose answer will not come."""
        with self._lock:
            self._waiting.pop(name_of(query), None)

    def decrypt(self, answer: bytes) -> Matches:
        """The first k rows, or all if there are fewer; in the index's order, not by score. Each answer is
        decrypted once.

        A row is among them for sure if fewer than k rows are before it or nearer to it than the margin; it is
        not if k rows are before it by the margin. `doubtful` has rows that came out between.

        Raises:
            FormatError: if the answer is damaged.
            MismatchError: if it belongs to another index's settings, or to no query of this client that waits
                for its answer.
            NoiseError: if values are too large: the key is wrong, or the server computed something else. The
                server must not learn of this error.
        """
        settings, layout = self._settings, self._settings.layout
        unpacked = Answer.unpack(answer, settings, self._context)
        with self._lock:
            if self._waiting.get(unpacked.name) != unpacked.want:
                raise MismatchError("the answer belongs to no query of this client that waits for one")
            del self._waiting[unpacked.name]
        slots = self._context.decrypt(unpacked.results[0], self._secret_key, dtype=np.float64)
        mask = slots[:, : layout.rows : settings.rows].reshape(-1) / 2
        numbers = None
        if unpacked.want == "payloads":
            of_blocks = self._context.decrypt(unpacked.results[1], self._secret_key, dtype=np.float64)
            of_pairs = [layout.numbers_of(each, settings.payload) for each in of_blocks]
            numbers = np.concatenate(of_pairs)[:: settings.rows] * settings.payload_bound
        return matches_of(mask, unpacked.ids, numbers)
