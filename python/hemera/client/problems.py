"""A server's answers when it refuses, and the errors that a client makes of them."""

from __future__ import annotations

from http import HTTPStatus

from hemera import errors
from hemera.errors import Error


class ServerError(Error):
    """The server refused a request or could not answer it.

    Attributes:
        status: the status of HTTP, or 0 when there was no answer.
        code: what was wrong, in a word that does not change: "unknown_token", "queue_full", ...
    """

    def __init__(self, message: str, status: int = 0, code: str = "no_answer") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Refused(Exception):  # noqa: N818  # it is an answer
    """An answer that is no result.

    Args:
        status: of HTTP.
        code: what was wrong, for programs.
        message: what was wrong and the way out, for people. Nothing of the payload.
        retry_after: seconds after which the same request may do better.
    """

    def __init__(self, status: int, code: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        if self.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return headers

    @property
    def body(self) -> dict[str, dict[str, str]]:
        return {"error": {"code": self.code, "message": self.message}}


# The client did something wrong, which it can mend: what was raised, the word for it.
_OF_THE_CLIENT: tuple[tuple[type[Error], str], ...] = (
    (errors.FormatError, "format"),
    (errors.MissingKeyError, "missing_key"),
    (errors.MismatchError, "mismatch"),
    (errors.LevelError, "level"),
    (errors.ScaleError, "scale"),
    (errors.RangeError, "range"),
    (errors.SecurityError, "security"),
    (errors.NoiseError, "noise"),
    (errors.ParameterError, "parameter"),
)


CODES_OF_ERRORS = tuple(code for _, code in _OF_THE_CLIENT)
"""The codes of Hemera's own errors, which clients raise."""


def refusal_of(error: BaseException) -> Refused:
    """The answer to an exception that a request led to."""
    if isinstance(error, Refused):
        return error
    for kind, code in _OF_THE_CLIENT:
        if isinstance(error, kind):
            return Refused(HTTPStatus.UNPROCESSABLE_ENTITY, code, str(error))
    if isinstance(error, errors.OutOfMemoryError):
        return Refused(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "out_of_memory",
            "the server's device has no room for this now; try again, or ask for smaller batches",
            retry_after=5,
        )
    # Whatever else it says is for the log: it may reveal something about the server.
    return Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "the server failed; its log says why")


def error_of(status: int, code: str, message: str) -> Error:
    """The error that a client raises for an answer: the server's own, where it is one of Hemera's."""
    for kind, word in _OF_THE_CLIENT:
        if word == code:
            return kind(message)
    return ServerError(f"{message} (HTTP {status}, {code})", status, code)
