"""The folder of a server."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hemera import errors
from hemera._files import locked, write_atomically
from hemera.inputs.source import read_bytes
from hemera.package.package import Package
from hemera.search.index import settings_of
from hemera.serving.tokens import Clients, is_name, require_name

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
    def keys(self) -> Path:
        return self.root / "keys"

    @property
    def incoming(self) -> Path:
        return self.root / "incoming"

    def federation(self, name: str) -> Path:
        """The shared folder of a federation."""
        return self.root / "federations" / name

    def add_model(self, source: Path | Package) -> Package:
        """Copy a packaged model, or a file of one, into the folder, in place of one of its name. A server
        reads it at its start.

        Raises:
            FormatError: when it is damaged.
            ParameterError: when its name can not be part of an address, or an index has it.
            FileError: when files can not be read or written.
        """
        package = source if isinstance(source, Package) else Package.load(source)
        require_name(package.name, "a model that is served")
        _require_free(package.name, "an index", self.index_file(package.name))
        write_atomically(self.model_file(package.name), bytes(package))
        return package

    def remove_model(self, name: str) -> None:
        """MismatchError where it is not there."""
        _remove(self.model_file(require_name(name, "a model")), "model", name)

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
        _require_free(name, "a model", self.model_file(name))
        write_atomically(self.index_file(name), data)
        return name

    def remove_index(self, name: str) -> None:
        """MismatchError where it is not there."""
        _remove(self.index_file(require_name(name, "an index")), "index", name)

    def remove_client(self, name: str) -> None:
        """Removes a client's token, its keys, and what has come of them. MismatchError where it is not
        there."""
        owner = self.clients.remove(name)
        for folder in (self.keys / owner, *self.incoming.glob(f"{owner}+*")):
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Within it, no other server has the folder. FileError where one has it."""
        try:
            with locked(self.root / "lock", wait=False):
                yield
        except BlockingIOError:
            raise errors.FileError(f"another server runs on {self.root}") from None

    def models(self) -> tuple[dict[str, Package], dict[str, str]]:
        """All models by name, and what is wrong with each that can not be served: one damaged file keeps no
        other model from its clients."""
        found: dict[str, Package] = {}
        damaged: dict[str, str] = {}
        for path in sorted((self.root / "models").glob(f"*{_MODEL_SUFFIX}")):
            name = path.name.removesuffix(_MODEL_SUFFIX)
            try:
                package = Package.load(path)
                package.describe()
                if package.name != name:
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
            if self.model_file(name).exists():
                clashing[name] = f"{path}: a model has this name; remove one of the two"
            elif not is_name(name):
                clashing[name] = f"{path}: this can not be part of an address; add indexes by --add-index"
            else:
                found[name] = path
        return found, clashing

    def index_file(self, name: str) -> Path:
        return self.root / "indexes" / f"{name}{_INDEX_SUFFIX}"

    def model_file(self, name: str) -> Path:
        return self.root / "models" / f"{name}{_MODEL_SUFFIX}"


def _remove(file: Path, what: str, name: str) -> None:
    try:
        file.unlink()
    except FileNotFoundError:
        raise errors.MismatchError(f"there is no {what} {name!r}") from None


def _require_free(name: str, what: str, file: Path) -> None:
    """ParameterError where the folder has something else of a name: keys and metrics go by it."""
    if file.exists():
        raise errors.ParameterError(f"there is {what} {name!r} already; remove it, or take another name")
