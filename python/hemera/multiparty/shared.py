"""The folder that all parties can write to: one of the file system, or one of a server."""

from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from hemera._files import which_file, write_atomically
from hemera.client.problems import ServerError
from hemera.client.transport import Transport
from hemera.errors import FormatError, ParameterError
from hemera.multiparty.places import owner_of

FRESH = 0.02
"""Seconds for which a list of a server's files is looked at again."""
SMALL = 1 << 16
"""Bytes of a file that is kept until another takes its place."""


class RemoteFiles:
    """The files of a federation on a server. It is trusted as little as a folder: names that a federation
    does not have are left out.

    - `url`: of the federation there, `https://HOST:PORT/v1/federations/NAME`.
    - `token`: as of `hemera.Client`.
    """

    def __init__(self, url: str, token: str | None) -> None:
        self._transport = Transport(
            url, token=token, certificates=None, seconds=300.0, patience=60.0, progress=None
        )
        self.url = self._transport.url
        self._lists: dict[str, tuple[float, dict[str, str]]] = {}
        self._kept: dict[str, tuple[str, bytes]] = {}

    def list(self, folder: str) -> dict[str, str]:
        """The names in a folder, each with a word that differs for another file of that name."""
        at, found = self._lists.get(folder, (-FRESH, {}))
        if time.monotonic() - at >= FRESH:
            told = self._transport.json("GET", f"/files?folder={folder}").get("files")
            if not isinstance(told, dict):
                raise FormatError(f"{self.url} is no federation of a server")
            before = f"{folder}/" if folder else ""
            found = {
                name: version
                for name, version in told.items()
                if owner_of(before + name) is not None and isinstance(version, str)
            }
            self._lists[folder] = time.monotonic(), found
        return found

    def version(self, place: str) -> str | None:
        folder, _, name = place.rpartition("/")
        return self.list(folder).get(name)

    def read(self, place: str) -> bytes:
        """FileNotFoundError where it is not there."""
        version = self.version(place)
        kept = self._kept.get(place)
        if kept is not None and kept[0] == version:
            return kept[1]
        try:
            if version is None:
                raise FileNotFoundError(f"{self.url} has no {place}")
            data = self._transport.request("GET", f"/files/{place}").content
        except ServerError as error:
            if error.code != "unknown_file":
                raise
            raise FileNotFoundError(f"{self.url} has no {place}") from None
        if len(data) <= SMALL:
            self._kept[place] = version, data
        return data

    def write(self, place: str, data: bytes, *, replace: bool) -> None:
        """On the server's disk when it returns. FileExistsError where there is one that is not replaced."""
        try:
            headers = {} if replace else {"If-None-Match": "*"}
            self._transport.request("PUT", f"/files/{place}", data, headers=headers)
        except ServerError as error:
            if error.code != "exists":
                raise
            raise FileExistsError(f"{self.url} has {place} already") from None
        finally:
            self._lists.pop(place.rpartition("/")[0], None)


@dataclass(frozen=True, eq=False)
class RemotePath:
    """A file or a folder of a server, with what is used of `pathlib.Path`."""

    files: RemoteFiles
    place: PurePosixPath

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(self.files, self.place / name)

    def __str__(self) -> str:
        return f"{self.files.url}/files/{self.place}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and (self.files, self.place) == (other.files, other.place)

    def __hash__(self) -> int:
        return hash(self.place)

    @property
    def name(self) -> str:
        return self.place.name

    @property
    def parts(self) -> tuple[str, ...]:
        return self.place.parts

    def exists(self) -> bool:
        return self.files.version(str(self.place)) is not None

    def read_bytes(self) -> bytes:
        return self.files.read(str(self.place))

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """Its files whose names fit."""
        names = self.files.list("" if self.place == PurePosixPath() else str(self.place))
        return (self / name for name in names if fnmatch.fnmatchcase(name, pattern))


Shared: TypeAlias = "Path | RemotePath"


def shared_folder(folder: str | os.PathLike[str], token: str | None) -> Shared:
    """ParameterError for a token without a server."""
    if isinstance(folder, str) and folder.startswith(("http://", "https://")):
        return RemotePath(RemoteFiles(folder, token), PurePosixPath())
    if token is not None:
        raise ParameterError(f"a token is of a server, and {os.fspath(folder)!r} is a folder; leave it out")
    return Path(folder)


def files_in(folder: Shared, pattern: str) -> list[Shared]:
    """The files whose names fit, in order."""
    return sorted(folder.glob(pattern), key=str)


def write(path: Shared, data: bytes, *, replace: bool = True) -> None:
    """As `write_atomically`."""
    if isinstance(path, RemotePath):
        path.files.write(str(path.place), data, replace=replace)
    else:
        write_atomically(path, data, replace=replace)


def which(path: Shared) -> object | None:
    """As `which_file`."""
    return path.files.version(str(path.place)) if isinstance(path, RemotePath) else which_file(path)
