"""From a client's rows to what is encrypted, and what warnings tell: by NumPy and by hand."""

import re
import warnings

import numpy as np
import pytest

from hemera.arrays.layout import Layout
from hemera.errors import FormatError, HemeraWarning, MismatchError, ParameterError, RangeWarning
from hemera.inputs.fields import damaged
from hemera.package.encodings import (
    Arrays,
    Scaling,
    Table,
    Vectors,
    chunked,
    column_ranges,
    encoding_from_data,
)
from hemera.package.encodings.base import arrays_by_name, require_columns, require_range
from hemera.package.encodings.watching import rows_text, tell_rows
from hemera.package.finishing import Method
from hemera.package.specs import InputSpec, Labels, OutputSpec

from ..refusals import raises


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        # A value of column 0 is for 8 to 12, of column 1 for -1 to 5.
        ([[12, 5], [8, -1]], ""),
        ([[12 + 1e-9, 5]], ""),  # rounding
        ([[12.5, 0]], "1 of 1 rows are clipped|column 0 (a) has 12.5, and the model is for 8 to 12"),
        # The farthest from the middle, not the largest.
        ([[13, 0], [5, 0], [9, 9]], "3 of 3 rows|column 0 (a) has 5,|column 1 (b) has 9,|-1 to 5"),
        ([[10, -4], [10, 7]], "2 of 2 rows|column 1 (b) has -4, and the model is for -1 to 5"),
        ([[10, 2], [0, 100]], "1 of 2 rows|column 0 (a) has 0,|column 1 (b) has 100,"),
    ],
)
def test_rows_beyond_their_range(rows, told):
    scaling = Scaling((10.0, 2.0), (1.0, 1.5), 2.0, ("a", "b"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = scaling(rows)
        assert Scaling(*vars(scaling).values())(rows).tolist() == found.tolist()
        quiet = len(caught)
        Scaling((10.0, 2.0), (1.0, 1.5), 2.0, saturates=True)(rows)
        assert len(caught) == quiet
    wanted = np.clip((np.array(rows, float) - [10, 2]) / [1, 1.5], -2, 2)
    np.testing.assert_allclose(found, wanted)
    assert [each.category for each in caught] == [HemeraWarning] * (2 * bool(told))
    for part in filter(None, told.split("|")):
        assert part in str(caught[0].message)


def test_a_warning_names_three_columns():
    with pytest.warns(HemeraWarning, match=r"column 0 has 2.*column 2 has 2.*; 2 more columns"):
        Scaling((0.0,) * 5, (1.0,) * 5, 1.0)(np.full((1, 5), 2.0))
    with pytest.warns(HemeraWarning) as caught:
        Scaling((0.0,) * 3, (1.0,) * 3, 1.0)(np.full((1, 3), 2.0))
    assert "more columns" not in str(caught[0].message)


@pytest.mark.parametrize(
    ("rows", "low", "high", "told"),
    [
        ([1.0, 2.0], 1.0, 2.0, None),
        ([1.0, 2.0 + 2.0**-20], 1.0, 2.0, None),  # noise at the end
        ([1.0, 2.0 + 2.0**-18], 1.0, 2.0, "row 1 of 2 leaves the range from 1 to 2 that .* with 2:"),
        ([-3.0, 2.5, 1.5], 1.0, 2.0, "rows 0, 1 of 3 leave .* with -3:"),
        ([0.5, 2.75], 1.0, 2.0, "rows 0, 1 of 2 leave .* with 2.75:"),
        ([-0.5, 2.25], 1.0, 2.0, "rows 0, 1 of 2 leave .* with -0.5:"),  # farther, and smaller
        ([0.0, 7.0], None, 2.0, "row 1 of 2 leaves .* from -inf to 2 .* with 7:"),
        ([np.nan, 1.0], 1.0, 2.0, "row 0 of 2 leaves .* with nan:"),
    ],
)
def test_rows_whose_watched_values_leave_their_range(rows, low, high, told):
    spec = OutputSpec("w", 1, watched="model.py:7", low=low, high=high)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tell_rows(np.array(rows)[:, None], spec, 1)
        tell_rows(np.array([*rows, 99.0])[:, None], spec, 1, count=len(rows))  # what fills up is no row
    assert len(caught) == (0 if told is None else 2)
    for each in caught:
        assert each.category is RangeWarning
        assert re.match(str(told), str(each.message)), str(each.message)
        assert "values at model.py:7" in str(each.message)
        assert "share ciphertexts" not in str(each.message)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([[9.0], [1.0]], "rows 0, 1, 2 of 5"),  # any row of the first run
        ([[1.0], [9.0]], "rows 3, 4 of 5"),
        ([[1.0, 1.0, 9.0], [1.0, 9.0, 1.0]], "rows 2, 4 of 5"),  # each its own
        ([[1.0, 1.0, 1.0], [9.0, 1.0, 9.0]], "row 3 of 5"),  # the last one fills up
    ],
)
def test_rows_of_runs(values, told):
    spec = OutputSpec("y", 1, low=0.0, high=2.0, reach=9.0)
    with pytest.warns(
        RangeWarning, match=rf"^{told} leaves? the range of result 'y', from 0 to 2, with 9: .* may"
    ) as c:
        tell_rows(np.array(values), spec, 1, rows=3, count=5, together=3)
    assert "as 3 share ciphertexts" in str(c[0].message)


