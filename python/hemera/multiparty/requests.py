"""Requests to open the results of a program: recomputed by each member, answered once, read by a receiver."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hemera import _core
from hemera.errors import Error, FormatError, MismatchError
from hemera.multiparty.bounds import Bounds
from hemera.multiparty.identity import Identity, Unsigned
from hemera.multiparty.party import Party
from hemera.multiparty.receiver_keys import key_of
from hemera.multiparty.shared import Shared, files_in
from hemera.multiparty.waiting import wait_for
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.keys import Keys
from hemera.package.package import Package

__all__ = ["Request", "Study", "file_of", "files_of", "packaged", "shares_of"]

_SHARE = re.compile(r"share-([0-9]{1,9})-([0-9]{1,9})-(.+)")
MEMBERS = "members"
"""To whom results are opened that all may read."""


def packaged(program: Any) -> Package:
    """The package of a compiled program, or itself. TypeError for anything else."""
    found = getattr(program, "package", program)
    if not isinstance(found, Package):
        raise TypeError(
            f"a group runs programs of hm.compile, or their packages, not {type(program).__name__}"
        )
    return found


def file_of(parts: Sequence[bytes]) -> bytes:
    """Several files as one: each after its length."""
    return b"".join(struct.pack("<Q", len(each)) + each for each in parts)


def files_of(data: bytes) -> list[bytes]:
    """The reverse. FormatError for damaged bytes."""
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        if at + 8 + size > len(data):
            raise FormatError("an input of a group is cut off")
        found.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    return found


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Study:
    """What a member answers requests with."""

    folder: Shared
    shared: Identity | Unsigned
    party: Party
    number: int
    members: Sequence[str]
    access: _core.FederationAccess
    terms: _core.GroupTerms
    keys: Keys
    pieces: list[_core.FederationPiece]
    inputs: Callable[[int], list[Ciphertext]]

    @property
    def context(self) -> Context:
        return self.keys.context


@dataclass
class Request:
    """A request of `asker` to open the results of a program, to a receiver or to all members."""

    study: Study = field(repr=False)
    name: str
    asker: str
    program: str
    """The digest of the program's package."""
    to: str
    turn: int
    content: dict[str, Any] = field(repr=False)

    @classmethod
    def made(
        cls, study: Study, package: Package, to: str, turn: int, inputs: list[Ciphertext], results: Any
    ) -> Request:
        """Compute the results, unless they are given, and ask."""
        Bounds.of(package).require_inputs(inputs)
        if results is None:
            results = package.prepare(study.context).run(study.keys, inputs)
        files = [bytes(each) for each in results]
        content = {
            "program": package.digest,
            "turn": turn,
            "to": to,
            "inputs": [_digest(bytes(each)) for each in inputs],
            "keys": _digest(study.keys.to_bytes()),
            "results": [_digest(each) for each in files],
        }
        text = json.dumps(content, sort_keys=True).encode()
        name, me = _digest(text)[:32], study.party.name
        for number, data in enumerate(files):
            study.shared.write(study.folder / f"request-{name}" / f"result-{number}-{me}", data)
        study.shared.write(study.folder / "requests" / f"{name}-{me}", text)
        return cls(study, name, me, package.digest, to, turn, content)

    @classmethod
    def found(cls, study: Study) -> list[Request]:
        """All in the folder; files that are none do not count."""
        return [
            cls(
                study, name, asker, str(content["program"]), str(content["to"]), int(content["turn"]), content
            )
            for name, asker, content in requests_in(study.folder, study.shared, study.members)
        ]

    @property
    def _place(self) -> Shared:
        return self.study.folder / f"request-{self.name}"

    def results(self) -> list[Ciphertext]:
        """The results that the asker computed. MismatchError for others than it says."""
        study = self.study
        return results_of(self._place, study.shared, study.context, self.asker, self.content)

    def approve(self, program: Any, *, recompute: bool = True, verify: bool = False) -> None:
        """Answer: make this member's shares of the results. Approving again makes the same shares.

        Args:
            program: this member's own, compiled here or taken from whom it trusts: what it agrees to.
            recompute: compute the results from the inputs, and compare them bit by bit. Without, whoever
                evaluates is trusted with the secret: a result that was made for it opens to the key.
            verify: compute the shares of all pieces that this member holds, and compare those of others with
                them, as far as they are there.

        Raises:
            MismatchError: for a request of another program, other inputs or keys, where the results are not
                those of the program and, with `verify`, where a member's share is not that of its piece.
            NoiseError: where the flooding has no room, and when the group's openings are used up.
        """
        study, package = self.study, packaged(program)
        if package.digest != self.program:
            raise MismatchError(f"{self.asker} asks for the program {self.program}, not {package.digest}")
        inputs = study.inputs(self.turn)
        if self.content["inputs"] != [_digest(bytes(each)) for each in inputs]:
            raise MismatchError(
                f"{self.asker} asks for a result of other inputs than those of turn {self.turn}"
            )
        if self.content["keys"] != _digest(study.keys.to_bytes()):
            raise MismatchError(f"{self.asker} asks for a result under other keys")
        bounds = Bounds.of(package)
        bounds.require_inputs(inputs)
        if recompute:
            results = package.prepare(study.context).run(study.keys, inputs)
            if self.content["results"] != [_digest(bytes(each)) for each in results]:
                raise MismatchError(
                    f"what {self.asker} asks for is not the result of the program: whoever computed it is "
                    "mistaken, or wants something else opened"
                )
        else:
            results = self.results()
        bounds.require_outputs(results)
        self._answer(results, bounds.noise, verify)

    def _answer(self, results: list[Ciphertext], noise: list[float], verify: bool) -> None:
        study = self.study
        opening = _core.Opening(
            study.context._native, study.terms, study.number, study.pieces, study.party.note_opening
        )
        receiver = None if self.to == MEMBERS else self._receiver()
        for number, (x, bound) in enumerate(zip(results, noise, strict=True)):
            held = study.access.held_by(study.number)
            there = shares_of(self._place, study, number, self.to, x, bound)
            for piece in (each for each in held if verify or each not in there):
                path = self._place / f"share-{number}-{piece}-{study.party.name}"
                if receiver is None:
                    data = opening.share(x._native, bound, piece)
                else:
                    share = opening.share_for(x._native, bound, piece, receiver._native)
                    data = _core.save(share, 0)
                if verify:
                    self._compare(f"share-{number}-{piece}-", piece, data)
                if piece not in there:
                    study.shared.write(path, data)

    def _compare(self, name: str, piece: int, own: bytes) -> None:
        """MismatchError where another member's share of a piece differs from this member's."""
        study = self.study
        for member in (study.members[holder] for holder in study.access.holders(piece)):
            with contextlib.suppress(FormatError, FileNotFoundError):
                if study.shared.read(self._place / f"{name}{member}", {member}) != own:
                    raise MismatchError(
                        f"{member} gives another share of piece {piece} than the piece does: remove its "
                        "file, and open with the others"
                    )

    def _receiver(self) -> Keys:
        """The receiver's public key: the one that was there when the group's keys were made.

        MismatchError for any other.
        """
        study = self.study
        found = key_of(study.folder, study.shared, study.context, self.to)
        if found is None or found[1] != study.party.receiver(self.to):
            raise MismatchError(
                f"the folder has another key of {self.to} than when the group's keys were made, or none: who "
                "put it there would read the results; bring back the first one"
            )
        return found[0]

    @property
    def missing(self) -> list[int]:
        """The pieces of which no share is there, of some result: by the names of files alone."""
        names = [_SHARE.fullmatch(path.name) for path in files_in(self._place, "share-*")]
        found = [(int(each[1]), int(each[2])) for each in names if each is not None]
        there = [{piece for number, piece in found if number == k} for k in range(self._count)]
        return [T for T in range(self.study.access.pieces) if not all(T in each for each in there)]

    @property
    def _count(self) -> int:
        return len(self.content["results"])

    def open(self, program: Any, *, wait: float = 60.0) -> Any:
        """The results, from any `threshold` members' shares, for a request to all members.

        Raises:
            MismatchError: for a request to a receiver, who opens it itself.
            WaitingError: when it takes longer: members approve.
        """
        study, package = self.study, packaged(program)
        if self.to != MEMBERS:
            raise MismatchError(f"this request is to {self.to}, who alone reads its results")
        if package.digest != self.program:
            raise MismatchError(f"this request is for the program {self.program}, not {package.digest}")
        bounds, results = Bounds.of(package), self.results()
        bounds.require_outputs(results)
        values = []
        for number, (x, bound) in enumerate(zip(results, bounds.noise, strict=True)):
            find = partial(shares_of, self._place, study, number, MEMBERS, x, bound)
            shares = waited(find, study.access.pieces, wait)
            native = study.context._native
            plain = _core.opened(native, study.terms, x._native, bound, shares)
            values.append(study.context.decode(Plaintext(plain, study.context)))
        return package.interface.decode(values)


