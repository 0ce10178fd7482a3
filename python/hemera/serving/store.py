"""Evaluation keys on disk: one set for each client and model, whole or not there.

ROOT/CLIENT/MODEL/GENERATION/ holds the files of an upload and `set.json`, which has their sizes. Uploads
are written to INCOMING, and moved in one step when they are complete and checked; the highest generation
counts. There is no other index: what lies on the disk at the start is what there is. An upload with a name,
INCOMING/CLIENT+NAME+MODEL/keys, waits there when it is interrupted, until it goes on or its time is over."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hemera._files import sync_folder
from hemera._process import Lock
from hemera.serving.federations import BLOCK, HeldFiles
from hemera.serving.reasons import STORE_FULL
from hemera.serving.uploads import TABLE, Upload, on_disk

_NOTED = 300.0
"""Seconds between notes of a use."""


@dataclass(frozen=True)
class KeySet:
    """Keys that one client uploaded for one model."""

    client: str
    model: str
    generation: int
    library: str
    """The library of the files: HEMERA, or a name in the registry (`hemera.interop.libraries`)."""
    digest: str
    """SHA-256 of the files, in 64 hexadecimal digits: the client's own digest of its files."""
    files: Mapping[str, Path]
    bytes: int

    def is_there(self) -> bool:
        """Whether its files are: those of a client that was removed are not."""
        return all(path.exists() for path in self.files.values())

    @property
    def _table(self) -> Path:
        return next(iter(self.files.values())).parent / TABLE

    @property
    def unused_seconds(self) -> float:
        """Seconds since its last use, or since it came; 0 where its files are gone."""
        try:
            return time.time() - self._table.stat().st_mtime
        except OSError:
            return 0.0

    def use(self) -> None:
        """Note that a request uses it, on the disk, within a few minutes."""
        if self.unused_seconds > _NOTED:
            with contextlib.suppress(OSError):
                os.utime(self._table)

    def describe(self) -> dict[str, object]:
        """The description for the client."""
        return {"library": self.library, "digest": self.digest, "bytes": self.bytes}


def newest_set(home: Path) -> KeySet | None:
    """The set that counts of those in the folder of a client and model, CLIENT/MODEL."""
    sets = [read_set(folder, home.parent.name, home.name) for folder in home.iterdir()]
    complete = [found for found in sets if found is not None]
    return max(complete, key=lambda found: found.generation, default=None)


def read_set(folder: Path, client: str, model: str) -> KeySet | None:
    """The set in a folder; None unless it is complete."""
    try:
        table = json.loads((folder / TABLE).read_bytes())
        files = {str(name): folder / name for name in table["files"]}
        sizes = {name: path.stat().st_size for name, path in files.items()}
        if sizes != table["files"] or not folder.name.isdecimal():
            return None
        return KeySet(
            client,
            model,
            int(folder.name),
            str(table["library"]),
            str(table["digest"]),
            files,
            sum(sizes.values()),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


_MOST_WAITING = 4
"""Uploads of one client that wait: one more takes the place of the oldest."""


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

    def begin(self, client: str, model: str, limit: int, name: str | None = None) -> Upload:
        """An upload of a client for a model, of at most `limit` bytes; the one of a name goes on if it waits.
        The caller commits it, discards it, or lets one of a name pause, and is the only one until then."""
        folder = self._incoming / secrets.token_hex(8) if name is None else self._place(client, model, name)
        with self._lock:
            found = next((each for each in self._arriving if each.folder == folder), None)
            if found is not None:
                found.waits_since = None
        if found is not None:
            found.require_hash()
            return found
        with on_disk():
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

    def require_room(self, upload: Upload, size: int, *, came: bool = False) -> None:
        """Refused (507) where `size` bytes more of an upload do not fit. They are reserved once they came."""
        with self._lock:
            self._require(upload, size)
            upload.bytes += size * came

    def commit(self, upload: Upload, library: str) -> KeySet:
        """The upload becomes the client's keys for the model, in place of those before it; on disk when this
        returns."""
        client, model = upload.client, upload.model
        table = {
            "library": library,
            "digest": upload.digest,
            "files": {name: path.stat().st_size for name, path in upload.files.items()},
        }
        with on_disk():
            with (upload.folder / TABLE).open("xb") as file:
                file.write(json.dumps(table).encode())
                file.flush()
                os.fsync(file.fileno())
            sync_folder(upload.folder)
        # Under the lock only what is quick: whoever looks for keys waits for it.
        home = self._root / client / model
        with self._lock, on_disk():
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
        with on_disk():
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
        with self._lock, on_disk():
            self._require(upload, max(BLOCK - upload.bytes, 0))
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if replace:
                source.replace(path)
            else:
                path.hardlink_to(source)
            self._arriving.discard(upload)
            self.besides.hold(upload.client, path, upload.bytes)
        with on_disk():
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

    def _place(self, client: str, model: str, name: str) -> Path:
        return self._incoming / f"{client}+{name}+{model}"

    def _waiting(self, which: Callable[[Upload], bool]) -> list[Upload]:
        """Uploads that wait, the oldest first."""
        found = [each for each in self._arriving if each.waits_since is not None and which(each)]
        return sorted(found, key=lambda each: each.waits_since or 0.0)

    def _give_up(self, upload: Upload) -> None:
        shutil.rmtree(upload.folder, ignore_errors=True)
        self._arriving.discard(upload)

    def wait(self, upload: Upload) -> None:
        """An upload waits to go on; too many of its client do not."""
        with self._lock:
            upload.waits_since = time.monotonic()
            for each in self._waiting(lambda each: each.client == upload.client)[:-_MOST_WAITING]:
                self._give_up(each)

    def let_go(self, upload: Upload) -> None:
        """Nothing of an upload is left. Does no harm after `commit`."""
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
