"""The folder of a server."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hemera import errors
from hemera._files import locked, write_atomically
from hemera.inputs.source import read_bytes
from hemera.package.package import Package
from hemera.search.index import settings_of
from hemera.serving import audit
from hemera.serving.key_sets import KeySet, newest_set
from hemera.serving.tokens import Clients, is_name, require_name
from hemera.serving.versions import Aliases, is_model, plain_name, require_model, version_of

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
        audit.note(self.root, "add-model", model=name, digest=package.digest)
        return name

    def remove_model(self, name: str) -> None:
        """Removes a model; with the last one of its name the keys that clients have for it. MismatchError
        where it is not there."""
        _remove(self.model_file(require_model(name)), "model", name)
        self.aliases.forget(name)
        if not self._has_model(plain_name(name)):
            self._remove_keys(f"*/{plain_name(name)}", f"*+*+{plain_name(name)}")
        audit.note(self.root, "remove-model", model=name)

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
        audit.note(self.root, "add-index", index=name, digest=hashlib.sha256(data).hexdigest())
        return name

    def remove_index(self, name: str) -> None:
        """Removes an index, and the keys that clients have for it. MismatchError where it is not there."""
        _remove(self.index_file(require_name(name, "an index")), "index", name)
        self._remove_keys(f"*/{name}", f"*+*+{name}")
        audit.note(self.root, "remove-index", index=name)

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
