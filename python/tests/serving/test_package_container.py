"""The file of a packaged model: its arrays, limits, and the memory that small files take."""

import copy
import hashlib
import tracemalloc
import zlib

import numpy as np
import pytest

import hemera as hm
from hemera import serving
from hemera.package import container
from hemera.program import program

from ..limited_memory import run_within
from ..refusals import raises
from .operation_cases import SLOTS as WIDTH
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
def test_numbers_come_back_and_whole_ones_are_narrow(values, kind):
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
def test_arrays_of_the_same_numbers_have_their_own_shapes_and_types(kind):
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


def test_no_more_of_a_stream_is_read_than_the_limit_and_one_byte():
    asked = []

    class Stream:
        def read(self, count):
            asked.append(count)
            return bytes(count) if sum(asked) < 9 << 20 else b""

    limit = (2 << 20) + 7
    raises(hm.errors.FormatError, f"more than {limit} bytes", container.read_all, Stream(), limit)
    assert (sum(asked), max(asked)) == (limit + 1, 1 << 20)


def test_a_file_begins_as_one(tmp_path):
    path = tmp_path / "file"
    for data, is_model in ((container.MAGIC, True), (container.MAGIC[:-1], False), (b"x" * 16, False)):
        path.write_bytes(data)
        assert container.is_model(str(path)) == is_model
    assert not container.is_model(str(tmp_path))
    assert not container.is_model(str(tmp_path / "missing"))


def compressed_array(expanded, shape, stored=None):
    """A file of version 2 whose one array is these bytes, compressed."""
    block = zlib.compress(expanded, 9)
    header = {
        "version": 2,
        "arrays": [["<i1", shape, len(block) if stored is None else stored]],
        "order": [0],
        "content": {},
    }
    return joined(header, block)


def test_no_file_is_written_that_could_not_be_read(tmp_path, monkeypatch):
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
        raises(hm.errors.FormatError, "", container.read, data)
        with pytest.raises(hm.errors.ParameterError, match=f"{least} bytes.* at most {limit} are read"):
            container.require_readable(data, arrays)
    params = hm.ckks.Parameters.for_circuit(2, slots=4096)
    package = hm.compile(lambda x: x * repeated[:4096], hm.ArraySpec((4096,), (-1, 1)), params=params).package
    monkeypatch.setattr(container, "MAX_BYTES", len(bytes(package)) - 1)
    raises(hm.errors.ParameterError, "fewer samples", package.save, tmp_path / "large")
    assert not list(tmp_path.iterdir())


def test_arrays_are_compressed():
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
def test_hostile_compression(expanded, shape, stored):
    tracemalloc.start()
    try:
        with pytest.raises(hm.errors.FormatError):
            np.asarray(container.read(compressed_array(expanded, shape, stored))[1][0])
        if len(expanded) == 1 << 24:
            assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_damaged_compression():
    header = {"version": 2, "arrays": [["<i1", [100], 10]], "order": [0], "content": {}}
    raises(hm.errors.FormatError, "", np.asarray, container.read(joined(header, b"0123456789"))[1][0])


def test_versions():
    arrays = [["<i1", [3]]]
    old = {"version": 1, "arrays": arrays, "order": [0], "content": {}}
    np.testing.assert_array_equal(container.read(joined(old, b"\1\2\3"))[1][0], [1, 2, 3])
    raises(hm.errors.FormatError, "newer", container.read, joined({**old, "version": 3}, b"\1\2\3"))


def test_headers_have_a_limit_of_values(monkeypatch):
    """Values count by commas and brackets, before they become objects."""
    for more, told in ((0, "damaged"), (1, f"{container.MAX_VALUES + 1} values")):
        values = container.MAX_VALUES - 2 + more  # beside the brackets
        raises(hm.errors.FormatError, told, container.read, joined(b'{"a":[0' + b",0" * values + b"]}", b""))
    # {"version": 2, "arrays": [["<i1", [5], 5]], "order": [0], "content": {"a": [1, {}]}}: 6 commas, and 8
    # opening brackets.
    arrays = [np.arange(5)]
    data = container.write({"a": [1, {}]}, arrays)
    monkeypatch.setattr(container, "MAX_VALUES", 14)
    container.require_readable(data, arrays)
    assert container.read(data)[0] == {"a": [1, {}]}
    monkeypatch.setattr(container, "MAX_VALUES", 13)
    raises(hm.errors.ParameterError, "14 values in its header", container.require_readable, data, arrays)
    raises(hm.errors.FormatError, "14 values", container.read, data)


