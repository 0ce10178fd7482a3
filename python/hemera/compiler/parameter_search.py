"""Parameters of CKKS for a program on arrays, and the program on slots that goes with them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera import ckks
from hemera._process import cached_property
from hemera.arrays.layout_search import layout_choices
from hemera.arrays.tensor import TensorProgram
from hemera.arrays.tiling import SplitProgram, Tiling, split
from hemera.compiler.attempts import Impossible, NotPossibleError, TooDeepError, attempted, possible
from hemera.compiler.bootstraps import (
    bootstrap_of,
    in_stages,
    seconds_at_least,
    seconds_of_bootstrap,
    seconds_without,
)
from hemera.compiler.costs import weighed
from hemera.compiler.drafts import Chosen, Draft, finished
from hemera.compiler.lowering import Lowered, Maps
from hemera.compiler.passes import LEVELS, SLOTS, OnSlots
from hemera.compiler.room import (
    MOST_BITS,
    largest_of,
    range_bits_for,
    require_representable,
    require_room,
    room_of,
)
from hemera.errors import ParameterError
from hemera.parameters import Parameters
from hemera.program.keys import top_level

MOST_SLOTS = 1 << 15
"""The most slots of a ciphertext, where parameters are found."""
FULL = 2
"""Samples fill at least this part of the slots: with fewer, results take more bytes than they are worth."""
LEAST_RING = 1 << 11
"""The fewest slots of a ring that is found."""
_LEAST_SLOTS = 4
"""The fewest slots of a ciphertext."""
_ROOM_BITS = 24
"""Bits of the scale below a result's last bit: for the noise of some thousand operations."""
_SCALE_BITS = (30, 55)
_MOST_DEGREE = 1 << 16
"""Without bootstraps; beyond, they cost less."""
_MOST_MODULUS_BITS = 1500
_PRESETS = (
    (18, "n16-40", (10, 13, 14, 15, 16, 17, 18)),
    (20, "n16-40-precise", (10, 12, 13, 14, 16)),
    (math.inf, "n16-45", (8, 9, 10)),
)
"""Presets of bootstraps: the most precision_bits, two or more below the worst slot's, and levels to try."""
_DIGITS = 4
_MOST = 2.0**50
"""The largest magnitude of results that have room beyond the values that samples show."""
_BEYOND_SAMPLES = 2.0**8
"""So many times as large as samples show are results that have room, where inputs can lead to them."""


