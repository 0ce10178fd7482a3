"""Uploads of keys on their way to the disk, the files that there may be, and that a secret key is none."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from hemera._inspect import HEMERA, MAGIC, ForeignDescription, inspect
from hemera.client.problems import Refused
from hemera.client.wire import KEYS_FILE
from hemera.errors import Error, FormatError
from hemera.interop import library_of_name, names_of_libraries
from hemera.interop._library import KEY_FILES
from hemera.serving.reasons import COMPRESSED, DISK_FULL, LARGE_KEYS, SECRET_KEY, UNFIT

TABLE = "set.json"
"""The file of a set of keys that has the sizes of the others; its time is that of the last use."""
FOREIGN = ("context", *KEY_FILES.values())
"""The files of other libraries' clients; the first is needed."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_HEAD = len(MAGIC) + 4
_SECRET_KEY, _EVALUATION_KEYS = 4, 7
_MOST_SECTIONS = 100_008
"""The most sections of a file of keys: two for each of at most 50,000 keys, and some before them."""


def refuse_secret(data: bytes) -> None:
    """Refused (422) where these are the first bytes of a secret key of Hemera."""
    if kind_of(data) == _SECRET_KEY:
        raise SECRET_KEY.refused()


def kind_of(head: bytes) -> int | None:
    """The kind of Hemera's file that begins so (docs/file-format.md), or None."""
    if head[: len(MAGIC)] != MAGIC or len(head) < _HEAD:
        return None
    return int.from_bytes(head[10:12], "little")


def digest_file(told: Any, name: str, path: Path) -> None:
    """Bring the name and the contents of a file into the digest of an upload."""
    told.update(f"{len(name)}:{name}".encode())
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            told.update(piece)


@contextlib.contextmanager
def on_disk() -> Iterator[None]:
    """A full disk is an answer of its own."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DISK_FULL.refused() from error
        raise


class _Store(Protocol):
    """Where uploads go: `hemera.serving.store.Store`."""

    def require_room(self, upload: Upload, size: int, *, came: bool = False) -> None: ...

    def wait(self, upload: Upload) -> None: ...

    def let_go(self, upload: Upload) -> None: ...


class Upload:
    """Files on their way into the store: a sink of `wire`, that counts, can be given up, and can wait."""

    def __init__(self, store: _Store, client: str, model: str, folder: Path, limit: int) -> None:
        self._store = store
        self.client, self.model = client, model
        self.folder = folder
        self._limit = limit
        self._file: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self.files: dict[str, Path] = {}
        self.bytes = 0
        self.waits_since: float | None = None
        """The time since which it waits to go on, by the clock that does not jump; None: it does not wait."""
        self._is_hashed = True

    @property
    def digest(self) -> str:
        """The digest of names and contents in their order."""
        return self._hash.hexdigest()

    def narrow(self, limit: int) -> None:
        """From now on it may have at most `limit` bytes."""
        self._limit = min(self._limit, limit)

    def begin(self, name: str) -> None:
        """The next file; of an upload that goes on the one that it has."""
        goes_on = name in self.files
        if not goes_on:
            self.files[name] = self.folder / name
            self._hash.update(f"{len(name)}:{name}".encode())
        with on_disk():
            self._file = self.files[name].open("ab" if goes_on else "xb")

    def write(self, data: bytes) -> None:
        assert self._file is not None
        if self.bytes + len(data) > self._limit:
            raise LARGE_KEYS.refused(limit=self._limit)
        self._store.require_room(self, len(data), came=True)
        self._hash.update(data)
        with on_disk():
            self._file.write(data)

    def end(self) -> None:
        assert self._file is not None
        file, self._file = self._file, None
        with on_disk(), file:
            file.flush()
            os.fsync(file.fileno())

    def restore(self) -> None:
        """Take what a stopped run has left in the folder as what has come. OSError where it has no file."""
        (self.folder / TABLE).unlink(missing_ok=True)
        found = (self.folder / KEYS_FILE).stat()
        self.files[KEYS_FILE] = self.folder / KEYS_FILE
        self.bytes = found.st_size
        self.waits_since = time.monotonic() - max(0.0, time.time() - found.st_mtime)
        self._is_hashed = False

    def require_hash(self) -> None:
        """Read what a stopped run has left, once it goes on."""
        if self._is_hashed:
            return
        digest_file(self._hash, KEYS_FILE, self.files[KEYS_FILE])
        self._is_hashed = True

    def pause(self) -> None:
        """What has come waits for the rest of it. Discarded where it can not be written."""
        try:
            with on_disk():
                if self._file is not None:
                    self._file.close()
        except Refused:
            self.discard()
            raise
        self._file = None
        self._store.wait(self)

    def discard(self) -> None:
        """Leaves nothing. Does no harm after `Store.commit`."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None
        shutil.rmtree(self.folder, ignore_errors=True)
        self._store.let_go(self)


