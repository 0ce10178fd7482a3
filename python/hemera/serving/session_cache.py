"""Keys of clients in a device's memory, with what their requests for one model or index need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from hemera._process import Lock
from hemera.serving.versions import plain_name

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
        with self._lock:
            for place, found in list(self._sessions.items()):
                is_of = place[0] == client and plain_name(place[1]) == model
                if is_of and generation in (None, found[0]):
                    self._forget(place)

    def drop_all(self, model: str) -> None:
        """Forgets the sessions of all clients for a model or index."""
        with self._lock:
            for place in [place for place in self._sessions if place[1] == model]:
                self._forget(place)

    def drop_others(self, client: str, model: str) -> None:
        """Forgets all sessions but one: the device has no room."""
        with self._lock:
            for place in [place for place in self._sessions if place != (client, model)]:
                self._forget(place)
                self.evictions += 1
