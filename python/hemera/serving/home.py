"""The folder of a server, and checks of it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hemera import errors
from hemera._files import locked, write_atomically
from hemera.inputs.source import read_bytes
from hemera.package.package import Package
from hemera.search.index import settings_of
from hemera.serving.clients import (
    Aliases,
    Clients,
    is_model,
    is_name,
    plain_name,
    require_model,
    require_name,
    version_of,
)
from hemera.serving.logs import audit
from hemera.serving.store import KeySet, newest_set
from hemera.serving.uploads import digest_file

_FORMAT = 1
"""The folder's format: it rises where an older release would misread what a newer one keeps."""
_MODEL_SUFFIX = ".hemera-model"
_INDEX_SUFFIX = ".hemera-index"


@dataclass(frozen=True)
class Home:
    """The folder of a server: its models, indexes, clients and their keys. It is all that a restart needs."""

    root: Path

    @property
    def clients(self) -> Clients:
        """Who may ask."""
        return Clients(self.root / "clients")

    @property
    def aliases(self) -> Aliases:
        """The names that give clients one of several models."""
        return Aliases(self.root / "aliases")

    @property
    def keys(self) -> Path:
        return self.root / "keys"

    @property
    def incoming(self) -> Path:
        return self.root / "incoming"

    def federation(self, name: str) -> Path:
        """The shared folder of a federation."""
        return self.root / "federations" / name

    def add_model(self, source: Path | Package) -> str:
        """Copy a packaged model, or a file of one, into the folder, in place of one of its full name: its own
        name, with the version in the name of a file like "tumours@2.hemera-model". The first model of a name
        gets all of its clients, and later versions none before they have a weight. A server reads models at
        its start.

        Returns:
            The full name.

        Raises:
            FormatError: when it is damaged.
            ParameterError: when its name can not be part of an address, or an index has it.
            FileError: when files can not be read or written.
        """
        package = source if isinstance(source, Package) else Package.load(source)
        file = source.name.removesuffix(_MODEL_SUFFIX) if isinstance(source, Path) else ""
        name = require_model("@".join([package.name, *file.split("@")[1:]]))
        _require_free(package.name, "an index", self.index_file(package.name).exists())
        is_first = not self._has_model(package.name)
        write_atomically(self.model_file(name), bytes(package))
        if version_of(name) and is_first:
            self.aliases.put(package.name, {name: 1.0}, [name])
        audit(self.root, "add-model", model=name, digest=package.digest)
        return name

    def remove_model(self, name: str) -> None:
        """Removes a model; with the last one of its name the keys that clients have for it. MismatchError
        where it is not there."""
        _remove(self.model_file(require_model(name)), "model", name)
        self.aliases.forget(name)
        if not self._has_model(plain_name(name)):
            self._remove_keys(f"*/{plain_name(name)}", f"*+*+{plain_name(name)}")
        audit(self.root, "remove-model", model=name)

    def add_index(self, source: Path) -> str:
        """Copy a file of an index (`hemera.search.Index.save`) into the folder, in place of one of its name,
        which is that of the file without its ending. A server that runs reads it too.

        Returns:
            The name.

        Raises:
            FormatError: when it is damaged.
            ParameterError: when its name can not be part of an address, or a model has it.
            FileError: when files can not be read or written.
        """
        name = require_name(source.stem, "the file of an index that is served")
        data = read_bytes(source)
        settings_of(data)
        _require_free(name, "a model", self._has_model(name))
        write_atomically(self.index_file(name), data)
        audit(self.root, "add-index", index=name, digest=hashlib.sha256(data).hexdigest())
        return name

    def remove_index(self, name: str) -> None:
        """Removes an index, and the keys that clients have for it. MismatchError where it is not there."""
        _remove(self.index_file(require_name(name, "an index")), "index", name)
        self._remove_keys(f"*/{name}", f"*+*+{name}")
        audit(self.root, "remove-index", index=name)

    def remove_client(self, name: str) -> None:
        """Removes a client's token, its keys, and what has come of them. MismatchError where it is not
        there."""
        owner = self.clients.remove(name)
        self._remove_keys(owner, f"{owner}+*")

    def _remove_keys(self, kept: str, coming: str) -> None:
        """Removes folders of keys, and of uploads, by their patterns."""
        for folder in (*self.keys.glob(kept), *self.incoming.glob(coming)):
            shutil.rmtree(folder, ignore_errors=True)

    def key_sets(self) -> list[KeySet]:
        """The keys that clients have here."""
        found = (newest_set(folder) for folder in self.keys.glob("*/*"))
        return [each for each in found if each is not None]

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Within it, no other server has the folder. FileError where one has it; FormatError where a newer
        release had it (`require_known`)."""
        try:
            with locked(self.root / "lock", wait=False):
                self.require_known()
                if not self._format.exists():
                    write_atomically(self._format, f"{_FORMAT}\n".encode())
                yield
        except BlockingIOError:
            raise errors.FileError(f"another server runs on {self.root}") from None

    @property
    def _format(self) -> Path:
        return self.root / "format"

    def require_known(self) -> None:
        """FormatError where the folder is of a newer release, which keeps things in it that this one does not
        know. Folders without a number are of 0.2.0 and before."""
        found = read_bytes(self._format) if self._format.exists() else b"0"
        if not found.strip().isdigit() or len(found) > 9:
            raise errors.FormatError(f"{self._format} is damaged: restore it from a copy of {self.root}")
        if int(found) > _FORMAT:
            raise errors.FormatError(
                f"{self.root} has format {int(found)}, and this release knows {_FORMAT} at most: start the "
                "newer one, or restore the copy of the folder from before its first start"
            )

    def models(self) -> tuple[dict[str, Package], dict[str, str]]:
        """All models by name, and what is wrong with each that can not be served: one damaged file keeps no
        other model from its clients."""
        found: dict[str, Package] = {}
        damaged: dict[str, str] = {}
        for name, path in self._model_files().items():
            try:
                package = Package.load(path)
                package.describe()
                if package.name != plain_name(name) or not is_model(name):
                    raise errors.FormatError(
                        f"the file holds the model {package.name!r}: add models by --add-model"
                    )
            except errors.Error as error:
                damaged[name] = f"{path}: {error}"
            else:
                found[name] = package
        return found, damaged

    def indexes(self) -> tuple[dict[str, Path], dict[str, str]]:
        """The files of all indexes by name, and what is wrong with each that can not be served whatever its
        file holds."""
        found: dict[str, Path] = {}
        clashing: dict[str, str] = {}
        for path in sorted((self.root / "indexes").glob(f"*{_INDEX_SUFFIX}")):
            name = path.name.removesuffix(_INDEX_SUFFIX)
            if self._has_model(name):
                clashing[name] = f"{path}: a model has this name; remove one of the two"
            elif not is_name(name):
                clashing[name] = f"{path}: this can not be part of an address; add indexes by --add-index"
            else:
                found[name] = path
        return found, clashing

    def _model_files(self) -> dict[str, Path]:
        paths = sorted((self.root / "models").glob(f"*{_MODEL_SUFFIX}"))
        return {path.name.removesuffix(_MODEL_SUFFIX): path for path in paths}

    def _has_model(self, name: str) -> bool:
        """Whether there is a model, or a version of one, of a plain name."""
        return any(plain_name(each) == name for each in self._model_files())

    def index_file(self, name: str) -> Path:
        return self.root / "indexes" / f"{name}{_INDEX_SUFFIX}"

    def model_file(self, name: str) -> Path:
        return self.root / "models" / f"{name}{_MODEL_SUFFIX}"


def _remove(file: Path, what: str, name: str) -> None:
    try:
        file.unlink()
    except FileNotFoundError:
        raise errors.MismatchError(f"there is no {what} {name!r}") from None


def _require_free(name: str, what: str, is_there: bool) -> None:
    """ParameterError where the folder has something else of a name: keys and metrics go by it."""
    if is_there:
        raise errors.ParameterError(f"there is {what} {name!r} already; remove it, or take another name")


Told = tuple[str, Literal["ok", "note", "broken"], str]
"""The name of a check, its result, and the way out."""
_TO_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LITTLE = 0.1
"""Part of a disk that is little room."""


def check_home(home: Home) -> Iterator[Told]:
    """The results of all checks of a server's folder. Reads all files in it."""
    if not home.root.is_dir():
        yield "folder", "broken", f"{home.root} is no folder: `hemera serve HOME --add-model FILE` makes one"
        return
    yield _running(home)
    yield from _owners(home.root)
    yield from _models(home)
    yield from _indexes(home)
    names = yield from _clients(home)
    yield from _keys(home, names)
    yield from _room(home)


