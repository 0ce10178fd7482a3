"""An evaluator of a pool: the interface of `hemera.Evaluator`, whose operations run on all members."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hemera import _core
from hemera.circuits.matrices import EncryptedProduct, MatrixVectorProduct
from hemera.circuits.rows import RowsProduct
from hemera.inputs.arguments import require_type
from hemera.inputs.source import Source
from hemera.objects.arithmetic import require_room
from hemera.objects.ciphertext import Ciphertext, Operand, Plaintext, places_in
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.objects.graph import Circuit, Graph
from hemera.objects.keys import Keys, SwitchingKey
from hemera.objects.operands import batch_axis
from hemera.objects.stored import Stored
from hemera.pool.calls import Call, parts_of, require_member
from hemera.pool.members import Team
from hemera.pool.parts import Part, PoolCiphertext, Span, elements, moved, parts_in
from hemera.pool.results import as_rows, joined


class PoolEvaluator(Evaluator):
    """Evaluates on all members of a pool; `Pool.bind` makes one. It has the operations of an `Evaluator`, on
    ciphertexts in parts: each member computes its part, and the calls return when the members have been given
    all of their work. Any number of threads may use it.

    Operands broadcast as in NumPy. Operands that are cut otherwise, or lie on one member, are copied to where
    they are needed. Ciphertexts and plaintexts of a member's context are operands, too.
    """

    def __init__(self, pool: Context, team: Team, evaluators: Sequence[Evaluator], keys: Keys) -> None:
        self._context = pool
        self._team = team
        self._evaluators = tuple(evaluators)
        self._keys = keys

    @property
    def _native(self) -> Any:  # type: ignore[override]
        raise _core.MismatchError(
            "this is an evaluator of a pool, and one of a single context is needed: "
            "pool_evaluator.evaluators has those of the members"
        )

    @property
    def evaluators(self) -> tuple[Evaluator, ...]:
        """The evaluator of each member."""
        return self._evaluators

    def __repr__(self) -> str:
        return f"<PoolEvaluator of {self._context!r} with {self._keys!r}>"

    @property
    def bootstraps(self) -> int:
        """The number of ciphertexts that the members have bootstrapped: see `Evaluator.bootstraps`."""
        return sum(each.bootstraps for each in self._evaluators)

    # --- Work on members. ---

    def map(self, f: Callable[..., Any], *inputs: Any, batch: int | None = None) -> Any:
        """f(evaluator, *parts) on each member, with its own evaluator and its part of the inputs.

        Args:
            f: a function of an `Evaluator` and as many values as there are inputs. It returns a ciphertext, a
                plaintext, an array, or a tuple or list of these, with the first axis of its inputs. Keys and
                plaintexts of one member are at hand on the others by `sk.to(evaluator.context)`.
            inputs: ciphertexts and plaintexts; arrays of shape (..., slots); anything else goes to each call
                as it is. As with arrays of NumPy, `f` changes the caller's values if it changes its
                arguments in place.
            batch: the most elements of one call. A member then has several calls, of which `in_flight` (see
                `Pool`) run at the same time. None: a call for each member.

        Returns:
            The results in the order of the inputs, ciphertexts in parts.

        Raises:
            Exception: that of the first call that failed.
            TypeError: if `f` returns something else.
        """
        return self._mapped(f, inputs, batch=batch, bound=True)

    def _mapped(
        self,
        work: Callable[..., Any],
        inputs: Sequence[Any],
        *,
        receivers: Sequence[Any] | None = None,
        batch: int | None = None,
        bound: bool = False,
    ) -> Any:
        """work(receiver, *parts) on each member; `receivers`: the evaluators, unless others are given.
        `bound`: ciphertexts are bound to the evaluator first."""
        call = Call(self._team, "map", inputs, {}, arrays=True)
        if batch is not None and batch < 1:
            raise _core.ParameterError(f"map: a batch has at least one element, not {batch}")
        spans = [
            Span(member, first, min(end, first + (batch or end)))
            for member, begin, end in call.cut
            for first in range(begin, end, batch or end)
        ]

        def run(receiver: Any, *parts: Any) -> Any:
            if bound:
                parts = tuple(receiver.bind(part) if isinstance(part, Ciphertext) else part for part in parts)
            return work(receiver, *parts)

        own = self._evaluators if receivers is None else receivers
        results = self._team.run([call.task(span, run, own[span.member]) for span in spans])
        found = joined(call, spans, results, self)
        return found if len(spans) == len(call.cut) else self._merged(found)

    def _merged(self, found: Any) -> Any:
        """Several parts of one member become one."""
        if isinstance(found, (list, tuple)):
            return type(found)(self._merged(each) for each in found)
        if not isinstance(found, PoolCiphertext):
            return found  # arrays are joined, plaintexts stay
        return elements(found, places_in(found))

    def _call(
        self, name: str, args: Sequence[Any], kwargs: dict[str, Any], whole: Ciphertext | None = None
    ) -> Any:
        """An operation of the members' evaluators; `whole`: an operand that each of them needs whole."""
        out = kwargs.pop("out", None)
        method = getattr(Evaluator, name)
        call = Call(self._team, name, args, kwargs, arrays=name in _WITH_ARRAYS, whole=whole)
        if out is not None and name in ("add", "subtract", "multiply"):
            require_room(name, args[0] if args else kwargs["a"], call.shape, out)
        results = self._team.run(
            [call.task(span, method, self._evaluators[span.member]) for span in call.cut]
        )
        return self._put(name, joined(call, call.cut, results, self), out)

    def _put(self, operation: str, result: Any, out: Ciphertext | None) -> Any:
        """The result of an operation, in `out` if there is one: all of its parts, or none."""
        if out is None:
            return result
        own = require_type(out, PoolCiphertext, operation, "a ciphertext of the pool as out=")
        own._hold(parts_in(result))
        own._evaluator = result.evaluator
        return own

    def _bound_parts(self, parts: Sequence[Part]) -> PoolCiphertext:
        """A ciphertext of parts, each bound to its member's evaluator."""
        return PoolCiphertext(
            [Part(member, self._evaluators[member].bind(value)) for member, value in parts], self
        )

    # --- Operations that are no operations of each part. ---

    def sum(self, a: Ciphertext, *, axis: int | None = None, out: Ciphertext | None = None) -> Ciphertext:
        """See `Evaluator.sum`. Over the first axis, each member adds up its part, and the first member the
        sums."""
        shape = require_type(a, Ciphertext, "sum", "a ciphertext").shape
        along = None if axis is None else batch_axis("sum", shape, axis)
        found: Ciphertext = self._summed(a) if along == 0 else self._call("sum", (a,), {"axis": along})
        result: Ciphertext = self._put("sum", found, out)
        return result

    def _summed(self, a: Ciphertext) -> Ciphertext:
        """The sum over the first axis."""
        own = self.bind(a)
        sums = self._team.run(
            [
                (part.member, functools.partial(self._evaluators[part.member].sum, part.value, axis=0))
                for part in parts_in(own)
            ]
        )
        terms = [
            PoolCiphertext([Part(part.member, value)], self)
            for part, value in zip(parts_in(own), sums, strict=True)
        ]
        if terms[0].shape:  # each is a batch of its own, on one member
            terms = [self.bind(term.parts[0]) for term in terms]
        return terms[0] if len(terms) == 1 else self.add_many(terms)

    def mean(self, a: Ciphertext, *, axis: int | None = None, out: Ciphertext | None = None) -> Ciphertext:
        """See `Evaluator.mean`."""
        shape = require_type(a, Ciphertext, "mean", "a ciphertext").shape
        is_real = self._context.params.scheme == "ckks"  # others are refused by the members
        along = axis if axis is None or not is_real else batch_axis("mean", shape, axis)
        if along != 0 or not is_real:
            found: Ciphertext = self._call("mean", (a,), {"axis": along, "out": out})
            return found
        return self.multiply(self.sum(a, axis=0), 1 / shape[0], out=out)

    def dot(
        self,
        a: Ciphertext | Sequence[Ciphertext],
        b: Operand | Sequence[Ciphertext] | Sequence[Plaintext | ArrayLike],
        *,
        out: Ciphertext | None = None,
    ) -> Ciphertext:
        """See `Evaluator.dot`."""
        both: list[Any] = [a, b]
        if not isinstance(a, Ciphertext) or a.ndim:
            both = [list(each) if isinstance(each, (Ciphertext, np.ndarray)) else each for each in both]
        found: Ciphertext = self._call("dot", both, {"out": out})
        return found

    def multiply_matrices(
        self, product: EncryptedProduct, a: Ciphertext, b: Ciphertext, *, out: Ciphertext | None = None
    ) -> Ciphertext:
        """See `Evaluator.multiply_matrices`. Every member needs all diagonals of a matrix that is multiplied
        by vectors."""
        whole = a if isinstance(product, MatrixVectorProduct) else None
        found: Ciphertext = self._call("multiply_matrices", (product, a, b), {"out": out}, whole)
        return found

    def multiply_rows(
        self, product: RowsProduct | ArrayLike, a: Ciphertext, *, out: Ciphertext | None = None
    ) -> Ciphertext:
        """See `Evaluator.multiply_rows`. The member of the first part takes it, as a row of the result needs
        the whole batch."""
        own = self.bind(require_type(a, Ciphertext, "multiply_rows", "a ciphertext"))
        member, whole = parts_in(own)[0].member, own._whole()
        found = self._team.run_on(member, lambda: self._evaluators[member].multiply_rows(product, whole))
        result: Ciphertext = self._put("multiply_rows", self._bound_parts([Part(member, found)]), out)
        return result

    def reencrypt(self, a: Ciphertext, key: SwitchingKey) -> Ciphertext:
        """See `Evaluator.reencrypt`."""
        found: Ciphertext = self._context._keyless.bind(self._call("reencrypt", (a, key), {}))
        return found

    def rotation_plan(self, a: Ciphertext, steps: int) -> list[int]:
        """See `Evaluator.rotation_plan`."""
        own = self.bind(require_type(a, Ciphertext, "rotation_plan", "a ciphertext"))
        member, value = parts_in(own)[0]
        return self._team.run_on(member, lambda: self._evaluators[member].rotation_plan(value, steps))

    def capture(self, circuit: Circuit, *examples: Ciphertext) -> Graph:
        """Capture a circuit as a graph on each member: see `Evaluator.capture`. Inputs have the examples'
        shape; `circuit` gets the parts of a member. Operands that it uses in addition are the member's: an
        encoded operand by `w.to(x.context)`.
        """
        return PoolGraph(self, circuit, examples)

    # --- Into the pool. ---

    def encrypt(
        self, values: ArrayLike | Plaintext, *, encoding: str = "slots", largest: float | None = None
    ) -> PoolCiphertext:
        """Encrypt with the public key, each member its part: see `Evaluator.encrypt`."""
        array = as_rows(values)
        found: PoolCiphertext = self._call("encrypt", (array,), {"encoding": encoding, "largest": largest})
        return found

    def load(self, source: Source) -> Ciphertext:
        """A ciphertext from its bytes or a file's path, in parts, bound to this evaluator: see
        `Evaluator.load`."""
        return self._bound(self._team.run_on(0, lambda: self._evaluators[0].load(source)))

    def bind(self, ciphertext: Ciphertext) -> PoolCiphertext:
        """The same ciphertext with this evaluator for its operators. A member's ciphertext is cut into
        parts."""
        require_type(ciphertext, Ciphertext, "bind", "a ciphertext")
        if isinstance(ciphertext, PoolCiphertext):
            if ciphertext._team is not self._team:
                raise _core.MismatchError(
                    "bind: the ciphertext belongs to another pool; x.to(pool) copies it"
                )
            parts: Sequence[Part] = parts_in(ciphertext)
        else:
            require_member(self._team, "bind", ciphertext)
            parts = parts_of(self._team, ciphertext)
        return self._bound_parts(parts)

    def _copy_of(self, stored: Stored) -> Ciphertext:
        return self._bound(self._context._copy_of(stored))

    def _stacked(self, parts: Sequence[Ciphertext]) -> Ciphertext:
        found = [self.bind(part) for part in parts]
        if len({part.shape for part in found}) > 1:
            raise _core.MismatchError(
                f"stack: batches of shape {found[0].shape} and "
                f"{next(p.shape for p in found if p.shape != found[0].shape)} differ; stack equal shapes, or "
                "concatenate"
            )
        return self._concatenated([part.reshape(1, *part.shape) for part in found])

    def _concatenated(self, parts: Sequence[Ciphertext]) -> Ciphertext:
        found = [self.bind(part) for part in parts]
        if not found[0].shape:
            raise _core.MismatchError("concatenate: single ciphertexts have no axis to join along; use stack")
        first = found[0].shape
        for shape in (part.shape for part in found):
            if not shape or shape[1:] != first[1:]:
                raise _core.MismatchError(
                    f"concatenate: batches of shape {first} and {shape} differ beyond the first axis"
                )
        pieces = [piece for part in found for piece in parts_in(part)]
        if len(found) > 1:
            self._team.run_on(0, lambda: self._require_alike(pieces))
        merged: Ciphertext = self._merged(PoolCiphertext(pieces, self))
        return merged

    def _require_alike(self, pieces: Sequence[Part]) -> None:
        """MismatchError unless the parts can be joined: their first elements are, since parts of several
        members never meet."""
        first = [elements(value, np.zeros((1,), dtype=np.intp)) for _, value in pieces]
        self._evaluators[0]._concatenated([moved(value, self._team.contexts[0]) for value in first])