SLOTS = 4096
BATCH = (1 << 15) + 1
INPUTS = [serving.InputSpec(name, WIDTH, low=-1) for name in "xy"]
LOAD = "package = hm.serving.Package.load(sys.argv[1]); print('loaded', len(package.program.nodes))"


def bomb(operations, batch, *, arrays=1, unused=0):
    """A model of products of its input with arrays of zeros, int8 of shape (batch, SLOTS), that several
    operations take; and beside them an array of so many bytes that none takes."""
    simple = hm.serving.export(
        lambda x: x * np.arange(1, SLOTS + 1.0), inputs=SLOTS, name="bomb", security=None
    )
    header, _ = parts(bytes(simple))
    recorded = header["content"]["program"]
    one = recorded["nodes"][0]
    recorded["nodes"] = [
        {**copy.deepcopy(one), "operands": [0], "values": {"array": at % arrays}} for at in range(operations)
    ]
    for each in (
        recorded["inputs"][0],
        *(header["content"]["interface"][k][0] for k in ("inputs", "outputs")),
    ):
        each["shape"] = [batch]
    sizes = [*[[batch, SLOTS]] * arrays, *([[unused]] if unused else [])]
    blocks = [zlib.compress(bytes(int(np.prod(shape))), 9) for shape in sizes]
    header["arrays"] = [["<i1", shape, len(block)] for shape, block in zip(sizes, blocks, strict=True)]
    header["order"] = list(range(len(sizes)))
    return joined(header, b"".join(blocks))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "bomb.hemera-model"


def test_operations_share_an_array_of_the_file(path):
    path.write_bytes(bomb(500, 16))  # 512 KiB as float64, each
    assert len(path.read_bytes()) < 1 << 17
    assert run_within(64, LOAD, str(path)) == "loaded 500"
    program = hm.serving.Package.load(path).program
    arrays = [node.operation.values for node in program.nodes]
    assert all(each is arrays[0] for each in arrays)
    assert arrays[0].dtype == np.float64
    assert not arrays[0].flags.writeable


def test_inspect_takes_no_more(path):
    path.write_bytes(bomb(500, 16))
    code = "from hemera.cli import main; main(['inspect', sys.argv[1]])"
    assert "500 multiply by array" in run_within(256, code, str(path))


def test_an_array_that_nothing_names(path):
    path.write_bytes(bomb(1, 1, unused=1 << 27))
    assert run_within(64, LOAD, str(path)) == "FormatError: a program with 1 arrays that nothing names"
    data = path.read_bytes().replace(b'"order": [0, 1]', b'"order": [0, 0]')
    path.write_bytes(data[:-32] + hashlib.sha256(data[:-32]).digest())
    assert run_within(64, LOAD, str(path)) == "FormatError: the model has arrays that nothing names"


def test_arrays_beyond_the_limit_are_not_made(path):
    path.write_bytes(bomb(1, BATCH))  # 128 MiB as int8, and more than 1 GiB as float64
    told = run_within(64, LOAD, str(path))
    assert told.startswith("FormatError")
    assert f"{BATCH * SLOTS * 8} bytes" in told
    assert "smaller arrays" in told


def test_the_last_array_that_is_taken_and_the_first_that_is_not(monkeypatch):
    data = bomb(2, 16, arrays=2)
    size = 2 * 16 * SLOTS * 8
    monkeypatch.setattr(container, "MAX_BYTES", size)
    assert len(hm.serving.Package.load(data).program.nodes) == 2
    monkeypatch.setattr(container, "MAX_BYTES", size - 1)
    with pytest.raises(
        hm.errors.FormatError, match=f"takes {size // 2} bytes.* {size // 2}: .* may take {size - 1}"
    ):
        hm.serving.Package.load(data)