def waited(find: Callable[[], dict[int, Any]], pieces: int, wait: float) -> list[Any]:
    """The shares of all pieces. WaitingError when it takes longer."""
    found: dict[int, Any] = {}

    def is_there() -> bool:
        found.update(find())
        return len(found) == pieces

    wait_for(is_there, wait, lambda: f"shares of {pieces - len(found)} pieces are missing: members approve")
    return [found[piece] for piece in sorted(found)]


def requests_in(
    folder: Shared, shared: Identity | Unsigned, members: Sequence[str]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Names, askers and contents of the requests of members; files that are none do not count."""
    for path in files_in(folder / "requests", "*-*"):
        name, _, asker = path.name.partition("-")
        if asker not in members:
            continue
        with contextlib.suppress(
            FormatError, FileNotFoundError, ValueError, KeyError, TypeError, RecursionError
        ):
            text = shared.read(path, {asker})
            content = json.loads(text)
            types = {"program": str, "to": str, "turn": int, "inputs": list, "keys": str, "results": list}
            if _digest(text)[:32] == name and all(type(content[key]) is own for key, own in types.items()):
                yield name, asker, content


def results_of(
    place: Shared, shared: Identity | Unsigned, context: Context, asker: str, content: dict[str, Any]
) -> list[Ciphertext]:
    """The results of a request. MismatchError for others than it says."""
    found = []
    for number, digest in enumerate(content["results"]):
        data = shared.read(place / f"result-{number}-{asker}", {asker})
        if _digest(data) != digest:
            raise MismatchError(f"result {number} of {asker} is another than the request says")
        found.append(context.load(data))
    return found


def shares_of(
    place: Shared, study: Any, number: int, to: str, x: Ciphertext, noise_log2: float
) -> dict[int, Any]:
    """The shares of a result by their pieces: bytes, or ciphertexts of a receiver. Those that are damaged, of
    something else, or not signed by who should have do not count.

    Raises:
        MismatchError: where two holders of a piece gave different ones.
    """
    found: dict[int, Any] = {}
    whole: dict[int, bytes] = {}
    for path in files_in(place, f"share-{number}-*"):
        named = _SHARE.fullmatch(path.name)
        if named is None or named[3] not in study.members or int(named[2]) >= study.access.pieces:
            continue
        piece, name = int(named[2]), named[3]
        if not study.access.holds(study.members.index(name), piece):
            continue
        with contextlib.suppress(FormatError, FileNotFoundError, Error):
            data = study.shared.read(path, {name})
            share: Any = data
            if to == MEMBERS:
                native = study.context._native
                if _core.opening_piece(native, study.terms, x._native, noise_log2, data) != piece:
                    continue
            else:
                share = study.context.load(data)
                if not isinstance(share, Ciphertext) or (share.level, share.shape) != (x.level, x.shape):
                    continue
            if piece in whole and whole[piece] != data:
                differ = piece
                break
            found[piece], whole[piece] = share, data
    else:
        return found
    raise MismatchError(f"two shares of piece {differ} differ: one of its holders sends something else")
