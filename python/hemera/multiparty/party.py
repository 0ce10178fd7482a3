"""What a party keeps for itself, and what it hands to others: pieces, dealt parts, answered rounds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hemera._files import make_folder, write_atomically
from hemera.errors import FormatError, MismatchError, ParameterError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def require_name(name: str) -> str:
    """ParameterError unless it can be the name of a party and part of a file's."""
    if not NAME.fullmatch(name):
        raise ParameterError(
            f"{name!r} is no name of a party: 1 to 64 letters, digits, '_' and '-', a letter or digit first"
        )
    return name


class Party:
    """A folder for its owner alone: its secrets, and the rounds that it has answered.

    - `piece-T`, `dealt-T`: keys of 32 bytes. `answered-R`: the digest of a list. `federation`: the id.
    - `outbox/NAME/`: files for others, to be carried to their `inbox/`. Where `secrets` is given, both are
      its folder of the receiver's name: one that only those who may read them can.
    """

    def __init__(self, folder: Path, secrets: Path | None) -> None:
        self.folder, self.secrets = folder, secrets
        self.name = require_name(folder.stem)
        make_folder(folder)

    def _key(self, what: str) -> bytes | None:
        path = self.folder / what
        if not path.exists():
            return None
        data = path.read_bytes()
        if len(data) != 32:
            raise FormatError(f"{path} has {len(data)} bytes, not 32: it is no key; bring back a copy of it")
        return data

    def _keep(self, what: str, data: bytes) -> None:
        """Write what is the same for ever. MismatchError where it is another one."""
        try:
            write_atomically(self.folder / what, data, replace=False)
        except FileExistsError:
            if (self.folder / what).read_bytes() != data:
                raise MismatchError(
                    f"{self.folder / what} has another content; a party has a folder of its own for each "
                    "federation"
                ) from None

    def belong_to(self, federation: bytes) -> None:
        """MismatchError where it is another federation's."""
        self._keep("federation", federation)

    def piece(self, number: int) -> bytes | None:
        return self._key(f"piece-{number}")

    def dealt(self, number: int) -> bytes | None:
        return self._key(f"dealt-{number}")

    def keep(self, kind: str, number: int, key: bytes) -> None:
        """Keep a key for ever: kind is piece or dealt. MismatchError where there is another one."""
        self._keep(f"{kind}-{number}", key)

    def answered(self, turn: int) -> bytes | None:
        """The digest of the list that was answered in a round."""
        return self._key(f"answered-{turn}")

    def note(self, turn: int, digest: bytes) -> None:
        """On disk when it returns."""
        self._keep(f"answered-{turn}", digest)

    # --- Of groups.
    def keep_parameters(self, fingerprint: bytes) -> None:
        """MismatchError where this party's pieces are used with other parameters: that would be other samples
        of one secret."""
        self._keep("parameters", fingerprint)

    def made_keys(self, attempt: int) -> bytes | None:
        """The keys that this party made in an attempt: nothing secret."""
        path = self.folder / f"keys-{attempt}"
        return path.read_bytes() if path.exists() else None

    def keep_made_keys(self, attempt: int, keys: bytes) -> None:
        self._keep(f"keys-{attempt}", keys)

    def keep_input(self, turn: int, content: bytes) -> bytes:
        """The input of a turn: this one, or that of an earlier process."""
        path = self.folder / f"input-{turn}"
        if not path.exists():
            write_atomically(path, content, replace=False)
        return path.read_bytes()

    def receiver(self, name: str) -> bytes | None:
        """The digest of a receiver's key, which the group's keys were made with."""
        return self._key(f"receiver-{name}")

    def keep_receiver(self, name: str, digest: bytes) -> None:
        """MismatchError where the receiver had another key."""
        self._keep(f"receiver-{name}", digest)

    @property
    def public_key(self) -> bytes | None:
        """A receiver's own, once it is made."""
        path = self.folder / "public-key"
        return path.read_bytes() if path.exists() else None

    def keep_public_key(self, key: bytes) -> None:
        self._keep("public-key", key)

    @property
    def opened(self) -> int:
        """How many polynomials this party has opened."""
        return sum(1 for _ in (self.folder / "opened").glob("*"))

    def note_opening(self, name: bytes) -> int:
        """Count a polynomial, once. On disk when it returns the number of all."""
        path = self.folder / "opened" / name.hex()
        if not path.exists():
            write_atomically(path, b"")
        return self.opened

    def hand_over(self, to: str, kind: str, number: int, key: bytes, federation: bytes) -> None:
        """A key for another party, unless it lies there."""
        box = self.folder / "outbox" / to if self.secrets is None else self.secrets / to
        path = box / f"{kind}-{number}-from-{self.name}"
        if path.exists():
            return
        content = {"federation": federation.hex(), "to": to, "kind": kind, "number": number, "key": key.hex()}
        write_atomically(path, json.dumps(content).encode())

    def take_over(self, federation: bytes) -> None:
        """Keep the keys that others handed over, and delete their files.

        Raises:
            MismatchError: for a key of another federation or party, or where the party has another key.
            FormatError: for a file that is none.
        """
        box = self.folder / "inbox" if self.secrets is None else self.secrets / self.name
        for path in sorted(box.glob("*-from-*")):
            kind, number, key = self._content(path, federation)
            self.keep(kind, number, key)
            path.unlink()

    def _content(self, path: Path, federation: bytes) -> tuple[str, int, bytes]:
        try:
            content: dict[str, Any] = json.loads(path.read_bytes())
            kind, number, key = str(content["kind"]), int(content["number"]), bytes.fromhex(content["key"])
            whose = bytes.fromhex(content["federation"]), content["to"]
        except (ValueError, KeyError, TypeError):
            raise FormatError(f"{path} is no key that a party hands over; carry it again") from None
        if kind not in ("piece", "dealt") or len(key) != 32 or number < 0:
            raise FormatError(f"{path} is no key that a party hands over; carry it again")
        if whose != (federation, self.name):
            raise MismatchError(f"{path} is for another party or another federation; carry it there")
        return kind, number, key

    def missing(self, pieces: list[int], parts: int) -> Iterator[str]:
        """The keys that it has not yet: its pieces, and `parts` dealt ones."""
        yield from (f"piece-{number}" for number in pieces if self.piece(number) is None)
        yield from (f"dealt-{number}" for number in range(parts) if self.dealt(number) is None)
