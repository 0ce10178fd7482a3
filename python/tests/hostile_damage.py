"""Damage of files and messages: each field with odd values for tests, and random damage for fuzzing.

Checksums are right, so that damage comes to the parsers behind them.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

import hemera as hm
from hemera import _core
from hemera.compat.tenseal.messages import read_message, write_message

BEGIN = 24
"""Where a header begins: after a magic of 16 bytes, and its length."""
INFINITY, NOT_A_NUMBER = "1e999", "NaN"
"""Texts in JSON that are no strings."""
NESTED = b"[" * 100_000
VALUES = [
    *(0, -1, 1, 3, 10**400, 1 << 31, (1 << 62) - 1, 1 << 62, 1 << 63),
    *(0.0, 5e-324, 1e-300, 1e-160, 1e160, 1e300, 1e308, -1.0, 0.5),
    *(True, None, "", "x", [], {}, [0], [["x"]], {"a": 1}),
]
NUMBERS = [
    *(0, 1, 3, 1 << 31, (1 << 64) - 1, float("nan"), float("inf"), -1.0, 5e-324, 1e-300, 1e308),
    *(b"", b"x", bytes(8), b"\x80" * 11),
]
WORDS = [bytes(8), b"\xff" * 8, b"\x7f" * 8, np.array([np.inf]).tobytes(), np.array([1e-310]).tobytes()]
"""Eight bytes of a body: NaN, an infinite number and others."""


@dataclass(frozen=True)
class Target:
    """Something that parses bytes."""

    data: bytes
    """Right ones."""
    read: Callable[[bytes], object]
    form: Literal["header", "message", "text", "bytes"] = "header"
    """A header of JSON and a body; a message of Protocol Buffers; JSON alone; anything else."""
    nested: tuple[int, ...] = ()
    """Fields of a message that are messages."""

    def damaged(self):
        """Each field with each of the values, or missing, by a name."""
        if self.form == "text":
            # A fifth of them: each value comes to some fields, and each field gets some values.
            return itertools.islice(_texts(json.loads(self.data), most=1), 0, None, 5)
        if self.form == "bytes":
            return _bytes(self.data)
        return _headers(self.data) if self.form == "header" else _messages(self.data, self.nested)

    def random(self, random):
        """Bytes with damage at random places, mostly near the beginning."""
        if self.form != "header":
            return _struck(self.data, random)
        length = int.from_bytes(self.data[16:BEGIN], "little")
        head, body = self.data[BEGIN : BEGIN + length], self.data[BEGIN + length : -32]
        if random.random() < 0.5:
            return signed(self.data[:16], head, _struck(body, random))
        return signed(self.data[:16], _struck(head, random), body)


def outcome(target, data):
    """ "read", or the name of an error of Hemera's. Raises whatever else is raised."""
    try:
        target.read(data)
    except hm.errors.Error as error:
        return type(error).__name__
    return "read"


def signed(magic, head, body):
    """A file with a right checksum."""
    begin = magic + len(head).to_bytes(8, "little") + head
    if b'"parts"' in head:  # answers have one of their own
        try:
            whole = np.frombuffer(begin + body, np.uint8)
            parts = json.loads(head)["parts"]
            return begin + body + _core.digest_of_pieces(whole, [len(begin), *parts])
        except (ArithmeticError, LookupError, TypeError, ValueError):
            pass
    return begin + body + hashlib.sha256(begin + body).digest()


def _struck(data, random):
    changed = bytearray(data or b"?")
    for _ in range(int(random.integers(1, 4))):
        near = min(len(changed), 400) if random.random() < 0.7 else len(changed)
        at = int(random.integers(near))
        if random.random() < 0.5:
            changed[at] = int(random.integers(256))
        else:
            at = at // 8 * 8
            changed[at : at + 8] = WORDS[random.integers(len(WORDS))]
    return bytes(changed[: random.integers(len(changed))] if random.random() < 0.1 else changed)


def _bytes(data):
    """Some fifty bytes changed, runs of eight replaced, and ends cut off."""
    for at in range(0, len(data), max(1, len(data) // 50)):
        for value in (0, 0xFF, data[at] ^ 1, data[at] ^ 0x80):
            yield f"byte {at} = {value}", data[:at] + bytes([value]) + data[at + 1 :]
        yield f"bytes {at}", data[:at] + WORDS[at % len(WORDS)] + data[at + 8 :]
        yield f"cut at {at}", data[:at]


def _headers(data):
    length = int.from_bytes(data[16:BEGIN], "little")
    header, body = json.loads(data[BEGIN : BEGIN + length]), data[BEGIN + length : -32]
    for name, text in _texts(header):
        yield name, signed(data[:16], text, body)
    head = data[BEGIN : BEGIN + length]
    for at in range(0, min(len(body), 64), 8):
        for word in WORDS:
            yield f"body {at}", signed(data[:16], head, body[:at] + word + body[at + 8 :])


def _texts(data, most=1000):
    """JSON with each field changed, of lists the first ones."""
    yield "nested deeply", NESTED
    for path in places(data, most):
        for value in [*VALUES, INFINITY, NOT_A_NUMBER, ...]:
            changed = changed_at(data, path, value)
            text = json.dumps(changed, separators=(",", ":"))
            for number in (INFINITY, NOT_A_NUMBER):
                text = text.replace(f'"{number}"', number)
            yield f"{path} = {value!r:.20}", text.encode()


def changed_at(data, path, value):
    """JSON with another value at the end of a path; ...: without it. What is beside the path is shared."""
    if not path:
        return value
    found = copy.copy(data)
    if value is ... and len(path) == 1:
        del found[path[0]]
    else:
        found[path[0]] = changed_at(data[path[0]], path[1:], value)
    return found


def places(data, most=1000, path=()):
    """Paths to everything in JSON, of lists to the first `most` elements."""
    found = [path] if path else []
    keys = data if isinstance(data, dict) else range(min(len(data), most)) if isinstance(data, list) else ()
    for key in keys:
        found += places(data[key], most, (*path, key))
    return found


def _messages(data, nested):
    fields = read_message(data)
    for number in [*fields, 1003]:
        for value in NUMBERS:
            yield f"{number} = {value!r:.20}", write_message({**fields, number: [value]})
        yield f"no {number}", write_message({key: own for key, own in fields.items() if key != number})
    for number in nested:
        inner = fields.get(number, [b""])[-1]
        assert isinstance(inner, bytes)
        for name, changed in _messages(inner, ()):
            yield f"{number}: {name}", write_message({**fields, number: [changed]})
