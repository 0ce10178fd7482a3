"""What a party does with its keys: hand them over, answer lists, send its message for a list."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Any

from hemera import _core
from hemera.multiparty.identity import Identity, Unsigned
from hemera.multiparty.party import Party
from hemera.multiparty.pieces import Pieces
from hemera.multiparty.shared import Shared
from hemera.multiparty.terms import Terms
from hemera.objects.context import Context
from hemera.parameters import load_parameters

__all__ = ["Contribution", "Keys"]


@dataclass
class Contribution:
    """What this process sends in a round. The nonce is nowhere else: a new process announces itself anew."""

    values: Any  # whole numbers
    weight: int
    nonce: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    messages: dict[bytes, bytes] = field(default_factory=dict)  # by the digest of their list


class Keys(Pieces):
    """A party's pieces and dealt parts.

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
        super().__init__(
            folder,
            party,
            terms.committee,
            terms.access(),
            description.id,
            shared or Unsigned(),
            lambda piece: piece.commitment(description),
        )
        self.contributes = contributes
        self._terms, self._description = terms, description
        self._context = Context(load_parameters(_core.save(terms.plan().parameters, 0)))
        self._member: _core.FederationMember | None = None
        self._shown: tuple[bytes, dict[int, bytes]] = b"", {}  # the last list, digests of its shares by piece
        if contributes:
            self._shared.write(folder / "contributors" / party.name, b"")

    @property
    def _parts(self) -> int:
        return self._access.pieces if self.contributes else 0

    @property
    def held(self) -> list[int]:
        return [] if self._member is None or self._number is None else self._access.held_by(self._number)

    def prepare(self) -> None:
        """Draw, hand over and take over keys, as far as it goes."""
        party, number = self._party, self._number
        if self.exchange() and number is not None and self._member is None:
            self._member = _core.FederationMember(
                self._context._native, self._description, number, self.own(number), party.answered, party.note
            )

    def _deal_parts(self, dealt: dict[int, bytes], ready: set[str]) -> None:
        """Contributors get their parts."""
        for name in self.named("contributors") - ready:
            for piece, key in dealt.items():
                part = _core.FederationPiece(piece, key).dealt(self._description, name)
                if name == self._party.name:
                    self._party.keep("dealt", piece, part)
                else:
                    self._hand_over(name, "dealt", piece, part)

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
        share = self._member.share(listed, piece)
        if self._shown[0] != listed.digest:
            self._shown = listed.digest, {}
        self._shown[1][piece] = hashlib.sha256(share).digest()
        return share

    def share_digest(self, listed: _core.FederationList, piece: int) -> bytes:
        """SHA-256 of the share, which is computed once for a list."""
        if self._shown[0] != listed.digest or piece not in self._shown[1]:
            self.share(listed, piece)
        return self._shown[1][piece]
