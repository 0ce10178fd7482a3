"""Fewer keys to upload: linear maps by rotations of rotations, and bootstraps by fewer keys, as fast as a
limit of bytes allows."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hemera import _core
from hemera.circuits.needs import uploaded_bytes
from hemera.compiler.attempts import NotPossibleError, possible
from hemera.compiler.costs import CostModel, timed_by
from hemera.errors import ParameterError
from hemera.parameters import Parameters
from hemera.program.keys import AskedKeys, KeyList
from hemera.program.operations import Bootstraps, Map, Operation, Place
from hemera.program.program import Node, Program

_Kind = Hashable
"""Maps with the same diagonals at one level."""
_Ways = Mapping[_Kind, "_Way"]


@dataclass(frozen=True)
class _Way:
    """A way to take the rotations of a map."""

    baby_steps: int
    fewest_keys: int
    seconds: float
    keys: frozenset[Hashable]
    asked: AskedKeys


def within(program: Program, params: Parameters, limit: int, device: str) -> Program:
    """The program whose keys are no more bytes to upload: the fastest that is found, by a device's table of
    times. Where all keys fit, the program as it is.

    Raises:
        NotPossibleError: where they are more in each way that is found, with the fewest bytes.
    """
    own = params.with_rescaling("automatic") if params.rescaling == "manual" else params
    if program.told_keys(own, program.levels(own)).upload_bytes(own) <= limit:
        return program
    search = _Search(program, own, device)
    found = search.by_seconds()
    sizes = list[int]()
    for ways in found:
        sizes.append(search.bytes_of(ways))
        if sizes[-1] <= limit:
            return search.rewritten(ways)
    if "bootstrap" in program.operations:
        tried = [found[0], found[sizes.index(min(sizes))]]
        made = possible(functools.partial(search.limited, ways, limit) for ways in tried)
        return min(made, key=lambda each: each[0])[1]
    raise NotPossibleError(
        f"the program's keys are at least {min(sizes)} bytes to upload, more than upload_limit={limit}; "
        "allow for more"
    )


class _Search:
    def __init__(self, program: Program, params: Parameters, device: str) -> None:
        self._program, self._params = program, params
        self._levels = program.levels(params)
        self._costs = CostModel(params, max(self._levels), min(self._levels), device)
        self._kinds = [self._kind(node) for node in program.nodes]
        self._counts = Counter(kind for kind in self._kinds if kind is not None)
        self._others = list[AskedKeys]()
        self._bytes = dict[Hashable, int]()
        """Bytes of each key of maps, at the highest level that asks for it."""
        self._ways = dict[_Kind, list[_Way]]()
        for node, kind in zip(program.nodes, self._kinds, strict=True):
            place = program.place(node, params, self._levels)
            if kind is None:
                self._others.append(AskedKeys.told(node.operation, place))
            elif kind not in self._ways:
                assert isinstance(node.operation, Map)
                self._ways[kind] = sorted(self._ways_of(node.operation, place), key=lambda way: way.seconds)

    def _kind(self, node: Node) -> _Kind | None:
        if not isinstance(node.operation, Map):
            return None
        place = self._program.place(node, self._params, self._levels)
        return timed_by(node.operation), place.level, place.form

    def _ways_of(self, operation: Map, place: Place) -> Iterator[_Way]:
        ones = operation.without_values()
        known = set[Any]()
        steps = 1
        while steps <= place.form.slots:
            for keys in (0, *(1 << bit for bit in range(steps.bit_length()))):
                own = replace(ones, baby_steps=steps, fewest_keys=keys)
                asked = AskedKeys.told(own, place)
                names = self._named(asked)
                if (keys == 0, names) not in known:
                    known.add((keys == 0, names))
                    seconds = self._costs.of(own, [place.form])(place.level)
                    yield _Way(steps, keys, seconds, names, asked)
            steps *= 2

    def _named(self, asked: AskedKeys) -> frozenset[Hashable]:
        """The keys, which are one where KeyList makes one of them."""
        found = set[Hashable]()
        for need, level in asked.needs:
            own = _core.own_special_primes(self._params._native, need, level)
            name = need.galois_element, *(() if own is None else (level, own))
            self._bytes[name] = max(self._bytes.get(name, 0), uploaded_bytes(self._params, [need]))
            found.add(name)
        return frozenset(found)

    def by_seconds(self) -> list[_Ways]:
        """Ways of all maps, the fastest first; of those that take as long, the one with the fewest bytes."""
        found = dict[float, dict[frozenset[Hashable], _Ways]]()
        for ways in self.found():
            found.setdefault(self.seconds_of(ways), {}).setdefault(frozenset(self._keys(ways)), ways)
        return [min(found[seconds].values(), key=self.bytes_of) for seconds in sorted(found)]

    def found(self) -> Iterator[_Ways]:
        """Ways of all maps: the fastest ones, and those without a key that they take; of these the ways that
        cost the least time for each byte lead to others, without one key more, and so on."""
        ways: _Ways = {kind: own[0] for kind, own in self._ways.items()}
        left = dict(self._ways)
        yield ways
        while True:
            tried = [(*each, key) for key in self._keys(ways) if (each := self._without(key, ways, left))]
            if not tried:
                return
            yield from (each for _, each, _ in tried)
            _, ways, key = min(tried, key=lambda each: each[0])
            left = {kind: [way for way in own if key not in way.keys] for kind, own in left.items()}

    def _without(
        self, key: Hashable, ways: _Ways, left: Mapping[_Kind, Sequence[_Way]]
    ) -> tuple[float, _Ways] | None:
        """The seconds that it takes for each byte, and the ways without a key."""
        found = dict(ways)
        for kind, way in ways.items():
            if key in way.keys:
                other = next((each for each in left[kind] if key not in each.keys), None)
                if other is None:
                    return None
                found[kind] = other
        seconds = self.seconds_of(found) - self.seconds_of(ways)
        before, after = (sum(map(self._bytes.__getitem__, self._keys(each))) for each in (ways, found))
        return (seconds / (before - after) if before > after else math.inf), found

    def seconds_of(self, ways: _Ways) -> float:
        """The seconds of all maps."""
        return sum(self._counts[kind] * way.seconds for kind, way in ways.items())

    def _keys(self, ways: _Ways) -> set[Hashable]:
        return {key for way in ways.values() for key in way.keys}

    def bytes_of(self, ways: _Ways, *, bootstraps: bool = True) -> int:
        """The bytes to upload of all keys of the program, or of all but those of bootstraps."""
        asked = [*self._others, *(way.asked for way in ways.values())]
        asked = [each for each in asked if bootstraps or each.bootstrap is None]
        return KeyList.of(self._params, asked).upload_bytes(self._params)

    def limited(self, ways: _Ways, limit: int) -> tuple[float, Program]:
        """The seconds of maps and bootstraps, and the program whose bootstraps' keys have what is left of a
        limit. NotPossibleError where these need more, with their fewest bytes."""
        different = KeyList.of(self._params, self._others).bootstraps
        others = self.bytes_of(ways, bootstraps=False)
        try:
            found = self.rewritten(ways, max(1, limit - others) // len(different))
            seconds = self.seconds_of(ways)
            for node in found.nodes:
                if isinstance(node.operation, Bootstraps):
                    place = found.place(node, self._params, self._levels)
                    seconds += self._costs.bootstrap(node.operation.plan(place)) * math.prod(place.form.shape)
        except ParameterError as reason:
            raise NotPossibleError(
                f"upload_limit={limit}, of which keys beside bootstraps' take {others} bytes: {reason}"
            ) from reason
        return seconds, found

    def rewritten(self, ways: _Ways, each_bootstrap: int = 0) -> Program:
        """The program with these ways of its maps, and with bootstraps of a limit; 0: as they are."""
        kinds = iter(self._kinds)

        def rule(operation: Operation) -> Operation:
            kind = next(kinds)
            if isinstance(operation, Map) and kind is not None:
                way = ways[kind]
                return replace(operation, baby_steps=way.baby_steps, fewest_keys=way.fewest_keys)
            if isinstance(operation, Bootstraps) and each_bootstrap:
                return replace(operation, upload_limit=each_bootstrap)
            return operation

        return self._program.rewritten(rule)
