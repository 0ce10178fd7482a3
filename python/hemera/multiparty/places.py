"""The files of the shared folder of a federation or a group: which names they have, and whose they are."""

from __future__ import annotations

import re

from hemera.multiparty.party import NAME

_COUNT = r"(?:0|[1-9][0-9]{0,8})"
_NAME = f"{NAME.pattern}?"  # as short as it can be: "a-to-b" goes to "b"
_REQUEST = "[0-9a-f]{32}"
_FOLDER = re.compile(
    f"(?:contributors|ready|pieces|sealed|(?:round|keys|inputs)-{_COUNT}|attempts|receivers|requests"
    f"|request-{_REQUEST})?"
)
_PLACE = re.compile(
    rf"federation\.json"
    rf"|(?:contributors|ready)/(?P<a>{_NAME})"
    rf"|pieces/{_COUNT}-(?P<b>{_NAME})"
    rf"|sealed/(?:piece|dealt)-{_COUNT}-from-(?P<c>{_NAME})-to-{_NAME}"
    rf"|round-{_COUNT}/(?:announced-(?P<d>{_NAME})|upload-{_COUNT}-(?P<e>{_NAME})"
    rf"|share-{_COUNT}-{_COUNT}-(?P<f>{_NAME})|list-{_COUNT}|result)"
    rf"|attempts/{_COUNT}-(?P<g>{_NAME})|receivers/(?P<h>{_NAME})|requests/{_REQUEST}-(?P<i>{_NAME})"
    rf"|keys-{_COUNT}/(?:made|(?:digest-)?(?:nonce-{_COUNT}|message-[12]-{_COUNT}))-(?P<j>{_NAME})"
    rf"|inputs-{_COUNT}/(?:digest-)?input-{_COUNT}-(?P<k>{_NAME})"
    rf"|request-{_REQUEST}/(?:result-{_COUNT}|share-{_COUNT}-{_COUNT})-(?P<l>{_NAME})"
)
TERMS = "federation.json"


def is_folder(place: str) -> bool:
    """Whether it is a folder of a federation; "" is the one that all lie in."""
    return _FOLDER.fullmatch(place) is not None


def owner_of(place: str) -> str | None:
    """Who writes a file: a party; "" for the terms, and for lists and results, which members write; None
    where a federation has no such file."""
    found = _PLACE.fullmatch(place)
    if found is None:
        return None
    return found[found.lastgroup] if found.lastgroup else ""
