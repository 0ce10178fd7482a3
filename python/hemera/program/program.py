"""Straight-line programs: what a packaged model computes, recorded as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hemera.errors import FormatError, LevelError, ParameterError
from hemera.inputs.fields import MALFORMED, SAYS_MORE, require_memory
from hemera.parameters import Parameters
from hemera.program.keys import AskedKeys, KeyList, top_level
from hemera.program.operations import (
    MAX_FUNCTIONS,
    OPERATIONS,
    Bootstraps,
    OfMatrix,
    Operation,
    Place,
    Refresh,
    parts_of,
)
from hemera.program.stored_arrays import StoredArray
from hemera.program.values import Array, Form, SchemeName, integer

MAX_NODES = 100_000
PLAN_BYTES = 4 << 30
"""The most bytes of the plans of a model that is read, unless its file has a 128th of them."""
_WAY = "take the program that it was made of"

Changed = Callable[[int, Array, Sequence[Array]], Array]


@dataclass(frozen=True)
class Node:
    """An operation and the numbers of the values that it takes: inputs first, then results of nodes."""

    operation: Operation
    operands: tuple[int, ...]


class Program:
    """Operations one after the other. Nothing in it depends on the data.

    Args:
        scheme: "ckks", "bfv" or "bgv".
        inputs: the form of each input.
    """

    def __init__(self, scheme: SchemeName, inputs: Sequence[Form]) -> None:
        self.scheme: SchemeName = scheme
        self.inputs = tuple(inputs)
        self.nodes: list[Node] = []
        self.outputs: list[int] = []
        self.forms: list[Form] = list(inputs)
        """The form of each value."""
        self._functions: set[Hashable] = set()

    def add(self, operation: Operation, *operands: int) -> int:
        """Append an operation.

        Returns:
            The number of its result.

        Raises:
            ParameterError, TypeError: for wrong fields.
            MismatchError: when operands do not fit each other.
        """
        if len(self.nodes) >= MAX_NODES:
            raise ParameterError(f"a program has at most {MAX_NODES} operations")
        if self.scheme not in operation.schemes:
            raise ParameterError(f"{self.scheme.upper()} has no operation {operation.name!r}")
        if not operands or operation.operands not in (0, len(operands)):
            raise ParameterError(f"{operation.name} takes {operation.operands} values, not {len(operands)}")
        self._functions |= {operation.approximated} - {None}
        if len(self._functions) > MAX_FUNCTIONS:
            raise ParameterError(f"a program has at most {MAX_FUNCTIONS} different functions by name")
        known = [integer(at, "a value's number", 0, len(self.forms) - 1) for at in operands]
        checked = operation.validated(self.scheme)
        form = checked.form([self.forms[at] for at in known])
        self.nodes.append(Node(checked, tuple(known)))
        self.forms.append(form)
        return len(self.forms) - 1

    @property
    def used(self) -> list[int]:
        """The inputs, and the values that outputs take."""
        used = set(self.outputs)
        first = len(self.inputs)
        for number in reversed(range(len(self.nodes))):
            if first + number in used:
                used.update(self.nodes[number].operands)
        return sorted(used | set(range(first)))

    def pruned(self) -> Program:
        """The program of the values of `used`, in their order: itself where these are all."""
        first = len(self.inputs)
        if len(self.used) == len(self.forms):
            return self
        found = Program(self.scheme, self.inputs)
        places = {at: at for at in range(first)}
        for value in self.used[first:]:
            node = self.nodes[value - first]
            places[value] = found.add(node.operation, *(places[at] for at in node.operands))
        for value in self.outputs:
            found.give(places[value])
        return found

    def rewritten(
        self, rule: Callable[[Operation], Operation], inputs: Sequence[Form] | None = None
    ) -> Program:
        """The program in which a rule replaces each operation, for inputs of these forms or the same."""
        found = Program(self.scheme, self.inputs if inputs is None else inputs)
        for node in self.nodes:
            found.add(rule(node.operation), *node.operands)
        for value in self.outputs:
            found.give(value)
        return found

    def give(self, value: int) -> None:
        """Make a value an output."""
        self.outputs.append(integer(value, "a value's number", 0, len(self.forms) - 1))

    # --- Levels. ---

    @property
    def depth(self) -> int:
        """Multiplications one after the other; after a bootstrap they are counted anew, and the most are
        told."""
        found = [0] * len(self.inputs)
        for node in self.nodes:
            own = node.operation.depth
            before = 0 if isinstance(node.operation, Refresh) else max(map(found.__getitem__, node.operands))
            found.append(before + own)
        return max(found)

    @property
    def operations(self) -> dict[str, int]:
        """How many operations there are of each kind, by name."""
        return dict(Counter(node.operation.name for node in self.nodes))

    def levels(self, params: Parameters, inputs: Sequence[int | None] = ()) -> list[int]:
        """The level of each value (BFV and BGV: the highest).

        Args:
            params: that rescale by themselves.
            inputs: the level of each input; None: that of fresh encryptions.

        Raises:
            LevelError: when they are too few.
        """
        top = top_level(params)
        given = list(inputs) or [None] * len(self.inputs)
        found = [top if level is None else level for level in given]
        if max(found, default=0) > top or min(found, default=0) < 0:
            raise LevelError(f"inputs at levels {found}, and fresh encryptions are at {top}")
        if self.scheme != "ckks":
            return [top] * len(self.forms)
        refreshed = {
            number: node.operation.refreshed(Place(params, 0, self.forms[node.operands[0]]))
            for number, node in enumerate(self.nodes)
            if isinstance(node.operation, Bootstraps)
        }
        lowest = max([0, *[least for least, _ in refreshed.values()]])
        for number, node in enumerate(self.nodes):
            before = min(map(found.__getitem__, node.operands))
            after = refreshed[number][1] if number in refreshed else before - node.operation.depth
            if after < lowest:
                raise LevelError(
                    f"{node.operation.name} (operation {number} of {len(self.nodes)}) takes "
                    f"{before - after} levels, and {before - lowest} are left; the program has a depth of "
                    f"{self.depth}: take parameters of that depth, or bootstrap before it"
                )
            found.append(after)
        return found

    def taken(self, node: Node) -> list[Form]:
        """The forms of a node's operands."""
        return [self.forms[at] for at in node.operands]

    def place(self, node: Node, params: Parameters, levels: Sequence[int]) -> Place:
        """Where a node stands, with parameters and at levels of the program's values."""
        return Place(params, min(map(levels.__getitem__, node.operands)), self.forms[node.operands[0]])

    def told_keys(self, params: Parameters, levels: Sequence[int]) -> KeyList:
        """The keys that the operations of a program of CKKS tell, at levels of its values."""
        told = [AskedKeys.told(node.operation, self.place(node, params, levels)) for node in self.nodes]
        return KeyList.of(params, told)

    def decide(self, params: Parameters, levels: Sequence[int]) -> None:
        """Fix what would be chosen by parameters, so that the keys are the same for any."""
        for number, node in enumerate(self.nodes):
            chosen = node.operation.decided(self.place(node, params, levels))
            self.nodes[number] = Node(chosen, node.operands)

    # --- In the clear. ---

    def evaluate_clear(
        self,
        inputs: Sequence[Array],
        modulus: int = 0,
        *,
        changed: Changed | None = None,
        met: Callable[[Node, list[Array]], list[Array]] | None = None,
        clip: bool = False,
    ) -> list[Array]:
        """The outputs of inputs in the clear, of shape (..., batch of a request, slots), with BFV and BGV
        modulo the plaintext modulus, from -(t-1)/2 to t/2.

        Args:
            modulus: the plaintext modulus; 0 with CKKS.
            changed: gives what to go on with in place of a value, from its number, the value and the operands
                of its operation; inputs have none.
            met: gives what a node takes in place of its operands.
            clip: whether functions go by `Function.evaluate_near`; else RangeErrors outside of intervals.
        """
        values = [np.asarray(np.asarray(x) % modulus, np.int64) if modulus else np.asarray(x) for x in inputs]
        if changed is not None:
            values = [changed(number, x, ()) for number, x in enumerate(values)]
        for node in self.nodes:
            xs = self._aligned_clear([values[at] for at in node.operands], node.operands)
            xs = xs if met is None else met(node, xs)
            clear = node.operation.clear_with_noise if clip else node.operation.clear_of_batch
            first = self.forms[node.operands[0]]
            if modulus:  # Python's integers where words are too short: what wraps on the way is right again
                bound = node.operation.clear_bound(modulus - 1, len(xs), first.slots)
                xs = xs if bound is not None and bound < 1 << 63 else [x.astype(object) for x in xs]
            result = clear(len(first.shape), *xs)
            if changed is not None:
                result = changed(len(values), result, xs)
            if modulus and not node.operation.moves:
                result = np.asarray(result % modulus, np.int64)
            values.append(result)
        found = [values[at] for at in self.outputs]
        if not modulus:
            return found
        half = (modulus - 1) // 2
        return [np.asarray((x + half) % modulus - half, np.int64) for x in found]

    def _aligned_clear(self, xs: list[Array], operands: tuple[int, ...]) -> list[Array]:
        sizes = [len(self.forms[at].shape) for at in operands]
        axes = max(sizes)
        return [
            x.reshape(*x.shape[: x.ndim - 1 - own], *(1,) * (axes - own), *x.shape[x.ndim - 1 - own :])
            for x, own in zip(xs, sizes, strict=True)
        ]

    # --- As data. ---

    def to_data(self, arrays: list[Array]) -> dict[str, Any]:
        """Data for JSON; arrays are appended to `arrays`, and named by their place there."""

        def kept(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                arrays.append(value)
                return {"array": len(arrays) - 1}
            if isinstance(value, tuple):
                return [kept(each) for each in value]
            return value

        return {
            "scheme": self.scheme,
            "inputs": [{"slots": form.slots, "shape": list(form.shape)} for form in self.inputs],
            "nodes": [
                {
                    "operation": node.operation.name,
                    "operands": list(node.operands),
                    **{name: kept(value) for name, value in parts_of(node.operation).items()},
                }
                for node in self.nodes
            ],
            "outputs": list(self.outputs),
        }

    @classmethod
    def from_data(cls, data: Any, arrays: Sequence[Array | StoredArray], file_bytes: int = 0) -> Program:
        """The program of `to_data`, of a file of `file_bytes` bytes. FormatError for anything else, for
        arrays that no operation takes, and for plans that would take too much memory."""
        named: set[int] = set()
        expanded: dict[Any, Operation] = {}
        """The operations with different plans."""
        needed = 0

        def found(value: Any) -> Any:
            if isinstance(value, dict) and set(value) == {"array"}:
                number = integer(value["array"], "an array's number", 0, len(arrays) - 1)
                named.add(number)
                return arrays[number]
            if isinstance(value, list):
                return tuple(found(each) for each in value)
            return value

        number = -1
        try:
            inputs = [
                Form(integer(each["slots"], "slots", 1, 1 << 17), tuple(map(int, each["shape"])))
                for each in data["inputs"]
            ]
            if not 1 <= len(inputs) <= MAX_NODES or data["scheme"] not in ("ckks", "bfv", "bgv"):
                raise FormatError("a program needs a scheme and an input")
            program = cls(data["scheme"], inputs)
            for number, each in enumerate(data["nodes"]):  # noqa: B007
                fields = dict(each)
                kind = OPERATIONS[fields.pop("operation")]
                operands = fields.pop("operands")
                operation = kind(**{name: found(value) for name, value in fields.items()})
                first = integer(operands[0], "a value's number", 0, len(program.forms) - 1)
                size = operation.expanded_bytes(program.forms[first].slots)
                if size and _alike(operation) not in expanded:
                    expanded[_alike(operation)] = operation
                    needed += size
                    require_memory(needed, file_bytes, PLAN_BYTES, "a model", _WAY)
                program.add(operation, *operands)
            for value in data["outputs"]:
                program.give(value)
            if not program.outputs:
                raise FormatError("a program without outputs")
            if len(named) != len(arrays):
                raise FormatError(f"a program with {len(arrays) - len(named)} arrays that nothing names")
        except SAYS_MORE:
            raise
        except MALFORMED as error:
            where = f"operation {number}" if number >= 0 else "the inputs"
            raise FormatError(f"not a program, at {where}: {error}") from error
        return program


def _alike(operation: Operation) -> Any:
    """The same for maps that have one plan: arrays that are equal are one in a file."""
    if not isinstance(operation, OfMatrix):
        return id(operation)
    parts = parts_of(operation).values()
    kept = (part if isinstance(part, (int, float, str, tuple)) else id(part) for part in parts)
    return type(operation), tuple(kept)
