"""Versions of a model side by side, "tumours@1" and "tumours@2", and the names by which clients get them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path

from hemera._files import sync_folder, which_file, write_atomically
from hemera.errors import FileError, MismatchError, ParameterError
from hemera.serving import audit
from hemera.serving.tokens import is_name, require_name

Weights = Mapping[str, float]
"""Models by their full names, each with a number above 0: its share of clients is that of the sum."""


def plain_name(model: str) -> str:
    """The name of a model without its version: clients' keys are kept for it, whatever version uses them."""
    return model.partition("@")[0]


def version_of(model: str) -> str | None:
    """The version in a full name, or None."""
    return model.partition("@")[2] or None


def is_model(model: str) -> bool:
    """Whether it names a model: NAME, or NAME@VERSION."""
    name, at, version = model.partition("@")
    return is_name(name) and (is_name(version) if at else not version)


def require_model(model: str) -> str:
    """The full name; ParameterError unless it is one."""
    name, at, version = model.partition("@")
    require_name(name, "a model")
    if at:
        require_name(version, f"a version of the model {name!r}")
    return model


def chosen(alias: str, weights: Weights, client: str) -> str:
    """The model that a client gets: always the same one by the same weights. Another weight moves no more
    clients than it has to (weighted rendezvous hashing, Schindelhauer and Schomaker, SPAA 2005)."""

    def distance(model: str) -> float:
        digest = hashlib.sha256(f"{alias}\n{model}\n{client}".encode()).digest()
        uniform = (int.from_bytes(digest[:7], "big") + 0.5) / (1 << 56)
        return -math.log(uniform) / weights[model]

    return min(sorted(weights), key=distance)


class Aliases:
    """The names that give clients one of several models, in a folder: one file each. Looked for at each
    request, so that weights change while the server runs.

    Args:
        folder: of the files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, tuple[tuple[int, ...], dict[str, float]]] = {}
        """The weights in a file, and which file that was."""

    def names(self) -> list[str]:
        """All aliases."""
        return sorted(path.stem for path in self._folder.glob("*.json") if is_name(path.stem))

    def weights(self, alias: str) -> dict[str, float]:
        """The models of an alias; none where there is no such alias. FileError where its file can not be
        read."""
        file = self._file(alias)
        which = which_file(file) if is_name(alias) else None
        if which is None:
            self._read.pop(alias, None)
            return {}
        before = self._read.get(alias)
        if before is not None and before[0] == which:
            return before[1]
        try:
            told = {str(model): float(weight) for model, weight in json.loads(file.read_bytes()).items()}
            if not all(0 < weight < math.inf for weight in told.values()):
                raise ValueError("a weight is a number above 0")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise FileError(f"cannot read the file of the name {alias!r}, {file}: {error}") from None
        self._read[alias] = which, told
        return told

    def model(self, name: str, client: str, there: Collection[str]) -> str:
        """The full name of the model that a client gets under a name.

        Args:
            name: an alias, or a full name.
            client: its identity.
            there: the models that are served: others have no share.
        """
        weights = {model: weight for model, weight in self.weights(name).items() if model in there}
        return chosen(name, weights, client) if weights else name

    def put(self, alias: str, weights: Weights, models: Collection[str]) -> None:
        """Set the weights of an alias; models of weight 0 get no clients, and without others it ends.

        Args:
            models: those that there are.

        Raises:
            ParameterError: for a name that is none, or a weight below 0 or without end.
            MismatchError: for a model that is not there.
        """
        require_name(alias, "an alias of models")
        for model, weight in weights.items():
            if not 0 <= weight < math.inf:
                raise ParameterError(f"a weight is a number from 0, not {weight:g}")
            if model not in models:
                raise MismatchError(f"there is no model {model!r}: {', '.join(sorted(models)) or 'none'}")
        kept = {model: weight for model, weight in weights.items() if weight}
        if kept:
            write_atomically(self._file(alias), json.dumps(kept).encode())
        elif self._file(alias).exists():
            self._file(alias).unlink()
            sync_folder(self._folder)
        audit.note(self._folder.parent, "weights", name=alias, weights=kept)

    def forget(self, model: str) -> None:
        """A model is removed: no alias has it any more."""
        for alias in self.names():
            weights = self.weights(alias)
            if model in weights:
                self.put(alias, {**weights, model: 0.0}, weights)

    def _file(self, alias: str) -> Path:
        return self._folder / f"{alias}.json"
