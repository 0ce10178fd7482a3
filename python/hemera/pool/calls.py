"""A call of a method on the members of a pool: its arguments cut into parts, and its results joined.

Every message (ciphertext or plaintext) and every array of values among the arguments is an operand. Operands
broadcast as in NumPy. Arrays that have the first axis of the whole are cut along it, as the first of them is;
the others go whole to each member that has a part.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera._process import Lock
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.keys import Keys, SecretKey, SwitchingKey
from hemera.objects.operands import broadcast_shape
from hemera.pool.members import Team
from hemera.pool.parts import (
    Cut,
    MessageT,
    Part,
    PoolCiphertext,
    PoolPlaintext,
    Span,
    balanced,
    cut_of,
    elements,
    moved,
    parts_in,
    whole_on,
)

Local = Callable[[Context, int, int], Any]
"""An argument for a member: its context, and the elements that it has."""


def require_member(team: Team, operation: str, value: Any) -> int:
    """The number of the member that an object belongs to. MismatchError if none has its context."""
    member = team.member_of(value.context)
    if member is None:
        raise _core.MismatchError(
            f"{operation}: the {type(value).__name__} belongs to {value.context!r}, which is no member of "
            "the pool; x.to(pool) copies ciphertexts and plaintexts, pool.load(bytes(keys)) keys"
        )
    return member


def replicated(team: Team, value: Any) -> list[Any]:
    """Keys or a plaintext in the context of each member: the object itself, and copies, which it keeps. Of
    evaluation keys a member copies each when it first uses it."""
    kept = value._copies
    missing = [
        index
        for index, context in enumerate(team.contexts)
        if value.context is not context and all(copy.context is not context for copy in kept)
    ]
    copied = value._copied_on_use if isinstance(value, Keys) else value.to
    copies = team.run([(index, functools.partial(copied, team.contexts[index])) for index in missing])
    kept.extend(copies)
    return [value.to(context) if value.context is not context else value for context in team.contexts]


def parts_of(team: Team, value: MessageT) -> list[Part]:
    """A member's message, cut and moved to all members."""
    if not value.shape:
        return [Part(require_member(team, "to", value), value)]
    rows = np.arange(math.prod(value.shape)).reshape(value.shape)
    cut = balanced(value.shape[0], len(team))

    def part(span: Span) -> Any:
        own = value if len(cut) == 1 else elements(value, rows[span.begin : span.end])
        return moved(own, team.contexts[span.member])

    values = team.run([(span.member, functools.partial(part, span)) for span in cut])
    return [Part(span.member, each) for span, each in zip(cut, values, strict=True)]


