"""Evaluation keys on disk: one set for each client and model, whole or not there.

ROOT/CLIENT/MODEL/GENERATION/ holds the files of an upload and `set.json`, which has their sizes. Uploads
are written to INCOMING, and moved in one step when they are complete and checked; the highest generation
counts. There is no other index: what lies on the disk at the start is what there is. An upload with a name,
INCOMING/CLIENT+NAME+MODEL/keys, waits there when it is interrupted, until it goes on or its time is over.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from hemera._files import sync_folder
from hemera._process import Lock
from hemera.client.problems import Refused
from hemera.client.wire import KEYS_FILE
from hemera.serving.federations import BLOCK, HeldFiles
from hemera.serving.key_sets import TABLE, KeySet, newest_set, read_set
from hemera.serving.reasons import DISK_FULL, LARGE_KEYS, STORE_FULL

_MOST_WAITING = 4
"""Uploads of one client that wait: one more takes the place of the oldest."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Upload:
    """Files on their way into the store: a sink of `wire`, that counts, can be given up, and can wait."""

    def __init__(self, store: Store, client: str, model: str, folder: Path, limit: int) -> None:
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
        with _disk():
            self._file = self.files[name].open("ab" if goes_on else "xb")

    def write(self, data: bytes) -> None:
        assert self._file is not None
        if self.bytes + len(data) > self._limit:
            raise LARGE_KEYS.refused(limit=self._limit)
        self._store._reserve(self, len(data))
        self._hash.update(data)
        with _disk():
            self._file.write(data)

    def end(self) -> None:
        assert self._file is not None
        file, self._file = self._file, None
        with _disk(), file:
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
        self._hash.update(f"{len(KEYS_FILE)}:{KEYS_FILE}".encode())
        with self.files[KEYS_FILE].open("rb") as file:
            while piece := file.read(1 << 20):
                self._hash.update(piece)
        self._is_hashed = True

    def pause(self) -> None:
        """What has come waits for the rest of it. Discarded where it can not be written."""
        try:
            with _disk():
                if self._file is not None:
                    self._file.close()
        except Refused:
            self.discard()
            raise
        self._file = None
        self._store._wait(self)

    def discard(self) -> None:
        """Leaves nothing. Does no harm after `Store.commit`."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None
        shutil.rmtree(self.folder, ignore_errors=True)
        self._store._release(self)


class Store:
    """The keys of all clients. Every method may be called from any thread.

    Args:
        root: the folder of keys.
        incoming: a folder of the same file system for uploads; what a former run left in it is removed, but
            for uploads that wait.
        limit: bytes of all keys; an upload beyond it is refused, and nothing is ever evicted: a client's keys
            are there until it removes or replaces them.
        each: bytes of one client's keys for all models, unless it has no others; None: as many as of all.
    """

    def __init__(self, root: Path, incoming: Path, limit: int, each: int | None = None) -> None:
        self._root = root
        self._incoming = incoming
        self._limit = limit
        self._each = limit if each is None else each
        self._lock = Lock()
        self._sets: dict[tuple[str, str], KeySet] = {}
        self._arriving: set[Upload] = set()
        """Uploads that are not complete."""
        self.besides = HeldFiles()
        """Files of federations, which count as well."""
        self._generation = 0
        """The highest of all sets."""
        for folder in (root, incoming):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._read()
        self._read_waiting()

    @property
    def bytes(self) -> int:
        """Bytes of all keys that are there."""
        with self._lock:
            return self._used()

    def __len__(self) -> int:
        with self._lock:
            return len(self._sets)

    def find(self, client: str, model: str) -> KeySet | None:
        """The client's keys for a model."""
        with self._lock:
            return self._sets.get((client, model))

    def sets(self) -> list[KeySet]:
        """All that are there."""
        with self._lock:
            return list(self._sets.values())

    def begin(self, client: str, model: str, limit: int) -> Upload:
        """An upload of a client for a model, of at most `limit` bytes. The caller commits or discards it."""
        return self._begun(client, model, self._incoming / secrets.token_hex(8), limit)

    def resume(self, client: str, model: str, name: str, limit: int) -> Upload:
        """The upload of this name, which goes on, or begins. The caller commits, pauses or discards it, and
        is the only one until then."""
        folder = self._place(client, model, name)
        with self._lock:
            found = next((each for each in self._arriving if each.folder == folder), None)
            if found is not None:
                found.waits_since = None
        if found is not None:
            found.require_hash()
            return found
        return self._begun(client, model, folder, limit)

    def _begun(self, client: str, model: str, folder: Path, limit: int) -> Upload:
        with _disk():
            folder.mkdir(mode=0o700)
        upload = Upload(self, client, model, folder, limit)
        with self._lock:
            self._arriving.add(upload)
        return upload

    def held(self, client: str, model: str, name: str) -> int:
        """The bytes that have come of the upload of this name."""
        folder = self._place(client, model, name)
        with self._lock:
            return sum(each.bytes for each in self._arriving if each.folder == folder)

    def expire(self, seconds: float) -> None:
        """Discard the uploads that have waited for longer, and those whose files are gone."""
        with self._lock:
            for each in self._waiting(lambda _: True):
                if time.monotonic() - (each.waits_since or 0.0) > seconds or not each.folder.exists():
                    self._give_up(each)

    def require_room(self, upload: Upload, size: int) -> None:
        """Refused (507) where `size` bytes more of an upload do not fit. Nothing is reserved: bytes are when
        they come."""
        with self._lock:
            self._require(upload, size)

    def commit(self, upload: Upload, library: str) -> KeySet:
        """The upload becomes the client's keys for the model, in place of those before it; on disk when this
        returns."""
        client, model = upload.client, upload.model
        table = {
            "library": library,
            "digest": upload.digest,
            "files": {name: path.stat().st_size for name, path in upload.files.items()},
        }
        with _disk():
            with (upload.folder / TABLE).open("xb") as file:
                file.write(json.dumps(table).encode())
                file.flush()
                os.fsync(file.fileno())
            sync_folder(upload.folder)
        # Under the lock only what is quick: whoever looks for keys waits for it.
        home = self._root / client / model
        with self._lock, _disk():
            before = self._sets.get((client, model))
            # Never one again, also after a removal: whoever keeps a generation's session knows it by that.
            self._generation += 1
            target = home / str(self._generation)
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            upload.folder.rename(target)
            found = read_set(target, client, model)
            assert found is not None
            self._sets[client, model] = found
            self._arriving.discard(upload)
        with _disk():
            for folder in (home, home.parent, self._root):
                sync_folder(folder)
        # From here on the new ones count, also after a crash.
        if before:
            shutil.rmtree(home / str(before.generation), ignore_errors=True)
        return found

    def place(self, upload: Upload, path: Path, *, replace: bool) -> None:
        """The one file of an upload gets a name; on disk when this returns. It counts for `upload.client`.
        FileExistsError where there is one that is not replaced: of several at once one is."""
        (source,) = upload.files.values()
        with self._lock, _disk():
            self._require(upload, max(BLOCK - upload.bytes, 0))
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if replace:
                source.replace(path)
            else:
                path.hardlink_to(source)
            self._arriving.discard(upload)
            self.besides.hold(upload.client, path, upload.bytes)
        with _disk():
            sync_folder(path.parent)

    def remove(self, client: str, model: str) -> bool:
        """Removes a client's keys for a model, and what waits of them: whether there were any."""
        with self._lock:
            for each in self._waiting(lambda each: (each.client, each.model) == (client, model)):
                self._give_up(each)
            found = self._sets.pop((client, model), None)
        if found is None:
            return False
        folder = self._root / client / model / str(found.generation)
        # What is left of it after a crash is no set without its table.
        with contextlib.suppress(OSError):
            (folder / TABLE).unlink()
            sync_folder(folder)
        shutil.rmtree(folder, ignore_errors=True)
        return True

    def forget(self, found: KeySet) -> None:
        """The files of a set are gone: it is not there any more."""
        with self._lock:
            if self._sets.get((found.client, found.model)) == found:
                del self._sets[found.client, found.model]

    def _require(self, upload: Upload, size: int) -> None:
        if self._lacking(upload, size) is None:
            return
        # The sets of a client that was removed while the server runs.
        gone = [place for place, found in self._sets.items() if not found.is_there()]
        for place in gone:
            del self._sets[place]
        # What waits makes room for what comes, of the same client.
        for each in self._waiting(lambda each: each.client == upload.client):
            if self._lacking(upload, size) is not None:
                self._give_up(each)
        if (lacking := self._lacking(upload, size)) is not None:
            own = (found for found in self._sets.values() if found.client == upload.client)
            kept = ", ".join(f"{found.model} ({found.bytes} bytes)" for found in own)
            raise STORE_FULL.refused(lacking=lacking, kept=kept or "nothing")

    def _lacking(self, upload: Upload, size: int) -> str | None:
        """The limit that does not allow `size` bytes more of an upload; None: there is room."""
        arriving = [each for each in self._arriving if each is not upload]
        # Sets that the upload will replace are not the client's for long.
        others = sum(
            found.bytes
            for found in self._sets.values()
            if found.client == upload.client and found.model != upload.model
        ) + sum(each.bytes for each in arriving if each.client == upload.client)
        others += self.besides.bytes(upload.client)
        if others and others + upload.bytes + size > self._each:
            return f"{self._each} bytes of one client"
        if self._used() + sum(each.bytes for each in arriving) + upload.bytes + size > self._limit:
            return f"{self._limit} bytes of all"
        return None

    def _used(self) -> int:
        return sum(found.bytes for found in self._sets.values()) + self.besides.bytes()

    def _reserve(self, upload: Upload, size: int) -> None:
        with self._lock:
            self._require(upload, size)
            upload.bytes += size

    def _place(self, client: str, model: str, name: str) -> Path:
        return self._incoming / f"{client}+{name}+{model}"

    def _waiting(self, which: Callable[[Upload], bool]) -> list[Upload]:
        """Uploads that wait, the oldest first."""
        found = [each for each in self._arriving if each.waits_since is not None and which(each)]
        return sorted(found, key=lambda each: each.waits_since or 0.0)

    def _give_up(self, upload: Upload) -> None:
        shutil.rmtree(upload.folder, ignore_errors=True)
        self._arriving.discard(upload)

    def _wait(self, upload: Upload) -> None:
        with self._lock:
            upload.waits_since = time.monotonic()
            for each in self._waiting(lambda each: each.client == upload.client)[:-_MOST_WAITING]:
                self._give_up(each)

    def _release(self, upload: Upload) -> None:
        with self._lock:
            self._arriving.discard(upload)

    def _read_waiting(self) -> None:
        """The uploads that wait on the disk; all others are removed."""
        for folder in self._incoming.iterdir():
            client, named, rest = folder.name.partition("+")
            upload = Upload(self, client, rest.partition("+")[2], folder, self._limit)
            try:
                if named:
                    upload.restore()
                    self._arriving.add(upload)
                    continue
            except OSError:  # it was made, and nothing had come
                pass
            shutil.rmtree(folder, ignore_errors=True)

    def _read(self) -> None:
        """The sets on the disk; the remains of a stopped run are removed."""
        for home in sorted(self._root.glob("*/*")):
            newest = newest_set(home)
            for folder in home.iterdir():
                if newest is None or folder.name != str(newest.generation):
                    shutil.rmtree(folder, ignore_errors=True)
            if newest is not None:
                self._sets[newest.client, newest.model] = newest
                self._generation = max(self._generation, newest.generation)


@contextlib.contextmanager
def _disk() -> Iterator[None]:
    """A full disk is an answer of its own."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DISK_FULL.refused() from error
        raise
