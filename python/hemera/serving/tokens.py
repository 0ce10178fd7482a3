"""Clients and their tokens, in a folder: one file a client, with the token's hash alone."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from pathlib import Path

from hemera._files import sync_folder, write_atomically
from hemera.errors import FileError, MismatchError, ParameterError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NOBODY = hashlib.sha256(b"").hexdigest()


def is_name(name: str) -> bool:
    """Whether it names a client or a model: it is also a folder's name."""
    return _NAME.fullmatch(name) is not None and not name.endswith(".")


def require_name(name: str, what: str) -> str:
    """The name; ParameterError unless it is one."""
    if not is_name(name):
        raise ParameterError(f"{what} needs a name of 1 to 64 letters, digits and . _ -, not {name!r}")
    return name


class Clients:
    """Who may ask. A token is the client's name, a point and 256 random bits.

    Looked for at each request, so that a client may be added and removed while the server runs.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, tuple[tuple[int, ...], tuple[str, str]]] = {}
        """The contents of a client's file, and which file that was."""

    def add(self, name: str) -> str:
        """A new client's token, which is kept nowhere; MismatchError where the client is there already."""
        require_name(name, "a client")
        token = f"{name}.{secrets.token_urlsafe(32)}"
        kept = {"id": secrets.token_hex(8), "token_sha256": _digest(token)}
        try:
            write_atomically(self._file(name), json.dumps(kept).encode(), replace=False)
        except FileExistsError:
            raise MismatchError(
                f"there is a client {name!r} already; remove it, or take another name"
            ) from None
        return token

    def remove(self, name: str) -> str:
        """End a token: the client's identity. MismatchError where it is not there."""
        kept = self._kept(require_name(name, "a client"))
        if kept is None:
            raise MismatchError(f"there is no client {name!r}")
        self._file(name).unlink(missing_ok=True)
        sync_folder(self._folder)
        return f"{name}.{kept[0]}"

    def names(self) -> list[str]:
        """All clients."""
        return sorted(path.stem for path in self._folder.glob("*.json"))

    def of_token(self, token: str) -> str | None:
        """The client's identity, its name and the id that it got when it was added, or None. Takes as long
        for a wrong token as for a right one."""
        name = token.rpartition(".")[0]
        kept = self._kept(name) if is_name(name) else None
        right = hmac.compare_digest(_digest(token), _NOBODY if kept is None else kept[1])
        return f"{name}.{kept[0]}" if right and kept is not None else None

    def _kept(self, name: str) -> tuple[str, str] | None:
        """A client's id, and the hash of its token."""
        file = self._file(name)
        try:
            # Files are replaced as a whole, so another one has other numbers here.
            found = file.stat()
            which = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
            before = self._read.get(name)
            if before is not None and before[0] == which:
                return before[1]
            kept = json.loads(file.read_bytes())
            told = str(kept["id"]), str(kept["token_sha256"])
            self._read[name] = (which, told)
            return told
        except FileNotFoundError:
            self._read.pop(name, None)
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"cannot read the client's file {self._file(name)}: {error}") from None

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
