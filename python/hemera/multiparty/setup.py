"""How a group makes its keys: attempts, each with fresh nonces that its members keep in memory."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from hemera import _core
from hemera._process import OfProcess
from hemera.errors import MismatchError
from hemera.multiparty.exchange import Exchange
from hemera.multiparty.identity import Identity, Unsigned
from hemera.multiparty.shared import Shared
from hemera.objects.context import Context

_ATTEMPT = b"hemera group attempt 2\0"


@dataclass(frozen=True)
class Member:
    """What a member makes keys with."""

    name: str
    number: int
    committee: Sequence[str]
    terms: _core.GroupTerms
    group: bytes
    """The group's id."""
    pieces: list[_core.FederationPiece]


class Attempt:
    """One attempt of one process, in the folder `keys-A`. A process that starts again starts another one: the
    nonce of this one is nowhere else, and all polynomials follow from the nonces of all.

    - `wanted`: a digest of the parameters and the keys that are made.
    - `receivers`: digests of receivers' keys, in the order of the terms: of the same keys for all members.
    """

    def __init__(
        self,
        number: int,
        folder: Shared,
        shared: Identity | Unsigned,
        member: Member,
        context: Context,
        needs: Sequence[_core.KeyNeed],
        wanted: bytes,
        receivers: dict[str, bytes],
        verify: bool,
    ) -> None:
        self.number, self.receivers, self._verify = number, receivers, verify
        self._folder, self._shared, self._member = folder / f"keys-{number}", shared, member
        self._context, self._needs, self._wanted = context._native, list(needs), wanted
        self._nonce = OfProcess(lambda: secrets.token_bytes(32))
        self._messages: _core.KeyMessages | None = None
        nonces = {f"nonce-{at}": name for at, name in enumerate(member.committee)}
        self._exchange = self._nonces = Exchange(self._folder, shared, nonces)
        self._over: list[Exchange] = []
        self._verified = 0
        shared.write(folder / "attempts" / f"{number}-{member.name}", b"")

    def advance(self) -> _core.EvaluationKeys | None:
        """Do what can be done now. Returns the keys, once this process has them."""
        if self._messages is None:
            nonces = self._nonces.give({f"nonce-{self._member.number}": self._nonce.value + self._transcript})
            if nonces is None:
                return None
            self._messages = self._begun(nonces)
            self._exchange = self._of_round(1)
        while self._took_part(self._messages):
            self._over.append(self._exchange)
            if len(self._over) == self._messages.rounds:
                return self._messages.keys()
            self._exchange = self._of_round(len(self._over) + 1)
        return None

    @property
    def _transcript(self) -> bytes:
        """What all members must have seen alike."""
        return self._wanted + b"".join(self.receivers.values())

    def _compare(self, messages: _core.KeyMessages, number: int) -> None:
        """MismatchError where another member's message of a piece that this one holds is not the piece's."""
        senders = {piece: at for at in range(len(self._member.committee)) for piece in self._sent(at)}
        for piece in messages.false_digests(number):
            raise MismatchError(
                f"{self._member.committee[senders[piece]]} gives another message of piece {piece} in round "
                f"{number} than the piece does; make keys without it, in another folder"
            )
        self._verified = number

    def missing(self) -> str:
        """For people."""
        return f"attempt {self.number} to make keys waits for {', '.join(self._exchange.missing())}"

    def _begun(self, nonces: dict[str, bytes]) -> _core.KeyMessages:
        member = self._member
        for at, name in enumerate(member.committee):
            given = nonces[f"nonce-{at}"][32:]
            if given[:32] != self._wanted or len(given) != len(self._transcript):
                raise MismatchError(f"{name} makes other keys than {member.name}, or of other parameters")
            for k, (receiver, digest) in enumerate(self.receivers.items(), 1):
                if given[32 * k : 32 * (k + 1)] != digest:
                    raise MismatchError(
                        f"{name} was shown another key of {receiver} than {member.name}: somebody puts a key "
                        f"in its place; compare fingerprints with {receiver}, and start in another folder"
                    )
        parts = [member.group, self.number.to_bytes(4, "little"), self._transcript]
        parts += [nonces[f"nonce-{at}"][:32] for at in range(len(member.committee))]
        attempt = hashlib.sha256(_ATTEMPT + b"".join(parts)).digest()
        return _core.KeyMessages(
            self._context, member.terms, attempt, member.number, member.pieces, self._needs
        )

    def _of_round(self, number: int) -> Exchange:
        """What the senders of pieces give in a round."""
        sent = [(piece, at) for at in range(len(self._member.committee)) for piece in self._sent(at)]
        given = {f"message-{number}-{piece}": self._member.committee[at] for piece, at in sorted(sent)}
        return Exchange(self._folder, self._shared, given)

    def _sent(self, member: int) -> list[int]:
        return self._member.terms.sent_by(member)

    def _took_part(self, messages: _core.KeyMessages) -> bool:
        """Whether the round that is going on is over."""
        number, own = len(self._over) + 1, self._sent(self._member.number)
        name = f"message-{number}-"
        digests = self._exchange.commit({f"{name}{piece}": messages.digest(number, piece) for piece in own})
        if digests is None:
            return False
        for what, digest in digests.items():
            messages.accept_digest(number, int(what.removeprefix(name)), digest)
        if self._verify and number > self._verified:
            self._compare(messages, number)
        given = self._exchange.give({f"{name}{piece}": messages.message(number, piece) for piece in own})
        if given is None:
            return False
        for what, content in given.items():
            messages.accept(number, int(what.removeprefix(name)), content)
        return True


def newest_attempt(folder: Shared, committee: Sequence[str]) -> tuple[int, set[str]]:
    """The number of the last attempt of any member, and who takes part in it; -1 and nobody before the
    first."""
    found: dict[int, set[str]] = {}
    for path in folder.glob("*-*"):
        number, _, name = path.name.partition("-")
        if name in committee and re.fullmatch("[0-9]{1,9}", number):
            found.setdefault(int(number), set()).add(name)
    newest = max(found, default=-1)
    return newest, found.get(newest, set())
