"""The client of an index: it encrypts queries, and decrypts scores or the results of comparisons."""

from __future__ import annotations

import math
import secrets
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera._process import Lock, OfProcess, cached_property
from hemera.errors import MismatchError, NoiseError, ParameterError
from hemera.inputs.arguments import as_integer, in_own_words, require_type
from hemera.inputs.plain import plain_array
from hemera.inputs.source import Source
from hemera.objects.context import Context
from hemera.objects.keys import SecretKey
from hemera.search import wire
from hemera.search.answers import fitted_settings
from hemera.search.comparisons.program import Comparisons, Relative
from hemera.search.messages import Matches, Want, name_of, new_ids
from hemera.search.scores.program import MOST_PREPARED, ScoreProgram
from hemera.search.settings import Answers, Errors, Metric, Settings
from hemera.search.vectors import as_vectors

_COUNT_DOUBT = 2.0**-5
_Prepared = tuple[bytes, NDArray[np.uint64]]
"""A seed, and the numbers of its encryption of zero."""


@in_own_words
class Client:
    """A client of an index: it has the secret key, encrypts queries and decrypts answers. Any thread may use
    it.

    Args:
        settings: those of the index, `hemera.search.Index.settings`, or their bytes.
        secret_key: a key that an earlier client of such settings had, as bytes or a file's path
            (`client.secret_key.save(path)`). None: a fresh one; the settings of an encrypted index want its
            owner's.
        threads: the number of threads; None: as many as the process may run on.

    Raises:
        FormatError: if bytes are damaged.
        MismatchError: if the secret key belongs to other parameters.
        ParameterError: if an encrypted index's key is not given.

    Examples:
        >>> index = hm.search.Index(np.eye(4, dtype=np.float32), metric="dot")
        >>> client = hm.search.Client(index.settings)
        >>> query = client.query([0.1, 0.9, 0.3, 0.2])
        >>> answer = index.query(query, client.keys)
        >>> scores, ids = client.decrypt(answer, k=2)
        >>> ids.tolist(), scores.round(2).tolist()
        ([1, 2], [0.9, 0.3])
    """

    _secret_key: SecretKey

    def __init__(
        self, settings: Settings | Source, secret_key: Source | None = None, *, threads: int | None = None
    ) -> None:
        self._begin(settings if isinstance(settings, Settings) else Settings.load(settings), threads)
        if secret_key is not None:
            loaded = self._context.load(secret_key)
            self._secret_key = require_type(loaded, SecretKey, "Client", "a secret key")
        elif self._settings.owner:
            raise ParameterError(
                "only the key of its owner reads an encrypted index: give secret_key=, or begin another "
                "index by Client.owning(vectors)"
            )
        else:
            self._secret_key = self._context.generate_secret_key()

    @classmethod
    def owning(
        cls,
        vectors: ArrayLike,
        metric: Metric = "cosine",
        *,
        answers: Answers | None = None,
        payloads: ArrayLike | None = None,
        exact: bool = False,
        largest: float | None = None,
        query_bound: int = 127,
        threads: int | None = None,
    ) -> Client:
        """The owner of an encrypted index for vectors such as these, with a fresh secret key: `encrypt` makes
        rows for an `Index`, which only this key reads. Keep it, and the settings:
        `client.secret_key.save(path)`, `bytes(client.settings)`.

        Args:
            vectors: as for `Index`, as the others. They give the scale, or bounds and the rows of a block.
                For scores floats are rounded far below the noise, not to int8.
            answers: None: scores; or a `Threshold`.

        Raises:
            MismatchError, ParameterError, RangeError, TypeError: as for `Index`.
        """
        given = as_vectors(vectors, "the vectors of an index")
        owner = secrets.token_hex(16)
        client = cls.__new__(cls)
        options = (answers, exact, largest, query_bound)
        client._begin(fitted_settings(given, metric, *options, payloads, owner), threads)
        client._secret_key = client._context.generate_secret_key()
        return client

    def _begin(self, settings: Settings, threads: int | None) -> None:
        """All but the secret key."""
        self._settings = settings
        self._program: ScoreProgram | Comparisons = settings.program
        self._context = Context(settings.params, "cpu", threads=threads)
        self._waiting: dict[str, Any] = {}  # what decrypting answers needs, by the names of queries
        self._lock = Lock()
        # Encryptions of zero whose seeds an index knows. Their numbers are secret until a message is added.
        # Each process has its own: two queries with one seed would reveal the difference of their messages.
        self._prepared: OfProcess[deque[_Prepared]] = OfProcess(deque)

    @property
    def settings(self) -> Settings:
        """The settings of the index."""
        return self._settings

    @property
    def secret_key(self) -> SecretKey:
        """The key that decrypts answers. It stays with the client; `save(path)` writes a file of it."""
        return self._secret_key

    @cached_property
    def keys(self) -> bytes:
        """The keys that an index needs to answer: 0.6 MB for scores (exact: 3.9 MB), 100 MB and more for
        comparisons. They can not decrypt. Made at the first use, and of one secret key always for the same
        queries."""
        return self._program.generate_keys(self._secret_key).to_bytes()

    @property
    def expected_error(self) -> Errors:
        """The errors of scores, as of `Index.expected_error`, for rows of the largest norm."""
        return self._program.largest_errors

    def encrypt(
        self, vectors: ArrayLike, *, payloads: ArrayLike | None = None, ids: ArrayLike | None = None
    ) -> bytes:
        """Encrypt rows for an `Index`.

        Args:
            vectors: [rows, dims], at least one, as those of `owning`.
            payloads: [rows, numbers], if the settings have some.
            ids: the rows' names in answers, as for `Index`. They stay in the clear. None: the index numbers
                its rows.

        Returns:
            The message for `Index` or its `add`, of whole blocks, so that a row costs as much as a block. For
            scores: 6 bytes a number (exact: 12) of 4,096 (8,192) rows. With ids 8 bytes a row.

        Raises:
            ParameterError: if these settings are not of `owning`, or an id repeats.
            MismatchError, RangeError, TypeError: as for `Index.add`.
        """
        settings = self._settings
        if not settings.owner:
            raise ParameterError("the rows of this index are in the clear; Client.owning encrypts rows")
        given = as_vectors(vectors, "vectors to encrypt")
        if len(given) == 0:
            raise MismatchError("there is no vector to encrypt")
        named = None if ids is None else new_ids(ids, len(given), np.empty(0, np.int64), 0)
        parts = self._program.encrypt(self._secret_key, given, payloads)
        header = {"settings": settings.to_fields(), "count": len(given), "has_ids": named is not None}
        names = [] if named is None else [named.astype("<i8").tobytes()]
        return wire.pack(settings.kind("rows"), header, *names, *parts)

    # --- Queries. ---

    def prepare(self, count: int) -> bytes:
        """Encrypt zeros for later queries, and give their seeds, so that an index can do most of its work
        before the queries are there: `Index.prepare`. The client keeps the rest, 6 bytes a number (exact: 12)
        in memory.

        Args:
            count: of queries, 1 to 100,000.

        Returns:
            The message for `Index.prepare`: 32 bytes for each query, and 200.

        Raises:
            ParameterError: if the count is out of its range, or the index is encrypted, or compares scores.
        """
        program = self._program
        if self._settings.owner or not isinstance(program, ScoreProgram):
            raise ParameterError(
                f"an index of the kind {self._settings.index_kind!r} has no prepared queries: query(x) makes "
                "others"
            )
        if not 1 <= as_integer(count, "prepare", "count") <= MOST_PREPARED:
            raise ParameterError(f"prepare 1 to {MOST_PREPARED} queries at a time, not {count}")
        made = [program.zeros(self._secret_key) for _ in range(count)]
        with self._lock:
            self._prepared.value.extend(made)
        header = {"settings": self._settings.digest, "count": count}
        return wire.pack("preparation", header, *(seed for seed, _ in made))

    @property
    def prepared(self) -> int:
        """The number of prepared queries that are left. A child of `fork()` begins with none."""
        return len(self._prepared.value)

    def _oldest(self) -> _Prepared:
        """The oldest prepared encryption, which is used up."""
        with self._lock:
            left = self._prepared.value
            if not left:
                raise ParameterError(
                    "no prepared query is left: prepare(count) makes more, or prepared=False"
                )
            return left.popleft()

    def query(
        self,
        x: ArrayLike,
        threshold: ArrayLike | None = None,
        want: Want = "mask",
        *,
        k: int | None = None,
        prepared: bool = False,
    ) -> bytes:
        """Encrypt a query; where scores are compared, with its threshold or its k, which the server does not
        see either.

        Args:
            x: [dims]: real numbers; with exact scores integers up to the settings' `query_bound`. For scores
                also several queries [queries, dims], which one pass over the rows answers.
            threshold: for answers by `Threshold`, a score. A row matches if its own is above it; its squared
                distance below it. With "count" also several: a block of few rows takes
                `settings.program.layout.copies` of them at once.
            want: of comparisons. "mask": which rows match; "count": how many, by thresholds; "payloads":
                which, and their payloads. The server sees it.
            k: for answers by `Top`, 1 or more.
            prepared: for scores, whether to take the oldest query of `prepare`, for which an index may have a
                ticket. It is used up. One query at a time.

        Returns:
            The message for `Index.query`. For scores dims numbers of 6 bytes (exact: 12) for each query, and
            300 bytes. The client keeps what decrypting needs until the answer is decrypted.

        Raises:
            MismatchError: if x has another number of dims.
            RangeError: if numbers, or their scores, are not finite, or too large for exact scores; or a
                threshold is no cosine.
            ParameterError: if a query of cosines is zero, an argument is of other answers or out of its
                range, there are no payloads, or no prepared query is left.
            TypeError: if x has other numbers.
        """
        given, program = plain_array(x, "a query"), self._program
        if isinstance(program, Comparisons):
            if prepared:
                raise ParameterError("prepared= is for scores, and this index compares them")
            made = program.query(self._secret_key, given, threshold, k, want)
        elif threshold is not None or k is not None or want != "mask":
            raise ParameterError(
                "threshold=, k= and want= are for comparisons; decrypt(answer, k) has the k best scores"
            )
        else:
            zeros = self._oldest if prepared else None
            made = program.query(self._secret_key, given, zeros)
        return self._noted(*made)

    def _noted(self, sent: bytes, asked: Any) -> bytes:
        """A query, for whose answer this is kept."""
        with self._lock:
            self._waiting[name_of(sent)] = asked
        return sent

    def forget(self, query: bytes) -> None:
        """Give up a query whose answer will not come."""
        with self._lock:
            self._waiting.pop(name_of(query), None)

    # --- Answers. ---

    def decrypt(self, answer: bytes, k: int | None = None) -> Any:
        """The result in the answer to one of this client's queries. Each answer is decrypted once.

        Args:
            k: of scores, the number of best rows; all if there are fewer. None: all rows, in the index's
                order.

        Returns:
            For scores `scores, ids`, [k] each, or [queries, k] where several queries were asked at once; best
            first: the largest cosine or inner product, the smallest distance. Scores are float64, int64 if
            exact. Rows of equal scores come in the order of the index. For a threshold, and for a k,
            `Matches`, in the index's order. A row is among the first k for sure if fewer than k rows are
            before it or within the margin; and not if k are before it by this. For a count the number of rows
            above the threshold, or above each of several, [thresholds]. Rows within the margin count as
            numbers from 0 to 1, others within 2^-17.

        Raises:
            FormatError: if the answer is damaged.
            MismatchError: if it belongs to another index's settings, or to no query of this client that
                waits for its answer.
            NoiseError: if values are larger than any row can have: keys and secret key do not belong
                together, or the server computed something else. The server must not learn of this error.
            ParameterError: if k is below 1, or the answer has no scores.
        """
        if k is not None and as_integer(k, "decrypt", "k") < 1:
            raise ParameterError(f"k must be 1 or more, not {k}")
        name, decrypted = self._program.read(self._secret_key, answer, k, self._asked)
        if name:
            with self._lock:
                self._asked(name)  # another thread may have been before
                del self._waiting[name]
        return decrypted()

    def _asked(self, name: str) -> Any:
        """The facts that are kept for a query that waits. MismatchError if none of this name does."""
        asked = self._waiting.get(name)
        if asked is None:
            raise MismatchError("the answer belongs to no query of this client that waits for one")
        return asked

    def top(
        self,
        x: ArrayLike,
        k: int,
        ask: Callable[[bytes], bytes],
        *,
        payloads: bool = False,
        thresholds: int | None = None,
    ) -> Matches:
        """The k nearest rows by thresholds: the client narrows one by the numbers of rows above several, then
        asks for the rows above it. The number of rounds depends on the settings alone: a count that can not
        be decrypted is an error after the last round, so that the server does not learn of it.

        Args:
            x: as for `query`.
            k: 1 or more.
            ask: sends a query to the index and returns its answer, as `lambda q: index.query(q, keys)`.
            payloads: whether to ask for them too.
            thresholds: the most of a round. None: as many as the layout compares at once, from 3 to 64.

        Returns:
            The k best rows, or all if there are fewer; and of others only rows whose score is within three
            margins of the k-th. `doubtful` has rows near the last threshold.

        Raises:
            ParameterError: if k is below 1, the index has no thresholds, or there are no payloads.
            FormatError, MismatchError, NoiseError, RangeError: as `query` and `decrypt`.
        """
        program = self._program
        if not isinstance(program, Comparisons) or "count" not in program.wants:
            raise ParameterError("top asks for numbers of rows above thresholds: query(x, k=) is for ranks")
        want: Want = "payloads" if payloads else "mask"
        program.require_want(want)
        if as_integer(k, "top", "k") < 1:
            raise ParameterError(f"k must be 1 or more, not {k}")
        width = thresholds or program.thresholds_of_round
        given = plain_array(x, "a query")
        low, high, certain = -1.0, 1.0, None
        failed: NoiseError | None = None
        sent: list[bytes] = []

        def answer_to(levels: NDArray[np.float64], what: str) -> bytes:
            made = program.query(self._secret_key, given, Relative(levels), None, what)
            sent.append(self._noted(*made))
            return ask(sent[-1])

        try:
            for _ in range(math.ceil(math.log(2 / program.margin) / math.log(width + 1) - 2**-20)):
                levels = np.linspace(low, high, width + 2)
                answer = answer_to(levels[1:-1], "count")
                try:
                    found = self.decrypt(answer)
                except NoiseError as error:
                    failed, found = error, np.zeros(width)
                exact = np.flatnonzero(np.abs(found - k) < _COUNT_DOUBT)
                if certain is None and len(exact):
                    certain = float(levels[1 + exact[len(exact) // 2]])
                place = int((found > k - 0.5).sum())
                low, high = float(levels[place]), float(levels[place + 1])
            # All of the k best are above the last threshold.
            answer = answer_to(np.array([low - program.margin if certain is None else certain]), want)
            if failed is not None:
                raise failed
            matches: Matches = self.decrypt(answer)
            return matches
        finally:
            for query in sent:  # those that failed
                self.forget(query)
