"""Keys of clients in a device's memory: the sessions that are kept, and those of indexes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hemera._process import Lock
from hemera.errors import FormatError, MismatchError
from hemera.objects.keys import Keys
from hemera.search import Index, Tickets
from hemera.search.scores.tickets import Seeds
from hemera.serving.clients import plain_name
from hemera.serving.reasons import TOO_MANY
from hemera.serving.uploads import refuse_secret

Answer = dict[str, bytes]
"""The outputs of one request by name, each a file."""


class AnyInputs(Protocol):
    """A request that was loaded."""

    @property
    def values(self) -> Any:
        """The arguments of `Session.run` from it."""

    @property
    def count(self) -> int:
        """Evaluations, or queries."""

    @property
    def single(self) -> bool:
        """Whether the answer is that of one evaluation."""

    def fit(self, other: Any) -> bool:
        """Whether both can run as one batch."""

    def divided(self, first: int) -> tuple[AnyInputs, ...]:
        """The first evaluations and the others, or itself where it is answered as a whole."""


class Session(ABC):
    """Keys of one client for one model or index. Used by several threads at once, of which one computes."""

    def __init__(self) -> None:
        self.digest = ""
        """The digest of the keys, as the store has it."""
        self.is_wanted: Callable[[], bool] = lambda: True
        """Whether its model or index is the one that is served."""
        self.model_digest: str | None = None
        """The digest of the model that computes; None: of an index."""

    @property
    def is_current(self) -> bool:
        """False where its model or index was replaced: then it serves no more requests."""
        return self.is_wanted()

    @property
    def graphs(self) -> int:
        """Captured graphs."""
        return 0

    @property
    def prepared(self) -> int:
        """Prepared answers."""
        return 0

    @property
    @abstractmethod
    def memory_bytes(self) -> int:
        """Bytes that the device's memory gets back when the session ends."""

    @abstractmethod
    def load(self, files: Mapping[str, bytes]) -> AnyInputs:
        """The inputs of a request. FormatError, MismatchError."""

    @abstractmethod
    def run(self, requests: Sequence[Any]) -> list[Any]:
        """The outputs of each of several requests, the `values` of inputs, which run as one batch."""

    def join(self, parts: Sequence[Any]) -> Any:
        """The outputs of a request by those of its parts."""
        (outputs,) = parts
        return outputs

    @abstractmethod
    def dump(self, outputs: Any, single: bool) -> Answer:
        """The outputs of one request as files; `single`: of a request for one evaluation."""


class SessionCache:
    """Sessions by client and model, those that were used last, while they fit into a number of bytes.

    Args:
        limit: bytes of the sessions in the device's memory. One session stays whatever it takes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._sessions: OrderedDict[tuple[str, str], tuple[int, Session]] = OrderedDict()
        self.loads = 0
        """Sessions that were kept, from their files, an upload or another device."""
        self.evictions = 0
        """Sessions that made room for others."""

    @property
    def bytes(self) -> int:
        """Bytes of all sessions."""
        with self._lock:
            return sum(session.memory_bytes for _, session in self._sessions.values())

    @property
    def graphs(self) -> int:
        """Captured graphs of all sessions."""
        with self._lock:
            return sum(session.graphs for _, session in self._sessions.values())

    @property
    def prepared(self) -> int:
        """Prepared answers of all sessions."""
        with self._lock:
            return sum(session.prepared for _, session in self._sessions.values())

    def __len__(self) -> int:
        with self._lock:
            return len(self._sessions)

    @property
    def places(self) -> list[tuple[str, str]]:
        """The client and model of each session."""
        with self._lock:
            return list(self._sessions)

    def peek(self, client: str, model: str, generation: int) -> Session | None:
        """The session of these keys, if it is there."""
        with self._lock:
            return self._find(client, model, generation)

    def get(self, client: str, model: str, generation: int, make: Callable[[], Session]) -> Session:
        """The session of these keys, made where it is not there."""
        with self._lock:
            found = self._find(client, model, generation)
            if found is not None:
                self._sessions.move_to_end((client, model))
                self._make_room()  # sessions grow, by graphs, encoded weights and prepared answers
                return found
        self.make_room(model)
        made = make()
        self.put(client, model, generation, made)
        return made

    def put(self, client: str, model: str, generation: int, session: Session) -> None:
        """Keeps a session, in place of others where there is no room."""
        with self._lock:
            self._sessions[client, model] = (generation, session)
            self._sessions.move_to_end((client, model))
            self.loads += 1
            self._make_room()

    def make_room(self, model: str) -> None:
        """Forgets sessions before one is made for a model, as large as the last one of it."""
        with self._lock:
            own = (each for (_, name), (_, each) in reversed(self._sessions.items()) if name == model)
            size = next((each.memory_bytes for each in own), 0)
            self._forget_beyond(self._limit - size, 0)

    def _find(self, client: str, model: str, generation: int) -> Session | None:
        found = self._sessions.get((client, model))
        return found[1] if found is not None and found[0] == generation and found[1].is_current else None

    def _make_room(self) -> None:
        self._forget_beyond(self._limit, 1)

    def _forget_beyond(self, limit: int, fewest: int) -> None:
        """Forgets sessions until the others fit into a number of bytes; `fewest` stay whatever they take."""
        total = sum(each.memory_bytes for _, each in self._sessions.values())
        while total > limit and len(self._sessions) > fewest:
            total -= self._forget(self._least()).memory_bytes
            self.evictions += 1

    def _least(self) -> tuple[str, str]:
        """The place of the session that makes room first."""
        return next(iter(self._sessions))

    def _forget(self, place: tuple[str, str]) -> Session:
        """Forgets a session, and what is known of its uses."""
        return self._sessions.pop(place)[1]

    def drop(self, client: str, model: str, generation: int | None = None) -> None:
        """Forgets the sessions of a client's keys for all versions of a model; with a generation: no other
        one's."""
        self._drop(lambda at, of: at[0] == client and plain_name(at[1]) == model and generation in (None, of))

    def drop_all(self, model: str) -> None:
        """Forgets the sessions of all clients for a model or index."""
        self._drop(lambda at, _: at[1] == model)

    def drop_others(self, client: str, model: str) -> None:
        """Forgets all sessions but one: the device has no room."""
        self._drop(lambda at, _: at != (client, model), are_evicted=True)

    def _drop(self, goes: Callable[[tuple[str, str], int], bool], *, are_evicted: bool = False) -> None:
        """Forgets sessions by their place and generation."""
        with self._lock:
            gone = [place for place, (generation, _) in self._sessions.items() if goes(place, generation)]
            for place in gone:
                self._forget(place)
            self.evictions += are_evicted * len(gone)


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
        self, index: Index, keys: Keys, *, queries: int, prepared_bytes: int, is_current: Callable[[], bool]
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