class UploadSink:
    """Lets files into an upload when their first bytes have shown what they are: a secret key of Hemera is
    refused before any of it is on the disk.

    Args:
        upload: where they go.
        own: bytes that keys of Hemera's clients may have.
    """

    def __init__(self, upload: Upload, own: int) -> None:
        self._upload = upload
        self._own = own
        self._head: bytes | None = None
        self._name = ""

    def begin(self, name: str) -> None:
        if name != KEYS_FILE and name not in FOREIGN:
            raise UNFIT.refused(
                why=f"an upload of keys has no part {name!r}; it is one file of Hemera's, or parts named "
                + ", ".join(FOREIGN)
            )
        if name == KEYS_FILE:
            self._upload.narrow(self._own)
        # What goes on has shown what it is.
        goes_on = name in self._upload.files and self._upload.bytes > 0
        self._name, self._head = name, None if goes_on else b""
        self._upload.begin(name)

    def write(self, data: bytes) -> None:
        if self._head is not None:
            self._head += data
            if len(self._head) < _HEAD:
                return
            data = self._head
            self._decide()
        self._upload.write(data)

    def end(self) -> None:
        if self._head is not None:
            data = self._head
            self._decide()
            self._upload.write(data)
        self._upload.end()

    def _decide(self) -> None:
        assert self._head is not None
        kind = kind_of(self._head)
        if kind == _SECRET_KEY:
            raise SECRET_KEY.refused()
        if (kind == _EVALUATION_KEYS) != (self._name == KEYS_FILE):
            raise UNFIT.refused(
                why=f"the part {self._name!r} is no file of "
                + (
                    "evaluation keys, as keys.save(path) writes them"
                    if self._name == KEYS_FILE
                    else names_of_libraries()
                )
            )
        self._head = None


def _refuse_compressed(file: BinaryIO) -> None:
    """Refused (422) where a section of Hemera's file is compressed. What is damaged is for the loader to say:
    lengths are not checked here."""
    file.seek(48)
    sections = int.from_bytes(file.read(4), "little")
    if sections > _MOST_SECTIONS:
        raise UNFIT.refused(
            why=f"the file announces {sections} sections, and keys have at most {_MOST_SECTIONS}"
        )
    at = 64
    for _ in range(sections):
        file.seek(at)
        header = file.read(32)
        if len(header) < 32:
            return
        if header[4] & 1:
            raise COMPRESSED.refused()
        at += 32 + int.from_bytes(header[8:16], "little")
        if at >= 1 << 62:
            return


@contextlib.contextmanager
def damaged_texts() -> Iterator[None]:
    """Within it, damage of a text in another library's file is a FormatError as other damage
    is."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise FormatError(f"the file is damaged: a text in it is none ({error.reason})") from None


def library_of(files: Mapping[str, Path]) -> str:
    """The library whose files these are: its name in the registry, or HEMERA.

    Raises:
        Refused: (422) when they are not a client's keys, or one is a secret key.
    """
    names = set(files)
    if names == {KEYS_FILE}:
        with files[KEYS_FILE].open("rb") as file:
            refuse_secret(file.read(_HEAD))
            _refuse_compressed(file)
        return HEMERA
    if KEYS_FILE in names or FOREIGN[0] not in names or len(names) < 2:
        raise UNFIT.refused(
            why="an upload is one file of Hemera's keys, or a context and keys of "
            f"{names_of_libraries()}, each a part"
        )
    try:
        with damaged_texts():
            context = inspect(files[FOREIGN[0]])
            if not isinstance(context, ForeignDescription):
                raise FormatError(f"the part {FOREIGN[0]!r} is no file of {names_of_libraries()}")
            library = library_of_name(context.library)
            parms = None if library.context_in_files else files[FOREIGN[0]]
            kinds = {name: inspect(path, parms=parms).kind for name, path in files.items()}
    except Error as error:
        raise UNFIT.refused(why=str(error)) from error
    if any("secret" in kind for kind in kinds.values()):
        raise SECRET_KEY.refused()
    return library.name
