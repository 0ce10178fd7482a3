"""Bodies of requests and answers: one file as it is, or several with names as multipart/form-data."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from hemera.errors import FormatError

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartParser

OCTETS = "application/octet-stream"
KEYS_FILE = "keys"
"""The one file of the keys of Hemera's clients; those of other libraries have several."""
KEYS_HEADER = "Hemera-Keys"
"""An answer's: the digest of the keys that it was computed with, as `GET .../keys` returns it. An
upload's last part's: the digest that its keys have."""
OFFSET_HEADER = "Upload-Offset"
"""A part's of an upload: the bytes of the upload before it."""
MODEL_HEADER = "Hemera-Model"
"""A request's: the digest of the model that it was encoded for. An answer's: the digest of the model that
computed it."""
NONCE_HEADER = "Hemera-Nonce"
"""A request's random name, which its answer repeats."""
MAX_FILES = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def new_nonce() -> str:
    """A name that no other request has."""
    return secrets.token_hex(16)


def is_nonce(text: str) -> bool:
    """Whether a text is such a name."""
    return re.fullmatch("[0-9a-f]{32}", text) is not None


class Sink(Protocol):
    """Where the files of a body go, one after the other."""

    def begin(self, name: str) -> None: ...

    def write(self, data: bytes) -> None: ...

    def end(self) -> None: ...


class Memory:
    """A sink that keeps the files."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._parts: list[bytes] = []
        self._name = ""

    def begin(self, name: str) -> None:
        self._name, self._parts = name, []

    def write(self, data: bytes) -> None:
        self._parts.append(data)

    def end(self) -> None:
        self.files[self._name] = b"".join(self._parts)
        self._parts = []


def is_multipart(content_type: str | None) -> bool:
    """Whether a body of this type has several files."""
    return (content_type or "").partition(";")[0].strip().lower() == "multipart/form-data"


class BodyReader:
    """Reads a body as it arrives.

    Args:
        content_type: of the body; anything but multipart/form-data is one file.
        sink: takes the files.
        single: the name of a body that is one file.

    Raises (each method):
        FormatError: for what is no such body, a name that is none, or one that comes twice.
    """

    def __init__(self, content_type: str | None, sink: Sink, single: str) -> None:
        self._sink = sink
        self._names: list[str] = []
        self._multipart: MultipartParser | None = None
        if is_multipart(content_type):
            self._multipart = self._parser(content_type or "")
        else:
            self._begin(single)

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        if self._multipart is None:
            self._sink.write(data)
            return
        from python_multipart.exceptions import FormParserError

        try:
            self._multipart.write(data)
        except FormParserError as error:
            raise FormatError(f"the body is no multipart/form-data: {error}") from None

    def close(self) -> list[str]:
        """Ends the body: the names of its files, in their order."""
        if self._multipart is None:
            self._sink.end()
        elif not self._ended:
            raise FormatError("the body ends before its last boundary: it was cut off")
        return self._names

    def _begin(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise FormatError("each part of the body needs a name of letters, digits and . _ -")
        if name in self._names:
            raise FormatError(f"the body has two parts {name!r}")
        if len(self._names) >= MAX_FILES:
            raise FormatError(f"the body has more than {MAX_FILES} parts")
        self._names.append(name)
        self._sink.begin(name)

    def _parser(self, content_type: str) -> MultipartParser:
        from python_multipart.multipart import MultipartParser, parse_options_header

        boundary = parse_options_header(content_type)[1].get(b"boundary")
        if not boundary:
            raise FormatError("multipart/form-data without a boundary")
        self._ended = False
        header, value = bytearray(), bytearray()
        disposition = b""

        def begin_part() -> None:
            nonlocal disposition
            disposition = b""

        def end_header() -> None:
            nonlocal disposition
            if bytes(header).lower() == b"content-disposition":
                disposition = bytes(value)
            header.clear()
            value.clear()

        def end_headers() -> None:
            name = parse_options_header(disposition)[1].get(b"name", b"")
            self._begin(name.decode("ascii", "replace"))

        def end() -> None:
            self._ended = True

        return MultipartParser(
            boundary,
            {
                "on_part_begin": begin_part,
                "on_header_field": lambda data, start, stop: header.extend(data[start:stop]),
                "on_header_value": lambda data, start, stop: value.extend(data[start:stop]),
                "on_header_end": end_header,
                "on_headers_finished": end_headers,
                "on_part_data": lambda data, start, stop: self._sink.write(data[start:stop]),
                "on_part_end": self._sink.end,
                "on_end": end,
            },
        )


def read_body(content_type: str | None, data: bytes, single: str) -> dict[str, bytes]:
    """The files of a whole body, by name. Raises FormatError."""
    memory = Memory()
    reader = BodyReader(content_type, memory, single)
    reader.feed(data)
    reader.close()
    return memory.files


def write_body(files: Mapping[str, bytes]) -> tuple[str, list[bytes]]:
    """The content type and the pieces of a body with these files: as it is if it is one."""
    if len(files) == 1:
        return OCTETS, list(files.values())
    boundary = secrets.token_hex(16)  # not in the files, but for a chance of 2^-128
    return f"multipart/form-data; boundary={boundary}", list(_pieces(files, boundary))


def _pieces(files: Mapping[str, bytes], boundary: str) -> Iterable[bytes]:
    for name, data in files.items():
        yield (
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
            f"Content-Type: {OCTETS}\r\n\r\n"
        ).encode()
        yield data
        yield b"\r\n"
    yield f"--{boundary}--\r\n".encode()
