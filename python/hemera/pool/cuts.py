"""Where to cut a circuit over the members of a pool: from the work of its steps and the times of links."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hemera import _core
from hemera.circuits import Bootstrap, LinearTransform, TransformGrid
from hemera.times import DeviceTimes


@dataclass(frozen=True)
class LinkTimes:
    """The times of copies between members.

    `bytes_per_second`: what a member takes in, or gives out, at once.
    `seconds`: what a transfer takes before its first byte arrives. Drivers begin one after the other: on four
    H200 the 9 transfers of a broadcast take 239 us in all, and the 24 of a sum 343.
    """

    bytes_per_second: float
    seconds: float

    def __post_init__(self) -> None:
        if not (self.bytes_per_second > 0 and self.seconds >= 0):
            raise _core.ParameterError(
                f"links of {self.bytes_per_second} bytes a second and {self.seconds} seconds: the first is "
                "above 0, the second at least 0"
            )

    def copy(self, size: int) -> float:
        """The seconds of a copy of `size` bytes from one member to another."""
        return self.seconds + size / self.bytes_per_second

    def broadcast(self, size: int, members: int) -> float:
        """The seconds until `size` bytes of one of the members are on all of them. Several others get a part
        each, and exchange their parts."""
        others = members - 1
        if others < 1:
            return 0.0
        return others**2 * self.seconds + size / self.bytes_per_second * (1 + (others - 1) / others)

    def all_reduce(self, size: int, members: int) -> float:
        """The seconds until the sum of arrays of `size` bytes, one of each member, is on one of the members,
        or on all. Each of two adds the other's array to its own; of more, each adds up its part of them,
        and the parts are exchanged."""
        if members == 1:
            return 0.0
        if members == 2:
            return self.copy(size)
        transfers = 2 * members * (members - 1)
        return transfers * self.seconds + 2 * size / self.bytes_per_second * (members - 1) / members

    def gather(self, size: int, members: int) -> float:
        """The seconds until `size` bytes, of which each member has as many, are on the first one."""
        return self.copy(size * (members - 1) // members) if members > 1 and size else 0.0


NVLINK = LinkTimes(355e9, 10e-6)
"""GPUs of one host with NVLink: measured between H200."""
PCIE = LinkTimes(38e9, 20e-6)
"""GPUs of one host without NVLink, whose copies go by way of the host."""
HOST_MEMORY = LinkTimes(10e9, 20e-6)
"""Members on the CPU."""


@dataclass(frozen=True)
class Step:
    """A step of a circuit, which one member takes, or several.

    `seconds`: by the number of members, those of the one that has most to do; always for 1.
    `finish`: the seconds of the work after the exchange, on every member that goes on with the result.
    `input_bytes`: of the value that each member needs.
    `sum_bytes`: of each member's part of the result, which are added up.
    `result_bytes`: of results of which each member has a part, brought together on the first one instead.
    `ends_on_one`: whether the first member alone has the result; otherwise all that shared the step.
    """

    name: str
    seconds: Mapping[int, float]
    finish: float = 0.0
    input_bytes: int = 0
    sum_bytes: int = 0
    result_bytes: int = 0
    ends_on_one: bool = False

    def time(self, members: int, links: LinkTimes) -> float:
        """The seconds of the step on `members` members, its exchange included."""
        gathered = links.gather(self.result_bytes, members)
        exchanged = gathered or links.all_reduce(self.sum_bytes, members)
        return self.seconds[members] + self.finish + exchanged

    def holders(self, members: int) -> int:
        """How many members have the result."""
        return 1 if self.ends_on_one else members


@dataclass(frozen=True)
class Cut:
    """The number of members for each step of a circuit.

    `seconds`: predicted for it; `alone`: for one member.
    """

    members: tuple[int, ...]
    seconds: float
    alone: float
    names: tuple[str, ...] = field(default=(), repr=False)

    @property
    def most(self) -> int:
        """The largest number of members of a step."""
        return max(self.members, default=1)

    def report(self) -> str:
        """The cut for people, a line for each step."""
        steps = [f"{name}: {count}" for name, count in zip(self.names, self.members, strict=True)]
        share = self.seconds / self.alone if self.alone else 1.0
        total = f"{self.seconds * 1e3:.3g} ms, {share:.2f} of the {self.alone * 1e3:.3g} ms of one member"
        return "\n".join((*steps, total))


def best_cut(steps: Sequence[Step], links: LinkTimes, members: int) -> Cut:
    """The fastest cut of steps that follow each other, on up to `members` members.

    Args:
        steps: each takes the result of the one before. The first one's input is on one member.
        links: the times of copies between members.
        members: the most members of a step.

    Raises:
        ParameterError: if there is no member, or a step without its seconds on one.
    """
    if members < 1:
        raise _core.ParameterError(f"a cut over {members} members; there is at least one")
    for step in steps:
        if 1 not in step.seconds:
            raise _core.ParameterError(f"the step {step.name!r} has no seconds for one member")
    # The seconds so far, and the choices, by the number of members that have the value.
    best: dict[int, tuple[float, tuple[int, ...]]] = {1: (0.0, ())}
    for step in steps:
        found: dict[int, tuple[float, tuple[int, ...]]] = {}
        for holders, (before, chosen) in best.items():
            for count in sorted(step.seconds):
                if count > members:
                    continue
                moved = links.broadcast(step.input_bytes, count - holders + 1) if count > holders else 0.0
                total = before + moved + step.time(count, links)
                own = step.holders(count)
                if total < found.get(own, (math.inf, ()))[0]:
                    found[own] = (total, (*chosen, count))
        best = found
    seconds, chosen = min(best.values())
    alone = sum(step.time(1, links) for step in steps)
    return Cut(chosen, seconds, alone, tuple(step.name for step in steps))


def transform_step(
    plan: LinearTransform, times: DeviceTimes, members: int, *, name: str = "", graph: bool = False
) -> Step:
    """A linear transform as a step: its work is counted, and takes the times of a device.

    Args:
        members: the most; counted for 1, 2, 4, ... and for this number, up to that of its giant steps.
        graph: whether calls are part of a captured graph.
    """
    return _native_step(plan._native, times, members, name or plan._title, graph)


def grid_step(plan: TransformGrid, times: DeviceTimes, members: int, *, graph: bool = False) -> Step:
    """A grid of transforms as a step, of which members take rows: see `transform_step`."""
    seconds: dict[int, float] = {}
    for count in _counts(members):
        costs, vector_bytes, result_bytes = _core.shared_grid_work(plan._native, count)
        seconds[len(costs)] = max(times.seconds(cost, graph=graph) for cost in costs)
    return Step(plan._title, seconds, input_bytes=vector_bytes, result_bytes=result_bytes, ends_on_one=True)


def _counts(members: int) -> list[int]:
    """1, 2, 4, ... and `members`: the numbers of members that are tried."""
    return sorted(
        {1, members, *(1 << power for power in range(members.bit_length()) if 1 << power < members)}
    )


def bootstrap_steps(plan: Bootstrap, times: DeviceTimes, members: int, *, graph: bool = False) -> list[Step]:
    """A bootstrap as steps: its matrices, and EvalMod, of which two members take a part each. See
    `transform_step`."""
    work = _core.shared_bootstrap_work(plan._native)

    def seconds(cost: _core.Cost) -> float:
        return times.seconds(cost, graph=graph)

    def matrices(name: str, plans: Sequence[_core.LinearTransform]) -> list[Step]:
        return [_native_step(each, times, members, name, graph) for each in plans]

    eval_mod = {1: seconds(work.both)}
    if work.parts and members > 1:
        eval_mod[2] = max(seconds(part) for part in work.parts) + seconds(work.joined)
    to_coefficients = matrices("SlotToCoeff", work.to_coefficients)
    steps = [
        Step("ModRaise", {1: seconds(work.raised)}),
        *matrices("CoeffToSlot", work.to_slots),
        Step("EvalMod", eval_mod, input_bytes=work.slots_bytes, sum_bytes=work.part_bytes, ends_on_one=True),
        *matrices("join", work.join),
    ]
    return [*to_coefficients, *steps] if work.is_slots_first else [*steps, *to_coefficients]


def _native_step(
    plan: _core.LinearTransform, times: DeviceTimes, members: int, name: str, graph: bool
) -> Step:
    seconds: dict[int, float] = {}
    for count in _counts(members):
        products, finish, input_bytes, sum_bytes = _core.shared_work(plan, count)
        seconds[len(products)] = max(times.seconds(cost, graph=graph) for cost in products)
    return Step(name, seconds, times.seconds(finish, graph=graph), input_bytes, sum_bytes)
