"""Bootstraps in an exact program on slots: each as late as guaranteed noise budgets let it be.

The program runs on a context of the device "ledger": values have their noise bounds, and no numbers. Where an
operation's result would have too little budget, its operands are bootstrapped before it, the noisiest one
first. All later operations take the bootstrapped value. Results that a group opens keep the budget that
openings take: those that have less are bootstrapped at the end. Afterwards each bootstrap, the last one
first, is left out if the rest of the program has its budget without it. The number of passes, and whether
products keep room for sums, are those with which a run has the fewest passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hemera import _core
from hemera._noise_warning import budgets_are_known
from hemera.circuits import IntegerBootstrap
from hemera.compiler.attempts import possible
from hemera.compiler.lowering import Lowered
from hemera.errors import NoiseError, ParameterError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.cost import DryRun, FreshInput
from hemera.parameters import Parameters
from hemera.program.operations import ExactBootstraps, Running, exact_bootstrap
from hemera.program.program import Program
from hemera.program.values import MAX_PASSES

Bootstrapped = dict[int, list[int]]
"""For each node, the values that are bootstrapped before it; for their number, those that are at the end."""

_ROOMS = (0.0, 3.0)
"""Bits that results of products keep above the budget of a bootstrap: for sums of one, or of eight."""
_ROUNDING = 1e-6


def exact_bootstrap_of(params: Parameters, passes: int = 1) -> IntegerBootstrap | None:
    """The bootstrap of `passes` passes with some parameters; None where they have none."""
    try:
        return exact_bootstrap(params, passes, ExactBootstraps.failure_bits)
    except ParameterError:
        return None


def exactly_placed(lowered: Lowered, params: Parameters, openings: _core.Openings | None = None) -> Lowered:
    """The program with bootstraps, where it needs some.

    Args:
        params: of `for_bootstrapping`.
        openings: of a group that opens the results.

    Raises:
        NoiseError: where an operation takes more budget than bootstraps leave.
    """
    found: list[Program] = []
    reason: NoiseError | None = None
    for passes in range(1, MAX_PASSES + 1):
        plan = exact_bootstrap_of(params, passes)
        if plan is None:
            break
        try:
            found.append(placed_with(lowered.program, params, plan, openings))
        except NoiseError as error:
            reason = error
            continue
        if all_passes(found[-1]) == 0:
            break
    if not found:
        assert reason is not None
        raise reason
    return replace(lowered, program=min(found, key=all_passes))


def all_passes(program: Program) -> int:
    """The passes of all bootstraps of a run."""
    return sum(node.operation.passes for node in program.nodes if isinstance(node.operation, ExactBootstraps))


def placed_with(
    program: Program, params: Parameters, plan: IntegerBootstrap, openings: _core.Openings | None = None
) -> Program:
    """The program with bootstraps of one plan.

    Raises:
        NoiseError: where an operation takes more budget than it leaves.
    """
    rooms = (_Placing(program, params, plan, room, openings).found for room in _ROOMS)
    best = min(possible(rooms, NoiseError), key=lambda each: sum(map(len, each.values())))
    return _rewritten(program, best, ExactBootstraps(plan.passes))


class _Placing:
    """One program with one plan.

    Args:
        room: bits that results of products keep above the budget of a bootstrap.
    """

    def __init__(
        self,
        program: Program,
        params: Parameters,
        plan: IntegerBootstrap,
        room: float,
        openings: _core.Openings | None,
    ) -> None:
        self._program, self._plan, self._room = program, plan, room
        self._kept = 0.0 if openings is None else openings.budget(params.degree)
        # A group's inputs are encrypted with a public key.
        self._dry = DryRun(Context(params, "ledger", threads=1), symmetric=openings is None)
        self._ev = self._dry.bind(self._dry.asking())
        levels = program.levels(params)
        self._running = [
            Running(self._ev, node.operation.plan(program.place(node, params, levels)))
            for node in program.nodes
        ]
        self._before: dict[int, list[Ciphertext]] = {}
        """The values before each node that bootstraps."""

    def found(self) -> Bootstrapped:
        """The bootstraps that are needed. NoiseError where they do not do."""
        with budgets_are_known():
            bootstrapped = self._placed()
            for node in sorted(bootstrapped, reverse=True):
                for value in list(bootstrapped[node]):
                    self._leave_out(bootstrapped, node, value)
        return {node: values for node, values in bootstrapped.items() if values}

    def _placed(self) -> Bootstrapped:
        """Bootstraps before each operation that needs some."""
        forms = self._program.inputs
        values = self._dry.encrypted([FreshInput((*form.shape, form.slots)) for form in forms], self._ev)
        bootstrapped: Bootstrapped = {}
        for number, node in enumerate(self._program.nodes):
            result = self._result(number, values)
            wanted = self._plan.needed_budget + self._room * (node.operation.depth > 0)
            for value in self._candidates(node.operands, values):
                if result.guaranteed_noise_budget > wanted:
                    break
                self._before.setdefault(number, list(values))
                bootstrapped.setdefault(number, []).append(value)
                values[value] = self._ev.bootstrap(values[value], self._plan)
                result = self._result(number, values)
            if not result.guaranteed_noise_budget > 0:
                raise NoiseError(
                    f"{node.operation.name} (operation {number} of {len(self._program.nodes)}) takes more "
                    f"noise budget than its operands have, and a bootstrap of {self._plan.passes} "
                    f"pass{'es' * (self._plan.passes > 1)} leaves {self._plan.budget_left:.1f} bits to one "
                    f"that has {self._plan.needed_budget:.1f}; take shorter sums, or smaller results, for a "
                    "smaller plaintext modulus"
                )
            values.append(result)
        self._before[len(self._program.nodes)] = list(values)
        for value in self._short(values):
            if not self._takes(values[value]) or self._plan.budget_left < self._kept:
                raise NoiseError(
                    f"openings take {self._kept:.1f} bits of noise budget; a result has "
                    f"{values[value].guaranteed_noise_budget:.1f}, and a bootstrap of {self._plan.passes} "
                    f"pass{'es' * (self._plan.passes > 1)} leaves {self._plan.budget_left:.1f} to one that "
                    f"has {self._plan.needed_budget:.1f}; take fewer openings, or fewer opening_bits"
                )
            values[value] = self._ev.bootstrap(values[value], self._plan)
            bootstrapped.setdefault(len(self._program.nodes), []).append(value)
        return bootstrapped

    def _short(self, values: list[Ciphertext]) -> list[int]:
        """The results that lack the budget of openings."""
        outputs = dict.fromkeys(self._program.outputs)
        return [value for value in outputs if values[value].guaranteed_noise_budget < self._kept]

    def _candidates(self, operands: tuple[int, ...], values: list[Ciphertext]) -> Iterator[int]:
        """The operands that a bootstrap takes and makes better, the noisiest first."""
        budgets = {value: values[value].guaranteed_noise_budget for value in dict.fromkeys(operands)}
        for value in sorted(budgets, key=lambda each: budgets[each]):
            if self._takes(values[value]) and budgets[value] < self._plan.budget_left - _ROUNDING:
                yield value

    def _takes(self, x: Ciphertext) -> bool:
        return x.guaranteed_noise_budget >= self._plan.needed_budget - _ROUNDING

    def _result(self, number: int, values: list[Ciphertext]) -> Ciphertext:
        node = self._program.nodes[number]
        return node.operation.run(self._running[number], *(values[at] for at in node.operands))

    def _leave_out(self, bootstrapped: Bootstrapped, node: int, value: int) -> None:
        """Take a bootstrap away if the program does without it."""
        bootstrapped[node].remove(value)
        if not self._does(bootstrapped, node):
            bootstrapped[node].append(value)

    def _does(self, bootstrapped: Mapping[int, list[int]], first: int) -> bool:
        """Whether the program has its budget from a node on that bootstrapped something."""
        values, end = list(self._before[first]), len(self._program.nodes)
        for number in range(first, end + 1):
            for value in bootstrapped.get(number, ()):
                if not self._takes(values[value]):
                    return False
                values[value] = self._ev.bootstrap(values[value], self._plan)
            if number == end:
                break
            values.append(self._result(number, values))
            if not values[-1].guaranteed_noise_budget > 0:
                return False
        return not self._short(values)


def _rewritten(program: Program, bootstrapped: Mapping[int, list[int]], operation: Any) -> Program:
    """The program with the bootstraps, whose results all later operations take."""
    result = Program(program.scheme, program.inputs)
    own = list(range(len(program.inputs)))
    for number, node in enumerate(program.nodes):
        for value in bootstrapped.get(number, ()):
            own[value] = result.add(operation, own[value])
        own.append(result.add(node.operation, *(own[value] for value in node.operands)))
    for value in bootstrapped.get(len(program.nodes), ()):
        own[value] = result.add(operation, own[value])
    for value in program.outputs:
        result.give(own[value])
    return result
