"""The log, lines of JSON by the logging of the standard library, and the record of what operators did.

No payloads, no tokens."""

from __future__ import annotations

import getpass
import json
import logging
import os
import sys
import time
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any, TextIO

from hemera.errors import FileError

_logger = logging.getLogger("hemera.serving")
_FIELDS = "hemera_fields"


def log(
    event: str, /, *, level: int = logging.INFO, error: BaseException | None = None, **fields: Any
) -> None:
    """One event with what belongs to it; None is left out. Never ciphertexts, keys or tokens."""
    told = {name: value for name, value in fields.items() if value is not None}
    _logger.log(level, event, extra={_FIELDS: told}, exc_info=error)


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        told: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, _FIELDS, {}),
        }
        if record.name != _logger.name:
            told["logger"] = record.name
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


def to_lines_of_json(to: TextIO | Path | None = None) -> None:
    """Everything of the program's logs goes to a stream (None: standard error), or to the end of a file, a
    line of JSON each. A file that was moved away is made anew. FileError where it can not be."""
    if isinstance(to, Path):
        try:
            os.close(os.open(to, os.O_WRONLY | os.O_CREAT, 0o600))
            handler: logging.Handler = WatchedFileHandler(to, encoding="utf-8")
        except OSError as error:
            raise FileError(f"cannot write the log {to}: {error.strerror}") from None
    else:
        handler = logging.StreamHandler(to or sys.stderr)
    handler.setFormatter(_Lines())
    logging.raiseExceptions = False  # a line that can not be written is lost: the server goes on
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in (_logger.name, "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.INFO)


FILE = "audit.jsonl"


def audit(root: Path, what: str, **facts: object) -> None:
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
