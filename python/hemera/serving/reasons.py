"""The reasons for which a server refuses: statuses, words for programs, texts for people."""

from __future__ import annotations

from typing import NamedTuple

from hemera.client.problems import Refused


class Reason(NamedTuple):
    """A reason. The arguments are those of `Refused`; the message has places for facts."""

    status: int
    code: str
    message: str
    retry_after: int | None = None

    def refused(self, *, after: int | None = None, **facts: object) -> Refused:
        """The answer, with facts in their places; `after`: seconds in place of the reason's."""
        code, message = self.code.format(**facts), self.message.format(**facts)
        return Refused(self.status, code, message, self.retry_after if after is None else after)


# --- What is asked for. ---

NO_NUMBER = Reason(400, "format", "Content-Length is no number")
NO_TOKEN = Reason(
    401,
    "unknown_token",
    "a client's token is needed, Authorization: Bearer TOKEN (`hemera serve HOME --add-client NAME`)",
)
NOT_ALLOWED = Reason(403, "not_allowed", "your token is not for {name!r}: ask the server's operator for one")
UNKNOWN = Reason(404, "unknown_{kind}", "there is no {kind} {name!r}")
NO_KEYS = Reason(404, "no_keys", "the server has no keys of yours for {name!r}")
KEYS_FIRST = Reason(409, "no_keys", f"{NO_KEYS.message}: PUT /v1/{{kinds}}/{{name}}/keys first")
MODEL_CHANGED = Reason(
    409,
    "model_changed",
    "the model {name!r} was replaced, and its digest is {digest}: ask for its description, and encode for "
    "that",
)
TOO_MANY = Reason(
    422, "too_many", "a request may have {most} evaluations at most: send the others in requests of their own"
)
NOT_YOURS = Reason(
    403,
    "not_yours",
    "{party!r} does not write {name!r}: a client writes files that have its own name, and members of the "
    "committee lists and results",
)
EXISTS = Reason(409, "exists", "there is a file {name!r} already")
UNFIT = Reason(422, "format", "{why}")
SECRET_KEY = Reason(
    422,
    "secret_key",
    "this is a secret key, which decrypts: the server takes none, and has kept nothing of it. Send the "
    "evaluation keys (ctx.generate_keys) alone. It has travelled: make a new secret key",
)
# Compressed files may take 128 times as much memory.
COMPRESSED = Reason(
    422,
    "format",
    "the file is compressed, and a server takes none that is: what is encrypted can not be made smaller. "
    "Send it as bytes(x) gives it",
)

OFFSET = Reason(
    409,
    "offset",
    "{held} bytes of this upload are here, and the body begins at {offset}: go on from where GET says",
)
DIGEST = Reason(
    422,
    "digest",
    "the bytes that came have the digest {found}, and not {told}: nothing of them was kept; send them again",
)

# --- Bodies, and how often they come. ---

HUNG_UP = Reason(499, "hung_up", "the client hung up")
"""Its status is nginx' for a client that left: nobody reads it but the log."""
TAKEN_OVER = Reason(499, "hung_up", "another request goes on with this upload")
TOO_SLOW = Reason(408, "too_slow", "the body came too slowly; send it again")
LARGE_BODY = Reason(413, "too_large", "the body is larger than the {limit} bytes that may come")
LARGE_KEYS = Reason(413, "too_large", "an upload may have {limit} bytes here")
RATE = Reason(
    429,
    "rate",
    "a client may send {rate:g} {what} a second, and yours were more; go on in {wait:.3g} seconds",
)
QUEUE_FULL = Reason(
    429,
    "queue_full",
    "{waiting} of your requests for {model!r} wait already; send the next when an answer has come",
    1,
)

# --- The server's state. ---

BUSY = Reason(503, "busy", "the server has as many {what} as it takes; try again in a while", 1)
YOURS = Reason(429, "busy", "you have as many {what} as it takes; try again in a while", 1)
STOPPING = Reason(503, "stopping", "the server stops; try again when it is back", 10)
NOT_ALIVE = Reason(503, "stopping", "no requests are computed: the server stops, or has no replica", 10)
NO_REPLICA = Reason(503, "no_replica", "no replica is there now; try again", 5)
REPLICA_LOST = Reason(
    503,
    "replica_lost",
    "{replicas} replicas died while they computed this request; if others are answered, it is the request: "
    "report it to the operator",
    10,
)
CLUSTER_LOST = Reason(
    503, "cluster_lost", "the server has lost its cluster and starts again; send the request again", 10
)
TIMEOUT = Reason(504, "timeout", "the request was not answered in {seconds:g} seconds", 10)
STORE_FULL = Reason(
    507,
    "store_full",
    "the server keeps {lacking}, and there is no room for more: remove keys that you do not need any more "
    "(DELETE .../keys), or ask the server's operator for room. You have keys for {kept}",
)
DISK_FULL = Reason(507, "disk_full", "the server's disk is full: nothing of them was kept", 60)
