"""What all parties of a federation agree on, as a file in their folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hemera import _core
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.multiparty.layout import Layout
from hemera.multiparty.party import require_name
from hemera.multiparty.places import TERMS
from hemera.multiparty.shared import Shared, write

NEWEST = ", messages of version 2 (take a Hemera newer than 0.2.0)"
"""What the method of a folder's terms ends with: a Hemera of before refuses it, and says so."""
DEGREE = 4096
SECURITY: int | None = 128


@dataclass(frozen=True)
class Terms:
    """Their names are those of `Federation.join`."""

    committee: tuple[str, ...]
    threshold: int
    layout: Layout
    clients: int
    least: int
    weight: int
    rounds: int
    opening_bits: int
    failure_bits: int
    method: str

    @classmethod
    def of(
        cls,
        like: Any,
        *,
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
    ) -> Terms:
        """As `Federation.join` takes them."""
        if isinstance(committee, int):
            if not 1 <= committee <= 9:
                raise ParameterError(f"a committee has 1 to 9 members, not {committee}")
            committee = list("abcdefghi"[:committee])
        layout = Layout.of(like, bits, clip)
        bits_of = opening_bits, failure_bits
        return cls(tuple(committee), threshold, layout, clients, least, weight, rounds, *bits_of, method)

    def __post_init__(self) -> None:
        for name in self.committee:
            require_name(name)
        if len(set(self.committee)) != len(self.committee):
            raise ParameterError(f"two members of the committee {list(self.committee)} have one name")
        if not 1 <= self.least <= self.clients:
            raise ParameterError(f"least is from 1 to clients, {self.clients}, not {self.least}")

    def content(self) -> dict[str, Any]:
        """For people and for files."""
        return {
            "committee": list(self.committee),
            "threshold": self.threshold,
            "clients": self.clients,
            "least": self.least,
            "weight": self.weight,
            "rounds": self.rounds,
            "opening_bits": self.opening_bits,
            "failure_bits": self.failure_bits,
            "method": self.method,
            "bits": self.layout.bits,
            "clip": self.layout.clip,
            "like": self.layout.described,
        }

    def access(self) -> _core.FederationAccess:
        return _core.FederationAccess(len(self.committee), self.threshold)

    def plan(self) -> _core.FederationPlan:
        """ParameterError for numbers out of their range."""
        other: dict[str, Any] = {} if self.method == "lattice" else {"method": self.method}
        return _core.FederationPlan(
            values=self.layout.count,
            value_bits=self.layout.bits,
            contributors=self.clients,
            weight=self.weight,
            rounds=self.rounds,
            opening_bits=self.opening_bits,
            failure_bits=self.failure_bits,
            pieces=self.access().pieces,
            degree=DEGREE,
            security=SECURITY,
            **other,
        )

    def agree(self, folder: Shared) -> _core.FederationDescription:
        """The description that the folder has; the first party writes it.

        Raises:
            MismatchError: where the folder's terms are others; it names the first that differs.
            FormatError: for a file that has no terms.
        """
        plan = self.plan()  # refuses before anything is written
        content = self.content()
        newest = content | {"method": self.method + NEWEST, "messages": 2}
        nonce, messages = agreed(folder, content, newest)
        layout = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()
        return _core.FederationDescription(self.access(), plan, list(self.committee), layout, nonce, messages)


def agreed(folder: Shared, *versions: dict[str, Any]) -> tuple[bytes, int]:
    """The nonce of a folder with these terms, and the version of its messages, from 1.

    The first party writes the terms of the newest version. The errors are those of `Terms.agree`.
    """
    path = folder / TERMS
    mine = versions[-1] | {"nonce": secrets.token_hex(32)}
    if not path.exists():
        with contextlib.suppress(FileExistsError):  # another party was first
            write(path, json.dumps(mine, indent=1).encode(), replace=False)
    try:
        found = json.loads(path.read_bytes())
        nonce, version = bytes.fromhex(found["nonce"]), found.get("messages", 1)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FormatError(f"{path} does not describe a federation; start in an empty folder") from None
    if version not in range(1, 1 + len(versions)):
        raise FormatError(f"{path} has messages of version {version!r}; take a newer Hemera")
    for term, value in versions[version - 1].items():
        if found.get(term) != value:
            raise MismatchError(
                f"the federation in {folder} has {term} = {found.get(term)!r}, not {value!r}; "
                "join with its terms, or start in another folder"
            )
    return nonce, version
