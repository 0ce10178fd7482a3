"""Federated sums and averages over a folder."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hemera import _core
from hemera._process import OfProcess
from hemera.errors import MismatchError, ParameterError
from hemera.multiparty.identity import Identity, signed_by
from hemera.multiparty.keys import Contribution, Keys
from hemera.multiparty.party import Party
from hemera.multiparty.rounds import Round, require_weight
from hemera.multiparty.shared import Shared, shared_folder
from hemera.multiparty.terms import Terms
from hemera.multiparty.unreviewed import UNREVIEWED, warn_once
from hemera.multiparty.waiting import Patience, WaitingError, wait_for


class Federation:
    """One party's side of a federation, which averages arrays of many contributors.

    Nobody sees the arrays of a single contributor; `threshold` members of the committee open an average
    together. What is claimed, and what is not: docs/multiparty.md.

    Calls write whole files or none, so any of them may be killed and made again. Members answer from within
    `push`, `average` and `work`. A process belongs to one party; objects are for one thread.
    """

    def __init__(
        self,
        folder: Shared,
        party: Party,
        terms: Terms,
        contributes: bool,
        patience: float,
        identities: Path | None,
    ) -> None:
        self._folder, self._name, self._terms = folder, party.name, terms
        self._description = terms.agree(folder)
        self._plan, self._access = terms.plan(), terms.access()
        self._shared = signed_by(party, identities, self._description.id)
        self._keys = Keys(folder, party, terms, self._description, contributes, self._shared)
        self._patience = Patience(patience)
        self._rounds: dict[int, Round] = {}
        self._own = OfProcess[dict[int, Contribution]](dict)
        self._keys.prepare()

    @classmethod
    def join(
        cls,
        folder: str | os.PathLike[str],
        me: str | os.PathLike[str],
        *,
        like: Any,
        committee: int | Sequence[str] = 3,
        threshold: int = 2,
        clients: int = 100,
        bits: int = 16,
        clip: float = 1.0,
        weight: int = 1,
        rounds: int = 1000,
        opening_bits: int = 40,
        failure_bits: int = 40,
        least: int = 2,
        method: str = "lattice",
        secrets: str | os.PathLike[str] | None = None,
        identities: str | os.PathLike[str] | None = None,
        contributes: bool = True,
        patience: float = 60.0,
        token: str | None = None,
    ) -> Federation:
        """Become a party, or the same party again. All give the same terms, which `federation.json` keeps.

        Members hand out 32 bytes from each piece, to other holders and to contributors. With `identities`
        they lie in the shared folder, sealed for who should have them, and what a party writes there is
        signed. Without, they are files in `ME/outbox/NAME/`, to be carried by hand to NAME's `inbox/`, where
        nobody else reads them. Who gets those of a name is that contributor.

        Args:
            folder: one that all parties can write to, or the address of one on a server,
                `https://HOST:PORT/v1/federations/NAME` (`hemera serve --federation NAME`); nobody trusts it.
            me: this party's own folder, for its owner alone. Its name without the ending is the party's.
            like: arrays like those that are averaged: one, or a dictionary, of floating-point numbers.
            committee: the names of 1 to 9 members, or their number: then they are a, b, c, ...
            threshold: members that open together.
            clients: the most contributors of a round.
            bits: of a value, its sign included. Values are rounded to clip / (2^(bits - 1) - 1).
            clip: values outside of [-clip, clip] are clipped.
            weight: the largest weight of a contributor.
            rounds: that will be opened in all, numbered from 0. The flooding is for all of them together.
            opening_bits: statistical security of all openings together.
            failure_bits: a round's sums are wrong, or its errors larger than what floodings are for, with
                probability 2^-failure_bits; 40 to 128.
            least: contributors that a list has at least: a setting, not a proof that any of them is honest.
            method: "lattice", or "masks": a quarter fewer bytes up and a third fewer of shares, for members'
                work that grows with contributors times values, and without the check of what is opened
                (docs/multiparty.md has both in one table).
            secrets: in place of `outbox` and `inbox`, a folder that is as secret as they.
            identities: a folder of the public identities that this party trusts, `NAME.identity`. Its own is
                written there: hand it to all others. Needs the package cryptography.
            contributes: whether this party may push.
            patience: seconds until a list is closed without contributors who are not there.
            token: of a server, whose client has the party's name; None: the environment variable
                HEMERA_TOKEN.

        Raises:
            ParameterError: for terms out of their range, and for both `secrets` and `identities`.
            MismatchError: where the folder has other terms, or `me` belongs to another federation.
        """
        warn_once()
        terms = Terms.of(
            like,
            committee=committee,
            threshold=threshold,
            clients=clients,
            bits=bits,
            clip=clip,
            weight=weight,
            rounds=rounds,
            opening_bits=opening_bits,
            failure_bits=failure_bits,
            least=least,
            method=method,
        )
        party = Party(Path(me), None if secrets is None else Path(secrets))
        known = None if identities is None else Path(identities)
        return cls(shared_folder(folder, token), party, terms, contributes, patience, known)

    @property
    def missing(self) -> list[str]:
        """The keys that this party lacks yet: other parties hand them over."""
        return self._keys.missing

    # --- Rounds.
    def push(self, turn: int, values: Any, *, weight: int = 1, wait: float = 600.0) -> int:
        """Contribute to a round. Returns when the message is in the folder.

        A process that was killed may push again, and a message that is there is not sent twice.

        Args:
            turn: the round's number.
            values: arrays like those of `join`.
            weight: a public whole number, as of samples.
            wait: seconds; 0: announce, and leave the rest to `work` and `average`.

        Returns:
            how many values were clipped.

        Raises:
            MismatchError: for other arrays, and for other values than this process pushed before.
            RangeError: for values that are not finite.
            WaitingError: when it takes longer: members close the list.
        """
        if not self._keys.contributes:
            raise ParameterError(f"{self._name} joined with contributes=False")
        require_weight(weight, self._terms.weight)
        quantized = self._terms.layout.quantized(values)
        files = self._round(turn)
        own = self._own.value.get(turn)
        if own is not None and not (own.weight == weight and np.array_equal(own.values, quantized.values)):
            raise MismatchError(f"round {turn} has other values of {self._name} already")
        if own is None:  # a message of an earlier process stays; this one is for further lists
            own = self._own.value[turn] = Contribution(quantized.values, weight)
            files.announce(self._name, weight, own.nonce)
        if wait > 0:
            wait_for(
                lambda: self.work(turn) or self._is_sent(files),
                wait,
                lambda: (
                    f"the list of round {turn} does not have {self._name}'s announcement yet"
                    + (f" ({self._name} lacks {', '.join(self.missing)})" if self.missing else "")
                ),
            )
        else:
            self.work(turn)
        return quantized.clipped

    def average(self, turn: int, *, wait: float = 600.0, verify: bool = False) -> Any:
        """The weighted mean of a round's arrays, as NumPy arrays of the types of `like`.

        Args:
            turn: the round's number.
            wait: seconds.
            verify: open the sum from all messages, in place of the one that another party has published. A
                member notes the list as answered, and compares shares of the pieces that it holds.

        Raises:
            WaitingError: when it takes longer.
            MismatchError: with `verify`, where a member's share is not that of its piece.
            NoiseError: where somebody sent something else than it should: the round is lost, the next is not.
        """
        files = self._round(turn)

        def is_open() -> bool:
            if verify:
                self._compare(files)
            return self.work(turn)

        wait_for(is_open, wait, lambda: self._lacks(files))
        found = files.result(self._terms.layout.count)
        if verify:
            self._compare(files)
        if verify or found is None:
            listed = self._answerable(files)
            sums = None if listed is None else files.opened(listed, self._access.pieces)
            if listed is None or sums is None:
                raise WaitingError(f"messages of round {turn} are no longer in {files.folder}")
            found = listed, sums
        self._own.value.pop(turn, None)
        return self._terms.layout.average(found[1], found[0].weight_sum)

    def _compare(self, files: Round) -> None:
        """MismatchError where another member's share of a piece that this one holds is not the piece's."""
        listed = self._answerable(files)
        if listed is None:
            return
        for piece in self._keys.held:
            files.compare(listed, piece, self._keys.share_digest(listed, piece))

    def work(self, turn: int) -> bool:
        """Do what this party can do for a round now, without waiting. Returns whether its sum is open."""
        self._keys.prepare()
        files = self._round(turn)
        is_open = files.has_result()
        if is_open and not self._keys.held:
            return True
        if self._keys.held:
            self._close(files)
        self._upload(files)
        listed = self._answerable(files)
        if listed is None:
            return is_open
        for piece in self._keys.held:  # also where a result is: others may want to verify it
            if next(files.shares(listed, piece), None) is None:
                share = self._keys.share(listed, piece)
                files.write(files.share_path(listed, piece, self._name), share)
        if is_open:
            return True
        sums = files.opened(listed, self._access.pieces)
        if sums is not None and self._keys.held:  # others' results count nowhere
            files.publish(listed, sums)
        return sums is not None

    def _round(self, turn: int) -> Round:
        if not 0 <= turn < self._terms.rounds:
            raise ParameterError(
                f"round {turn} is not one of the {self._terms.rounds} that the flooding is planned for"
            )
        made = Round(self._folder, self._description, turn, self._shared, self._terms.committee)
        return self._rounds.setdefault(turn, made)

    def _is_sent(self, files: Round) -> bool:
        """Whether the newest list has this party's message."""
        lists = files.lists()
        return bool(lists) and files.has_upload(lists[-1], self._name)

    def _upload(self, files: Round) -> None:
        """Answer the newest list with the nonce of this process: once, or the same bytes again."""
        own, lists = self._own.value.get(files.turn), files.lists()
        if own is None or not lists or files.has_upload(lists[-1], self._name):
            return
        message = self._keys.message(lists[-1], own)
        if message is not None:
            files.write(files.upload_path(lists[-1], self._name), message)

    def _close(self, files: Round) -> None:
        """Close the list when all are there or patience is over; then another one without the missing."""
        lists, there = files.lists(), self._acceptable(files)
        if not lists:
            known = self._keys.named("contributors")
            if len(there) < self._terms.least:
                return
            if known <= set(there) or self._patience.is_over((files.turn, "first")):
                files.close(0, [(name, *there[name]) for name in sorted(there)])
            return
        newest = lists[-1]
        missing = files.missing(newest)
        if self._answerable(files) is not None or not missing:
            return
        listed = {entry for each in lists for entry in each.entries}
        fresh = {name: each for name, each in there.items() if (name, *each) not in listed}
        again = {name for name in missing if name in fresh}  # processes that started again
        is_over = self._patience.is_over((files.turn, newest.attempt))
        if not (again or is_over):
            return
        left_out = set(missing) if is_over else again
        stay = {
            name: (weight, nonce) for name, weight, nonce in newest.entries if name not in left_out
        } | fresh
        if len(stay) >= self._terms.least:
            files.close(
                newest.attempt + 1, [(name, *stay[name]) for name in sorted(stay)[: self._terms.clients]]
            )

    def _acceptable(self, files: Round) -> dict[str, tuple[int, bytes]]:
        """Weights and nonces of announcements, as many as a list may have."""
        found = files.announcements().items()
        fit = [(name, each) for name, each in found if 1 <= each.weight <= self._terms.weight]
        return {name: (each.weight, each.nonce) for name, each in fit[: self._terms.clients]}

    def _answerable(self, files: Round) -> _core.FederationList | None:
        """The first list of which every message is there: the one that members answer."""
        for listed in files.lists():
            if len(listed.entries) >= self._terms.least and not files.missing(listed):
                return listed
        return None

    def _lacks(self, files: Round) -> str:
        lists = files.lists()
        if not lists:
            return f"round {files.turn} has no list; members close it"
        listed = self._answerable(files)
        if listed is None:
            return f"round {files.turn} lacks messages of {', '.join(files.missing(lists[-1]))}"
        pieces = range(self._access.pieces)
        lacking = [piece for piece in pieces if next(files.shares(listed, piece), None) is None]
        return f"round {files.turn} lacks shares of {len(lacking)} pieces: members answer"

    # --- Plans.
    def report(self) -> str:
        """What this federation does with values and what it claims, in lines for people."""
        terms, layout, margin = self._terms, self._terms.layout, self._plan.margin
        members, threshold = len(terms.committee), terms.threshold
        overlap = 2 * threshold - members
        lists = (
            f"two lists of a round need {overlap} corrupt members"
            if overlap > 0
            else "one list a round rests on the coordinator"
        )
        modulus = sum(math.log2(prime) for prime in self._plan.primes)
        hidden = [f"one-time masks modulo a prime of {modulus:.1f} bits: nothing is flooded"]
        if terms.method == "lattice":
            hidden = [
                f"N = {margin.degree}, {modulus:.1f} bits of modulus, "
                f"security {self._plan.parameters.security}",
                f"flooding 2^{margin.flooding_log2} over errors of norm 2^{margin.error_norm_log2:.1f}: "
                f"{terms.opening_bits} bits for {margin.openings} polynomials in {terms.rounds} rounds",
            ]
        lines = [
            f"{threshold} of {members} members open; {self._access.pieces} pieces; {lists}",
            f"{layout.count} values of {layout.bits} bits: clipped to [-{layout.clip:g}, {layout.clip:g}], "
            f"rounded to {layout.clip / layout.steps:.3g}",
            f"{terms.least} to {terms.clients} contributors, weights up to {terms.weight}; sums are exact",
            f"{self._plan.upload_bits / 8:.2f} bytes a value up, {self._plan.share_bits / 8:.2f} for a share",
            *hidden,
            f"signed and sealed; {self._name}'s identity is {self._shared.fingerprint(self._name)}"
            if isinstance(self._shared, Identity)
            else "neither signed nor sealed",
            UNREVIEWED,
        ]
        return "\n".join(lines)