@dataclass(frozen=True)
class Search:
    """The facts that parameters are chosen by."""

    whole: TensorProgram
    samples: int
    """The number of samples that each ciphertext holds."""
    precision_bits: float
    security: int | None
    """The level of security of parameters that are found."""
    device: str
    """The table of times by which bootstraps are placed."""
    examples: tuple[NDArray[np.float64] | None, ...] = ()
    """Examples of each input of the user's program, of shape (samples, *shape), where there are some."""
    reach: float = 0.0
    """The largest magnitude of a result that inputs in their ranges lead to, beyond what samples show."""
    params: Parameters | None = None
    """The parameters that are given; None: they are found."""

    @property
    def most_slots(self) -> int:
        """The most slots of a ciphertext."""
        return MOST_SLOTS if self.params is None else self.params.max_slots

    @property
    def least_samples(self) -> int:
        """The fewest samples along an axis that fill slots."""
        return (LEAST_RING if self.params is None else self.most_slots) // FULL

    @property
    def may_fill_slots(self) -> bool:
        """Whether samples may fill slots, those of a ciphertext or along an axis of an input."""
        sizes = [self.whole.nodes[at].size for at in self.whole.inputs]
        return self.samples > 1 or max(sizes) >= self.least_samples

    def chosen(self, shares: int | None = None) -> Chosen:
        """The program with the parameters that are given, or with those that are found.

        Args:
            shares: how many results may be shown to others; None: none.

        Raises:
            LevelError, ParameterError, RangeError: see `hemera.compile`.
        """
        if self.params is not None:
            return self._given(self.params, shares)
        return self._found() if shares is None else self._shared(shares)

    def _given(self, params: Parameters, shares: int | None) -> Chosen:
        refreshed = bootstrap_of(params, _LEAST_SLOTS) is not None
        steps = self._on_slots(None if refreshed else params.max_slots)
        if shares is None:
            return self._with(params, steps)
        sharing = room_of(steps, self.precision_bits, shares).given(params)
        require_room(steps.cut.whole, steps, params)
        return Chosen(params, steps, sharing)

    def _with(self, params: Parameters, steps: Lowered) -> Chosen:
        """The program with parameters that are given."""
        found = self._refreshed(steps, [lambda: params])
        require_room(found.steps.cut.whole, found.steps, params)
        return found

    def _shared(self, shares: int) -> Chosen:
        steps = self._on_slots(self._free())
        room = room_of(steps, self.precision_bits, shares)
        params, sharing = room.found(lambda bits: self._circuit(steps, bits), self.scale_bits)
        return Chosen(params, steps, sharing)

    def _found(self) -> Chosen:
        """Without bootstraps, or with those that take least time."""
        free = self._free()
        steps = self._on_slots(free)
        without = self._circuit(steps)
        if without is None and free is not None:
            # Layouts with copies may take more levels than were counted.
            steps = self._on_slots(None)
            without = self._circuit(steps)
        return self.faster(without, steps, lambda: self._on_slots(None))

    def seconds_at_least(self, requests: int) -> float:
        """A bound from below, within some percent, on the seconds of the program of `chosen` for these
        requests at once: of each operation at the lowest level that it can have, and of no bootstrap. It
        takes a part of the time of planning the program.

        Raises:
            LevelError, ParameterError, RangeError: see `hemera.compile`.
        """
        found = []
        for free in {self._free() if self.params is None else self.most_slots, None}:
            steps = self._on_slots(free)
            own = self.params or self._circuit(steps) or self._least_preset
            found.append(seconds_at_least(steps, own, requests, device=self.device))
        return min(found)

    def faster(
        self, without: Parameters | None, steps: Lowered, for_bootstraps: Callable[[], Lowered] | None = None
    ) -> Chosen:
        """A program with parameters without bootstraps, if there are any, or with bootstraps: what takes less
        time. With those that are given, if there are. NotPossibleError where there is none of these.

        Args:
            for_bootstraps: gives the program that bootstraps are placed in; None: the same.
        """
        if self.params is not None:
            return self._with(self.params, steps)

        def bootstrapped(within: bool) -> Chosen:
            return self.bootstrapped(steps if for_bootstraps is None else for_bootstraps(), within=within)

        def refreshed() -> Chosen:
            one = seconds_of_bootstrap(self._least_preset, steps.slots, device=self.device)
            return plain if one > seconds else bootstrapped(within=False)

        if without is None:
            return bootstrapped(within=True)
        plain = Chosen(without, steps)
        if without.degree < _MOST_DEGREE:
            return plain
        seconds = seconds_without(steps, without, device=self.device)
        return self._faster(plain, seconds, refreshed)

    @staticmethod
    def _faster(plain: Chosen, seconds: float, refreshed: Callable[[], Chosen]) -> Chosen:
        """A program with bootstraps where there is one, and it takes less time."""
        found = attempted(refreshed)
        if isinstance(found, Impossible) or found.steps.placement is None:
            return plain
        return found if found.steps.placement.time < seconds else plain

    def bootstrapped(self, steps: Lowered, *, within: bool = True) -> Chosen:
        """The program with the bootstraps of least time. NotPossibleError where there are none for it.

        Args:
            within: whether they may stand in functions that are deeper than they leave levels.
        """
        preset, tried_levels = self._preset
        tried = [functools.partial(_of_preset, preset, levels, self.security) for levels in tried_levels]
        return self._refreshed(steps, tried, within)

    def _refreshed(
        self, steps: Lowered, tried: Sequence[Callable[[], Parameters]], within: bool = True
    ) -> Chosen:
        """The program with the bootstraps of least time, with one of these parameters; where it is too deep
        for all, with bootstraps in functions."""
        narrow = len(tried) > 1

        def drafted(make: Callable[[], Parameters], cut: bool) -> Draft:
            params = make()
            own = in_stages(steps, params) if cut else steps
            return Draft(own, Chosen(params, self._levelled(own, params, narrow)))

        def all_of(cut: bool) -> list[Draft]:
            return possible(functools.partial(drafted, make, cut) for make in tried)

        found = attempted(functools.partial(all_of, False))
        if isinstance(found, Impossible):
            if not (within and isinstance(found.reason, TooDeepError)):
                raise found.reason
            found = all_of(True)
        return finished(found, self._levelled) if narrow else found[0].chosen

    def _levelled(self, steps: Lowered, params: Parameters, narrow: bool = False) -> Lowered:
        """The program with bootstraps, where the parameters have some."""
        own = OnSlots(steps.cut, params=params, device=self.device, lowered=steps, narrow=narrow)
        return LEVELS.run(own).steps

    @property
    def _preset(self) -> tuple[str, tuple[int, ...]]:
        """The preset that has the precision, and the numbers of levels that are tried."""
        return next(own[1:] for own in _PRESETS if self.precision_bits <= own[0])

    @property
    def _least_preset(self) -> Parameters:
        """The preset of bootstraps with the fewest levels. NotPossibleError where there are none."""
        preset, levels = self._preset
        return _of_preset(preset, levels[0], self.security)

    def _free(self) -> int | None:
        """The slots of a ring without bootstraps, by the products and maps that are counted; None: there is
        none."""
        counted = self._cut(MOST_SLOTS // self.samples).program
        ring = self.for_circuit(counted, counted.depth, _LEAST_SLOTS, self.scale_bits)
        return None if ring is None else ring.max_slots

    @cached_property
    def _cut(self) -> Callable[[int], SplitProgram]:
        """The program on tiles of at most so many slots."""
        return functools.cache(functools.partial(split, self.whole))

    @cached_property
    def _on_slots(self) -> Callable[[int | None], Lowered]:
        """`_in_cheapest_layout`, each found once."""
        return functools.cache(self._in_cheapest_layout)

    def _in_cheapest_layout(self, free: int | None) -> Lowered:
        """The program on slots: in the cheapest of the layouts that searches find.

        Args:
            free: the slots of a ring without bootstraps, which copies may fill; None: with bootstraps, for
                which more slots take longer than copies in them save.
        """
        most, samples = self.most_slots // self.samples, self.samples
        # Half of them in imaginary parts, rather than more ciphertexts: see `hemera.compiler.samples`.
        halves = free is None and samples > 1 and _tiles(self.whole, 2 * most) < _tiles(self.whole, most)
        in_slots = samples // 2 if halves else samples
        cut = self._cut(2 * most if halves else most)
        spread = 1 if free is None else max(1, free // in_slots)
        found, maps = list[Lowered](), Maps()
        for choice in layout_choices(cut.program, most_slots=spread, alike=cut.alike):
            slots = max(_LEAST_SLOTS // in_slots, *[layout.period for layout in choice.layouts])
            at = OnSlots(cut, choice.layouts, slots, samples, halves, maps=maps)
            found.append(SLOTS.run(at).steps)
        if len(found) == 1:
            return found[0]
        return min(found, key=lambda steps: self._price(steps, refreshed=free is None))

    def _price(self, steps: Lowered, *, refreshed: bool) -> float:
        """The seconds, by which layouts are compared: infinite where no parameters hold the program. With
        bootstraps, each level counts as its part of one."""
        program, depth = steps.program, steps.program.depth
        if max(steps.magnitudes.values()) > _BEYOND_SAMPLES * largest_of(steps.cut.program):
            return math.inf  # sums in free slots that products let grow
        own = self.params or (self._least_preset if refreshed else self._circuit(steps))
        may_refresh = refreshed or self.params is not None
        plan = bootstrap_of(own, steps.slots) if own is not None and may_refresh else None
        if own is None or (plan is None and depth > top_level(own)):
            return math.inf
        if plan is None:
            rotations = program.told_keys(own, program.levels(own)).rotations
            return weighed(seconds_without(steps, own, device=self.device), len(rotations))
        levels = plan.result_level - plan.input_level
        of_levels = seconds_of_bootstrap(own, steps.slots, device=self.device) * depth / levels
        return seconds_at_least(steps, own, 1, device=self.device) + of_levels

    @property
    def scale_bits(self) -> int:
        """The bits of the scale for results that nobody else sees."""
        low, high = _SCALE_BITS
        return int(min(high, max(low, np.ceil(self.precision_bits + _ROOM_BITS))))

    def _circuit(self, steps: Lowered, scale_bits: int | None = None) -> Parameters | None:
        """Without bootstraps, for a program on slots; None where the ring would be too large."""
        bits = self.scale_bits if scale_bits is None else scale_bits
        # Slots without elements can hold more than elements do, and results are decrypted with all slots.
        slots = max([steps.magnitudes.get(at, 0.0) for at in steps.program.outputs], default=0.0)
        growth = max(1.0, slots / largest_of(steps.cut.program))
        return self.for_circuit(steps.cut.program, steps.program.depth, steps.slots, bits, growth=growth)

    def for_circuit(
        self, program: TensorProgram, depth: int, slots: int, scale_bits: int, *, growth: float = 1.0
    ) -> Parameters | None:
        """Parameters without bootstraps; None where the ring would be too large.

        Args:
            growth: how many times as large as elements slots can be.
        """
        largest = largest_of(program) * growth
        if range_bits_for(largest) > MOST_BITS:
            require_representable(program)
        beyond = min(self.reach * growth, _BEYOND_SAMPLES * largest, _MOST)

        def found(degree: int, largest: float = largest) -> Parameters:
            range_bits = range_bits_for(largest)
            return _of_circuit(max(1, depth), scale_bits, slots, range_bits, degree, self.security)

        try:
            least = found(0)
            if not beyond > largest:
                return least
            wider = found(least.degree, beyond)
            # Room that takes no time.
            alike = wider.degree == least.degree and len(wider.primes[-1]) == len(least.primes[-1])
            return wider if alike else least
        except ParameterError:
            if depth * _SCALE_BITS[0] >= _MOST_MODULUS_BITS:
                return None
        try:
            found(2 * _MOST_DEGREE)
        except ParameterError as reason:  # other than the ring
            raise NotPossibleError(str(reason)) from reason
        return None


def _tiles(program: TensorProgram, slots: int) -> int:
    """The tiles of all arrays, with `slots` slots for each."""
    return sum(Tiling.of(node.shape, slots).count for node in program.nodes)


@functools.lru_cache(maxsize=64)
def _of_circuit(
    depth: int, scale_bits: int, slots: int, range_bits: int, degree: int, security: int | None
) -> Parameters:
    """Parameters without bootstraps; with range_bits in place of largest=, by which inputs would declare
    bounds that follow every operation, and grow beyond what samples show."""
    return ckks.Parameters.for_circuit(
        depth, scale_bits=scale_bits, slots=slots, range_bits=range_bits, degree=degree, security=security
    )


@functools.lru_cache(maxsize=32)
def _of_preset(preset: str, levels: int, security: int | None) -> Parameters:
    """Parameters of bootstraps, with the digits that are mostly the fastest, or else those that are found."""
    of = ckks.Parameters.for_bootstrapping
    try:
        return of(preset, levels=levels, digits=_DIGITS, security=security)
    except ParameterError:
        pass
    try:
        return of(preset, levels=levels, security=security)
    except ParameterError as reason:
        raise NotPossibleError(str(reason)) from reason
