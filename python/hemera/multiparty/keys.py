"""What a party does with its keys: hand them over, answer lists, send its message for a list."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from hemera import _core
from hemera.errors import FormatError, MismatchError
from hemera.multiparty.identity import Identity, Unsigned
from hemera.multiparty.party import NAME, Party
from hemera.multiparty.shared import Shared
from hemera.multiparty.terms import Terms
from hemera.objects.context import Context
from hemera.objects.load import load_parameters

__all__ = ["Contribution", "Keys"]


@dataclass
class Contribution:
    """What this process sends in a round. The nonce is nowhere else: a new process announces itself anew."""

    values: Any  # whole numbers
    weight: int
    nonce: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    messages: dict[bytes, bytes] = field(default_factory=dict)  # by the digest of their list


class Keys:
    """A party's pieces and dealt parts, in its own folder, and what all may see of them in the shared one.

    `held`: the numbers of the pieces that the party answers for, once it has all its keys.
    """

    def __init__(
        self,
        folder: Shared,
        party: Party,
        terms: Terms,
        description: _core.FederationDescription,
        contributes: bool,
        shared: Identity | Unsigned | None = None,
    ) -> None:
        self.contributes = contributes
        self._shared = shared or Unsigned()
        self._folder, self._party, self._terms, self._description = folder, party, terms, description
        party.belong_to(description.id)
        self._access = terms.access()
        self._number = terms.committee.index(party.name) if party.name in terms.committee else None
        self._context = Context(load_parameters(_core.save(terms.plan().parameters, 0)))
        self._member: _core.FederationMember | None = None
        if contributes:
            self._shared.write(folder / "contributors" / party.name, b"")

    @property
    def missing(self) -> list[str]:
        """The keys that this party lacks yet: other parties hand them over."""
        due = [] if self._number is None else self._access.held_by(self._number)
        return list(self._party.missing(due, self._access.pieces if self.contributes else 0))

    @property
    def held(self) -> list[int]:
        return [] if self._member is None or self._number is None else self._access.held_by(self._number)

    def named(self, what: str) -> set[str]:
        """The contributors, or who is ready: by their own signatures, where there are any."""
        paths = [path for path in (self._folder / what).glob("*") if NAME.fullmatch(path.name)]
        return {path.name for path in paths if self._is_by(path, path.name)}

    def _is_by(self, path: Shared, name: str) -> bool:
        try:
            self._shared.read(path, {name})
        except (FormatError, FileNotFoundError):
            return False
        return True

    def prepare(self) -> None:
        """Draw, hand over and take over keys, as far as it goes."""
        party, number = self._party, self._number
        self._take_over()
        if number is not None:
            self._deal(number)
        if self.missing:
            return
        if not self._is_by(self._folder / "ready" / party.name, party.name):
            self._shared.write(self._folder / "ready" / party.name, b"")
        if number is not None and self._member is None:
            keys = [(piece, party.piece(piece)) for piece in self._access.held_by(number)]
            pieces = [_core.FederationPiece(piece, key) for piece, key in keys if key is not None]
            self._compare(pieces)
            self._member = _core.FederationMember(
                self._context._native, self._description, number, pieces, party.answered, party.note
            )

    def _deal(self, number: int) -> None:
        """The first holder of a piece draws it, and hands it to the others; contributors get their parts."""
        party, names = self._party, self._terms.committee
        ready, contributors = self.named("ready"), self.named("contributors")
        for piece in self._access.held_by(number):
            holders = self._access.holders(piece)
            if holders[0] != number:
                continue
            if party.piece(piece) is None:
                party.keep_piece(piece, _core.FederationPiece.fresh(piece).key_for_holder())
            key = party.piece(piece)
            assert key is not None
            for holder in holders[1:]:
                if names[holder] not in ready:
                    self._hand_over(names[holder], "piece", piece, key)
            for name in contributors - ready:
                part = _core.FederationPiece(piece, key).dealt(self._description, name)
                if name == party.name:
                    party.keep_dealt(piece, part)
                else:
                    self._hand_over(name, "dealt", piece, part)

    def _sealed(self, kind: str, piece: int, dealer: str, to: str) -> Shared:
        return self._folder / "sealed" / f"{kind}-{piece}-from-{dealer}-to-{to}"

    def _hand_over(self, to: str, kind: str, piece: int, key: bytes) -> None:
        """Seal a key for another party where there are identities; otherwise it is carried by hand."""
        if isinstance(self._shared, Unsigned):
            self._party.hand_over(to, kind, piece, key, self._description.id)
            return
        path = self._sealed(kind, piece, self._party.name, to)
        if not self._is_by(path, self._party.name):
            data = self._shared.sealed(to, path.name, key)
            if data is not None:  # its identity is known
                self._shared.write(path, data)

    def _take_over(self) -> None:
        """Keep the keys of others: those of the inbox, or those that the dealer of a piece has sealed."""
        if isinstance(self._shared, Unsigned):
            self._party.take_over(self._description.id)
            return
        for kind, _, number in (each.partition("-") for each in self.missing):
            dealer = self._terms.committee[self._access.holders(int(number))[0]]
            path = self._sealed(kind, int(number), dealer, self._party.name)
            if self._is_by(path, dealer):
                key = self._shared.unsealed(path.name, self._shared.read(path, {dealer}))
                self._party.keep(kind, int(number), key)

    def _compare(self, pieces: list[_core.FederationPiece]) -> None:
        """Publish digests of pieces. MismatchError where two holders have two."""
        for piece in pieces:
            mine = piece.commitment(self._description)
            folder = self._folder / "pieces"
            self._shared.write(folder / f"{piece.number}-{self._party.name}", mine)
            for path in folder.glob(f"{piece.number}-*"):
                name = path.name.partition("-")[2]
                if self._is_by(path, name) and self._shared.read(path, {name}) != mine:
                    dealer = self._terms.committee[self._access.holders(piece.number)[0]]
                    raise MismatchError(
                        f"{name} has another piece {piece.number} than "
                        f"{self._party.name}; {dealer} handed out two, or a folder has another's files"
                    )

    def message(self, listed: _core.FederationList, own: Contribution) -> bytes | None:
        """The message for a list, or the same bytes again; none for a list that is not to be answered."""
        name = self._party.name
        if self.missing or len(listed.entries) < self._terms.least:
            return None
        if (name, own.weight, own.nonce) not in listed.entries:
            return None
        if listed.digest not in own.messages:
            pieces = map(self._party.dealt, range(self._access.pieces))
            dealt = [each for each in pieces if each is not None]
            own.messages[listed.digest] = _core.federation_upload(
                self._context._native, self._description, listed, name, dealt, own.values
            )
        return own.messages[listed.digest]

    def share(self, listed: _core.FederationList, piece: int) -> bytes:
        """The share of a piece that is held. MismatchError for a second list of a round."""
        assert self._member is not None
        return self._member.share(listed, piece)
