"""What callers and files give: names, numbers, fields, missing values and sources, each at its edge."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from hemera import errors
from hemera._files import write_atomically
from hemera.inputs import encoding, fields
from hemera.inputs.arguments import _fits, as_extents, as_integer, described, did_you_mean
from hemera.inputs.operators import require_in_place
from hemera.inputs.source import read, read_bytes, write_bytes

from .refusals import raises, refuse


@pytest.mark.parametrize(
    ("name", "told"),
    [("Relu", "ReLU"), ("RELU", "ReLU"), ("gelU", "gelu"), ("Swsh", "Swish"), ("xyz", ""), ("", "")],
)
def test_names_are_suggested_as_they_are_written(name, told):
    found = did_you_mean(name, iter(["Swish", "ReLU", "gelu"]))
    assert found == (f". Did you mean {told!r}?" if told else "")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("x" * 40, f"the str {'x' * 40!r}"),
        ("x" * 41, "str"),
        (b"a", "the bytes b'a'"),
        (int, "the class int itself"),
        (1.5, "float"),
        (None, "NoneType"),
    ],
)
def test_values_in_errors(value, told):
    assert described(value) == told
    with pytest.raises(TypeError, match="f takes an integer as n, not ") as error:
        as_integer(value, "f", "n")
    assert str(error.value).endswith(told)


def test_extents():
    for given in ((2, 3), ([2, 3],), (np.array([2, 3]),), ((np.int8(2), 3),)):
        assert as_extents(given, "reshape") == [2, 3]
    assert as_extents((), "f") == as_extents(([],), "f") == []
    for wrong, told in (((2, 1.5), "float"), (([2, "a"],), "the str 'a'"), (([2], [3]), "list")):
        raises(TypeError, f"reshape takes integers as extents, not {told}", as_extents, wrong, "reshape")


@pytest.mark.parametrize(
    ("kind", "fits", "others"),
    [
        ("int", [1, True, np.int8(1)], [1.0, "1", None]),
        ("float", [1, 1.5, np.float32(1)], ["1", None, [1.0]]),
        ("str", ["a"], [b"a", 1]),
        ("bool", [True], [1, None]),
        ("None", [None], [0, False]),
        ("Sequence[int]", [[1, 2], (), "ab"], [[1, "a"], 5]),
        ("Keys", [type("Keys", (), {})()], [1, type("Other", (), {})()]),
        ("Unknown", [1, None], []),
    ],
)
def test_arguments_that_fit_their_annotation(kind, fits, others):
    assert [_fits(value, kind) for value in (*fits, *others)] == [True] * len(fits) + [False] * len(others)


@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "int64", "uint64", ">i4"])
def test_whole_numbers_keep_their_ends(kind):
    dtype = np.dtype(kind)
    ends = [0, 1] if kind == "bool" else [np.iinfo(dtype).min, min(np.iinfo(dtype).max, (1 << 63) - 1)]
    found = encoding.as_integers(np.array(ends, dtype)[::-1], "encode", "bfv")
    assert (found.dtype, found.tolist(), found.flags.c_contiguous) == (np.int64, ends[::-1], True)


def test_numbers_that_are_none():
    for low in (1 << 63, (1 << 64) - 1):
        with pytest.raises(errors.ParameterError, match=r"2\^63 and more"):
            encoding.as_integers(np.array([0, low], np.uint64), "encode", "bfv")
    for wrong in ([1.0], [1j]):
        raises(TypeError, "BGV computes with integers, not ", encoding.as_integers, wrong, "encode", "bgv")
    for wrong in ([], np.float64(1), np.zeros((2, 0))):
        raises(errors.MismatchError, "no values to encode", encoding.as_numbers, wrong, "encode")
    for wrong in (["a"], np.array(["2020-01-01"], "M8[D]")):
        raises(TypeError, "an array of numbers is needed", encoding.as_numbers, wrong, "encode")
    refuse((lambda: encoding.refuse_table(pd.DataFrame([[1]]), "encode"), TypeError, "a table is no array"))


def test_slots_are_filled_up_with_zeros():
    given = np.arange(6).reshape(2, 3)
    assert encoding.pad_slots(given, 3, "encode") is given
    assert encoding.pad_slots(given, 4, "encode").tolist() == [[0, 1, 2, 0], [3, 4, 5, 0]]
    raises(errors.MismatchError, "3 values do not fit in 2 slots", encoding.pad_slots, given, 2, "encode")
    assert [encoding.power_of_two(n) for n in (1, 2, 3, 4, 5, 8, 9, 1 << 20)] == [
        *(1, 2, 4, 4, 8, 8, 16, 1 << 20)
    ]
    out = np.zeros((2, 3))
    assert encoding.room_in(out, (2, 3)) is out
    raises(errors.MismatchError, r"\(2, 3\), and the values are of \(3, 2\)", encoding.room_in, out, (3, 2))
    out.flags.writeable = False
    refuse((lambda: encoding.room_in(out, (2, 3)), errors.ParameterError, "can not be written"))
    refuse((lambda: encoding.room_in([[0]], (1, 1)), TypeError, "out takes a NumPy array, not list"))


@pytest.mark.parametrize(
    ("given", "number"),
    [
        *((True, 1), (np.int8(-3), -3), (np.array(5, np.uint64), 5), (Fraction(1, 4), 0.25)),
        *((np.float32(0.5), 0.5), (2 + 1j, 2 + 1j), (np.complex64(1j), 1j), ([1], None)),
        *((np.array([1]), None), ("1", None), (None, None)),
    ],
)
def test_plain_numbers(given, number):
    found = encoding.as_number(given)
    assert (found, type(found)) == (number, type(number))


def test_pairs_hold_what_doubles_leave():
    """Sums of a double and of its rest, judged by fractions."""
    random = np.random.default_rng(1)
    values = [np.zeros(9, encoding.PAIR) for _ in range(2)]
    for each in values:
        each["value"] = random.normal(size=9)
        each["rest"] = random.normal(size=9) * 2.0**-60
    values[1]["value"] = values[0]["value"]
    exact = [[Fraction(v) + Fraction(r) for v, r in each.tolist()] for each in values]
    assert encoding.difference(*values).tolist() == [float(a - b) for a, b in zip(*exact, strict=True)]
    assert encoding.difference(np.array([3.0]), np.array([1])).tolist() == [2.0]
    assert encoding.as_pairs(values[0]).tolist() == values[0].tolist()
    for dtype, wide, kind in (
        ("f8", False, "f"),
        ("c16", False, "c"),
        ("i8", False, "i"),
        (encoding.PAIR, True, "f"),
        (encoding.COMPLEX_PAIR, True, "c"),
    ):
        assert (encoding.is_wide(np.dtype(dtype)), encoding.kind_of(np.dtype(dtype))) == (wide, kind)
    out = np.zeros(9, encoding.PAIR)
    encoding.joined(values[0]["value"], values[0]["rest"], out)
    assert out.tolist() == values[0].tolist()
    refuse((lambda: encoding.as_doubles(["a"], "encode"), TypeError, None))
    if np.finfo(np.longdouble).nmant > 52:
        long = np.longdouble(1) / 3 + np.arange(3)
        pairs = encoding.as_ckks_numbers(long, "encode", wide=True)
        assert (pairs["value"].astype(np.longdouble) + pairs["rest"] == long).all()
        assert encoding.as_ckks_numbers(long, "encode", wide=False).tolist() == long.astype(float).tolist()


@pytest.mark.parametrize(
    ("kind", "good", "wrong"),
    [
        (fields.Whole(2, 5), [2, 5], [1, 6, 2.0, True, "3", None]),
        (fields.Whole(), [0, (1 << 62) - 1], [-1, 1 << 62]),
        (fields.Real(-1.0, 2.0), [-1.0, 2.0], [-1.0001, 2.0001, 1, float("nan"), float("inf"), True]),
        (str, ["", "a"], [1, None, b"a"]),
        (bool, [True], [1, 0, None]),
    ],
)
def test_fields_have_their_kind_and_range(kind, good, wrong):
    for value in good:
        fields.require_fields({"n": value}, {"n": kind}, "a file")
    needed = {str: "str", bool: "bool"}.get(kind, "(an integer|a number) from .* to .*")
    for value in wrong:
        with pytest.raises(errors.FormatError, match=f"of a file has n = .*, where {needed} is needed"):
            fields.require_fields({"n": value}, {"n": kind}, "a file")
    for other in ({}, {"m": good[0]}, {"n": good[0], "m": 1}, [], None):
        raises(errors.FormatError, "other fields", fields.require_fields, other, {"n": kind}, "a file")


def test_what_damaged_files_raise():
    assert fields.read_json(b'{"a": [1]}', "told") == {"a": [1]}
    for damaged in (b"", b"{", b"\xff", b"[" * 100_000, json.dumps("x").encode()[:-1]):
        raises(errors.FormatError, r"^told: ", fields.read_json, damaged, "told")
    for raised in (KeyError("a"), RecursionError(), OverflowError(), errors.ParameterError("a"), TypeError()):
        with pytest.raises(errors.FormatError, match="a thing is damaged"), fields.damaged("a thing"):
            raise raised
    for kept in (errors.OutOfMemoryError("a"), errors.FileError("a"), errors.DeviceError("a"), OSError()):
        with pytest.raises(type(kept)), fields.damaged("a thing"):
            raise kept
    with pytest.raises(errors.LevelError), fields.damaged("a thing", errors.LevelError):
        raise errors.LevelError("a")
    for size, limit, allowed in ((10, 0, 1280), (10, 1280, 1280), (10, 1281, 1281), (0, 7, 7)):
        fields.require_memory(allowed, size, limit, "a model", "give limit=")
        with pytest.raises(errors.FormatError, match=f"{allowed + 1} bytes of memory, and {allowed} are"):
            fields.require_memory(allowed + 1, size, limit, "a model", "give limit=")


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "file"
    for data in (b"first", b"", b"second"):
        write_bytes(path, data)
        assert [each.name for each in tmp_path.iterdir()] == ["file"]
        for source in (path, str(path), data, bytearray(data), memoryview(data)):
            assert read_bytes(source) == data
    assert read(b"a", len, lambda _: -1) == 1
    assert read(path, len, lambda name: name) == str(path).encode()
    with pytest.raises(TypeError, match="takes bytes or the path of a file, not int"):
        read(5, len, len)

    def full(*_):
        raise OSError(28, "No space left on device")

    for what in ("os.fsync", "pathlib.Path.replace"):
        with monkeypatch.context() as patch:
            patch.setattr(what, full)
            raises(errors.FileError, f"cannot write {path}: No space left", write_bytes, path, b"third")
        assert [each.name for each in tmp_path.iterdir()] == ["file"]
        assert path.read_bytes() == b"second"
    with pytest.raises(errors.FileError, match=r"cannot read .*missing: No such file or directory$"):
        read_bytes(tmp_path / "missing")


@pytest.mark.parametrize("write", [write_bytes, write_atomically])
@pytest.mark.parametrize("name", ["file/below", "file/below/it", "folder", "x" * 256, "\udc80" * 256])
def test_places_where_no_file_can_be(write, name, tmp_path):
    """Nor a hidden neighbour: the error is that of the file, and nothing is left or lost."""
    (tmp_path / "folder").mkdir()
    for kept in ("file", "folder/in it"):
        (tmp_path / kept).write_bytes(b"kept")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError) as native:  # noqa: PT011
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(errors.FileError, match="cannot write ") as error:
        write(tmp_path / name, b"new")
    assert str(error.value).startswith(f"cannot write {tmp_path / name}: ")
    told = str(error.value).removesuffix(", of 256 bytes; most systems take 255")
    assert told.endswith((f": {native.value.strerror}", ": File exists"))
    assert sorted(tmp_path.rglob("*")) == before
    assert all((tmp_path / kept).read_bytes() == b"kept" for kept in ("file", "folder/in it"))


@pytest.mark.parametrize(
    ("dtype", "shape", "shared", "error"),
    [
        ("f4", (2,), False, None),
        ("f8", (2,), False, None),
        ("i8", (2,), False, None),
        ("c16", (2,), False, TypeError),
        ("f8", (1,), False, errors.MismatchError),
        ("f8", (2, 2), False, errors.MismatchError),
        ("f8", (2,), True, TypeError),
    ],
)
def test_arrays_are_changed_in_place_as_numpy_does(dtype, shape, shared, error):
    array, found = np.zeros(2), np.ones(shape, dtype)
    if error is None:
        require_in_place(array, found, "*", is_shared=shared)
        array *= found
        return
    raises(error, r"^\*=.*: write y = y \* x$", require_in_place, array, found, "*", is_shared=shared)
