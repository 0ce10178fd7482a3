"""Captured functions of encrypted integers: graphs of their ciphertexts, and what is public of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import inf
from operator import or_

from hemera import _core
from hemera.inputs.arguments import described
from hemera.integers.bounded import Bounded, Risk
from hemera.integers.encrypted import Encrypted, held_by
from hemera.integers.handles import Home
from hemera.integers.types import DType
from hemera.objects.ciphertext import Ciphertext

Function = Callable[..., "Encrypted | Sequence[Encrypted]"]
"""The argument of `Context.capture`: a function of arrays to one array, or several."""


@dataclass(frozen=True)
class _Form:
    """The public facts of an array. A graph holds for all values of a form."""

    kind: type[Encrypted]
    dtype: DType
    shape: tuple[int, ...]
    largest: float
    error: float
    risk: Risk

    @classmethod
    def of(cls, x: Encrypted, risk: Risk) -> _Form:
        return cls(type(x), x.dtype, x.shape, held_by(x).largest, x.error, risk)

    def array(self, context: Home, value: Ciphertext) -> Encrypted:
        """The array of some ciphertexts."""
        return self.kind(context, Bounded(value, self.largest, self.error, self.risk), self.shape, self.dtype)

    def require(self, context: Home, x: Encrypted, place: int) -> None:
        """MismatchError if the graph does not hold for the array, which is input `place`."""
        if x.context is not context:
            raise _core.MismatchError(f"graph: input {place} belongs to another context")
        found, wanted = f"{x.dtype} of shape {x.shape}", f"{self.dtype} of shape {self.shape}"
        if found != wanted:
            raise _core.MismatchError(f"graph: input {place} is {found}, and its example was {wanted}")
        if x.error > self.error or held_by(x).largest > self.largest:
            raise _core.MismatchError(
                f"graph: input {place} has digits up to {held_by(x).largest:g} with an error of "
                f"{x.error:.3g}, and its example up to {self.largest:g} with {self.error:.3g}; "
                "capture with an example of the largest error, or refresh() the input"
            )


class Graph:
    """A captured function of encrypted integers; `Context.capture` makes one.

    It holds the memory of its operations for as long as it lives. Calls from several threads take turns.
    """

    def __init__(self, context: Home, function: Function, examples: Sequence[Encrypted]) -> None:
        for example in examples:
            if not isinstance(example, Encrypted):
                raise TypeError(f"capture: examples are encrypted arrays, not {described(example)}")
            if example.context is not context:
                raise _core.MismatchError("capture: an example belongs to another context")
        self._context = context
        # An event for each input, in whose place that input's own come; those after them are the function's.
        # They may be one array, and so have one root.
        same = Risk.encrypted()
        self._given = [Risk.of(-inf) | same for _ in examples]
        self._inputs = [_Form.of(x, risk) for x, risk in zip(examples, self._given, strict=True)]
        self._results: list[_Form] = []
        self._is_single = True
        self._constants: dict[object, Ciphertext] = {}

        def circuit(*values: Ciphertext) -> list[Ciphertext]:
            arrays = [form.array(context, x) for form, x in zip(self._inputs, values, strict=True)]
            with context._keeping(self._constants):
                found = function(*arrays)
            results = list(found) if isinstance(found, Sequence) else [found]
            for result in results:
                if not isinstance(result, Encrypted):
                    raise TypeError(f"a captured function returns encrypted arrays, not {described(result)}")
            if not self._results:  # every run has the same
                self._is_single = not isinstance(found, Sequence)
                self._results = [_Form.of(result, held_by(result).risk) for result in results]
            return [held_by(result).value for result in results]

        self._graph = context._engine.evaluator.capture(circuit, *(held_by(x).value for x in examples))

    @property
    def is_recorded(self) -> bool:
        """Whether calls replay a recording; False on the CPU, where they call the function."""
        return self._graph.is_recorded

    @property
    def memory_bytes(self) -> int:
        """The bytes of the device's memory that the graph keeps."""
        return self._graph.memory_bytes

    def __call__(self, *inputs: Encrypted) -> Encrypted | tuple[Encrypted, ...]:
        """Run the function.

        Args:
            inputs: arrays like the examples.

        Returns:
            The function's results, one array or a tuple of them. Each call's refreshes are events of their
            own in `failure_log2`.

        Raises:
            MismatchError: if an input has another type, shape or level than its example, or a larger error.
        """
        if len(inputs) != len(self._inputs):
            raise _core.MismatchError(
                f"graph: {len(inputs)} inputs were given, but it was captured with {len(self._inputs)}"
            )
        for place, (form, x) in enumerate(zip(self._inputs, inputs, strict=True)):
            if not isinstance(x, form.kind):
                raise TypeError(f"graph: input {place} is {described(x)}, and its example was a {form.kind}")
            form.require(self._context, x, place)
        found = self._graph(*(held_by(x).value for x in inputs))
        values = (found,) if isinstance(found, Ciphertext) else found
        risks = self._risks([held_by(x).risk for x in inputs])
        results = tuple(
            replace(form, risk=risk).array(self._context, value)
            for form, risk, value in zip(self._results, risks, values, strict=True)
        )
        return results[0] if self._is_single else results

    def _risks(self, given: Sequence[Risk]) -> list[Risk]:
        """The risks of a call's results: of the inputs, of arrays that the function uses besides, and of new
        refreshes."""
        renewed: dict[int, Risk] = {}
        last = max(number for risk in self._given for number, _ in risk.events)
        for events, own in zip(self._given, given, strict=True):
            renewed |= {number: own for number, _ in events.events}
        for form in self._results:
            for number, log2 in form.risk.events:
                if number > last:
                    renewed[number] = Risk.of(log2)
        return [
            reduce(
                or_,
                (renewed.get(number, Risk(frozenset({(number, log2)}))) for number, log2 in form.risk.events),
                Risk(roots=form.risk.roots),
            )
            for form in self._results
        ]

    def __repr__(self) -> str:
        how = "recorded" if self.is_recorded else "called"
        return f"<Graph of {len(self._inputs)} inputs and {len(self._results)} outputs, {how}>"