def _running(home: Home) -> Told:
    if not (home.root / "lock").exists():
        return "server", "note", "none has run on it yet"
    try:
        with home.locked():
            return "server", "ok", "none runs on it"
    except errors.FileError as error:
        return "server", "note", f"{error}: what it is about to change may look unfinished here"


def _owners(root: Path) -> Iterator[Told]:
    """Whether files are for the owner of the folder alone: what is in closed folders is closed."""
    owner = root.stat().st_uid
    others = [path for path in (root, *root.rglob("*")) if path.lstat().st_uid != owner]
    open_to_others = [path for path in sorted(root.iterdir()) if path.lstat().st_mode & _TO_OTHERS]
    if others:
        text = f"{len(others)} files have another owner than the folder, as {others[0]}: chown -R"
        yield "owners", "broken", text
    elif owner != os.geteuid():
        yield "owners", "note", f"the folder is user {owner}'s: run the server as that user"
    else:
        yield "owners", "ok", "all is the folder's owner's"
    if open_to_others and root.stat().st_mode & _TO_OTHERS:
        told = f"{', '.join(map(str, open_to_others))} are open to others"
        yield "permissions", "broken", f"{told}: chmod -R go= {root}"
    else:
        yield "permissions", "ok", "closed to others"


def _models(home: Home) -> Iterator[Told]:
    models, damaged = home.models()
    for name, package in models.items():
        yield f"model {name}", "ok", f"whole, digest {package.digest[:16]}"
    for name, why in damaged.items():
        text = f"{why}. Add it again, or `hemera serve HOME --remove-model {name}`"
        yield f"model {name}", "broken", text
    for alias in home.aliases.names():
        try:
            absent = sorted(set(home.aliases.weights(alias)) - set(models))
        except errors.FileError as error:
            yield (
                f"name {alias}",
                "broken",
                f"{error}. Set it again: `hemera models HOME {alias} MODEL=WEIGHT`",
            )
            continue
        if absent:
            yield f"name {alias}", "broken", f"it leads to {', '.join(absent)}, which is not there"


