"""What all parties of a group agree on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from hemera import _core
from hemera.errors import ParameterError
from hemera.multiparty.party import require_name
from hemera.multiparty.shared import Shared
from hemera.multiparty.terms import agreed


class Terms:
    """What all parties of a group agree on; `id` is a digest of it."""

    def __init__(
        self,
        members: Sequence[str],
        threshold: int,
        receivers: Sequence[str],
        openings: int,
        bits: int,
        failure_bits: int,
    ) -> None:
        for name in (*members, *receivers):
            require_name(name)
        if len({*members, *receivers}) != len(members) + len(receivers):
            raise ParameterError(f"two parties of {[*members, *receivers]} have one name")
        self.members, self.receivers, self.threshold = tuple(members), tuple(receivers), threshold
        self.access = _core.FederationAccess(len(members), threshold)
        self.openings = _core.Openings(self.access.pieces, openings, bits, failure_bits)
        self.content: dict[str, Any] = {
            "kind": "group",
            "members": list(members),
            "threshold": threshold,
            "receivers": list(receivers),
            "openings": openings,
            "opening_bits": bits,
            "failure_bits": failure_bits,
        }

    def agree(self, folder: Shared) -> tuple[bytes, _core.GroupTerms]:
        """The id, and what messages are made with. The first party writes the folder's terms."""
        nonce, _ = agreed(folder, self.content)
        text = json.dumps(self.content, sort_keys=True).encode()
        found = hashlib.sha256(b"hemera group 1\0" + nonce + text).digest()
        return found, _core.GroupTerms(self.access, self.openings, found)