def joined_arrays(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Arrays of parts as one, along the first axis."""
    if len(arrays) == 1:
        return arrays[0]
    if isinstance(arrays[0], np.ma.MaskedArray):
        masked: NDArray[Any] = np.ma.concatenate(arrays)  # type: ignore[no-untyped-call]
        return masked
    return np.concatenate(arrays)


class Rows:
    """An array whose parts come from several members, of shapes that are not known before. Each member's
    thread copies its part to its place, so that no device waits for one thread that copies all of them in the
    end."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._array: NDArray[Any] | None = None

    def put(self, span: Span, count: int, part: NDArray[Any]) -> NDArray[Any]:
        """A part at its place in an array of `count` rows: that place, or the part itself if it fits no array
        with the first part that came, or is all there is."""
        if part.shape[:1] != (span.end - span.begin,) or len(part) == count:
            return part
        with self._lock:
            if self._array is None:
                self._array = np.empty((count, *part.shape[1:]), part.dtype)
        if (part.shape[1:], part.dtype) != (self._array.shape[1:], self._array.dtype):
            return part
        place: NDArray[Any] = self._array[span.begin : span.end]
        place[...] = part
        return place

    def whole(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """All parts, in their order, as one array."""
        if self._array is not None and all(part.base is self._array for part in parts):
            return self._array
        return joined_arrays(parts)


class Call:
    """The arguments of one call, ready for each part.

    Args:
        team: the members.
        operation: its name, for errors.
        args: arguments by position.
        kwargs: arguments by name.
        arrays: whether arrays among the arguments are values of slots, with the batch before them. Otherwise
            they are no operands, and each member gets them as they are.
        whole: a ciphertext among the arguments that every member needs whole, whatever its shape.
        out: an array of the whole result, to whose rows the members write: each gets its own as `out=`.

    Raises:
        MismatchError: if operands do not fit each other, or belong to no member of the pool.
    """

    def __init__(
        self,
        team: Team,
        operation: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        arrays: bool = False,
        whole: Ciphertext | None = None,
        out: NDArray[Any] | None = None,
    ) -> None:
        self._whole = whole
        self._out = out
        self._team = team
        self._operation = operation
        self._arrays = arrays
        self._shape: tuple[int, ...] = ()
        self._first: tuple[int, Cut] | None = None
        """The number of batch axes and the cut of the first operand in parts that has most axes."""
        for value in (*args, *kwargs.values()):
            self._measure(value)
        self._rows = Rows()
        self._args = [self._local(value) for value in args]
        self._kwargs = {name: self._local(value) for name, value in kwargs.items()}
        self.cut = self._cut()

    @property
    def team(self) -> Team:
        """The members."""
        return self._team

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape to which the batches of all operands broadcast."""
        return self._shape

    def task(self, span: Span, work: Callable[..., Any], receiver: Any) -> tuple[int, Callable[[], Any]]:
        """work(receiver, arguments of the elements) for a member, whose result is for `joined`."""
        context = self._team.contexts[span.member]

        def run() -> Any:
            args = [local(context, span.begin, span.end) for local in self._args]
            kwargs = {name: local(context, span.begin, span.end) for name, local in self._kwargs.items()}
            if self._out is not None:
                own = self._out[span.begin : span.end] if self._shape else self._out
                return work(receiver, *args, **kwargs, out=own)
            result = work(receiver, *args, **kwargs)
            return self._rows.put(span, self.cut[-1].end, result) if type(result) is np.ndarray else result

        return span.member, run

    def joined(self, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Arrays that tasks of a whole call have returned as one, along the first axis."""
        if self._out is None:
            return self._rows.whole(arrays)
        if isinstance(arrays[0], np.ma.MaskedArray):
            return np.ma.MaskedArray(self._out, mask=joined_arrays([np.ma.getmaskarray(a) for a in arrays]))
        return self._out

    def _measure(self, value: Any) -> None:
        """Take an argument's batch into account."""
        if isinstance(value, (list, tuple)):
            for each in value:
                if isinstance(each, (Ciphertext, Plaintext, np.ndarray)):
                    self._measure(each)
            return
        shape = self._batch(value)
        if shape is None:
            return
        if isinstance(value, (PoolCiphertext, PoolPlaintext)):
            if value._team is not self._team:
                raise _core.MismatchError(
                    f"{self._operation}: the operands belong to two pools; x.to(pool) copies one"
                )
        elif isinstance(value, (Ciphertext, Plaintext)):
            require_member(self._team, self._operation, value)
        if value is self._whole:
            return
        self._shape = broadcast_shape(self._operation, self._shape, shape)
        if isinstance(value, (PoolCiphertext, PoolPlaintext)) and (
            self._first is None or len(shape) > self._first[0]
        ):
            self._first = (len(shape), value._cut)

    def _batch(self, value: Any) -> tuple[int, ...] | None:
        """The shape of an operand's batch; None if the argument is no operand."""
        if isinstance(value, (Ciphertext, Plaintext)):
            return value.shape
        if self._arrays and isinstance(value, np.ndarray) and value.ndim:
            return tuple(value.shape[:-1])
        return None

    def _cut(self) -> Cut:
        if self._first is not None:
            axes, cut = self._first
            if not self._shape:
                return cut
            if axes == len(self._shape) and cut[-1].end == self._shape[0]:
                return cut
        return balanced(self._shape[0], len(self._team)) if self._shape else (Span(0, 0, 1),)

    def _local(self, value: Any) -> Local:
        if isinstance(value, (list, tuple)):
            if not any(isinstance(each, (Ciphertext, Plaintext, np.ndarray)) for each in value):
                return lambda *_: value
            each_local = [self._local(each) for each in value]
            return lambda *span: [local(*span) for local in each_local]
        if isinstance(value, (Keys, SecretKey, SwitchingKey)):
            return lambda context, *_: value.to(context) if value.context is not context else value
        shape = self._batch(value)
        if shape is None:
            return lambda *_: value
        if isinstance(value, (PoolCiphertext, PoolPlaintext)):
            parts, cut = parts_in(value), value._cut
        elif isinstance(value, (Ciphertext, Plaintext)):
            parts = (Part(require_member(self._team, self._operation, value), value),)
            cut = cut_of(parts)
        else:
            return self._local_array(value)
        if value is self._whole or not self._is_cut(shape):
            if self._shape and len(parts) == 1 and isinstance(value, Plaintext):
                replicated(self._team, parts[0].value)  # it is likely to be used again
            return lambda context, *_: whole_on(parts, context)
        return functools.partial(_of_parts, parts, cut)

    def _local_array(self, array: NDArray[Any]) -> Local:
        if not self._is_cut(array.shape[:-1]):
            return lambda *_: array
        return lambda _, begin, end: array[begin:end]

    def _is_cut(self, shape: tuple[int, ...]) -> bool:
        """Whether an operand has the first axis of the whole."""
        return bool(shape) and len(shape) == len(self._shape) and shape[0] == self._shape[0]


def _of_parts(parts: Sequence[Part], cut: Cut, context: Context, begin: int, end: int) -> Any:
    """Elements [begin, end) of a batch in parts, in a member's context."""
    found = []
    for part, span in zip(parts, cut, strict=True):
        first, last = max(begin, span.begin), min(end, span.end)
        if first >= last:
            continue
        value = part.value
        if (first, last) != (span.begin, span.end):
            rows = np.arange(math.prod(value.shape)).reshape(value.shape)
            value = elements(value, rows[first - span.begin : last - span.begin])
        found.append(Part(part.member, value))
    return whole_on(found, context)
