"""The keys that stay in a replica's memory: those with the most uses for each byte."""

from __future__ import annotations

from collections import Counter

from hemera.serving.session_cache import Session, SessionCache


class WorthCache(SessionCache):
    """Sessions by their worth, uses for each byte, with age: GreedyDual-Size with frequency (L. Cherkasova,
    1998). The worth of a session that makes room is added to that of later uses, so that old uses count
    less and less. docs/scaling.md compares it with least recent use.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._uses: Counter[tuple[str, str]] = Counter()
        self._worth: dict[tuple[str, str], float] = {}
        self._age = 0.0

    def _make_room(self) -> None:
        if not self._sessions:
            return
        used = next(reversed(self._sessions))  # it was used now, and stays whatever it takes
        self._uses[used] += 1
        self._worth[used] = self._age + self._uses[used] / max(self._sessions[used][1].memory_bytes, 1)
        super()._make_room()

    def make_room(self, model: str) -> None:
        """Nothing: which session makes room depends on the size of the one that comes."""

    def _least(self) -> tuple[str, str]:
        used = next(reversed(self._sessions))
        least = min((each for each in self._sessions if each != used), key=self._worth.__getitem__)
        self._age = self._worth[least]
        return least

    def _forget(self, place: tuple[str, str]) -> Session:
        self._worth.pop(place, None)
        self._uses.pop(place, None)
        return super()._forget(place)
