"""State that an object holds for one process alone, and its fate at `fork()`.

A child of `fork()` begins with a copy of all objects of its parent. A connection, a seed, a counter and a
lock must not go on in both: each class that has one holds it by a class of this module, or notes its process
by `Process`. A test looks for classes that do not (tests/test_forked_objects.py).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

_forks = 0
"""Between this process and the one that imported the module first."""
_renewing = threading.RLock()
"""Held while a process makes a value of its own."""


def _in_child() -> None:
    global _forks, _renewing  # the number of the process
    _forks += 1
    _renewing = threading.RLock()  # a thread that the child lacks may have had the other one


os.register_at_fork(after_in_child=_in_child)


class Process:
    """The process that an object was made in."""

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = _forks

    @property
    def is_this(self) -> bool:
        """Whether it is the one that asks; False in a child of `fork()`."""
        return self._number == _forks


class OfProcess(Generic[T]):
    """A value that each process has for itself: a child of `fork()` makes it anew, when it first asks for it.
    The parent's is let go there. Any thread may ask.

    Args:
        make: makes the value; called at once, and in each child.
    """

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made = (_forks, make())

    @property
    def value(self) -> T:
        """The object that this process has made."""
        number, value = self._made
        if number == _forks:
            return value
        with _renewing:
            if self._made[0] != _forks:
                self._made = (_forks, self._make())
            return self._made[1]

    def renew(self, old: T) -> None:
        """Let a value go: the next one who asks finds another one. Nothing if it has been let go already."""
        with _renewing:
            if self.value is old:
                self._made = (_forks, self._make())


class Lock(OfProcess[threading.Lock]):
    """A lock of threads, for `with`. In a child of `fork()` it is free, whichever thread of the parent
    had it: the guarded state must be whole after each statement."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        super().__init__(threading.Lock)

    def __enter__(self) -> None:
        number, own = self._made
        if number != _forks:
            own = self.value
        own.acquire()
        self._taken = own

    def __exit__(self, *_: object) -> None:
        self._taken.release()  # also in a child that its holder has forked


class cached_property(Generic[T]):  # noqa: N801  # as functools has it
    """A property that is computed at its first use: `functools.cached_property` without the lock that it
    holds meanwhile before Python 3.12, for all objects of the class. Threads that come first together may all
    compute it, and get the same value."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__
        self.__module__ = compute.__module__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, holder: None, owner: type | None = None) -> cached_property[T]: ...

    @overload
    def __get__(self, holder: object, owner: type | None = None) -> T: ...

    def __get__(self, holder: object | None, owner: type | None = None) -> cached_property[T] | T:
        if holder is None:
            return self
        kept = vars(holder)
        if self._name in kept:
            found: T = kept[self._name]
            return found
        made: T = kept.setdefault(self._name, self._compute(holder))
        return made
