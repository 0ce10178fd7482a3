"""Files that are whole or not there, whenever the machine stops."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hemera.errors import FileError
from hemera.inputs.source import read_bytes


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """A folder for its owner alone, where there is none. FileError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make {folder}: {error.strerror}") from None


@contextlib.contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Within it, no other process or thread has the lock of this file.

    Raises:
        BlockingIOError: where another one has it, unless `wait`.
        FileError: when the file can not be made.
    """
    make_folder(path.parent)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise FileError(f"cannot open {path}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def which_file(path: Path) -> tuple[int, ...] | None:
    """Differs for a file and one that took its place by `write_atomically`; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def read_files(path: Path, names: Sequence[str]) -> dict[str, bytes]:
    """The files of a request or an answer: those of a folder, by their names without what follows the last
    point, or one file, which gets the first of `names`. Hidden files with other names, as those of systems
    and editors, are left out. FileError, also for two files of one name."""
    if not path.is_dir():
        return {names[0]: read_bytes(path)}
    found: dict[str, Path] = {}
    for each in sorted(path.iterdir()):
        if each.name.startswith(".") and each.stem not in names:
            continue
        other = found.setdefault(each.stem, each)
        if other is not each:
            raise FileError(
                f"cannot read {path}: {other.name} and {each.name} are both {each.stem!r}; keep one"
            )
    return {name: read_bytes(each) for name, each in found.items()}


def write_files(path: Path, files: Mapping[str, bytes]) -> None:
    """Write the files that `read_files` reads. FileError, also for a name that no file of it can have."""
    if len(files) == 1:
        write_atomically(path, next(iter(files.values())))
        return
    for name in files:
        if not name or {"/", "\0"} & set(name):
            raise FileError(f"cannot write {path}: {name!r} is no name of a file in it")
    for name, data in files.items():
        write_atomically(path / f"{name}.hemera", data)


def write_atomically(path: Path, data: bytes, *, replace: bool = True) -> None:
    """A file, for its owner alone, that appears under its name when all of it is on disk.

    Args:
        replace: whether it takes the place of one of its name. If not, of several at once one is written.

    Raises:
        FileExistsError: where there is one that is not replaced.
        FileError: when it can not be written.
    """
    beside = path.parent / f".{secrets.token_hex(8)}"  # as short for names that are as long as they can be
    is_taken = False
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            beside.replace(path)
        else:
            try:
                path.hardlink_to(beside)
            except FileExistsError:
                is_taken = True
            beside.unlink()
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        length = len(os.fsencode(path.name))
        way_out = f", of {length} bytes; most systems take 255" if error.errno == errno.ENAMETOOLONG else ""
        raise FileError(f"cannot write {path}: {error.strerror}{way_out}") from None
    if is_taken:
        raise FileExistsError(f"there is a file {path} already")