@pytest.mark.parametrize(
    ("outside", "text"),
    [
        ([True], "the row"),
        ([False, True], "row 1 of 2"),
        ([True] * 2, "rows 0, 1 of 2"),
        ([True] * 8, "rows 0, 1, 2, 3, 4, 5, 6, 7 of 8"),
        ([False] + [True] * 9, "rows 1, 2, 3, 4, 5, 6, 7, 8 and 1 more of 10"),
    ],
)
def test_rows_by_number(outside, text):
    assert rows_text(np.array(outside)) == text


def table(thresholds):
    layouts = [Layout.raster((2, count)) for count in (2, 1)]
    methods = {"predict": Method((), "float64", (1,))}
    return Table(Scaling((0.0, 1.0), (1.0, 2.0), 5.0), thresholds, *layouts, methods)


@pytest.mark.parametrize("thresholds", [(), (0.5, -1.0)])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_tables_are_scaled_or_compared(thresholds, count):
    """A feature at its threshold is 0. The last chunk is filled up with the last row."""
    rows = np.array([[0.5, -1.0], [np.nextafter(0.5, 1), 0.0], [-3.0, -1.5]])[:count]
    found = table(thresholds).prepared(rows)
    wanted = rows > thresholds if thresholds else (rows - [0, 1]) / [1, 2]
    filled = wanted[[0, 0]] if count == 1 else wanted if count == 2 else wanted[[0, 1, 2, 2]]
    np.testing.assert_array_equal(found, np.reshape(filled, (-1, 2, 2)))
    raises(MismatchError, "2 features", table(thresholds).prepared, rows[:, :1])
    with pytest.raises(ParameterError, match="missing or infinite"):
        table(thresholds).prepared(np.where(rows == rows[0, 0], np.nan, rows))


