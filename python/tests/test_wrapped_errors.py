"""Errors inside of a reader: those that say more than that a file is damaged pass everywhere."""

import ast
import builtins
import importlib
import pkgutil
import string
from pathlib import Path

import pytest

import hemera
from hemera import errors
from hemera.inputs.fields import MALFORMED, SAYS_MORE, damaged
from hemera.serving import reasons

EVERY = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.Error)]


@pytest.mark.parametrize(
    "error", dict.fromkeys([*EVERY, *MALFORMED, MemoryError, OSError]), ids=lambda each: each.__name__
)
def test_what_reading_raises_is_damage_unless_it_says_more(error):
    passing = [
        "DeviceError",
        "FileError",
        "FormatError",
        "MemoryError",
        "OSError",
        "OutOfMemoryError",
        "SecurityError",
    ]
    for told in ((), (errors.ParameterError,), (errors.LevelError, errors.NoiseError)):
        passes = error.__name__ in passing or issubclass(error, told)
        with pytest.raises(error if passes else errors.FormatError) as raised, damaged("the file", *told):
            raise error("why")
        assert str(raised.value) == ("why" if passes else f"the file is damaged: {error('why')}")


def handlers():
    """The handlers of each `try` of the package whose errors may become a FormatError."""
    for found in pkgutil.walk_packages(hemera.__path__, "hemera."):
        spec = importlib.util.find_spec(found.name)
        if spec is None or not str(spec.origin).endswith(".py") or found.name.endswith("__main__"):
            continue
        for node in ast.walk(ast.parse(Path(str(spec.origin)).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Try) and "FormatError(" in "".join(map(ast.unparse, node.handlers)):
                try:
                    names = vars(importlib.import_module(found.name))
                except ModuleNotFoundError as absent:  # of a framework that this environment lacks
                    if str(absent.name).startswith("hemera"):
                        raise
                    names = {**vars(builtins), **vars(errors)}
                yield f"{found.name}, line {node.lineno}", names, node.handlers


def caught_by(handler, names):
    try:
        return Exception if handler.type is None else eval(ast.unparse(handler.type), names)
    except NameError:  # of a library that a function imports
        return ()


def test_handlers_do_not_tell_of_damage_where_an_error_says_more():
    seen = 0
    for where, names, own in handlers():
        caught = [caught_by(handler, names) for handler in own]
        broad = any(issubclass(errors.Error, each) for each in caught)
        for error in SAYS_MORE:
            first = next(
                (handler for handler, each in zip(own, caught, strict=True) if issubclass(error, each)), None
            )
            body = "" if first is None else ast.unparse(first)
            # What is caught as a ValueError alone is raised by what the file's numbers are given to.
            is_other = issubclass(error, ValueError) and not broad
            assert is_other or "FormatError(" not in body or "isinstance(error, (*SAYS_MORE" in body, (
                where,
                error,
            )
            seen += 1
    assert seen > 100


def test_reasons_get_the_facts_of_their_messages():
    found = set()
    for path in Path(reasons.__file__).parents[1].rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = ast.unparse(call.func).removesuffix(".refused") if isinstance(call, ast.Call) else ""
            if isinstance(reason := getattr(reasons, name, None), reasons.Reason):
                facts = {fact for _, fact, *_ in string.Formatter().parse(reason.code + reason.message)}
                found.add({key.arg for key in call.keywords} - {"after"} == facts - {None})
    assert found == {True}
