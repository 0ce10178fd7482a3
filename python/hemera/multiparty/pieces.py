"""How holders come to have pieces: drawn by one of them, handed to the others, compared in public."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hemera import _core
from hemera.errors import FormatError, MismatchError
from hemera.multiparty.identity import Identity, Unsigned
from hemera.multiparty.party import NAME, Party
from hemera.multiparty.shared import Shared


class Pieces:
    """A party's pieces, in its own folder, and what all may see of them in the shared one.

    - `committee`: the names of the members; `party` may be another.
    - `place`: the id of the federation or group that they belong to.
    - `commitment`: of a piece: what holders compare.
    """

    def __init__(
        self,
        folder: Shared,
        party: Party,
        committee: Sequence[str],
        access: _core.FederationAccess,
        place: bytes,
        shared: Identity | Unsigned,
        commitment: Callable[[_core.FederationPiece], bytes],
    ) -> None:
        self._folder, self._party, self._shared = folder, party, shared
        self._committee, self._access, self._place = committee, access, place
        self._commitment = commitment
        party.belong_to(place)
        self._number = committee.index(party.name) if party.name in committee else None

    @property
    def missing(self) -> list[str]:
        """The keys that this party lacks yet: other parties hand them over."""
        due = [] if self._number is None else self._access.held_by(self._number)
        return list(self._party.missing(due, self._parts))

    @property
    def _parts(self) -> int:
        """How many keys it is due besides its pieces."""
        return 0

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

    def exchange(self) -> bool:
        """Draw, hand over and take over keys, as far as it goes; whether this party has all its own."""
        party, number = self._party, self._number
        self._take_over()
        if number is not None:
            self._deal(number)
        if self.missing:
            return False
        if not self._is_by(self._folder / "ready" / party.name, party.name):
            self._shared.write(self._folder / "ready" / party.name, b"")
        return True

    def own(self, number: int) -> list[_core.FederationPiece]:
        """The pieces of a member, once all are there. MismatchError where another holder has another one."""
        keys = [(piece, self._party.piece(piece)) for piece in self._access.held_by(number)]
        pieces = [_core.FederationPiece(piece, key) for piece, key in keys if key is not None]
        self._compare(pieces)
        return pieces

    def _deal(self, number: int) -> None:
        """The first holder of a piece draws it, and hands it to the others."""
        party, names, ready = self._party, self._committee, self.named("ready")
        dealt: dict[int, bytes] = {}
        for piece in self._access.held_by(number):
            holders = self._access.holders(piece)
            if holders[0] != number:
                continue
            if party.piece(piece) is None:
                party.keep("piece", piece, _core.FederationPiece.fresh(piece).key_for_holder())
            key = party.piece(piece)
            assert key is not None
            dealt[piece] = key
            for holder in holders[1:]:
                if names[holder] not in ready:
                    self._hand_over(names[holder], "piece", piece, key)
        self._deal_parts(dealt, ready)

    def _deal_parts(self, dealt: dict[int, bytes], ready: set[str]) -> None:
        """Hand over what others besides their holders get of the pieces that this party deals."""

    def _sealed(self, kind: str, piece: int, dealer: str, to: str) -> Shared:
        return self._folder / "sealed" / f"{kind}-{piece}-from-{dealer}-to-{to}"

    def _hand_over(self, to: str, kind: str, piece: int, key: bytes) -> None:
        """Seal a key for another party where there are identities; otherwise it is carried by hand."""
        if isinstance(self._shared, Unsigned):
            self._party.hand_over(to, kind, piece, key, self._place)
            return
        path = self._sealed(kind, piece, self._party.name, to)
        if not self._is_by(path, self._party.name):
            data = self._shared.sealed(to, path.name, key)
            if data is not None:  # its identity is known
                self._shared.write(path, data)

    def _take_over(self) -> None:
        """Keep the keys of others: those of the inbox, or those that the dealer of a piece has sealed."""
        if isinstance(self._shared, Unsigned):
            self._party.take_over(self._place)
            return
        for kind, _, number in (each.partition("-") for each in self.missing):
            dealer = self._committee[self._access.holders(int(number))[0]]
            path = self._sealed(kind, int(number), dealer, self._party.name)
            if self._is_by(path, dealer):
                key = self._shared.unsealed(path.name, self._shared.read(path, {dealer}))
                self._party.keep(kind, int(number), key)

    def _compare(self, pieces: list[_core.FederationPiece]) -> None:
        """Publish digests of pieces. MismatchError where two holders have two."""
        for piece in pieces:
            mine = self._commitment(piece)
            folder = self._folder / "pieces"
            self._shared.write(folder / f"{piece.number}-{self._party.name}", mine)
            for path in folder.glob(f"{piece.number}-*"):
                name = path.name.partition("-")[2]
                if self._is_by(path, name) and self._shared.read(path, {name}) != mine:
                    dealer = self._committee[self._access.holders(piece.number)[0]]
                    raise MismatchError(
                        f"{name} has another piece {piece.number} than "
                        f"{self._party.name}; {dealer} handed out two, or a folder has another's files"
                    )
