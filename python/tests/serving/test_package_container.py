"""The file of a packaged model: arrays as they were, each once, in as few bytes as they fit; and limits."""

from __future__ import annotations

import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.package import container

from .package_bytes import joined, parts


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 127], "<i1"),
        ([-128, 127], "<i1"),
        ([128], "<i2"),
        ([-129], "<i2"),
        ([-(1 << 15), (1 << 15) - 1], "<i2"),
        ([1 << 15], "<i4"),
        ([-(1 << 15) - 1], "<i4"),
        ([-(1 << 31), (1 << 31) - 1], "<i4"),
        ([1 << 31], "<i8"),
        ([-(1 << 31) - 1], "<i8"),
        ([-(1 << 63), (1 << 63) - 1], "<i8"),
        ([1, 1 << 40, -3], "<i8"),
        ([0.1, -0.0, 1e300, 5e-324], "<f8"),
        ([1.0, 2.0], "<f8"),
        ([1 + 2j, -0.5j], "<c16"),
    ],
)
def test_numbers_come_back_and_whole_ones_are_narrow(values: list[Any], kind: str) -> None:
    given = np.array(values, None if isinstance(values[0], (float, complex)) else np.int64)
    data = container.write({}, [given, given.astype(given.dtype.newbyteorder(">"))])
    header, _ = parts(data)
    assert [each[0] for each in header["arrays"]] == [kind]
    for found in container.read(data)[1]:
        array = np.asarray(found)
        assert (array.dtype.kind, array.shape) == (given.dtype.kind, given.shape)
        assert array.astype(given.dtype).tobytes() == given.tobytes()


SHAPES = [(8,), (2, 4), (4, 2), (8, 1), (1, 8), (2, 2, 2), (16,)]


