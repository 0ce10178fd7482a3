"""OpenFHE as the client of a test: the module itself where this interpreter has it, else one that another
interpreter runs in a process of its own, through a pipe. OpenFHE has wheels for CPython 3.10 and 3.12 alone;
`HEMERA_OPENFHE_PYTHON` names an interpreter that has it, `tools/setup openfhe` makes such ones."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

WHY_NOT = (
    "there is no OpenFHE: its wheels are for CPython 3.10 and 3.12 alone; `tools/setup openfhe` makes "
    "environments of the first, for HEMERA_OPENFHE_PYTHON"
)


class OpenFheError(RuntimeError):
    """What OpenFHE raised in the other process."""


def library() -> Any:
    """The module `openfhe`, or what behaves like it. Skips the module that asks where there is none."""
    try:
        return importlib.import_module("openfhe")
    except ImportError:
        pass
    import pytest  # which the other interpreter need not have

    interpreter = os.environ.get("HEMERA_OPENFHE_PYTHON")
    if interpreter is None:
        pytest.skip(WHY_NOT, allow_module_level=True)
    return Process(interpreter).module()


def version(lib: Any) -> tuple[int, ...]:
    """The library's version, from its file of build settings: (1, 6, 1)."""
    for line in (Path(str(lib.__file__)).parent / "build-config.txt").read_text().splitlines():
        if line.startswith("OPENFHE_TAG=v"):
            return tuple(int(part) for part in line.removeprefix("OPENFHE_TAG=v").split("."))
    raise RuntimeError("the wheel of openfhe does not tell its version")


def bootstrap_depth(lib: Any, budget: list[int], secret_type: Any) -> int:
    """Levels of a bootstrap; the class that tells them has another name since 1.6."""
    owner = lib.CryptoContext if version(lib) >= (1, 6) else lib.FHECKKSRNS
    return int(owner.GetBootstrapDepth(budget, secret_type))


class Process:
    """The other process, from here."""

    def __init__(self, interpreter: str) -> None:
        self._process = subprocess.Popen(
            [interpreter, str(Path(__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        )
        self.released: list[int] = []

    def module(self) -> Any:
        return self.ask("module", 0)

    def ask(self, what: str, number: int, *rest: Any) -> Any:
        released, self.released = self.released, []
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        _Pickler(self._process.stdin).dump((what, number, _sent(rest), released))
        self._process.stdin.flush()
        is_error, answer = _Unpickler(self._process.stdout).load()
        if is_error:
            raise OpenFheError(answer)
        return self._received(answer)

    def _received(self, answer: Any) -> Any:
        if isinstance(answer, _Handle):
            return Remote(self, answer.number)
        if isinstance(answer, (list, tuple)):
            return type(answer)(self._received(part) for part in answer)
        if isinstance(answer, dict):
            return {key: self._received(part) for key, part in answer.items()}
        return answer


class _Handle:
    """An object of the other process."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Pickler(pickle.Pickler):
    """Handles travel as their numbers: both processes have a class of their own for them."""

    def persistent_id(self, value: Any) -> int | None:
        return value.number if isinstance(value, _Handle) else None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, number: int) -> _Handle:
        return _Handle(number)


def _sent(value: Any) -> Any:
    if isinstance(value, Remote):
        return _Handle(value._number)
    if isinstance(value, (list, tuple)):
        return type(value)(_sent(part) for part in value)
    if isinstance(value, dict):
        return {key: _sent(part) for key, part in value.items()}
    return value


class Remote:
    """An object of the other process: its attributes and calls."""

    def __init__(self, process: Process, number: int) -> None:
        self._process, self._number = process, number
        self._known: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        # One object each time, so that `is` works for members of enumerations.
        if name not in self._known:
            found = self._process.ask("attribute", self._number, name)
            if not isinstance(found, Remote):
                return found
            self._known[name] = found
        return self._known[name]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._process.ask("call", self._number, arguments, named)

    def __del__(self) -> None:
        self._process.released.append(self._number)


def serve() -> None:
    """The other process: answers until its input ends."""
    # What OpenFHE prints must not get among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    objects: dict[int, Any] = {}
    count = 0

    def answer_of(value: Any) -> Any:
        nonlocal count
        if type(value).__module__ == "numpy":  # arrays and numbers, of which the other side has other classes
            value = value.tolist()
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return value
        if isinstance(value, (list, tuple)):
            return type(value)(answer_of(part) for part in value)
        if isinstance(value, dict):
            return {key: answer_of(part) for key, part in value.items()}
        count += 1
        objects[count] = value
        return _Handle(count)

    def asked(value: Any) -> Any:
        if isinstance(value, _Handle):
            return objects[value.number]
        if isinstance(value, (list, tuple)):
            return type(value)(asked(part) for part in value)
        if isinstance(value, dict):
            return {key: asked(part) for key, part in value.items()}
        return value

    while True:
        try:
            what, number, rest, released = _Unpickler(sys.stdin.buffer).load()
        except EOFError:
            return
        for each in released:
            objects.pop(each, None)
        try:
            if what == "module":
                result = importlib.import_module("openfhe")
            elif what == "attribute":
                result = getattr(objects[number], rest[0])
            else:
                arguments, named = asked(rest)
                result = objects[number](*arguments, **named)
            answer = (False, answer_of(result))
        except Exception as error:
            answer = (True, f"{type(error).__name__}: {error}")
        _Pickler(answers).dump(answer)
        answers.flush()


if __name__ == "__main__":
    serve()
