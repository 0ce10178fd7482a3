"""The record of what operators did to a server's folder: a file that only grows, a line of JSON each."""

from __future__ import annotations

import getpass
import json
import os
import time
from pathlib import Path

from hemera.errors import FileError

FILE = "audit.jsonl"


def note(root: Path, what: str, **facts: object) -> None:
    """Append a line, on disk when this returns: when, who (the system's user, and the one before sudo), what,
    and facts as names and digests; None is left out. Never tokens. FileError where it can not be written."""
    told = {name: value for name, value in facts.items() if value is not None}
    line = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "who": _who(), "what": what, **told}
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(root / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, json.dumps(line).encode() + b"\n")  # one call: lines of others stay whole
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise FileError(f"cannot write {root / FILE}: {error.strerror}") from None


def _who() -> str:
    before = os.environ.get("SUDO_USER")
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        user = str(os.getuid())
    return user if before is None else f"{user} for {before}"
