"""Collective keys: members whose secret nobody has, and who open results together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hemera import _core
from hemera._process import OfProcess
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.multiparty.bounds import no_approximate_bootstraps, report_of
from hemera.multiparty.exchange import Exchange
from hemera.multiparty.group_terms import Terms
from hemera.multiparty.identity import Identity, Unsigned, signed_by
from hemera.multiparty.party import Party
from hemera.multiparty.pieces import Pieces
from hemera.multiparty.receiver_keys import digests_of
from hemera.multiparty.requests import Request, Study, file_of, files_of, packaged
from hemera.multiparty.setup import Attempt, Member, newest_attempt
from hemera.multiparty.shared import Shared, shared_folder
from hemera.multiparty.unreviewed import UNREVIEWED, warn_once
from hemera.multiparty.waiting import wait_for
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.keys import Keys, all_steps, rotations_for_sum
from hemera.package.package import Package
from hemera.parameters import Parameters


class Group:
    """One member's side of a group. Its keys are ordinary `hm.Keys`, under a secret that nobody has; any
    `threshold` members open a result together.

    What is claimed, and what is not: docs/multiparty.md. Above all: contributors must encrypt as the library
    does. A result of CKKS is approximate, and its error would tell about the secret: each opening hides it by
    noise, whose width follows from a worst-case bound. Members that lack one piece then know the exact result
    with the noise of that piece alone, less than what others see (the liberal notion).

    Calls write whole files or none, and may be made again. A process belongs to one member; objects are for
    one thread.
    """

    def __init__(self, folder: Shared, party: Party, terms: Terms, identities: Path | None) -> None:
        self._folder, self._party, self._terms = folder, party, terms
        if party.name not in terms.members:
            raise ParameterError(f"{party.name} is no member of {list(terms.members)}")
        self._number = terms.members.index(party.name)
        self._id, self._agreed = terms.agree(folder)
        self._shared: Identity | Unsigned = signed_by(party, identities, self._id)
        self._pieces = Pieces(
            folder, party, terms.members, terms.access, self._id, self._shared, self._agreed.commitment
        )
        self._attempts = OfProcess[list[Attempt]](list)
        self._keys: Keys | None = None
        self._inputs: dict[int, Exchange] = {}
        self._pieces.exchange()

    @classmethod
    def join(
        cls,
        folder: str | os.PathLike[str],
        me: str | os.PathLike[str],
        *,
        members: Sequence[str],
        threshold: int = 2,
        receivers: Sequence[str] = (),
        openings: int = 1000,
        opening_bits: int = 40,
        failure_bits: int = 40,
        secrets: str | os.PathLike[str] | None = None,
        identities: str | os.PathLike[str] | None = None,
        token: str | None = None,
    ) -> Group:
        """Become a member, or the same member again. All give the same terms.

        Args:
            folder: one that all parties can write to; nobody trusts it. `Federation.join` says more of it,
                and of `me`, `secrets`, `identities` and `token`.
            me: this member's own folder, for its owner alone. Its name without the ending is the member's.
            members: the names of 1 to 9 members, in the same order for all.
            threshold: members that open together.
            receivers: names of those whom results may be opened to, and who alone read them then.
            openings: ciphertexts that will ever be opened, those of a batch one by one. The flooding is for
                all of them together.
            opening_bits: statistical security of all openings together.
            failure_bits: a polynomial of BFV or BGV is opened wrongly with probability 2^-failure_bits, and
                one of CKKS is further off than `report` says; 40 to 128.

        Raises:
            ParameterError: for terms out of their range.
            MismatchError: where the folder has other terms, or `me` belongs to another group.
        """
        warn_once()
        party = Party(Path(me), None if secrets is None else Path(secrets))
        known = None if identities is None else Path(identities)
        terms = Terms(members, threshold, receivers, openings, opening_bits, failure_bits)
        return cls(shared_folder(folder, token), party, terms, known)

    @property
    def openings(self) -> _core.Openings:
        """What parameters must have room for: `for_circuit(openings=group.openings)`."""
        return self._terms.openings

    @property
    def missing(self) -> list[str]:
        """The keys that this member lacks yet: other members hand them over."""
        return self._pieces.missing

    # --- Keys.
    def make_keys(
        self,
        what: Any,
        *,
        relinearization: bool = False,
        rotations: Sequence[int] = (),
        sum_slots: bool | int = False,
        verify: bool = False,
        wait: float = 600.0,
    ) -> Keys:
        """Make the group's keys with all other members, or give those that were made. Receivers make theirs
        before: the digests of their keys are part of what the group's follow from.

        Args:
            what: a compiled program (`hm.compile`) or its package: the keys that it needs; or parameters.
            relinearization, rotations, sum_slots: keys with parameters, as of `Context.generate_keys`.
            verify: compute the messages of all pieces that this member holds, and compare those of others
                with them. The work grows with the pieces; without, a false message spoils the keys.
            wait: seconds.

        Raises:
            ParameterError: for a program of CKKS with bootstraps, whose results could not be opened.
            MismatchError: where others make other keys, were shown another key of a receiver, give something
                else than they said before or, with `verify`, than their pieces do, or where this group has
                keys of other parameters.
            WaitingError: when it takes longer: each member makes them.
        """
        if self._keys is not None:
            return self._keys
        params = what if isinstance(what, Parameters) else packaged(what).params
        context = Context(params)
        needs = self._needs(context, what, relinearization, rotations, sum_slots)
        listed = _core.save_needed_keys(params._native, needs, True)
        wanted = hashlib.sha256(params.to_bytes() + listed).digest()
        self._party.keep_parameters(bytes.fromhex(params.fingerprint))
        wait_for(lambda: self._make(context, needs, wanted, verify), wait, self._lacks)
        assert self._keys is not None
        return self._keys

    def _needs(
        self,
        context: Context,
        what: Any,
        relinearization: bool,
        rotations: Sequence[int],
        sum_slots: bool | int,
    ) -> list[_core.KeyNeed]:
        if not isinstance(what, Parameters):
            keys = packaged(what).interface.keys
            if keys.bootstraps and context.params.scheme == "ckks":
                raise ParameterError(no_approximate_bootstraps(context.params.degree, self.openings))
            return keys.all_needs(context)
        params, native = what._native, context._native
        level = params.highest_user_level
        steps = set(all_steps(what, "make_keys(rotations=)", rotations))
        elements = set()
        if sum_slots:
            steps |= set(rotations_for_sum(what, None if sum_slots is True else sum_slots))
            elements.add(native.conjugation_element())
        elements |= {native.galois_element(step) for step in steps}
        needs = [_core.key_need(params, 1, each, level) for each in sorted(elements - {1})]
        return needs + ([_core.key_need(params, 2, 1, level)] if relinearization else [])

    def _make(self, context: Context, needs: list[_core.KeyNeed], wanted: bytes, verify: bool) -> bool:
        """Go on with keys, as far as it goes; whether they are there."""
        if not self._pieces.exchange():
            return False
        newest, there = newest_attempt(self._folder / "attempts", self._terms.members)
        made = self._party.made_keys(newest)
        if made is not None and self._all_made(newest, made):
            self._keys = context.load(made)
            return True
        receivers = digests_of(self._folder, self._shared, context, self._terms.receivers)
        if len(receivers) < len(self._terms.receivers):
            return False
        own = next(iter(self._attempts.value), None)
        if own is None or own.number < newest:
            # One of an earlier process of this member is over: its nonce is gone.
            number = newest + 1 if newest < 0 or self._party.name in there else newest
            member = Member(
                self._party.name,
                self._number,
                self._terms.members,
                self._agreed,
                self._id,
                self._pieces.own(self._number),
            )
            own = Attempt(
                number, self._folder, self._shared, member, context, needs, wanted, receivers, verify
            )
            self._attempts.value[:] = [own]
        native = own.advance() if self._party.made_keys(own.number) is None else None
        if native is not None:
            data = Keys(native, context).to_bytes()
            for name, digest in own.receivers.items():
                self._party.keep_receiver(name, digest)
            self._party.keep_made_keys(own.number, data)
            place = self._folder / f"keys-{own.number}" / f"made-{self._party.name}"
            self._shared.write(place, hashlib.sha256(data).digest())
        return self._make(context, needs, wanted, verify) if native is not None else False

    def _all_made(self, attempt: int, keys: bytes) -> bool:
        """Whether all members have these keys. MismatchError where one has others."""
        digest, folder = hashlib.sha256(keys).digest(), self._folder / f"keys-{attempt}"
        for name in self._terms.members:
            try:
                found = self._shared.read(folder / f"made-{name}", {name})
            except (FormatError, FileNotFoundError):
                return False
            if found != digest:
                raise MismatchError(
                    f"{name} has other keys than {self._party.name}: they were shown different messages, or "
                    "their parameters differ; make keys in another folder"
                )
        return True

    def _lacks(self) -> str:
        if self.missing:
            return f"{self._party.name} lacks {', '.join(self.missing)}"
        receivers = ", ".join(self._terms.receivers)
        waits = f"keys wait for those of the receivers {receivers}: they call make_key"
        return next((each.missing() for each in self._attempts.value), waits)

    # --- Inputs.
    def put(self, values: Any, *, program: Any = None, turn: int = 0, wait: float = 600.0) -> None:
        """Give this member's input of a turn. The digests of all members' inputs come before the inputs, so
        that nobody makes its own of another's.

        Args:
            values: a ciphertext of the group's keys, or several; with `program` an array, which is this
                member's argument of it.
            program: takes as many arguments of one shape as there are members, in their order.
            turn: of which inputs.
            wait: seconds.

        Raises:
            MismatchError: where an earlier process gave another input, or somebody something else than its
                digest says.
            WaitingError: when it takes longer.
        """
        keys = self._own_keys()
        if program is not None:
            values = self._encrypted(packaged(program), values, keys)
        ciphertexts = [values] if isinstance(values, Ciphertext) else list(values)
        content = self._party.keep_input(turn, file_of([bytes(each) for each in ciphertexts]))
        exchange = self._inputs_of(turn)
        own = {f"input-{self._number}": content}
        wait_for(
            lambda: exchange.give(own) is not None,
            wait,
            lambda: f"inputs of turn {turn} wait for {', '.join(exchange.missing())}",
        )

    def _encrypted(self, package: Package, values: Any, keys: Keys) -> list[Ciphertext]:
        """This member's argument: its share of the inputs, as the arguments come in their order."""
        interface, members = package.interface, len(self._terms.members)
        each, rest = divmod(len(interface.inputs), members)
        if each == 0 or rest != 0:
            raise MismatchError(
                f"{package.name!r} has {len(interface.inputs)} encrypted inputs, and the group has {members} "
                "members: give it an argument for each, or put ciphertexts"
            )
        own, context = slice(self._number * each, (self._number + 1) * each), keys.context
        encoded = interface.encode([values] * members)[own]
        return [
            context.encrypt(context.encode(array, level=spec.level), keys)
            for array, spec in zip(encoded, interface.inputs[own], strict=True)
        ]

    def _inputs_of(self, turn: int) -> Exchange:
        if turn not in self._inputs:
            given = {f"input-{at}": name for at, name in enumerate(self._terms.members)}
            self._inputs[turn] = Exchange(self._folder / f"inputs-{turn}", self._shared, given)
        return self._inputs[turn]

    def inputs(self, turn: int = 0) -> list[Ciphertext]:
        """The inputs of all members, in their order. MismatchError where they are not all there."""
        found = self._inputs_of(turn).give({})
        if found is None:
            missing = ", ".join(self._inputs_of(turn).missing())
            raise MismatchError(f"inputs of turn {turn} are not all there: {missing} lacks")
        context = self._own_keys().context
        return [
            context.load(data)
            for at in range(len(self._terms.members))
            for data in files_of(found[f"input-{at}"])
        ]

    # --- Openings.
    def request(self, program: Any, *, to: str | None = None, turn: int = 0, results: Any = None) -> Request:
        """Ask all members to open the results of a program on the inputs of a turn.

        Args:
            program: that all members compiled, or loaded from one file.
            to: a receiver; None: the only one there is. "members": all members, and whoever sees the folder,
                read the results.
            turn: of the inputs.
            results: ciphertexts that a server or another process computed; None: they are computed here.

        Raises:
            ParameterError: for a receiver whom the group's terms do not name.
            NoiseError: where the results leave no room for the flooding that hides their noise.
        """
        if to is None:
            if len(self._terms.receivers) != 1:
                raise ParameterError(
                    f"to= is one of the receivers {list(self._terms.receivers)}, or 'members' for all to read"
                )
            to = self._terms.receivers[0]
        if to != "members" and to not in self._terms.receivers:
            raise ParameterError(f"{to!r} is none of the group's receivers {list(self._terms.receivers)}")
        study = self._study()
        return Request.made(study, packaged(program), to, turn, self.inputs(turn), results)

    def report(self, program: Any) -> str:
        """What openings leave of a program's results, a line for each, from the program alone: bits after the
        point, in every slot, of CKKS; results of BFV and BGV are exact. And the size of the messages by which
        keys are made.

        Raises:
            ParameterError: for a program of CKKS whose errors have no worst-case bound: they can not be
                hidden.
        """
        return report_of(packaged(program), self._terms.openings)

    def requests(self) -> list[Request]:
        """The requests in the folder, of all members, in the order of their names."""
        return Request.found(self._study())

    def _own_keys(self) -> Keys:
        if self._keys is None:
            raise MismatchError("the group has no keys in this process; call make_keys first")
        return self._keys

    def _study(self) -> Study:
        return Study(
            folder=self._folder,
            shared=self._shared,
            party=self._party,
            number=self._number,
            members=self._terms.members,
            access=self._terms.access,
            terms=self._agreed,
            keys=self._own_keys(),
            pieces=self._pieces.own(self._number),
            inputs=self.inputs,
        )

    def status(self) -> str:
        """What this group is, and how far it is, in lines for people."""
        terms, openings, kept = self._terms, self._terms.openings, self._party.receiver
        newest, there = newest_attempt(self._folder / "attempts", terms.members)
        lines = [
            f"{terms.threshold} of {len(terms.members)} members open; {terms.access.pieces} pieces; "
            f"receivers: {', '.join(terms.receivers) or 'none'}",
            f"{self._party.opened} of {openings.count} openings used, {openings.bits} bits for all together",
            f"{self._party.name} lacks {', '.join(self.missing)}" if self.missing else "all pieces are there",
            "keys are there" if self._keys else f"attempt {newest} to make keys: {', '.join(sorted(there))}",
            *(f"{name}'s key is {digest.hex()[:32]}" for name in terms.receivers if (digest := kept(name))),
            f"signed and sealed; {self._party.name}'s identity is "
            f"{self._shared.fingerprint(self._party.name)}"
            if isinstance(self._shared, Identity)
            else "neither signed nor sealed",
            UNREVIEWED,
        ]
        return "\n".join(lines)