_WITH_ARRAYS = frozenset(("add", "subtract", "multiply", "divide", "dot", "encrypt"))
"""Operations whose arrays are values of slots. Arrays of the others are matrices and coefficients."""

_OF_PARTS = (
    *("add", "subtract", "multiply", "divide", "add_many", "multiply_many", "matmul", "negate"),
    *("square", "power", "relinearize", "rescale", "mod_switch", "at_level", "declare", "shrink"),
    *("rotate", "rotate_many", "conjugate", "swap_rows", "with_slots", "bootstrap", "transform"),
    *("transform_all", "apply", "polyval"),
)
"""The operations whose result of a batch is that of its parts."""


def _of_parts(name: str) -> Callable[..., Any]:
    @functools.wraps(getattr(Evaluator, name))
    def call(self: PoolEvaluator, *args: Any, **kwargs: Any) -> Any:
        return self._call(name, args, kwargs)

    return call


for _name in _OF_PARTS:
    setattr(PoolEvaluator, _name, _of_parts(_name))


class PoolGraph(Graph):
    """A circuit that each member of a pool has captured; `PoolEvaluator.capture` makes one."""

    def __init__(self, evaluator: PoolEvaluator, circuit: Circuit, examples: Sequence[Ciphertext]) -> None:
        if not examples:
            raise _core.ParameterError("capture: give at least one example input")
        for example in examples:
            require_type(example, Ciphertext, "capture", "ciphertexts as examples")
        self._evaluator = evaluator
        call = Call(evaluator._team, "capture", examples, {})
        self._spans = call.cut
        own = evaluator._evaluators

        def captured(receiver: Evaluator, *parts: Ciphertext) -> Graph:
            return receiver.capture(circuit, *parts)

        self._graphs = evaluator._team.run(
            [call.task(span, captured, own[span.member]) for span in self._spans]
        )
        self._shapes = [example.shape for example in examples]

    @property
    def is_recorded(self) -> bool:
        """Whether calls replay a recording on every member."""
        return all(graph.is_recorded for graph in self._graphs)

    @property
    def memory_bytes(self) -> int:
        """The bytes of memory that the graphs of all members keep."""
        return sum(graph.memory_bytes for graph in self._graphs)

    def __call__(self, *inputs: Ciphertext) -> Ciphertext | tuple[Ciphertext, ...]:
        """Run the circuit on every member: see `Graph.__call__`."""
        if len(inputs) != len(self._shapes):
            raise _core.MismatchError(
                f"graph: {len(inputs)} inputs were given, but it was captured with {len(self._shapes)}"
            )
        for given, shape in zip(inputs, self._shapes, strict=True):
            if require_type(given, Ciphertext, "graph", "ciphertexts").shape != shape:
                raise _core.MismatchError(
                    "graph: an input is not like the example of the capture: its batch is "
                    f"{given.shape} and not {shape}; bring it to the example's shape, level and scale, or "
                    "capture another graph"
                )
        call = Call(self._evaluator._team, "graph", inputs, {})
        results = self._evaluator._team.run(
            [
                call.task(span, Graph.__call__, graph)
                for span, graph in zip(self._spans, self._graphs, strict=True)
            ]
        )
        found: Ciphertext | tuple[Ciphertext, ...] = joined(call, self._spans, results, self._evaluator)
        return found

    def __repr__(self) -> str:
        return f"<PoolGraph of {len(self._graphs)} graphs: {self._graphs[0]!r}>"
