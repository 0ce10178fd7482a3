"""Tables that do not fit, and what tables refuse."""

import numpy as np
import pytest

import hemera as hm
from hemera.compiler.tables.spec import ColumnSpec
from hemera.errors import MismatchError, ParameterError, RangeError

from .table_cases import RANGES, patients, shallow, spec_of


def test_other_tables_must_fit():
    frame = patients()
    plan = hm.compile(
        lambda t: (t.age + t.income + (t.blood == "A")).mean(), spec_of(frame), params=shallow()
    )
    run = plan.local()
    cases = [
        (frame.drop(columns="age"), MismatchError, "lacks the columns age"),
        (frame.drop(columns="ward"), MismatchError, "lacks the columns ward"),
        (frame[:50], MismatchError, "50 rows, and the program is for 90"),
        (frame.assign(ward="A"), MismatchError, "key 'ward' differs in row"),
        (frame.assign(age=200), RangeError, "column 'age': values from 200 to 200"),
        (frame.assign(age=np.inf), RangeError, "column 'age'"),
        (frame.assign(age=20.5), ParameterError, "no multiples of its step 1"),
        (frame.assign(age=[None, *frame.age[1:]]), MismatchError, "1 values are missing"),
        (frame.assign(blood="C"), MismatchError, "categories have not: 0, A, AB, B"),
        (frame.assign(income="a"), MismatchError, "no numbers"),
        ([1, 2], TypeError, "a table is a DataFrame"),
        ({"x": [1], "y": [1, 2]}, MismatchError, "columns of 1, 2 rows"),
    ]
    for other, error, words in cases:
        with pytest.raises(error, match=words):
            run(other)


def test_values_lie_in_their_ranges_with_both_ends():
    spec = hm.TableSpec.of({"x": [2.0, 5.0], "k": [3, 4]}, ranges={"x": (2, 5)}, keys=["k"])
    for taken in ([2.0, 5.0], [5.0, 2.0]):
        np.testing.assert_array_equal(spec.arrays({"x": taken, "k": [3, 4]}), [taken])
    for low, high in ((1.99, 5), (2, 5.01)):
        with pytest.raises(RangeError, match=f"from {low:g} to {high:g} are not in its range from 2 to 5"):
            spec.arrays({"x": [low, high], "k": [3, 4]})
    with pytest.raises(MismatchError, match=r"key 'k' differs in row 1: .*9.*, and the program is for .*4"):
        spec.arrays({"x": [2.0, 5.0], "k": [3, 9]})
    # Where values may be missing 0 stands in their place, which is a multiple of any step.
    for low in (1.5, 2.0, -3.0):
        own = ColumnSpec("x", (low, 9.0), 1, may_miss=True)
        assert own.inputs == [("x", (min(low, 0.0), 9.0), 1), ("x (present)", (0.0, 1.0), 1)]
        assert ColumnSpec("x", (low, 9.0), 1).inputs == [("x", (low, 9.0), 1)]


def test_specs_say_what_lacks():
    frame = patients()
    with pytest.raises(ParameterError, match="the range of column 'age' is not known"):
        hm.TableSpec.of(frame)
    for option in ({"keys": ["weight"]}, {"missing": ["weight"]}, {"columns": ["age", "weight"]}):
        with pytest.raises(ParameterError, match="no columns weight; it has "):
            spec_of(frame, **option)
    for option in ("ranges", "steps"):
        with pytest.raises(ParameterError, match="no columns weight"):
            hm.TableSpec.of(
                {"x": [1.5]}, **{"ranges": {"x": (0, 2)}, option: {"x": (0, 2), "weight": (0, 1)}}
            )
    with pytest.raises(RangeError, match="column 'age'"):
        spec_of(frame, ranges={**RANGES, "age": (0, 50)})
    with pytest.raises(ParameterError, match="key 'stay': values are missing"):
        spec_of(frame, keys=["stay"])
    with pytest.raises(ParameterError, match="needs a row"):
        hm.TableSpec.of({"x": np.zeros(0)}, ranges={"x": (0, 1)})
    for table in ({"a": [1, None], "a (present)": [0, 1]}, {1: [1, 2], "1": [2, 1]}):
        with pytest.raises(MismatchError, match="columns of one name: '"):
            hm.TableSpec.of(table, ranges=dict.fromkeys(map(str, table), (0, 5)))
    with pytest.raises(ParameterError, match="column 'x': no numbers, texts or dates"):
        hm.TableSpec.of({"x": [1j, 2]})
    with pytest.raises(ParameterError, match="a range from 5 to 1"):
        hm.TableSpec.of({"x": [1.5]}, ranges={"x": (5, 1)})
    with pytest.raises(ParameterError, match="encrypted"):
        hm.TableSpec.of({"x": [1.5]}, keys=["x"])
    spec = hm.TableSpec.of(frame, ranges={"age": (0, 120)}, columns=["age"], missing=["age"])
    assert spec.columns[0].may_miss
    assert repr(spec) == "<TableSpec of 90 rows: age>"
    # A range without 0, where values may be missing: 0 stands in their place.
    assert spec_of(frame).columns[3].inputs[0][1] == (0, 9)


@pytest.mark.parametrize(
    ("study", "error", "words"),
    [
        (lambda t: t.weight.mean(), AttributeError, "no column 'weight'"),
        (lambda t: t["weight"].mean(), ParameterError, "weight"),
        (lambda t: t.groupby("blood").age.mean(), ParameterError, "by public keys"),
        (lambda t: t.blood.mean(), TypeError, "categories"),
        (lambda t: t.blood == "X", ParameterError, "no category 'X'"),
        (lambda t: t.blood > 3, TypeError, "no order with"),
        (lambda t: t.stay - t.stay.mean(), TypeError, "finished by the client"),
        (lambda t: t.groupby("ward").age.agg(["mode"]), ParameterError, "no statistic 'mode'"),
        (lambda t: t.groupby("ward").agg(np.sum), ParameterError, "no statistic <function sum"),
        (lambda t: t.groupby("ward").age.agg(["sum", "sum"]), MismatchError, "two results of one name"),
        (lambda t: t.groupby("ward").agg(x=("age", "std", 0)), TypeError, r"=\(column, statistic\)"),
        (lambda t: t.blood.isin("AB"), TypeError, "a list of values, not 'AB'"),
        (lambda t: t.age.sum(skipna=False), TypeError, r"sum\(\) got an unexpected keyword"),
        (lambda t: np.mean(t.age, where=t.smokes), TypeError, "np.mean of a column takes no where"),
        (
            lambda t: {"r": t.groupby("ward")[["age"]].sum(), "r: age s": t.age.sum()},
            MismatchError,
            "'r: age s'",
        ),
        (lambda t: t[t.age].age.mean() if t.age > 3 else t, TypeError, "can not depend on them"),
        (lambda t: t[3], TypeError, "a column's name"),
        (lambda t: t[t.stay].age.mean(), TypeError, "filtered by masks"),
        (lambda _: {}, ParameterError, "returns nothing"),
        (lambda t: t[t.age > 3], TypeError, "which rows are left"),
    ],
)
def test_what_tables_refuse(study, error, words):
    with pytest.raises(error, match=words):
        hm.compile(study, spec_of(patients()), params=shallow())


def test_one_table_is_taken():
    spec = spec_of(patients())
    with pytest.raises(TypeError, match="takes one table"):
        hm.compile(lambda t: t.age.mean(), spec, spec)
