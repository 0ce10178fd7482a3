"""Bodies: one file, or several as multipart/form-data, in pieces of any size."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemera import errors
from hemera.client.wire import BodyReader, Memory, read_body, write_body

from ..refusals import raises

BINARY = bytes(range(256)) * 3 + b"\r\n--\r\n\r\n--boundary"


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
@pytest.mark.parametrize(
    "files", [{"x": BINARY}, {"x": BINARY, "y": b"", "z.1": b"\r\n"}], ids=["one", "several"]
)
def test_what_was_written_is_read(files: dict[str, bytes], size: int) -> None:
    kind, pieces = write_body(files)
    body = b"".join(pieces)
    memory = Memory()
    reader = BodyReader(kind, memory, "x")
    for begin in range(0, len(body), size):
        reader.feed(body[begin : begin + size])
    assert reader.close() == list(files)
    assert memory.files == files


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda body: body[:-8], "cut off"),
        (lambda body: body.replace(b'name="y"', b'name="x"'), "two parts"),
        (lambda body: body.replace(b'name="y"', b'name="../y"'), "needs a name"),
        (lambda body: body.replace(b'name="y"', b'name=""'), "needs a name"),
        (lambda body: body.replace(b"Content-Disposition", b"Content-Nothing"), "needs a name"),
        (lambda body: b"rubbish" + body, "no multipart"),
        (lambda body: b"", "cut off"),  # noqa: ARG005
    ],
)
def test_damaged_bodies_are_refused(change, message: str) -> None:  # type: ignore[no-untyped-def]
    kind, pieces = write_body({"x": b"1", "y": b"2"})
    raises(errors.FormatError, message, read_body, kind, change(b"".join(pieces)), "x")


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('Content-Disposition: form-data; name="z.1"', "z.1"),
        ('content-disposition: form-data; name="z.1"', "z.1"),
        ('CONTENT-DISPOSITION: form-data; name="z.1"; filename="other"', "z.1"),
        ("Content-Type: text/plain\r\ncontent-disposition: form-data; name=z.1", "z.1"),
        ('Content-Disposition: form-data; name="z.1"\r\nX-Name: form-data; name="other"', "z.1"),
        ('X-Content-Disposition: form-data; name="z.1"', None),
        ('X-Name: form-data; name="z.1"; \r\nContent-Disposition: form-data; filename="a"', None),
        ('Content-Disposition: form-data; filename="z.1"', None),
        (f'Content-Disposition: form-data; name="{"z" * 64}"', "z" * 64),
        (f'Content-Disposition: form-data; name="{"z" * 65}"', None),
    ],
)
def test_names_of_parts_however_headers_are_written(header: str, name: str | None) -> None:
    first = '--b\r\nContent-Disposition: form-data; name="first"\r\n\r\n1\r\n'
    body = f"{first}--b\r\n{header}\r\n\r\n2\r\n--b--\r\n".encode()
    for kind in ("multipart/form-data; boundary=b", 'Multipart/Form-Data ; boundary="b"; charset=x'):
        if name is None:
            raises(errors.FormatError, "needs a name", read_body, kind, body, "x")
        else:
            assert read_body(kind, body, "x") == {"first": b"1", name: b"2"}
    assert read_body(None, body, "x") == {"x": body}


@given(st.binary(max_size=300), st.integers(1, 50))
def test_any_bytes_are_files_or_a_format_error(data: bytes, size: int) -> None:
    reader = BodyReader("multipart/form-data; boundary=b", Memory(), "x")
    body = b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n' + data
    with contextlib.suppress(errors.FormatError):
        for begin in range(0, len(body), size):
            reader.feed(body[begin : begin + size])
        reader.close()


def test_no_boundary_and_too_many_parts_are_refused() -> None:
    raises(errors.FormatError, "without a boundary", read_body, "multipart/form-data", b"", "x")
    kind, pieces = write_body({f"x{at}": b"" for at in range(64)})
    assert len(read_body(kind, b"".join(pieces), "x")) == 64
    kind, pieces = write_body({f"x{at}": b"" for at in range(65)})
    raises(errors.FormatError, "more than 64", read_body, kind, b"".join(pieces), "x")
