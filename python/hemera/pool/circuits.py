"""Circuits of single ciphertexts over the members of a pool."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from hemera import _core
from hemera.circuits import LinearTransform
from hemera.inputs.arguments import described, require_type
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.pool.cuts import HOST_MEMORY, NVLINK, Cut, LinkTimes, best_cut, transform_step
from hemera.pool.evaluator import PoolEvaluator
from hemera.pool.members import Team
from hemera.pool.parts import Part, PoolCiphertext
from hemera.times import DeviceTimes, device_name

__all__ = ["PoolCircuit", "each_of"]


def each_of(team: Team) -> Callable[[int, Callable[[int], None]], None]:
    """Runs the core's work on the first members, each in its own thread."""

    def each(count: int, work: Callable[[int], None]) -> None:
        team.run([(member, functools.partial(work, member)) for member in range(count)])

    return each


class PoolCircuit:
    """A linear transform of single ciphertexts, whose giant steps are shared out to members of a pool;
    `Pool.circuit` makes one. A call multiplies, with the bits that one member would give. Each member keeps
    the plaintexts of its giant steps alone.
    """

    def __init__(
        self,
        pool: Context,
        team: Team,
        plan: LinearTransform,
        members: int | None = None,
        links: LinkTimes | None = None,
    ) -> None:
        require_type(plan, LinearTransform, "circuit", "a LinearTransform of hm.circuits")
        if members is not None and not 1 <= members <= len(team):
            raise _core.ParameterError(f"circuit: {members} members of a pool that has {len(team)}")
        self._pool = pool
        self._team = team
        self._plan = plan
        self._cut: Cut | None = None
        if members is None:
            self._cut = _cut_of(team.contexts, plan, links)
            members = len(team) if self._cut is None else self._cut.most
        natives = [context._native for context in team.contexts[:members]]
        self._native = _core.share_linear_transform(natives, plan._native, each_of(team))

    @property
    def plan(self) -> LinearTransform:
        """The plan of the transform."""
        return self._plan

    @property
    def members(self) -> int:
        """The number of members that compute: the first ones of the pool."""
        return self._native.members

    @property
    def cut(self) -> Cut | None:
        """The predicted times that the number of members was chosen by; None: it was given, or there is no
        table of the device's times, and all members compute."""
        return self._cut

    def __call__(self, x: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """The product, on the first member, by the evaluator that `x` is bound to. A batch in several parts
        is multiplied part by part instead, each on its member.

        Raises:
            TypeError: if `x` is no ciphertext of a pool.
            MismatchError: if it is of another pool, or has other slots.
            MissingKeyError: if keys of `generate_keys(plan=)` are missing.
            LevelError: if `x` is at a lower level than the plan's.
        """
        if not isinstance(x, PoolCiphertext):
            raise TypeError(
                f"a circuit over a pool takes a ciphertext of the pool, not {described(x)}; bind(x) of the "
                "pool's evaluator makes one of a member's"
            )
        evaluator: PoolEvaluator = x._evaluator
        if x._team is not self._team:
            raise _core.MismatchError("circuit: the ciphertext belongs to another pool; x.to(pool) copies it")
        if len(x._parts) > 1:
            return evaluator.transform(x, self._plan, out=out)
        member, part = x._parts[0]
        self._plan._require_values(part._native)
        own = evaluator.evaluators[member]
        fresh = self._team.run_on(member, lambda: own._refreshed(part, own._user_levels(self._plan.level)))
        natives = [each._native for each in evaluator.evaluators[: self.members]]
        core = self._native.apply(natives, fresh._native, each_of(self._team))
        self._plan._fill(core, part._native)
        value = evaluator.evaluators[0]._finish("transform", core, None)
        result: Ciphertext = evaluator._put("transform", PoolCiphertext([Part(0, value)], evaluator), out)
        return result

    def __repr__(self) -> str:
        return f"<PoolCircuit of {self._plan!r} on {self.members} members>"


def _cut_of(contexts: Sequence[Any], plan: LinearTransform, links: LinkTimes | None) -> Cut | None:
    """The fastest cut by the table of the first member's device; None if there is none."""
    try:
        times = DeviceTimes.find(device_name(contexts[0].description))
    except _core.DeviceError:
        return None
    on_gpus = all(context.device.startswith("cuda") for context in contexts)
    chosen = links or (NVLINK if on_gpus else HOST_MEMORY)
    return best_cut([transform_step(plan, times, len(contexts))], chosen, len(contexts))
