"""The memory that small files of packaged models take: limits are the operating system's, in a child."""

from __future__ import annotations

import copy
import hashlib
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera import serving
from hemera.package import container
from hemera.program import program
from hemera.program.stored_arrays import StoredArray

from ..limited_memory import run_within
from .operation_cases import CKKS
from .operation_cases import SLOTS as WIDTH
from .package_bytes import joined, parts

SLOTS = 4096
BATCH = (1 << 15) + 1
INPUTS = [serving.InputSpec(name, WIDTH, low=-1) for name in "xy"]
LOAD = "package = hm.serving.Package.load(sys.argv[1]); print('loaded', len(package.program.nodes))"


def bomb(operations: int, batch: int, *, arrays: int = 1, unused: int = 0) -> bytes:
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
def path(tmp_path: Path) -> Path:
    return tmp_path / "bomb.hemera-model"


def test_operations_share_an_array_of_the_file(path: Path) -> None:
    path.write_bytes(bomb(500, 16))  # 512 KiB as float64, each
    assert len(path.read_bytes()) < 1 << 17
    assert run_within(64, LOAD, str(path)) == "loaded 500"
    program = hm.serving.Package.load(path).program
    arrays = [node.operation.values for node in program.nodes]  # type: ignore[attr-defined]
    assert all(each is arrays[0] for each in arrays)
    assert arrays[0].dtype == np.float64
    assert not arrays[0].flags.writeable


def test_inspect_takes_no_more(path: Path) -> None:
    path.write_bytes(bomb(500, 16))
    code = "from hemera.cli import main; main(['inspect', sys.argv[1]])"
    assert "500 multiply by array" in run_within(256, code, str(path))


def test_an_array_that_nothing_names(path: Path) -> None:
    path.write_bytes(bomb(1, 1, unused=1 << 27))
    assert run_within(64, LOAD, str(path)) == "FormatError: a program with 1 arrays that nothing names"
    data = path.read_bytes().replace(b'"order": [0, 1]', b'"order": [0, 0]')
    path.write_bytes(data[:-32] + hashlib.sha256(data[:-32]).digest())
    assert run_within(64, LOAD, str(path)) == "FormatError: the model has arrays that nothing names"


def test_arrays_beyond_the_limit_are_not_made(path: Path) -> None:
    path.write_bytes(bomb(1, BATCH))  # 128 MiB as int8, and more than 1 GiB as float64
    told = run_within(64, LOAD, str(path))
    assert told.startswith("FormatError")
    assert f"{BATCH * SLOTS * 8} bytes" in told
    assert "smaller arrays" in told


def test_the_last_array_that_is_taken_and_the_first_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bomb(2, 16, arrays=2)
    size = 2 * 16 * SLOTS * 8
    monkeypatch.setattr(container, "MAX_BYTES", size)
    assert len(hm.serving.Package.load(data).program.nodes) == 2
    monkeypatch.setattr(container, "MAX_BYTES", size - 1)
    with pytest.raises(
        hm.errors.FormatError, match=f"takes {size // 2} bytes.* {size // 2}: .* may take {size - 1}"
    ):
        hm.serving.Package.load(data)


def test_the_limit_grows_with_the_file() -> None:
    """Numbers that do not compress are taken however many they are: int8 has 8 bytes as float64."""
    assert container.memory_limit(1) == container.MAX_BYTES
    assert container.memory_limit(container.MAX_BYTES // 8) == container.MAX_BYTES
    assert container.memory_limit(container.MAX_BYTES // 8 + 1) == container.MAX_BYTES + 8


def test_a_small_file_reserves_little_memory(path: Path) -> None:
    path.write_bytes(bomb(1, 1))
    assert run_within(24, LOAD, str(path)) == "loaded 1"
    stream = "print(len(hm.serving.Package.load(open(sys.argv[1], 'rb')).program.nodes))"
    assert run_within(24, stream, str(path)) == "1"


def test_files_up_to_the_limit_are_read(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("name", CKKS)
def test_operations_keep_arrays_of_numpy(name: str) -> None:
    """None keeps what a file has in the place of an array."""
    package = serving.export(CKKS[name], inputs=INPUTS, name="some", security=None)
    for node in serving.Package.load(bytes(package)).program.nodes:
        for value in vars(node.operation).values():
            assert not isinstance(value, StoredArray)


def planned(nodes: list[dict[str, Any]], shapes: list[tuple[str, list[int]]]) -> bytes:
    """A model of operations on its input, with arrays of zeros of these types and shapes."""
    header, _ = parts(bomb(1, 1))
    header["content"]["program"]["nodes"] = [{**node, "operands": [0]} for node in nodes]
    blocks = [zlib.compress(bytes(int(np.prod(shape)) * int(kind[-1])), 9) for kind, shape in shapes]
    header["arrays"] = [
        [kind, shape, len(block)] for (kind, shape), block in zip(shapes, blocks, strict=True)
    ]
    header["order"] = list(range(len(shapes)))
    return joined(header, b"".join(blocks))


def map_of(numbers: int, baby_steps: int) -> dict[str, Any]:
    own = {"numbers": list(range(numbers)), "values": {"array": 0}, "places": {"array": 1}, "samples": 1}
    return {"operation": "map", **own, "baby_steps": baby_steps, "own_keys": False}


def test_plans_are_announced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    with pytest.raises(hm.errors.FormatError, match=f"would take {2 * size} bytes"):
        hm.serving.Package.load(two)
    monkeypatch.setattr(program, "PLAN_BYTES", 2 * size)
    assert len(hm.serving.Package.load(two).program.nodes) == 2


def test_polynomials_for_each_slot_are_made_when_they_are_planned(path: Path) -> None:
    own = {"coefficients": {"array": 0}, "basis": "power", "low": -1.0, "high": 1.0, "per_slot": True}
    node = {"operation": "polynomial", **own, "error": 0.1, "title": "x"}
    path.write_bytes(planned([node] * 20, [("<i1", [50, SLOTS])]))
    assert run_within(96, LOAD, str(path)) == "loaded 20"
