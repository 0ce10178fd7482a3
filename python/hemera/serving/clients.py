"""Clients and their tokens, and the models that they get by names: files that each request looks at."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import hmac
import json
import math
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from hemera._files import locked, sync_folder, which_file, write_atomically
from hemera.errors import FileError, MismatchError, ParameterError
from hemera.serving.logs import audit

T = TypeVar("T")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NOBODY = hashlib.sha256(b"").hexdigest()
_MOST = 16
"""Tokens of one client: each request compares all of them."""


def is_name(name: str) -> bool:
    """Whether it names a client or a model: it is also a folder's name."""
    return _NAME.fullmatch(name) is not None and not name.endswith(".")


def require_name(name: str, what: str) -> str:
    """The name; ParameterError unless it is one."""
    if not is_name(name):
        raise ParameterError(f"{what} needs a name of 1 to 64 letters, digits and . _ -, not {name!r}")
    return name


class _Files(Generic[T]):
    """Contents of small files of JSON, read anew where another file has taken the place of one."""

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read = read
        self._known: dict[Path, tuple[tuple[int, ...], T]] = {}

    def get(self, file: Path, what: str) -> T | None:
        """The contents; None where there is no file. FileError, which says what it is, for a damaged one."""
        # Files are replaced as a whole, so another one has other numbers here.
        which = which_file(file)
        before = self._known.get(file)
        if which is not None and before is not None and before[0] == which:
            return before[1]
        self._known.pop(file, None)
        try:
            found = self._read(json.loads(file.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileError(f"cannot read {what} {file}: {error}") from None
        if which is not None:
            self._known[file] = which, found
        return found


@dataclass(frozen=True)
class Token:
    """One token of a client, as its file has it."""

    id: str
    sha256: str
    expires: float | None = None
    """Seconds since 1970; None: never."""
    allow: tuple[str, ...] | None = None
    """Names of models, indexes and federations that it may ask for; None: all."""

    @classmethod
    def of(cls, told: Any) -> Token:
        """The token of a file's entry. ValueError, KeyError, TypeError for anything else."""
        expires, allow = told.get("expires"), told.get("allow")
        if allow is not None and not isinstance(allow, list):
            raise ValueError("allow is a list of names")
        return cls(
            str(told["id"]),
            str(told["sha256"]),
            None if expires is None else float(expires),
            None if allow is None else tuple(map(str, allow)),
        )


@dataclass(frozen=True)
class Caller:
    """Who asks, by a token that is right."""

    client: str
    """The client's identity: its name and the id that it got when it was added."""
    token: str
    """The id of its token."""
    allow: tuple[str, ...] | None = None

    def may_ask(self, name: str) -> bool:
        """Whether the token is for a model, in all of its versions, an index or a federation."""
        return self.allow is None or not {name, name.partition("@")[0]}.isdisjoint(self.allow)


@dataclass(frozen=True)
class _Kept:
    """A client's file."""

    id: str
    tokens: tuple[Token, ...]

    @classmethod
    def of(cls, told: Any) -> _Kept:
        # Files of 0.2 have the hash of one token.
        tokens = told["tokens"] if "tokens" in told else [{"id": "first", "sha256": told["token_sha256"]}]
        return cls(str(told["id"]), tuple(map(Token.of, tokens)))


class Clients:
    """Who may ask. A token is the client's name, a point and 256 random bits. A client may have several, so
    that one takes another one's place without a gap: its identity, and with it its keys, stay.

    Looked for at each request, so that clients and tokens come and go while the server runs.

    Args:
        folder: of the files.
        clock: seconds since 1970, by which tokens end.
    """

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._clock = folder, clock
        self._files = _Files(_Kept.of)

    def add(self, name: str) -> str:
        """A new client's token, which is kept nowhere; MismatchError where the client is there already."""
        require_name(name, "a client")
        text, token = self._new_token(name, None, None)
        try:
            self._write(name, _Kept(secrets.token_hex(8), (token,)), replace=False)
        except FileExistsError:
            raise MismatchError(
                f"there is a client {name!r} already; remove it, or take another name"
            ) from None
        audit(self._folder.parent, "add-client", client=name, token=token.id)
        return text

    def add_token(
        self, name: str, *, seconds: float | None = None, allow: Sequence[str] | None = None
    ) -> str:
        """Another token of a client, which is kept nowhere.

        Args:
            name: of the client.
            seconds: for which it counts; None: until it is ended.
            allow: names of models, indexes and federations that it may ask for; None: all.

        Raises:
            MismatchError: where there is no such client, or it has 16 tokens.
            ParameterError: for a name that is none, and a time that is not above 0.
        """
        if seconds is not None and not 0 < seconds < math.inf:
            raise ParameterError(f"a token counts for a time above 0, not {seconds:g} seconds")
        for each in allow or ():
            require_name(each.partition("@")[0], "a model or index that a token is for")
        with self._changed(name) as kept:
            text, token = self._new_token(name, seconds, allow)
            # Tokens that have ended make room.
            tokens = [each for each in kept.tokens if not self._is_over(each)]
            if len(tokens) >= _MOST:
                raise MismatchError(f"the client {name!r} has {_MOST} tokens: end one first")
            self._write(name, _Kept(kept.id, (*tokens, token)))
        facts = {"expires": token.expires, "allow": token.allow}
        audit(self._folder.parent, "add-token", client=name, token=token.id, **facts)
        return text

    def end_token(self, name: str, token: str) -> None:
        """End the token of this id. MismatchError where the client has none."""
        with self._changed(name) as kept:
            left = tuple(each for each in kept.tokens if each.id != token)
            if len(left) == len(kept.tokens):
                raise MismatchError(f"the client {name!r} has no token {token!r}")
            self._write(name, _Kept(kept.id, left))
        audit(self._folder.parent, "end-token", client=name, token=token)

    def remove(self, name: str) -> str:
        """End all tokens: the client's identity. MismatchError where it is not there."""
        with self._changed(name) as kept:
            self._file(name).unlink(missing_ok=True)
            sync_folder(self._folder)
        audit(self._folder.parent, "remove-client", client=name)
        return f"{name}.{kept.id}"

    def names(self) -> list[str]:
        """All clients."""
        return sorted(path.stem for path in self._folder.glob("*.json"))

    def tokens(self, name: str) -> tuple[Token, ...]:
        """The tokens of a client, those that have ended included."""
        return () if (kept := self._kept(name)) is None else kept.tokens

    def identity(self, name: str) -> str | None:
        """A client's name and id, under which its keys are kept; None where it is not there."""
        return None if (kept := self._kept(name)) is None else f"{name}.{kept.id}"

    def of_token(self, token: str) -> str | None:
        """The identity of a token's client, or None."""
        caller = self.caller(token)
        return None if caller is None else caller.client

    def caller(self, token: str) -> Caller | None:
        """Who asks by a token, or None. Takes as long for a wrong token as for a right one."""
        name = token.rpartition(".")[0]
        kept = self._kept(name) if is_name(name) else None
        given, found = _digest(token), None
        for each in kept.tokens if kept is not None and kept.tokens else (Token("", _NOBODY),):
            if hmac.compare_digest(given, each.sha256) and not self._is_over(each):
                found = each
        if found is None or kept is None:
            return None
        return Caller(f"{name}.{kept.id}", found.id, found.allow)

    def _is_over(self, token: Token) -> bool:
        return token.expires is not None and self._clock() >= token.expires

    def _new_token(self, name: str, seconds: float | None, allow: Sequence[str] | None) -> tuple[str, Token]:
        text = f"{name}.{secrets.token_urlsafe(32)}"
        expires = None if seconds is None else self._clock() + seconds
        allowed = None if allow is None else tuple(allow)
        return text, Token(secrets.token_hex(4), _digest(text), expires, allowed)

    @contextlib.contextmanager
    def _changed(self, name: str) -> Iterator[_Kept]:
        """Within it a client's file is this process's alone to change. MismatchError where there is none."""
        require_name(name, "a client")
        with locked(self._folder.with_suffix(".lock"), wait=True):
            kept = self._kept(name)
            if kept is None:
                raise MismatchError(f"there is no client {name!r}")
            yield kept

    def _write(self, name: str, kept: _Kept, *, replace: bool = True) -> None:
        told = {"id": kept.id, "tokens": list(map(dataclasses.asdict, kept.tokens))}
        write_atomically(self._file(name), json.dumps(told).encode(), replace=replace)

    def _kept(self, name: str) -> _Kept | None:
        """A client's file; None where there is none."""
        return self._files.get(self._file(name), "the client's file")

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


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


def _weights(told: Any) -> dict[str, float]:
    """The weights of a file."""
    found = {str(model): float(weight) for model, weight in told.items()}
    if not all(0 < weight < math.inf for weight in found.values()):
        raise ValueError("a weight is a number above 0")
    return found


class Aliases:
    """The names that give clients one of several models, in a folder: one file each. Looked for at each
    request, so that weights change while the server runs.

    Args:
        folder: of the files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._files = folder, _Files(_weights)

    def names(self) -> list[str]:
        """All aliases."""
        return sorted(path.stem for path in self._folder.glob("*.json") if is_name(path.stem))

    def weights(self, alias: str) -> dict[str, float]:
        """The models of an alias; none where there is no such alias. FileError where its file can not be
        read."""
        found = (
            self._files.get(self._file(alias), f"the file of the name {alias!r},") if is_name(alias) else {}
        )
        return found or {}

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
        audit(self._folder.parent, "weights", name=alias, weights=kept)

    def forget(self, model: str) -> None:
        """A model is removed: no alias has it any more."""
        for alias in self.names():
            weights = self.weights(alias)
            if model in weights:
                self.put(alias, {**weights, model: 0.0}, weights)

    def _file(self, alias: str) -> Path:
        return self._folder / f"{alias}.json"
