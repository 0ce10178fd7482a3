"""Checks of a server's folder: whole files, owners, room. They change nothing, and a server may run."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Literal

from hemera import errors
from hemera.inputs.source import read_bytes
from hemera.search.index import settings_of
from hemera.serving.home import Home
from hemera.serving.key_sets import KeySet, newest_set
from hemera.serving.versions import plain_name

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
        told.update(f"{len(name)}:{name}".encode())
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                told.update(piece)
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
