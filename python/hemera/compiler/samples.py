"""Several samples in each ciphertext: beside each other in slots, and half of them in imaginary parts.

Linear operations do both parts at once, and so does a bootstrap, in less time than two of real slots take.
Others take the parts one by one, as a batch of two."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from hemera.compiler.attempts import NotPossibleError
from hemera.compiler.lowering import Lowered
from hemera.program import operations as op
from hemera.program.operations import Operation
from hemera.program.program import Node, Program
from hemera.program.values import Form as ValueForm

Form = Literal["both", "half", "apart"]
"""The form of a value: a + bi of two samples, half of it, or the batch of a and b. What is taken apart is
half of a value, since the sum of a number and its conjugate is twice its real part."""


def interleaved(steps: Lowered, samples: int) -> Lowered:
    """The program for several samples at once: slot k of sample s is slot k * samples + s. A rotation by k
    slots becomes one by k * samples, and numbers of slots are repeated: as many operations as for one sample.

    Args:
        samples: a power of two.
    """
    old = steps.program
    whole = old.scheme != "ckks"  # their ciphertexts have all slots, in which contents repeat
    slots = steps.slots if whole else steps.slots * samples

    def rule(operation: Operation) -> Operation:
        found = operation.with_samples(samples, whole)
        if found is None:
            raise NotPossibleError(
                f"samples={samples}: {operation.name!r} is not done for several samples at once"
            )
        return found

    found = old.rewritten(rule, [ValueForm(slots)] * len(old.inputs))
    return replace(steps, program=found, slots=slots)


def in_parts(steps: Lowered) -> Lowered:
    """The program of real values, for two samples as real and imaginary parts."""
    return _Parts(steps).run()


class _Parts:
    def __init__(self, steps: Lowered) -> None:
        self._steps, self._old = steps, steps.program
        self._first = len(self._old.inputs)
        self._found = Program(self._old.scheme, self._old.inputs)
        self._apart = self._computed_apart()
        self._wanted = self._all_wanted()
        self._numbers: dict[tuple[int, Form], int] = {}
        self._magnitudes: dict[int, float] = {}
        self._arrays = list(steps.arrays[: self._first])

    def run(self) -> Lowered:
        arrays = self._steps.arrays
        for value in range(len(self._old.forms)):
            if value < self._first:
                self._keep(value, "both", value)
            elif self._wanted[value]:
                self._compute(value, self._node(value))
            for form in ("both", "half", "apart"):
                if form in self._wanted[value]:
                    self._derive(value, form)
            self._arrays += [arrays[value]] * (len(self._found.forms) - len(self._arrays))
        for value in self._old.outputs:
            self._found.give(self._numbers[value, "both"])
        return replace(
            self._steps,
            program=self._found,
            magnitudes=self._magnitudes,
            arrays=tuple(self._arrays),
            in_parts=True,
        )

    def _node(self, value: int) -> Node:
        return self._old.nodes[value - self._first]

    def _computed_apart(self) -> list[bool]:
        """For each value whether it is computed for the parts one by one. Sums and linear operations are so
        where it takes less than joining parts and taking them apart again."""
        found = [False] * self._first
        for node in self._old.nodes:
            own = node.operation
            both = own.linear or own.summand is not None
            found.append(own.slotwise and (not both or all(found[x] for x in node.operands)))
        return found

    def _all_wanted(self) -> list[set[Form]]:
        """For each value the forms that are needed."""
        found: list[set[Form]] = [set() for _ in self._old.forms]
        for value in self._old.outputs:
            found[value].add("both")
        for value in reversed(range(len(self._old.forms))):
            wanted = found[value]
            if "apart" in wanted and not self._apart[value]:
                wanted.add("half")
            if "half" in wanted and (value < self._first or self._apart[value]):
                wanted.add("both")
            if value >= self._first and wanted:
                node = self._node(value)
                for each in node.operands:
                    found[each].add(self._taken(value, node.operation, wanted))
        return found

    def _taken(self, value: int, operation: Operation, wanted: set[Form]) -> Form:
        """The form of its operands."""
        if self._apart[value]:
            return "apart"
        return "both" if "both" in wanted or operation.halved() else "half"

    def _compute(self, value: int, node: Node) -> None:
        """The operation, in the form that the others come of."""
        wanted = self._wanted[value]
        form: Form = "apart" if self._apart[value] else "both" if "both" in wanted else "half"
        xs = [self._numbers[each, self._taken(value, node.operation, wanted)] for each in node.operands]
        self._keep(value, form, self._found.add(_for(node.operation, form), *xs))

    def _derive(self, value: int, form: Form) -> None:
        """A form, of those that are there."""
        if (value, form) in self._numbers:
            return
        known = self._numbers
        if form == "both":
            number = self._found.add(op.Join(), known[value, "apart"])
        elif form == "half":
            number = self._found.add(op.MultiplyNumber(0.5), known[value, "both"])
        else:
            number = self._found.add(op.Parts(), known[value, "half"])
        self._keep(value, form, number)

    def _keep(self, value: int, form: Form, number: int) -> None:
        """The number of a form of a value, with what is known of the value."""
        self._numbers[value, form] = number
        if value in self._steps.magnitudes:
            self._magnitudes[number] = self._steps.magnitudes[value] * (0.5 if form == "half" else 1)


def _for(operation: Operation, form: Form) -> Operation:
    """The operation that gives this form of the result."""
    if form == "apart":
        return operation
    if operation.summand is not None:
        return op.AddArray(operation.summand * ((1 + 1j) if form == "both" else (0.5 + 0.5j)))
    if not operation.linear:
        raise NotPossibleError(f"{operation.name!r} is not done for samples in imaginary parts")
    return (operation.halved() if form == "half" else None) or operation