@pytest.mark.parametrize(
    ("count", "told"), [(1, None), (2, "row 1 of 2"), (3, "rows 1, 2 of 3"), (None, "rows 1, 2 of 4")]
)
def test_tables_tell_which_results_leave_their_range(count, told):
    """Results of the rows that were encoded, and no others."""
    scores = np.array([[0.5, 9.0], [9.0, -0.5]])[..., None]
    made = table(())
    values = made.output.encode(scores, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = made.decode(values, [OutputSpec("scores", 4, low=-1.0, high=1.0)], count)
    np.testing.assert_array_equal(found[:, 0], scores.ravel()[:count])
    assert [str(each.message).partition(" leave")[0] for each in caught] == ([] if told is None else [told])
    quiet = made.decode(values, [OutputSpec("scores", 4)], count)
    np.testing.assert_array_equal(quiet, found)


def test_values_that_are_brought_into_their_range_are_counted():
    """And the rows that have them: of two samples, or one."""
    spec = InputSpec("x", 2, 4, low=-1.0, high=1.0)
    layout = Layout.raster((2, 2))
    several = Arrays((layout,), (layout,), samples=2, clips=(True,))
    with pytest.warns(
        RangeWarning, match=r"2 of 4 values, from -7.0 to 3.0, .*from -1.0 to 1.0.* \(row 1 of 2\)"
    ):
        (found,) = several.encode(np.array([[0.5, -0.5], [3.0, -7.0]]), [spec])
    assert sorted(found.ravel()) == [-1.0, -0.5, 0.5, 1.0]
    one = Layout.raster((2,))
    with pytest.warns(RangeWarning) as caught:
        Arrays((one,), (one,), clips=(True,)).encode(np.array([0.0, 3.0]), [spec])
    assert "row" not in str(caught[0].message).partition("brought")[2].partition("Results")[0]
    for made in (Arrays((one,), (one,)), table(())):  # files as before there were others
        assert not {"samples", "parts", "steps", "clips", "watched", "unwatched"} & set(made.to_data())


@pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 9])
def test_chunks_are_filled_up_with_the_last_row(count):
    rows = np.arange(2.0 * count).reshape(count, 2)
    found = chunked(rows, 4)
    assert found.shape == (-(-count // 4), 4, 2)
    flat = found.reshape(-1, 2)
    np.testing.assert_array_equal(flat[:count], rows)
    np.testing.assert_array_equal(flat[count:], np.tile(rows[-1], (len(flat) - count, 1)))


OLDER = {
    "kind": "rows",
    "mean": [1.0, 2.0, 0.0],
    "deviation": [1.0, 2.0, 0.5],
    "clip": 10.0,
    "block": 4,
    "scores": 2,
    "names": [],
}
"""An encoding of files until 0.2."""


def older(output, **changes):
    return encoding_from_data({**OLDER, **changes}, [InputSpec("rows", 8, 8)], [output])


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5])
def test_rows_of_older_files_lie_in_blocks(rows):
    output = OutputSpec("scores", 8)
    encoding = older(output)
    assert encoding.to_data() == OLDER  # clients of any version read it
    values = np.random.default_rng(1).uniform(-1, 1, (rows, 3))
    (found,) = encoding.encode(values, [InputSpec("rows", 8, 8)])
    assert found.shape == (-(-rows // 2), 8)
    blocks = found.reshape(-1, 4)
    np.testing.assert_allclose(blocks[:rows, :3], (values - [1, 2, 0]) / [1, 2, 0.5])
    assert not blocks[:, 3].any()
    np.testing.assert_array_equal(encoding.decode([found], [output], rows), blocks[:rows, :2])
    for column in (False, True):
        output = OutputSpec("scores", 8, column=column)
        one = older(output, mean=[0.0], deviation=[1.0], scores=1)
        got = one.decode([found], [output], rows)
        np.testing.assert_array_equal(got, blocks[:rows, :1] if column else blocks[:rows, 0])


@pytest.mark.parametrize(
    ("read", "scores", "labels", "wanted"),
    [
        ("sigmoid", 1, None, [1 / (1 + np.exp(-2)), 1 / (1 + np.exp(3))]),
        ("sign", 1, None, [1, 0]),
        ("sign", 1, ["no", "yes"], ["yes", "no"]),
        ("argmax", 2, None, [0, 1]),
        ("argmax", 2, [7, 5], [7, 5]),
        ("softmax", 2, None, np.exp([[2, 1], [-3, 4]]) / np.exp([[2, 1], [-3, 4]]).sum(axis=1)[:, None]),
        ("clipped", 1, None, [1.0, 0.0]),
    ],
)
def test_results_of_older_files(read, scores, labels, wanted):
    output = OutputSpec("scores", 8, read=read, labels=None if labels is None else Labels.of(labels))
    slots = np.array([[2.0, 1, 9, 9, -3, 4, 9, 9]])
    found = older(output, scores=scores).decode([slots], [output], 2)
    assert found.dtype.kind == np.asarray(wanted).dtype.kind
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted)
    else:
        assert found.tolist() == wanted


@pytest.mark.parametrize(
    "changes",
    [
        {"block": 3},
        {"block": 16},
        {"block": 2},
        {"scores": 5},
        {"mean": []},
        {"mean": [0.0]},
        {"deviation": [1.0, 2.0, 0.0]},
        {"names": ["a"]},
    ],
)
def test_older_files_that_are_damaged(changes):
    with pytest.raises(FormatError), damaged("an encoding"):
        older(OutputSpec("scores", 8), **changes)


def test_ranges_of_columns():
    rows = np.array([[1.0, -2.0, 0.0, 1e150, 0.3], [3.0, -2.0, 0.0, -1e150, 0.3]])
    centre, half = column_ranges(rows, 2.0)
    np.testing.assert_allclose(centre, [2, -2, 0, 0, 0.3])
    np.testing.assert_allclose(half, [2, 2, 1, 2e150, 1])  # of constants their size, and at least 1
    raises(ParameterError, "beyond 1e\\+150", column_ranges, rows * 1.01, 2.0)


@pytest.mark.parametrize("value", [-1.0, 2.0, -1.001, 2.001, np.nan, np.inf])
def test_values_at_the_ends_of_a_range(value):
    inside = value in (-1.0, 2.0)
    spec = InputSpec("x", 1, 2, low=-1.0, high=2.0)
    given = np.array([0.0, value])
    for ask in (lambda: require_range(given, spec), lambda: Vectors().encode(given[1:], [spec])):
        if inside:
            ask()
        else:
            raises(ParameterError, r"x: the model is for values from -1\.0 to 2\.0", ask)
    if not np.isfinite(value):  # also where there are no ends
        raises(ParameterError, "", require_range, given, InputSpec("x", 1, 2))
    else:
        require_range(given, InputSpec("x", 1, 2))
        layout = Layout.raster((2,))
        clips = Arrays((layout,), (layout,), clips=(True,))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (found,) = clips.encode(given, [InputSpec("x", 2, 2, low=-1.0, high=2.0)])
        assert found.ravel()[1] == np.clip(value, -1, 2)
        assert len(caught) == (not inside)


def test_arrays_and_columns_by_name():
    both = ("a", "b")
    assert arrays_by_name({"b": 2, "a": 1}, both) == arrays_by_name([1, 2], both) == [1, 2]
    assert arrays_by_name([[5]], ("a",)) == [[[5]]]
    assert arrays_by_name([1, 2], ("a",)) == [[1, 2]]
    assert arrays_by_name([np.float64(1), 2], ("a",)) == [[1, 2]]
    (own,) = arrays_by_name((np.arange(2),), ("a",))
    assert own.tolist() == [0, 1]
    for wrong in ({"a": 1}, {"a": 1, "b": 2, "c": 3}, [1], [1, 2, 3], np.ones((2, 3)), iter([1, 2]), "ab"):
        raises(
            MismatchError, "the model has the inputs? ?a, b|arrays were given", arrays_by_name, wrong, both
        )
    frame = type("Frame", (), {"columns": ["a", "c", "b"]})()
    require_columns(frame, ("a", "c", "b"))
    require_columns(frame, ())
    require_columns([[1]], ("a", "b", "c"))
    raises(MismatchError, "column 1 is 'c', and the model's is 'b'", require_columns, frame, ("a", "b", "c"))


LAYOUT = Layout.raster((2, 3))
SCALED = Arrays(
    (LAYOUT,), (LAYOUT, LAYOUT), (0.5,), 2, 1, (True,), ("a.py:1",), 0, ((2.0, 1.0),), ((0.5, -1.0),) * 2
)
TABLE = table((0.5, -1.0))


@pytest.mark.parametrize(
    ("encoding", "changes"),
    [
        (SCALED, {"steps": [0.5, 0.5]}),
        (SCALED, {"steps": [0.0]}),
        (SCALED, {"samples": 0}),
        (SCALED, {"samples": 3}),
        (SCALED, {"samples": 4}),  # layouts are of two
        (SCALED, {"samples": 3, "parts": 2}),
        (SCALED, {"parts": 3}),
        (SCALED, {"clips": [True, True]}),
        (SCALED, {"clips": [1]}),
        (SCALED, {"unwatched": [5]}),
        (SCALED, {"input_scales": [[2.0, 1.0]] * 2}),
        (SCALED, {"input_scales": [[0.0, 1.0]]}),
        (SCALED, {"input_scales": [[2.0]]}),
        (SCALED, {"output_scales": [[2.0, 1.0]]}),
        (SCALED, {"kind": "other"}),
        (TABLE, {"mean": [0.0]}),
        (TABLE, {"deviation": [1.0]}),
        (TABLE, {"deviation": [1.0, 0.0]}),
        (TABLE, {"names": ["a"]}),
        (TABLE, {"thresholds": [0.5]}),
        (TABLE, {"methods": []}),
        (TABLE, {"input": LAYOUT.to_data()}),
        (TABLE, {"output": Layout.raster((4, 1)).to_data()}),
    ],
)
def test_encodings_of_files_that_others_made(encoding, changes):
    data = encoding.to_data()
    assert encoding_from_data(data, (), ()).to_data() == data
    with pytest.raises(FormatError), damaged("an encoding"):
        encoding_from_data({**data, **changes}, (), ())
    inputs, outputs = (1, 2) if encoding is SCALED else (1, 1)
    encoding.require_fit(inputs, outputs)
    for wrong in ((inputs + 1, outputs), (inputs, outputs - 1), (inputs, outputs + 1)):
        raises(FormatError, "layouts of", encoding.require_fit, *wrong)