def _indexes(home: Home) -> Iterator[Told]:
    indexes, clashing = home.indexes()
    for name, path in indexes.items():
        try:
            settings_of(read_bytes(path))
            yield f"index {name}", "ok", f"{path.stat().st_size} bytes"
        except errors.Error as error:
            yield f"index {name}", "broken", f"{path}: {error}. Add it again"
    for name, why in clashing.items():
        yield f"index {name}", "broken", why


def _clients(home: Home) -> Generator[Told, None, list[str]]:
    """Returns the names of all clients whose files can be read."""
    readable = []
    for name in home.clients.names():
        try:
            home.clients.of_token(f"{name}.")
            readable.append(name)
        except errors.FileError as error:
            text = f"{error}. Restore it from a backup, or remove the file and add the client anew"
            yield f"client {name}", "broken", text
    yield "clients", "ok" if readable else "note", f"{len(readable)} can ask"
    return readable


def _keys(home: Home, clients: list[str]) -> Iterator[Told]:
    count = total = 0
    names = {plain_name(each) for each in home.models()[0]} | set(home.indexes()[0])
    for folder in sorted(home.keys.glob("*/*")):
        found = newest_set(folder)
        place = f"keys of {folder.parent.name} for {folder.name}"
        if found is None:
            if any(folder.iterdir()):
                yield (
                    place,
                    "broken",
                    f"{folder} has no whole set: remove it, and the client sends its keys again",
                )
            continue
        count, total = count + 1, total + found.bytes
        if _digest(found) != found.digest:
            yield place, "broken", f"{folder} was damaged: remove it, and the client sends its keys again"
        elif found.client.rpartition(".")[0] not in clients or found.model not in names:
            yield place, "note", f"{found.bytes} bytes that nobody uses: remove {folder}"
    yield "keys", "ok", f"{count} sets, {total} bytes, as they were sent"
    waiting = list(home.incoming.glob("*"))
    if waiting:
        size = sum(each.stat().st_size for folder in waiting for each in folder.rglob("*") if each.is_file())
        yield "uploads", "note", f"{len(waiting)} are under way or wait to go on, {size} bytes"


def _digest(found: KeySet) -> str:
    """The digest that a client computes of its files."""
    told = hashlib.sha256()
    for name, path in found.files.items():
        digest_file(told, name, path)
    return told.hexdigest()


def _room(home: Home) -> Iterator[Told]:
    disk = shutil.disk_usage(home.root)
    text = f"{disk.free >> 20} MiB free of {disk.total >> 20}"
    if disk.free < _LITTLE * disk.total:
        yield (
            "disk",
            "note",
            f"{text}: uploads end with 507 when it is full; see to room, or lower store_bytes",
        )
    else:
        yield "disk", "ok", text
