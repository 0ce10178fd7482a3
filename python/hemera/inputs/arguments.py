"""Errors of arguments in the words of the interface, not in those of the compiled core."""

from __future__ import annotations

import functools
import inspect
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from hemera import _core

P = ParamSpec("P")
T = TypeVar("T")

Progress = Callable[[str, int, int], object] | None
"""A function that long work calls with its stage ("keys", "run", "upload", "predict", "search"), the number
of steps that are done, and that of all; or None. An exception that it raises ends the work."""


def require_type(value: object, kind: type[T], operation: str, wanted: str) -> T:
    """The value. TypeError, with the words `wanted` for the operation's argument, if it is of another
    kind."""
    if isinstance(value, kind):
        return value
    raise TypeError(f"{operation} takes {wanted}, not {described(value)}")


def described(value: object) -> str:
    """A value in an error: a class by its name, short text as it is, all else by its type."""
    if isinstance(value, type):
        return f"the class {value.__name__} itself"
    if isinstance(value, (str, bytes)) and len(value) <= 40:
        return f"the {type(value).__name__} {value!r}"
    return type(value).__name__


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: ". Did you mean ...?" with the nearest of the known ones, or
    "" if none is near."""
    import difflib  # of errors alone

    by_folded = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), by_folded, n=1)
    return f". Did you mean {by_folded[near[0]]!r}?" if near else ""


def require_different(names: Iterable[Any], what: str) -> None:
    """MismatchError for two of one name, as 1 and "1" are: one would stand in the other's place."""
    twice = sorted(name for name, count in Counter(map(str, names)).items() if count > 1)
    if twice:
        raise _core.MismatchError(f"two {what} of one name: {', '.join(map(repr, twice))}; rename one")


def parameters_of(function: Callable[..., Any], names: Sequence[str]) -> list[str]:
    """The names of a function's parameters; none, where Python does not know them.

    Args:
        names: of its inputs, in order; "" for one without a name.

    Raises:
        ParameterError: where a name is that of another parameter, which has another input's values.
    """
    try:
        known = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a function of C
        known = []
    found = [each.name for each in known if each.kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD]
    for at, name in enumerate(names):
        if name in found and found.index(name) != at:
            raise _core.ParameterError(
                f"input {at} is named {name!r}, and the function's parameters are {', '.join(found)}: give "
                "inputs in their order, or other names"
            )
    return found


def as_integer(value: object, operation: str, what: str) -> int:
    """An integer argument. TypeError if it is no integer."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{operation} takes an integer as {what}, not {described(value)}") from None


def as_extents(shape: tuple[Any, ...], operation: str) -> list[int]:
    """The extents of a shape that is given as several integers, or as one sequence of integers. TypeError if
    it is neither."""
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], Iterable) else shape
    try:
        return [operator.index(extent) for extent in given]
    except TypeError:
        wrong = next((extent for extent in given if not hasattr(extent, "__index__")), given)
        raise TypeError(f"{operation} takes integers as extents, not {described(wrong)}") from None


_CHECKED = "_checks_its_arguments"


def checks_its_arguments(method: Callable[P, T]) -> Callable[P, T]:
    """Mark a method that checks all its arguments before the core does: `in_own_words` leaves it as it is."""
    setattr(method, _CHECKED, True)
    return method


def in_own_words(cls: type[T]) -> type[T]:
    """The class, with errors of the core about arguments of its public methods translated: they name the
    method's argument and the types that it takes."""
    for name, member in list(vars(cls).items()):
        is_public = not name.startswith("_") or name == "__init__"
        if isinstance(member, FunctionType) and is_public and not hasattr(member, _CHECKED):
            setattr(cls, name, _in_own_words(member, cls.__name__ if name == "__init__" else name))
    return cls


def _in_own_words(function: Callable[P, T], operation: str) -> Callable[P, T]:
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if "incompatible function arguments" not in str(error):
                raise
            raise _explanation(function, operation, args, kwargs) from None
        except AttributeError as error:
            # An object that was taken for one of ours.
            if not str(error.name).startswith("_") or not _is_given(error.obj, (*args[1:], *kwargs.values())):
                raise
            raise _explanation(function, operation, args, kwargs) from None

    return call


def _is_given(value: object, arguments: Iterable[object]) -> bool:
    return any(
        value is given or (isinstance(given, (list, tuple)) and any(value is part for part in given))
        for given in arguments
    )


def _explanation(
    function: Callable[..., object], operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Exception:
    """The error of a call that the core refused, in the words of the interface."""
    signature = inspect.signature(function)
    given = signature.bind(*args, **kwargs).arguments
    values = {name: value for name, value in given.items() if name != "self"}
    for name, value in values.items():
        parameter = signature.parameters[name]
        kinds = [kind.strip() for kind in str(parameter.annotation).split("|")]
        several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        for one in value if several else (value,):
            if not any(_fits(one, kind) for kind in kinds):
                wanted = " or ".join(_WORDS.get(kind, kind) for kind in kinds)
                return TypeError(f"{operation} takes {wanted} as {name}, not {described(one)}")
    for name, value in values.items():
        if isinstance(value, int) and not 0 <= value < 1 << 31:
            return _core.ParameterError(f"{operation}: {name} = {value} is out of range")
    parts = ", ".join(f"{name}: {described(value)}" for name, value in values.items())
    return TypeError(f"{operation} takes {signature}, and can not do with {parts}")


_WORDS = {"int": "an integer", "float": "a number", "str": "text", "bool": "True or False"}
_OWN = frozenset(
    (
        "Ciphertext",
        "Context",
        "Evaluator",
        "Keys",
        "LinearTransform",
        "Plaintext",
        "SecretKey",
        "SwitchingKey",
    )
)


def _fits(value: object, kind: str) -> bool:
    """Whether the value may be of the kind that an annotation names; True for unknown kinds."""
    if kind in ("None", "NoneType"):
        return value is None
    if kind == "int":
        return hasattr(value, "__index__")
    if kind == "float":
        return hasattr(value, "__float__") or hasattr(value, "__index__")
    if kind == "str":
        return isinstance(value, str)
    if kind == "bool":
        return isinstance(value, bool)
    if kind in _OWN:
        return any(base.__name__ == kind for base in type(value).__mro__)
    for collection in ("Sequence[", "Iterable["):
        if kind.startswith(collection) and kind.endswith("]"):
            inner = kind[len(collection) : -1]
            return isinstance(value, Iterable) and (
                not isinstance(value, (list, tuple)) or all(_fits(part, inner) for part in value)
            )
    return True