@pytest.mark.parametrize("kind", [np.int64, np.float64, np.complex128])
def test_arrays_of_the_same_numbers_have_their_own_shapes_and_types(kind: type) -> None:
    given = [np.zeros(shape, kind) for shape in SHAPES] + [np.zeros(8, np.int64), np.zeros(8, np.float64)]
    given += [np.asfortranarray(np.arange(8).reshape(2, 4)), np.arange(8).reshape(2, 4)[:, ::-1]]
    given += [each.copy() for each in given]
    data = container.write({"a": 1}, given)
    content, found = container.read(data)
    assert content == {"a": 1}
    assert [each.shape for each in map(np.asarray, found)] == [each.shape for each in given]
    for one, other in zip(found, given, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype.kind == other.dtype.kind
    kinds = 1 + (kind is not np.int64) + (kind is not np.float64)
    assert len(parts(data)[0]["arrays"]) == len(SHAPES) - 1 + kinds + 2  # each once


def test_no_more_of_a_stream_is_read_than_the_limit_and_one_byte() -> None:
    asked: list[int] = []

    class Stream:
        def read(self, count: int) -> bytes:
            asked.append(count)
            return bytes(count) if sum(asked) < 9 << 20 else b""

    limit = (2 << 20) + 7
    with pytest.raises(hm.errors.FormatError, match=f"more than {limit} bytes"):
        container.read_all(Stream(), limit)  # type: ignore[arg-type]
    assert (sum(asked), max(asked)) == (limit + 1, 1 << 20)


def test_a_file_begins_as_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for data, is_model in ((container.MAGIC, True), (container.MAGIC[:-1], False), (b"x" * 16, False)):
        path.write_bytes(data)
        assert container.is_model(str(path)) == is_model
    assert not container.is_model(str(tmp_path))
    assert not container.is_model(str(tmp_path / "missing"))


def compressed_array(expanded: bytes, shape: list[int], stored: int | None = None) -> bytes:
    """A file of version 2 whose one array is these bytes, compressed."""
    block = zlib.compress(expanded, 9)
    header = {
        "version": 2,
        "arrays": [["<i1", shape, len(block) if stored is None else stored]],
        "order": [0],
        "content": {},
    }
    return joined(header, block)


def test_no_file_is_written_that_could_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repeated = np.tile(np.arange(100.0) / 3, 1000)  # packs well
    arrays = [repeated, np.ones(5), repeated]
    data = container.write({}, arrays)
    least = repeated.nbytes + 40  # what stands twice is kept once
    for limit in (least - 1, least):
        monkeypatch.setattr(container, "MAX_BYTES", limit)
        if limit == least:
            container.require_readable(data, arrays)
            np.testing.assert_array_equal(container.read(data)[1][2], repeated)
            continue
        with pytest.raises(hm.errors.FormatError):
            container.read(data)
        with pytest.raises(hm.errors.ParameterError, match=f"{least} bytes.* at most {limit} are read"):
            container.require_readable(data, arrays)
    params = hm.ckks.Parameters.for_circuit(2, slots=4096)
    package = hm.compile(lambda x: x * repeated[:4096], hm.ArraySpec((4096,), (-1, 1)), params=params).package
    monkeypatch.setattr(container, "MAX_BYTES", len(bytes(package)) - 1)
    with pytest.raises(hm.errors.ParameterError, match="fewer samples"):
        package.save(tmp_path / "large")
    assert not list(tmp_path.iterdir())


def test_arrays_are_compressed() -> None:
    content, arrays = container.read(compressed_array(bytes(1000), [10, 100]))
    assert content == {}
    np.testing.assert_array_equal(arrays[0], np.zeros((10, 100)))
    repeated = np.tile(np.arange(100.0), 1000)
    data = container.write({}, [repeated])
    assert len(data) < repeated.nbytes / 50
    np.testing.assert_array_equal(container.read(data)[1][0], repeated)
    random = np.random.default_rng(4).normal(size=1000)
    np.testing.assert_array_equal(container.read(container.write({}, [random]))[1][0], random)


@pytest.mark.parametrize(
    ("expanded", "shape", "stored"),
    [
        (bytes(1000), [999], None),  # more than the shape
        (bytes(1000), [1001], None),  # less
        (bytes(1000), [1000], 5),  # cut off
        (bytes(1000), [1000], 0),
        (bytes(1000), [1000], -1),
        (bytes(1000), [1000], 10**9),
        (bytes(1000), [1 << 30, 2], None),  # arrays beyond the limit
        (bytes(1 << 24), [1 << 12], None),  # a bomb
    ],
)
def test_hostile_compression(expanded: bytes, shape: list[int], stored: int | None) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(hm.errors.FormatError):
            np.asarray(container.read(compressed_array(expanded, shape, stored))[1][0])
        if len(expanded) == 1 << 24:
            assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_damaged_compression() -> None:
    header = {"version": 2, "arrays": [["<i1", [100], 10]], "order": [0], "content": {}}
    with pytest.raises(hm.errors.FormatError):
        np.asarray(container.read(joined(header, b"0123456789"))[1][0])


def test_versions() -> None:
    arrays = [["<i1", [3]]]
    old = {"version": 1, "arrays": arrays, "order": [0], "content": {}}
    np.testing.assert_array_equal(container.read(joined(old, b"\1\2\3"))[1][0], [1, 2, 3])
    with pytest.raises(hm.errors.FormatError, match="newer"):
        container.read(joined({**old, "version": 3}, b"\1\2\3"))


def test_headers_have_a_limit_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values count by commas and brackets, before they become objects."""
    for more, told in ((0, "damaged"), (1, f"{container.MAX_VALUES + 1} values")):
        values = container.MAX_VALUES - 2 + more  # beside the brackets
        with pytest.raises(hm.errors.FormatError, match=told):
            container.read(joined(b'{"a":[0' + b",0" * values + b"]}", b""))
    # {"version": 2, "arrays": [["<i1", [5], 5]], "order": [0], "content": {"a": [1, {}]}}: 6 commas, and 8
    # opening brackets.
    arrays = [np.arange(5)]
    data = container.write({"a": [1, {}]}, arrays)
    monkeypatch.setattr(container, "MAX_VALUES", 14)
    container.require_readable(data, arrays)
    assert container.read(data)[0] == {"a": [1, {}]}
    monkeypatch.setattr(container, "MAX_VALUES", 13)
    with pytest.raises(hm.errors.ParameterError, match="14 values in its header"):
        container.require_readable(data, arrays)
    with pytest.raises(hm.errors.FormatError, match="14 values"):
        container.read(data)