def test_the_limit_grows_with_the_file():
    """Numbers that do not compress are taken however many they are: int8 has 8 bytes as float64."""
    assert container.memory_limit(1) == container.MAX_BYTES
    assert container.memory_limit(container.MAX_BYTES // 8) == container.MAX_BYTES
    assert container.memory_limit(container.MAX_BYTES // 8 + 1) == container.MAX_BYTES + 8


def test_a_small_file_reserves_little_memory(path):
    path.write_bytes(bomb(1, 1))
    assert run_within(24, LOAD, str(path)) == "loaded 1"
    stream = "print(len(hm.serving.Package.load(open(sys.argv[1], 'rb')).program.nodes))"
    assert run_within(24, stream, str(path)) == "1"


def test_files_up_to_the_limit_are_read(tmp_path):
    path = tmp_path / "bytes"
    for size in (0, 1, 1 << 20, (1 << 21) + 5):
        data = np.random.default_rng(size).bytes(size)
        path.write_bytes(data)
        for limit in (size, size + 1):
            assert container.read_all(path, limit) == data
            with path.open("rb") as stream:
                assert container.read_all(stream, limit) == data
        for source in (path, data):
            if size:
                with pytest.raises(hm.errors.FormatError, match=f"more than {size - 1} bytes"):
                    container.read_all(source, size - 1)


def planned(nodes, shapes):
    """A model of operations on its input, with arrays of zeros of these types and shapes."""
    header, _ = parts(bomb(1, 1))
    header["content"]["program"]["nodes"] = [{**node, "operands": [0]} for node in nodes]
    blocks = [zlib.compress(bytes(int(np.prod(shape)) * int(kind[-1])), 9) for kind, shape in shapes]
    header["arrays"] = [
        [kind, shape, len(block)] for (kind, shape), block in zip(shapes, blocks, strict=True)
    ]
    header["order"] = list(range(len(shapes)))
    return joined(header, b"".join(blocks))


def map_of(numbers, baby_steps):
    own = {"numbers": list(range(numbers)), "values": {"array": 0}, "places": {"array": 1}, "samples": 1}
    return {"operation": "map", **own, "baby_steps": baby_steps, "own_keys": False}


def test_plans_are_announced(path, monkeypatch):
    shapes = [("<f8", [64]), ("<i1", [1024, 1])]
    path.write_bytes(planned([map_of(1024, 64 + at) for at in range(80)], shapes))
    assert len(path.read_bytes()) < 1 << 20
    told = run_within(96, LOAD, str(path))
    assert told.startswith("FormatError")
    assert "bytes of memory, and 4294967296 are allowed" in told
    # Equal ones have one plan: 16 bytes for each slot and diagonal.
    one, two = planned([map_of(1024, 64)] * 3, shapes), planned([map_of(1024, 64), map_of(1024, 65)], shapes)
    size = 16 * 1024 * SLOTS
    monkeypatch.setattr(program, "PLAN_BYTES", size)
    assert len(hm.serving.Package.load(one).program.nodes) == 3
    raises(hm.errors.FormatError, f"would take {2 * size} bytes", hm.serving.Package.load, two)
    monkeypatch.setattr(program, "PLAN_BYTES", 2 * size)
    assert len(hm.serving.Package.load(two).program.nodes) == 2


def test_polynomials_for_each_slot_are_made_when_they_are_planned(path):
    own = {"coefficients": {"array": 0}, "basis": "power", "low": -1.0, "high": 1.0, "per_slot": True}
    node = {"operation": "polynomial", **own, "error": 0.1, "title": "x"}
    path.write_bytes(planned([node] * 20, [("<i1", [50, SLOTS])]))
    assert run_within(96, LOAD, str(path)) == "loaded 20"
