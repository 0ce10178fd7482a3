"""Who reads results that are opened to it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hemera import _core
from hemera.errors import MismatchError, ParameterError
from hemera.multiparty.bounds import Bounds
from hemera.multiparty.group_terms import Terms
from hemera.multiparty.identity import Identity, Unsigned, signed_by
from hemera.multiparty.party import Party
from hemera.multiparty.requests import packaged, requests_in, results_of, shares_of, waited
from hemera.multiparty.shared import Shared, shared_folder
from hemera.multiparty.unreviewed import warn_once
from hemera.objects.context import Context
from hemera.objects.keys import SecretKey
from hemera.parameters import Parameters


class Receiver:
    """A party of a group who has no piece, and a key of its own that results are opened to."""

    def __init__(self, folder: Shared, party: Party, terms: Terms, identities: Path | None) -> None:
        self._folder, self._party, self._terms = folder, party, terms
        if party.name not in terms.receivers:
            raise ParameterError(f"{party.name} is none of the group's receivers {list(terms.receivers)}")
        found, self.terms = terms.agree(folder)
        self.members, self.access = terms.members, terms.access
        party.belong_to(found)
        self.shared: Identity | Unsigned = signed_by(party, identities, found)
        self.context: Context | None = None

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
        identities: str | os.PathLike[str] | None = None,
        token: str | None = None,
    ) -> Receiver:
        """Become a receiver, or the same one again, with the terms of the group: see `Group.join`."""
        warn_once()
        known = None if identities is None else Path(identities)
        terms = Terms(members, threshold, receivers, openings, opening_bits, failure_bits)
        return cls(shared_folder(folder, token), Party(Path(me), None), terms, known)

    @property
    def openings(self) -> _core.Openings:
        """As of `Group.openings`."""
        return self._terms.openings

    def make_key(self, what: Any) -> None:
        """Make this receiver's key, once, and give its public part to all. Members make keys after it.

        Args:
            what: the program, or the parameters, that the group has its keys for.

        Raises:
            MismatchError: where somebody has put another key in its place.
        """
        context, secret = self._secret(what if isinstance(what, Parameters) else packaged(what).params)
        own = self._party.public_key
        if own is None:
            own = context.generate_keys(secret, relinearization=False).to_bytes()
            self._party.keep_public_key(own)
        place = self._folder / "receivers" / self._party.name
        if not place.exists():
            self.shared.write(place, own)
        if self.shared.read(place, {self._party.name}) != own:
            raise MismatchError(
                f"{place} is another key than {self._party.name}'s: who put it there would read results; "
                "start in another folder, with identities="
            )

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of the public key, to compare with `Group.status()` by another channel; empty
        before there is a key."""
        own = self._party.public_key
        return "" if own is None else hashlib.sha256(own).hexdigest()[:32]

    def _secret(self, params: Parameters) -> tuple[Context, SecretKey]:
        """MismatchError where the key is of other parameters."""
        self._party.keep_parameters(bytes.fromhex(params.fingerprint))
        if self.context is None:
            self.context = Context(params)
        path = self._party.folder / "secret-key"
        if not path.exists():
            self.context.generate_secret_key().save(path)
        return self.context, self.context.load(path)

    def open(self, program: Any, *, wait: float = 60.0) -> Any:
        """The results of the last request for a program to this receiver, from any `threshold` members'
        shares.

        Raises:
            MismatchError: where nobody asked for it.
            NoiseError: where the results can not be read: somebody sent something else than it should.
            WaitingError: when it takes longer: members approve.
        """
        package = packaged(program)
        context, secret = self._secret(package.params)
        found = [
            (name, asker, content)
            for name, asker, content in requests_in(self._folder, self.shared, self.members)
            if content["program"] == package.digest and content["to"] == self._party.name
        ]
        if not found:
            raise MismatchError(f"nobody has asked to open {package.name!r} to {self._party.name}")
        name, asker, content = max(found, key=lambda each: (each[2]["turn"], each[0]))
        place, bounds = self._folder / f"request-{name}", Bounds.of(package)
        results = results_of(place, self.shared, context, asker, content)
        bounds.require_outputs(results)
        values = []
        for number, (x, bound) in enumerate(zip(results, bounds.noise, strict=True)):
            find = partial(shares_of, place, self, number, self._party.name, x, bound)
            shares = waited(find, self.access.pieces, wait)
            natives = [each._native for each in shares]
            whole = _core.opened_for(context._native, self.terms, x._native, bound, natives)
            values.append(context.decrypt(context.load(_core.save(whole, 0)), secret))
        return package.interface.decode(values)
