"""Values in parts on the members of a pool: how they are cut, moved and joined."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.inputs.arguments import in_own_words
from hemera.objects.batches import concatenate
from hemera.objects.ciphertext import Ciphertext, Plaintext, gather, places_in
from hemera.objects.context import Context
from hemera.pool.members import Team

if TYPE_CHECKING:
    from hemera.objects.evaluator import Evaluator

MessageT = TypeVar("MessageT", Ciphertext, Plaintext)


class Part(NamedTuple):
    """A part of a batch on a member."""

    member: int
    value: Any
    """A `Ciphertext` or `Plaintext` of the member's context."""


class Span(NamedTuple):
    """Elements [begin, end) along the first axis of a batch, on a member. A single message is one element."""

    member: int
    begin: int
    end: int


Cut = tuple[Span, ...]
"""The parts of a batch, in order."""


@functools.lru_cache(maxsize=64)
def balanced(count: int, members: int) -> Cut:
    """`count` elements on the members, in order: as many on each, one more on the first ones. Fewer members
    have a part where there are fewer elements. With none the first member has all, and the error."""
    used = max(1, min(count, members))
    bounds = [0]
    for index in range(used):
        bounds.append(bounds[-1] + count // used + (index < count % used))
    return tuple(Span(index, bounds[index], bounds[index + 1]) for index in range(used))


def cut_of(parts: Sequence[Part]) -> Cut:
    """How a batch is cut."""
    spans, end = [], 0
    for member, value in parts:
        begin, end = end, end + (value.shape[0] if value.shape else 1)
        spans.append(Span(member, begin, end))
    return tuple(spans)


def moved(value: MessageT, context: Context) -> MessageT:
    """The value in a member's context; a plaintext keeps its copies there."""
    if value.context is context:
        return value
    found: MessageT = value.to(context)
    return found


def elements(value: MessageT, flat: NDArray[np.intp]) -> MessageT:
    """The elements of a batch with these flat indices, as a batch of the shape of `flat`."""
    if isinstance(value, Ciphertext):
        return gather(value, flat)
    return Plaintext(_core.gather(value._native, flat.ravel().tolist(), list(flat.shape)), value.context)


def whole_on(parts: Sequence[Part], context: Context) -> Any:
    """All parts as one value in a member's context.

    Raises:
        MismatchError: if they are several plaintexts.
    """
    if len(parts) == 1:
        return moved(parts[0].value, context)
    if isinstance(parts[0].value, Plaintext):
        raise _core.MismatchError(
            f"a batch of plaintexts that lies on {len(parts)} members of a pool can not be joined: give the "
            "array itself, or encode it with the first axis of the ciphertext"
        )
    return concatenate([moved(part.value, context) for part in parts])


def _gathered(parts: Sequence[Part], wanted: NDArray[np.intp], context: Context) -> Ciphertext:
    """The elements of a batch in parts with these flat indices, in a member's context."""
    each = math.prod(parts[0].value.shape[1:])
    flat = wanted.ravel()
    pieces, order = [], []
    for part, (_, begin, end) in zip(parts, cut_of(parts), strict=True):
        (places,) = np.nonzero((flat >= begin * each) & (flat < end * each))
        if places.size:
            pieces.append(moved(elements(part.value, flat[places] - begin * each), context))
            order.append(places)
    joined = pieces[0] if len(pieces) == 1 else concatenate(pieces)
    back = np.argsort(np.concatenate(order), kind="stable").reshape(wanted.shape)
    if back.ndim == 1 and np.array_equal(back, np.arange(len(flat))):
        return joined
    return elements(joined, back)


class _InParts:
    """The common part of ciphertexts and plaintexts in parts."""

    __slots__ = ()

    _parts: tuple[Part, ...]
    _cut: Cut

    def _hold(self: Any, parts: Sequence[Part]) -> None:
        self._parts = tuple(parts)
        self._cut = cut_of(self._parts)

    if TYPE_CHECKING:

        @property
        def _team(self) -> Team: ...

    @property
    def _native(self) -> Any:
        raise _core.MismatchError(
            f"the {type(self).__mro__[2].__name__} is in parts on the members of a pool: use the pool and "
            "its evaluators, or x.to(context) for a copy in one context"
        )

    @_native.setter
    def _native(self, _: object) -> NoReturn:
        raise AttributeError("a value in parts has no object of the core", name="_native", obj=self)

    @property
    def parts(self) -> list[Any]:
        """The parts in order, each in its member's context. They are no copies."""
        return [part.value for part in self._parts]

    @property
    def members(self) -> list[int]:
        """The number of each part's member."""
        return [part.member for part in self._parts]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the batch; () for a single message."""
        first: tuple[int, ...] = self._parts[0].value.shape
        if not first:
            return first
        return (self._cut[-1].end, *first[1:])

    def _html_facts(self) -> dict[str, object]:
        facts: dict[str, object] = self._parts[0].value._html_facts()
        return {**facts, "shape of the batch": self.shape, "parts on members": self.members}

    def _whole(self) -> Any:
        """All parts as one value, on the member of the first one."""
        member = self._parts[0].member
        context = self._team.contexts[member]
        return self._team.run_on(member, lambda: whole_on(self._parts, context))

    def to_bytes(self, *, compression: int = 0) -> bytes:
        """The whole in Hemera's file format: see `Ciphertext.to_bytes`."""
        whole = self._whole()
        return self._team.run_on(
            self._parts[0].member, lambda: bytes(whole.to_bytes(compression=compression))
        )

    def save(self, path: str | os.PathLike[str], *, compression: int = 0) -> None:
        """Write the whole to a file: see `Ciphertext.save`."""
        whole = self._whole()
        self._team.run_on(self._parts[0].member, lambda: whole.save(path, compression=compression))


def _of_all(name: str, kind: type, join: Callable[[Any], Any]) -> property:
    """A property of the parts as one of the whole."""

    def get(self: Any) -> Any:
        return join(getattr(part.value, name) for part in self._parts)

    return property(get, doc=getattr(kind, name).__doc__)


@in_own_words
class PoolPlaintext(_InParts, Plaintext):
    """A batch of encoded messages in parts on the members of a pool. `Pool.encode` and `Pool.load` make
    one."""

    __slots__ = ("_cut", "_of", "_parts")

    def __init__(self, parts: Sequence[Part], context: Context, team: Team) -> None:
        self._hold(parts)
        self._context = context
        self._copies = []
        self._of = team

    @property
    def _team(self) -> Team:
        return self._of

    def to(self, target: Any) -> Any:
        """A copy in one context; see `Plaintext.to`. MismatchError if there are several parts."""
        chosen = self._context.on(target) if isinstance(target, str) else target
        if isinstance(chosen, type(self._context)):
            return super().to(chosen)
        member = self._parts[0].member
        return self._team.run_on(member, lambda: whole_on(self._parts, chosen))


@in_own_words
class PoolCiphertext(_InParts, Ciphertext):
    """A batch of encrypted messages in parts on the members of a pool, with all that a `Ciphertext` has.

    The parts are cut along the first axis of the batch, in order, and as equal as they can be. A batch of
    fewer elements than there are members, and a single ciphertext, lie on the first members. `Pool.encrypt`
    and `PoolEvaluator.encrypt` make one.
    """

    __slots__ = ("_cut", "_parts")

    _evaluator: Any
    """A `PoolEvaluator`."""

    def __init__(self, parts: Sequence[Part], evaluator: Evaluator) -> None:
        self._hold(parts)
        self._evaluator = evaluator

    @property
    def _team(self) -> Team:
        team: Team = self._evaluator._team
        return team

    @property
    def ndim(self) -> int:
        """The number of batch axes."""
        return len(self._parts[0].value.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a single ciphertext has no length; its values are its slots")
        return self.shape[0]

    def __repr__(self) -> str:
        scheme = self.context.params.scheme.upper()
        return (
            f"<{scheme} Ciphertext of shape {self.shape}, {self._shown_slots()}, level {self.level}, in "
            f"{len(self._parts)} parts>"
        )

    def to(self, target: Any) -> Any:
        """A copy in one context, bound to no keys, or by an evaluator; or in another pool: see
        `Ciphertext.to`."""
        chosen = self.context.on(target) if isinstance(target, str) else target
        if not hasattr(chosen, "_copy_of"):
            raise TypeError(
                f"to takes a context, an evaluator, a pool or the name of a device, not "
                f"{type(chosen).__name__}"
            )
        if isinstance(chosen, (type(self._evaluator), type(self.context))):
            return super().to(chosen)
        whole = self._whole()
        if chosen is whole.context and len(self._parts) > 1:  # it was joined now, and is nobody else's
            return chosen._keyless.bind(whole)
        return whole.to(chosen)

    def copy(self) -> Ciphertext:
        """A deep copy."""
        copied: Ciphertext = self._evaluator.map(lambda _, part: part.copy(), self)
        return copied

    def _gather(self, chosen: NDArray[np.intp]) -> Ciphertext:
        team = self._team
        if not chosen.shape:  # it stays where it is
            at = int(chosen) // math.prod(self.shape[1:]) if self.shape else 0
            member = next(span.member for span in self._cut if span.begin <= at < span.end)
            cut: Cut = (Span(member, 0, 1),)
            rows = [chosen]
        else:
            cut = balanced(len(chosen), len(team))
            rows = [chosen[begin:end] for _, begin, end in cut]
        values = team.run(
            [
                (member, functools.partial(_gathered, self._parts, wanted, team.contexts[member]))
                for (member, _, _), wanted in zip(cut, rows, strict=True)
            ]
        )
        gathered = [Part(member, value) for (member, _, _), value in zip(cut, values, strict=True)]
        found: Ciphertext = self._evaluator._bound_parts(gathered)
        return found

    def _reshaped(self, extents: list[int]) -> Ciphertext:
        return self._gather(places_in(self).reshape(extents))

    def _pick(self, other: object) -> Evaluator:
        own: Evaluator = self._evaluator
        chosen = super()._pick(other)
        return chosen if isinstance(chosen, type(own)) else own


def parts_in(x: PoolCiphertext | PoolPlaintext) -> tuple[Part, ...]:
    """The parts of a value, with the members that they lie on."""
    return x._parts


_COMMON: dict[str, Callable[[Any], Any]] = {"dtype": lambda types: np.result_type(*types)}
for _name in ("slots", "filled", "dtype", "scale", "encoding", "level"):
    for _kind, _base in ((PoolPlaintext, Plaintext), (PoolCiphertext, Ciphertext)):
        setattr(_kind, _name, _of_all(_name, _base, _COMMON.get(_name, next)))
_OF_ALL: dict[str, Callable[[Any], Any]] = {
    "size": next,
    "largest": max,
    "noise_bits": max,
    "guaranteed_noise_budget": min,
    "memory_bytes": sum,
}
for _name, _join in _OF_ALL.items():
    setattr(PoolCiphertext, _name, _of_all(_name, Ciphertext, _join))
