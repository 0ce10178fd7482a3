"""Answers that an index has prepared: all that depends on a query's seed alone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import islice

from hemera import _core
from hemera._process import Lock
from hemera.errors import MismatchError, SecurityError
from hemera.search import wire

_SEEDS = 1 << 14
"""The number of seeds that are remembered of one client: 4 MB."""


class Seeds:
    """The seeds of a client's last queries, each with its query: two queries under one seed show the
    difference of their messages to whoever sees them. Any thread may use them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._queries: dict[bytes, bytes] = {}  # by seed, in the order in which they came

    def note(self, seed: bytes, query: bytes) -> None:
        """A query has come. SecurityError if another one came with its seed; the same one may come again."""
        name = hashlib.sha256(query).digest()[:16]
        with self._lock:
            known = self._queries.setdefault(seed, name)
            if len(self._queries) > _SEEDS:
                del self._queries[next(iter(self._queries))]
        if known != name:
            raise SecurityError(
                "another query came with this one's seed, and two of them reveal the difference of their "
                "messages: a client's prepared queries are of one process; let each process make its own "
                "Client, or queries without prepared=True"
            )

    def join(self, others: Seeds) -> None:
        """Take those of others, which no other thread uses."""
        with self._lock:
            self._queries.update(others._queries)
            for seed in list(self._queries)[:-_SEEDS]:
                del self._queries[seed]


@dataclass(frozen=True)
class Ticket:
    """A prepared answer."""

    half: _core.SearchPreparedAnswer
    answer: wire.Draft  # has all but b and the query's name
    bytes: int


class Tickets:
    """Prepared answers to queries of one client, from `Index.prepare`. Each serves one query, and holds for
    one version of the index: `Index.query` takes them in the place of keys.

    For each 4,096 rows a ticket has 32,768 bytes of the device's memory and 32,768 of the host's (exact: for
    8,192 rows 131,072 and 81,920). The host's are the answer's message, which has ids and norms as well.
    """

    def __init__(self, index_version: int, prepared: dict[bytes, Ticket]) -> None:
        self._index_version = index_version
        self._prepared = prepared
        self._seeds = Seeds()
        self._lock = Lock()

    def __len__(self) -> int:
        """The number of tickets that are left."""
        return len(self._prepared)

    def __repr__(self) -> str:
        return f"<{len(self)} tickets for version {self._index_version} of an index>"

    @property
    def index_version(self) -> int:
        """`Index.version` when they were made."""
        return self._index_version

    @property
    def memory_bytes(self) -> int:
        """Bytes of the tickets that are left."""
        with self._lock:  # all are for one version of the index, and of one size
            return sum(ticket.bytes for ticket in islice(self._prepared.values(), 1)) * len(self._prepared)

    def join(self, others: Tickets) -> None:
        """Take others' tickets, which has none after it. Tickets of another version of the index give way
        to the others'."""
        with others._lock:  # one after the other: others may be these, or another thread join these to them
            version, seeds, taken = others._index_version, others._seeds, others._prepared
            others._seeds, others._prepared = Seeds(), {}
        with self._lock:
            if self._index_version != version:
                self._prepared.clear()
            self._index_version = version
            self._prepared.update(taken)
            self._seeds.join(seeds)

    def take(self, seed: bytes, query: bytes, index_version: int) -> Ticket:
        """The ticket of a query's seed, which is gone after it. SecurityError if another query came with
        it."""
        if index_version != self._index_version:
            raise MismatchError(
                f"the tickets are for version {self._index_version} of the index, which is at "
                f"{index_version}: answer by the client's keys, and prepare new ones"
            )
        with self._lock:
            self._seeds.note(seed, query)
            ticket = self._prepared.pop(seed, None)
        if ticket is None:
            raise MismatchError(
                "there is no ticket for this query: it was used, or the query is not by Client.query(x, "
                "prepared=True) of these tickets' client; a ticket serves once"
            )
        return ticket
