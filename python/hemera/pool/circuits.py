"""Circuits of single ciphertexts over the members of a pool."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from hemera import _core
from hemera.circuits import Bootstrap, LinearTransform, TransformGrid
from hemera.inputs.arguments import described
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.circuit_evaluator import refreshed_for
from hemera.objects.context import Context
from hemera.pool.cuts import (
    HOST_MEMORY,
    NVLINK,
    Cut,
    LinkTimes,
    Step,
    best_cut,
    bootstrap_steps,
    grid_step,
    transform_step,
)
from hemera.pool.members import Team
from hemera.pool.parts import Part, PoolCiphertext, parts_in
from hemera.times.table import DeviceTimes, device_name

if TYPE_CHECKING:
    from hemera.objects.evaluator import Evaluator
    from hemera.pool.evaluator import PoolEvaluator

SharedPlan = LinearTransform | Bootstrap | TransformGrid
"""Plans that members can share."""
_Shared = _core.SharedLinearTransform | _core.SharedBootstrap | _core.SharedTransformGrid


def each_of(team: Team) -> Callable[[int, Callable[[int], None]], None]:
    """Runs the core's work on the first members, each in its own thread."""

    def each(count: int, work: Callable[[int], None]) -> None:
        team.run([(member, functools.partial(work, member)) for member in range(count)])

    return each


class _OverMembers(ABC):
    """A circuit that members of a pool share."""

    _plan: SharedPlan
    _native: _Shared

    def __init__(self, team: Team, cut: Cut | None, members: int) -> None:
        self._team = team
        self._cut = cut
        natives = [context._native for context in team.contexts[:members]]
        self._native = self._shared(natives)

    @abstractmethod
    def _shared(self, contexts: Sequence[_core.Context]) -> _Shared:
        """The core's circuit over members."""

    @property
    def plan(self) -> SharedPlan:
        """The plan of the circuit."""
        return self._plan

    @property
    def members(self) -> int:
        """The number of members that compute: the first ones of the pool."""
        return self._native.members

    @property
    def cut(self) -> Cut | None:
        """The predicted times that the number of members, `cut.most`, was chosen by; None: it was given, or
        there is no table of the device's times, and all members compute."""
        return self._cut

    def _require_own(self, x: object) -> PoolCiphertext:
        """A ciphertext of the pool. Raises if it is none."""
        if not isinstance(x, PoolCiphertext):
            raise TypeError(
                f"a circuit over a pool takes a ciphertext of the pool, not {described(x)}; bind(x) of the "
                "pool's evaluator makes one of a member's"
            )
        if x._team is not self._team:
            raise _core.MismatchError("circuit: the ciphertext belongs to another pool; x.to(pool) copies it")
        return x

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._plan!r} on {self.members} members>"


