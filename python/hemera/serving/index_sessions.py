"""Keys of one client for an index, and the answers that it had prepared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hemera.errors import FormatError, MismatchError
from hemera.objects.keys import Keys
from hemera.search import Index, Tickets
from hemera.search.scores.tickets import Seeds
from hemera.serving.reasons import TOO_MANY
from hemera.serving.session_cache import Answer, Session
from hemera.serving.uploads import refuse_secret

QUERY, PREPARATION = "query", "preparation"
"""The file of a request."""
ANSWER, PREPARED = "answer", "prepared"
"""The file of its answer; of a preparation the number of prepared queries."""


@dataclass(frozen=True)
class _Asked:
    """A request of one client, as the scheduler takes it."""

    session: IndexSession
    data: bytes
    count: int
    is_preparation: bool
    single: bool = True

    @property
    def values(self) -> _Asked:
        return self

    def fit(self, other: _Asked) -> bool:
        """Queries run together, whosever they are, where the index answers several by one pass; else those of
        one client. Preparations do not."""
        is_shared = self.session.shares_passes or self.session is other.session
        return is_shared and not (self.is_preparation or other.is_preparation)

    def divided(self, _: int) -> tuple[_Asked]:
        """Itself: a message is answered as a whole."""
        return (self,)


class IndexSession(Session):
    """Keys of one client for an index.

    Args:
        index: on the device.
        keys: in its context.
        queries: that take one pass together, and that a request may have.
        prepared_bytes: of prepared answers that are kept.
        is_current: whether the index was not replaced.

    Raises:
        MissingKeyError: when the keys lack one.
    """

    def __init__(
        self,
        index: Index,
        keys: Keys,
        *,
        queries: int,
        prepared_bytes: int,
        is_current: Callable[[], bool],
    ) -> None:
        super().__init__()
        self._index, self._program = index, index.settings.program
        self._program.require_keys(keys)
        self._keys = keys
        self._queries = queries
        self._room = prepared_bytes
        self._is_current = is_current
        self._tickets = Tickets(index.version, {})
        self._seeds = Seeds()

    @property
    def shares_passes(self) -> bool:
        """Whether queries of several clients are answered together."""
        return self._program.queries_at_once is not None

    @property
    def is_current(self) -> bool:
        return self._is_current()

    @property
    def memory_bytes(self) -> int:
        return self._keys.memory_bytes + self._tickets.memory_bytes

    @property
    def prepared(self) -> int:
        return len(self._tickets)

    def load(self, files: Mapping[str, bytes]) -> _Asked:
        """The inputs of a request.

        Raises:
            FormatError: when it is damaged.
            MismatchError: when it is for another index's settings.
            SecurityError: when another query of the client came with this one's seed.
            Refused: (422) when it is a secret key, or has too many queries.
        """
        name, data, count = request_of(files, self._index, self._queries)
        seed = self._program.seed(data) if name == QUERY else None
        if seed is not None:
            self._seeds.note(seed, data)
        return _Asked(self, data, count, name == PREPARATION)

    def run(self, requests: Sequence[_Asked]) -> list[bytes | int]:
        """The answers to queries of several clients, each by its own keys, or the numbers of queries that
        were prepared."""
        if requests[0].is_preparation:
            return [each.session._prepare(each.data) for each in requests]
        answers = {at: each.session._prepared_answer(each.data) for at, each in enumerate(requests)}
        left = [at for at, answer in answers.items() if answer is None]
        for part in _passes([requests[at].count for at in left], self._queries):
            of_pass = [left[i] for i in part]
            asked = [(requests[at].data, requests[at].session._keys) for at in of_pass]
            answers.update(zip(of_pass, self._index.query_many(asked), strict=True))
        return [answer for answer in answers.values() if answer is not None]

    def dump(self, outputs: bytes | int, single: bool) -> Answer:  # noqa: ARG002
        if isinstance(outputs, int):
            return {PREPARED: str(outputs).encode()}
        return {ANSWER: outputs}

    def _prepare(self, data: bytes) -> int:
        """The number of answers that there is room for."""
        room = (self._room - self._tickets.memory_bytes) // self._index.ticket_bytes
        made = self._index.prepare(data, self._keys, most=max(0, room))
        count = len(made)
        self._tickets.join(made)
        return count

    def _prepared_answer(self, query: bytes) -> bytes | None:
        """The answer to a query that was prepared, once; None: its keys have to answer."""
        if not len(self._tickets):
            return None
        try:
            return self._index.query(query, self._tickets)
        except MismatchError:  # others, and a query that comes again
            return None


def request_of(files: Mapping[str, bytes], index: Index, most: int) -> tuple[str, bytes, int]:
    """The file of a request by its name, and the number of its queries (`program.count`).

    Raises:
        FormatError: when it is damaged, or no request to an index.
        MismatchError: when it is for another index's settings, or prepares queries of an index that has no
            prepared ones.
        Refused: (422) for a secret key, or more queries than one request may have.
    """
    if len(files) != 1 or not {QUERY, PREPARATION}.issuperset(files):
        raise FormatError(f"a request to an index is one file, and has no parts {', '.join(files)}")
    ((name, data),) = files.items()
    refuse_secret(data)
    program = index.settings.program
    count = program.count(data) if name == QUERY else len(program.seeds(data))
    if count > most:
        raise TOO_MANY.refused(most=most)
    return name, data, count


def _passes(counts: Sequence[int], most: int) -> list[list[int]]:
    """The positions of messages with these numbers of queries, in passes of at most `most`."""
    found: list[list[int]] = []
    room = 0
    for at, count in enumerate(counts):
        if not found or count > room:
            found.append([])
            room = most
        found[-1].append(at)
        room -= count
    return found