class PoolCircuit(_OverMembers):
    """A circuit of single ciphertexts that members of a pool share; `Pool.circuit` makes one. A call gives
    the result on the first member, with the bits that one member alone would give.
    """

    _name: ClassVar[str]
    """The evaluator's operation, for errors."""
    _plan: LinearTransform | Bootstrap
    _native: _core.SharedLinearTransform | _core.SharedBootstrap

    @abstractmethod
    def _on_parts(self, x: PoolCiphertext, out: Ciphertext | None) -> Ciphertext:
        """The circuit of each part of a batch, on its member."""

    @abstractmethod
    def _prepared(self, own: Evaluator, part: Ciphertext) -> tuple[Ciphertext, float | None]:
        """The core's arguments, on the member that the part lies on, and the magnitude of a bootstrap's
        values. Raises if it does not fit."""

    def _of(self, magnitude: float | None) -> _core.SharedLinearTransform | _core.SharedBootstrap:
        """The core's circuit for values of a magnitude."""
        del magnitude
        return self._native

    @abstractmethod
    def _note(self, core: _core.Ciphertext, part: Ciphertext) -> None:
        """Note at the core's result what is known of it."""

    def __call__(self, x: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """The result, on the first member, by the evaluator that `x` is bound to. With a batch in parts
        each member computes its own part instead.

        Raises:
            TypeError: if `x` is no ciphertext of a pool.
            MismatchError: if it is of another pool, or has other slots.
            MissingKeyError: if keys of `generate_keys(plan=)` are missing.
            LevelError: if `x` is at a lower level than the plan's.
        """
        own_x = self._require_own(x)
        if len(parts_in(own_x)) > 1:
            return self._on_parts(own_x, out)
        evaluator = cast("PoolEvaluator", own_x.evaluator)
        member, part = parts_in(own_x)[0]
        own = evaluator.evaluators[member]
        prepared, magnitude = self._team.run_on(member, lambda: self._prepared(own, part))
        natives = [each._native for each in evaluator.evaluators[: self.members]]
        core = self._of(magnitude).apply(natives, prepared._native, each_of(self._team))
        self._note(core, part)
        value = evaluator.evaluators[0]._finish(self._name, core, None)
        result: Ciphertext = evaluator._put(self._name, PoolCiphertext([Part(0, value)], evaluator), out)
        return result


class PoolTransform(PoolCircuit):
    """A linear transform whose giant steps members of a pool share. Each keeps the plaintexts of its giant
    steps alone."""

    _name = "transform"
    _plan: LinearTransform

    def __init__(self, team: Team, plan: LinearTransform, cut: Cut | None, members: int) -> None:
        self._plan = plan
        super().__init__(team, cut, members)

    def _shared(self, contexts: Sequence[_core.Context]) -> _core.SharedLinearTransform:
        return _core.share_linear_transform(contexts, self._plan._native, each_of(self._team))

    def _on_parts(self, x: PoolCiphertext, out: Ciphertext | None) -> Ciphertext:
        return x.evaluator.transform(x, self._plan, out=out)

    def _prepared(self, own: Evaluator, part: Ciphertext) -> tuple[Ciphertext, float | None]:
        self._plan._require_values(part._native)
        return refreshed_for(own, part, self._plan.level), None

    def _note(self, core: _core.Ciphertext, part: Ciphertext) -> None:
        self._plan._fill(core, part._native)


class PoolBootstrap(PoolCircuit):
    """A bootstrap whose matrices members of a pool share, and two of them EvalMod's real and imaginary
    parts. With a `cut`, each step has its own number of members."""

    _name = "bootstrap"
    _plan: Bootstrap

    def __init__(
        self, team: Team, plan: Bootstrap, cut: Cut | None, members: int, magnitude: float | None
    ) -> None:
        self._plan = plan
        self._magnitude = magnitude
        super().__init__(team, cut, members)

    def _shared(self, contexts: Sequence[_core.Context]) -> _core.SharedBootstrap:
        counts = [] if self._cut is None else list(self._cut.members)
        native, each = self._plan._native, each_of(self._team)
        self._share = functools.partial(_core.share_bootstrap, contexts, native, each=each, counts=counts)
        self._natives = {self._magnitude: self._share(magnitude=self._magnitude)}
        return self._natives[self._magnitude]

    def _of(self, magnitude: float | None) -> _core.SharedBootstrap:
        if magnitude not in self._natives:
            self._natives[magnitude] = self._share(magnitude=magnitude)
        return self._natives[magnitude]

    def _on_parts(self, x: PoolCiphertext, out: Ciphertext | None) -> Ciphertext:
        return x.evaluator.bootstrap(x, self._plan, magnitude=self._magnitude, out=out)

    def _prepared(self, own: Evaluator, part: Ciphertext) -> tuple[Ciphertext, float | None]:
        return part, own._magnitude_for(self._plan, self._magnitude, part._native)

    def _note(self, core: _core.Ciphertext, part: Ciphertext) -> None:
        """The core has noted it."""


class PoolGrid(_OverMembers):
    """A grid of transforms whose rows members of a pool share. Each keeps the plaintexts of its rows alone;
    a call gives the results on the first member, with the bits that one member alone would give."""

    _plan: TransformGrid
    _native: _core.SharedTransformGrid

    def __init__(self, team: Team, plan: TransformGrid, cut: Cut | None, members: int) -> None:
        self._plan = plan
        super().__init__(team, cut, members)

    def _shared(self, contexts: Sequence[_core.Context]) -> _core.SharedTransformGrid:
        return _core.share_transform_grid(contexts, self._plan._native, each_of(self._team))

    def __call__(self, *vectors: Ciphertext) -> list[Ciphertext]:
        """The results, one a row, by the evaluator that the first vector is bound to. If one of the vectors
        is a batch in several parts, each member computes its own part instead.

        Raises:
            TypeError: if a vector is no ciphertext of a pool.
            MismatchError: if it is of another pool, or has other slots; for another number of vectors.
            MissingKeyError: if keys of `generate_keys(plan=)` are missing.
            LevelError: if a vector is at a lower level than the plan's.
            ScaleError: for vectors of different scales.
        """
        given = [self._require_own(x) for x in vectors]
        if not given or any(len(parts_in(x)) > 1 for x in given):
            return self._plan(*vectors)
        evaluator = cast("PoolEvaluator", given[0].evaluator)
        level = self._plan.level

        def fresh(x: PoolCiphertext) -> Ciphertext:
            member, part = parts_in(x)[0]
            own = evaluator.evaluators[member]
            return self._team.run_on(member, lambda: refreshed_for(own, part, level))

        prepared = [fresh(x)._native for x in given]
        natives = [each._native for each in evaluator.evaluators[: self.members]]
        cores = self._native.apply(natives, prepared, each_of(self._team))
        finished = [evaluator.evaluators[0]._finish("transform_all", core, None) for core in cores]
        return [PoolCiphertext([Part(0, value)], evaluator) for value in finished]


def circuit_over(
    team: Team, plan: SharedPlan, members: int | None, links: LinkTimes | None, magnitude: float | None
) -> PoolCircuit | PoolGrid:
    """The result of `Pool.circuit`."""
    if not isinstance(plan, (LinearTransform, Bootstrap, TransformGrid)):
        raise TypeError(
            "circuit takes a LinearTransform, a TransformGrid or a Bootstrap of hm.circuits, not "
            + described(plan)
        )
    if members is not None and not 1 <= members <= len(team):
        raise _core.ParameterError(f"circuit: {members} members of a pool that has {len(team)}")
    if magnitude is not None and not isinstance(plan, Bootstrap):
        raise _core.ParameterError("circuit: transforms have no magnitude; it is for bootstraps")
    params = team.contexts[0].params
    if plan._params != params:
        raise _core.MismatchError(
            f"circuit: a plan of {plan._params!r} and a pool of {params!r}; make it of the same parameters"
        )
    cut = None
    if members is None:
        try:
            cut = predicted(team.contexts, plan, links)
        except _core.DeviceError:
            members = len(team)
        else:
            members = cut.most
    if isinstance(plan, LinearTransform):
        return PoolTransform(team, plan, cut, members)
    if isinstance(plan, TransformGrid):
        return PoolGrid(team, plan, cut, members)
    return PoolBootstrap(team, plan, cut, members, magnitude)


def predicted(contexts: Sequence[Context], plan: SharedPlan, links: LinkTimes | None = None) -> Cut:
    """The fastest cut over members, by the table of the first one's device.

    Args:
        contexts: of the members.
        links: as of `Pool.circuit`.

    Raises:
        DeviceError: if there is no table.
    """
    times = DeviceTimes.find(device_name(contexts[0].description))
    on_gpus = all(context.device.startswith("cuda") for context in contexts)
    steps: list[Step]
    if isinstance(plan, Bootstrap):
        steps = bootstrap_steps(plan, times, len(contexts))
    elif isinstance(plan, TransformGrid):
        steps = [grid_step(plan, times, len(contexts))]
    else:
        steps = [transform_step(plan, times, len(contexts))]
    return best_cut(steps, links or (NVLINK if on_gpus else HOST_MEMORY), len(contexts))
