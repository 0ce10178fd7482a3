"""Statistics, filters and arithmetic of encrypted tables are those of pandas."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hemera as hm
from hemera.errors import ParameterError

from .table_cases import RANGES, ROWS, assert_is_pandas_s, close, patients, shallow, spec_of

STATISTICS = ["sum", "count", "mean", "var", "std"]


@pytest.mark.parametrize("column", ["age", "income", "stay", "visits", "smokes"])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_statistics_of_a_column(column, statistic):
    def of(t):
        found = t[column] * 1.0 if isinstance(t, pd.DataFrame) else t[column]
        return getattr(found, statistic)()

    if statistic == "count" and column in ("age", "income", "smokes"):
        with pytest.raises(ParameterError, match="public"):  # how many rows there are
            hm.compile(of, spec_of(patients()), params=shallow())
        return
    assert_is_pandas_s(of, of)


@pytest.mark.parametrize("statistic", [*STATISTICS, "size"])
@pytest.mark.parametrize("column", ["income", "stay"])
def test_statistics_of_groups(column, statistic):
    def of(t):
        return getattr(t[t.age > 50].groupby("ward")[column], statistic)()

    assert_is_pandas_s(of, of)


def test_results_of_groups_are_named_as_pandas_names_them():
    frame = pd.DataFrame({"a.b": [1.0, 2, 3, 4], "c": [4.0, 3, 2, 1], "k": list("xxyy"), "l.m": [1, 2, 1, 2]})
    spec = hm.TableSpec.of(frame, ranges={"a.b": (0, 9), "c": (0, 9)}, keys=["k", "l.m"])

    def of(t):
        found = {name: getattr(t.groupby("k")["a.b"], name)() for name in STATISTICS if name != "count"}
        of_all = {"size": t.groupby(["k", "l.m"]).size(), "size of one": t.groupby("l.m").c.size()}
        return {
            **found,
            **of_all,
            "frame": t.groupby("k").mean(),
            "several": t.groupby("k").agg(["sum", "var"]),
            "of each": t.groupby("k").agg({"c": ["sum", "mean"], "a.b": "max"}),
            "by name": t.groupby("k").agg(total=("c", "sum"), most=pd.NamedAgg("a.b", "max")),
            "of one by name": t.groupby("k").c.agg(total="sum"),
        }

    local = hm.compile(of, spec, security=None).clear(frame)
    for name, wanted in of(frame).items():
        if isinstance(wanted, pd.DataFrame):
            columns = [own for own in wanted if "l.m" not in own]
            pd.testing.assert_frame_equal(local[name], wanted[columns])
        else:
            pd.testing.assert_series_equal(local[name], wanted)


STUDIES = {
    "groups by two keys": lambda t: t.groupby(["ward", "year"])[["stay", "income"]].agg(
        ["mean", "count", "sum", "std"]
    ),
    "a statistic of two columns": lambda t: t.groupby("year")[["stay", "age"]].mean(),
    "two statistics of a column": lambda t: t.groupby("ward").stay.agg(["mean", "count"]),
    "filter of a filter": lambda t: (u := t[t.ward != "A"])[u.age > 40].groupby("year").stay.mean(),
    "arithmetic": lambda t: (((t.income - t.income.mean()) / 1000) ** 2 + t.stay * 0.01 - t.age / 100).mean(),
    "a function": lambda t: (np.tanh(t.stay / 30) * t.visits).sum(),
    "filled": lambda t: (1 - t.visits).fillna(4).mean(),
    "missing in both, and not 0 there": lambda t: ((t.stay + 1) * (t.visits - 3)).sum(),
    "missing in one": lambda t: ((t.stay + 1) * t.visits).std(),
    "magnitudes": lambda t: abs(-t.visits).sum(),
    "assigned": lambda t: t.assign(double=t.stay * 2).groupby("ward").double.mean(),
    "sums go on": lambda t: (t.income - t[t.ward == "A"].income.mean()).sum() / 1000,
}


@pytest.mark.parametrize("name", STUDIES)
def test_studies(name):
    assert_is_pandas_s(STUDIES[name], STUDIES[name])


@pytest.mark.parametrize(
    "mask",
    [
        lambda t: t.age > 60,
        lambda t: (t.age >= 30) & (t.age <= 60),
        lambda t: (t.age < 30) | (t.smokes == 1),
        lambda t: ~(t.visits > 5),  # true where it is missing
        lambda t: t.visits != 3,
        lambda t: t.visits < 4,  # not where it is missing
        lambda t: ~(t.visits <= 4) | (t.stay.isna()),
        lambda t: t.visits.between(2, 4),
        lambda t: t.visits.isna(),
        lambda t: t.visits.notna() & (t.blood == "AB"),
        lambda t: t.blood.isin(["A", "B"]),
        lambda t: t.blood != "0",
        lambda t: (t.age > 60) ^ (t.smokes == 1),
        lambda t: t.age == t.age,
    ],
)
def test_filters(mask):
    assert_is_pandas_s(lambda t: t[mask(t)].stay.mean(), lambda f: f[mask(f).astype(bool)].stay.mean())
    assert_is_pandas_s(lambda t: t[mask(t)].count(), lambda f: len(f[mask(f).astype(bool)]))


def test_filters_by_public_keys_take_no_product():
    plan = assert_is_pandas_s(
        lambda t: t[t.ward == "B"].income.mean(), lambda f: f[f.ward == "B"].income.mean()
    )
    assert "product" not in plan.explain().partition("operation")[2]


def test_empty_groups_are_nan_and_0():
    def of(t):
        return t[t.age > 94].groupby("ward").stay.agg(["mean", "count", "std"])

    frame = patients()
    frame.loc[frame.ward == "A", "age"] = 20
    frame.loc[frame.index[frame.ward == "B"][:1], "age"] = 95
    plan = hm.compile(of, spec_of(frame), params=shallow())
    found = plan.local(threads=1)(frame)
    expected = of(frame).reindex(["A", "B", "C"])
    assert found["count"].tolist() == expected["count"].fillna(0).astype(int).tolist()
    close(found["mean"], expected["mean"])
    close(found["std"], expected["std"])
    assert 12 < plan.check(frame, threads=1).bits < 60  # of the function in the clear, too


def test_columns_are_results_too():
    assert_is_pandas_s(lambda t: t.stay * 2 + 1, lambda f: (f.stay * 2 + 1).to_numpy())
    assert_is_pandas_s(lambda t: t.age > 60, lambda f: (f.age > 60).to_numpy())
    with pytest.raises(TypeError, match="which rows are left is not known"):
        hm.compile(lambda t: t[t.age > 60].stay, spec_of(patients()), params=shallow())


def test_several_results_and_what_is_public_among_them():
    plan = hm.compile(
        lambda t: {"rows": t.count(), "old": t[t.age > 60].age.count(), "mean": t.age.mean()},
        spec_of(patients()),
        params=shallow(),
    )
    found, frame = plan.local(threads=1)(patients(2)), patients(2)
    assert found["rows"] == ROWS
    assert found["old"] == (frame.age > 60).sum()
    assert type(found["old"]) is int
    close(found["mean"], frame.age.mean())
    assert set(plan.outputs) == {"old n", "mean"}


def test_results_whose_names_look_like_parts_of_others():
    plan = hm.compile(
        lambda t: {"a": t.groupby("ward")[["stay"]].mean(), "a: stay": t.age.mean()},
        spec_of(patients()),
        params=shallow(),
    )
    frame = patients()
    with_names = plan.local(threads=1)(frame)
    close(with_names["a"]["stay"], frame.groupby("ward").stay.mean())
    close(with_names["a: stay"], frame.age.mean())


def test_tables_with_values():
    frame = patients()
    table = hm.Table.encrypt(frame, ranges=RANGES, keys=["ward", "year"])
    found = table[table.age > 50].groupby("ward").stay.mean().decrypt(params=shallow(), threads=1)
    pd.testing.assert_series_equal(found, frame[frame.age > 50].groupby("ward").stay.mean(), atol=1e-3)
    both = table.groupby("ward")[["stay"]].agg(["mean", "count"])
    pd.testing.assert_frame_equal(
        both.decrypt(params=shallow()), frame.groupby("ward")[["stay"]].agg(["mean", "count"]), atol=1e-3
    )
    close(table.stay.std().decrypt(params=shallow()), frame.stay.std())
    close(table.income.sum().decrypt(params=shallow()), frame.income.sum())
    assert "linear map" in both.explain()
    assert table.age.count().decrypt() == ROWS  # public: nothing is encrypted
    with pytest.raises(ParameterError, match="public"):
        table.age.count().explain()
    plan = hm.compile(lambda t: t.age.mean(), table.spec, params=shallow())
    close(plan.local()(frame), frame.age.mean())


def test_dicts_have_dicts_as_results():
    frame = {
        "x": np.array([1.0, np.nan, 3.0, 4.5]),
        "n": np.array([1, 2, 3, 4]),
        "b": [True, False, None, True],
        "m": np.ma.masked_array([5, 6, 7, 8], mask=[False, True, False, False]),
        "k": ["u", "v", "u", "v"],
    }
    spec = hm.TableSpec.of(frame, ranges={"x": (0, 5), "n": (0, 5), "m": (0, 9)}, keys=["k"])
    told = [(own.name, own.step, own.may_miss) for own in spec.columns]
    assert told == [("x", None, True), ("n", 1, False), ("b", 1, True), ("m", 1, True)]
    plan = hm.compile(
        lambda t: {
            "x": t.x.mean(),
            "by": t.groupby("k").x.sum(),
            "table": t.groupby("k")[["n", "m"]].mean(),
            "b": t[t.b == 1].n.sum(),
        },
        spec,
        params=shallow(),
    )
    found = plan.local()(frame)
    close([found["x"], found["by"]["u"], found["by"]["v"]], [8.5 / 3, 4, 4.5])
    close([found["table"]["u"]["n"], found["table"]["u"]["m"], found["table"]["v"]["m"]], [2, 6, 8])
    close(found["b"], 5)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_other_libraries(library):
    module = pytest.importorskip(library, reason=f"{library} is an optional library of users")
    columns = {"x": [1.5, None, 3.0, 4.0], "n": [1, None, 3, 4], "b": [True, False, None, True]}
    columns["k"] = list("uvuv")
    frame = module.DataFrame(columns) if library == "polars" else module.table(columns)
    spec = hm.TableSpec.of(frame, ranges={"x": (0, 5), "n": (0, 5)}, keys=["k"])
    told = [(own.name, own.step, own.may_miss) for own in spec.columns]
    assert told == [("x", None, True), ("n", 1, True), ("b", 1, True)]
    plan = hm.compile(
        lambda t: {"x": t.x.mean(), "n": t.groupby("k").n.sum(), "b": t[t.b == 1].x.sum()},
        spec,
        params=shallow(),
    )
    found = plan.local()(frame)
    close([found["x"], found["n"]["u"], found["n"]["v"], found["b"]], [8.5 / 3, 4, 4, 5.5])


def test_checks_and_files(tmp_path):
    plan = hm.compile(
        lambda t: {"a": t[t.age > 60].stay.mean(), "b": t.groupby("ward").income.std()},
        spec_of(patients()),
        params=shallow(),
    )
    either = hm.compile(
        lambda t: t[(t.age < 30) | (t.smokes == 1)].stay.sum(), spec_of(patients()), params=shallow()
    )
    assert either.check(patients(2), threads=1).bits > 12
    agreed = plan.check(patients(1), patients(2), encrypted=2, threads=1)
    assert (agreed.samples, agreed.encrypted) == (2, 2)
    assert agreed.bits > 12
    assert "bits" in str(agreed)
    # A group of one row has no deviation, here and there.
    frame = pd.DataFrame({"k": list("aab"), "x": [1.5, 2.5, 4.0]})
    of_one = hm.compile(
        lambda t: t.groupby("k").x.std(), hm.TableSpec.of(frame, ranges={"x": (0, 5)}, keys=["k"])
    )
    assert 12 < of_one.check(frame, threads=1).bits < 60
    frame = patients(3)
    close(plan.clear(frame)["a"], frame[frame.age > 60].stay.mean())
    plan.save(tmp_path / "study.hemera-model")
    package = hm.serving.Package.load(tmp_path / "study.hemera-model")
    outputs = package.evaluate_clear(plan.encode(frame))
    found = plan.decode(outputs, frame)
    close(found["a"], frame[frame.age > 60].stay.mean())
    close(found["b"], frame.groupby("ward").income.std())


def test_ranges_by_tables():
    def of(t):
        return ((t.income / 1000) ** 3).mean()

    frames = [patients(seed) for seed in range(3)]
    plain = hm.compile(of, spec_of(frames[0]))
    tables = hm.compile(of, spec_of(frames[0]), calibrate=frames)
    assert tables.params.degree <= plain.params.degree
    assert_is_pandas_s(of, of, *frames, calibrate=frames)


@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
def test_exact_tables(scheme):
    """Sums and counts of whole numbers are NumPy's, and quotients of them the client's."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"cents": rng.integers(-5000, 5001, 50), "n": rng.integers(0, 5, 50), "k": rng.choice(["a", "b"], 50)}
    )
    ranges = {"cents": (-5000, 5000), "n": (0, 5)}
    spec = hm.TableSpec.of(frame, ranges=ranges, keys=["k"], missing=["n"])
    plan = hm.compile(
        lambda t: {
            "total": t.cents.sum(),
            "by": t.groupby("k")[["cents", "n"]].agg(["sum", "mean"]),
            "some": t[t.n == 3].cents.sum(),
        },
        spec,
        scheme=scheme,
    )
    found = plan.local()(frame)
    assert found["total"] == frame.cents.sum()
    assert found["some"] == frame[frame.n == 3].cents.sum()
    expected = frame.groupby("k")[["cents", "n"]].agg(["sum", "mean"])
    pd.testing.assert_frame_equal(found["by"], expected, rtol=1e-15, check_dtype=False)
    with pytest.raises(ParameterError):
        hm.compile(lambda t: t.cents.mean(), spec, scheme=scheme)
    real = hm.TableSpec.of({"cents": [1.0, 2.0]}, ranges={"cents": (0, 5)})
    with pytest.raises(ParameterError, match=r"columns cents may hold fractions.*steps=\{'cents': 1\}"):
        hm.compile(lambda t: t.cents.sum(), real, scheme=scheme)
    whole = hm.TableSpec.of({"cents": [1.0, 2.0]}, ranges={"cents": (0, 5)}, steps={"cents": 1})
    plan = hm.compile(lambda t: t.cents.sum(), whole, scheme=scheme)
    with pytest.raises(ParameterError, match="no multiples of its step 1"):
        plan.encode({"cents": [1.5, 2.0]})


def test_names_that_are_methods():
    frame = pd.DataFrame({"count": [1.5, 2.5], "a b": [3.5, 4.5], "_x": [1.5, 1.5]})
    spec = hm.TableSpec.of(frame, ranges=dict.fromkeys(frame, (0, 5)))
    plan = hm.compile(
        lambda t: {name: t[name].mean() for name in t.columns}, spec, params=shallow(), precision_bits=12
    )
    found = plan.local()(frame)
    close([found[name] for name in frame], [2, 4, 1.5])


@pytest.mark.parametrize(("bits", "statistic"), [(4, "count"), (8, "count"), (4, "mean")])
def test_counts_are_exact_at_any_precision(bits, statistic):
    """Counts of means, too. Masks that are 0 and 1 to 2^-bits would add up to more than a half."""
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"age": rng.integers(0, 121, 4000), "other": rng.uniform(0, 1, 4000)})
    spec = hm.TableSpec.of(frame, ranges={"age": (0, 120), "other": (0, 1)})

    def of(t):
        return getattr(t[(t.age > 60) & (t.age <= 80)].age, statistic)()

    plan = hm.compile(of, spec, precision_bits=bits, security=None)
    # Before it is rounded, for any values.
    bounds = dict(zip(plan.outputs, plan._program.error_bounds(), strict=True))
    counted = plan._by_name(plan.evaluate_clear(*plan.encode(frame)))["result n"]
    assert abs(counted - frame.age.between(61, 80).sum()) <= bounds["result n"] <= 0.25
    # What no result takes is not encrypted.
    assert [own.name for own in plan.inputs] == ["age"]
    if statistic == "count":
        assert plan.local()(frame.drop(columns="other")) == of(frame)


def test_results_for_others():
    plan = hm.compile(
        lambda t: t.groupby("ward").age.mean(), spec_of(patients()), precision_bits=10, share=True
    )
    frame = patients()
    pd.testing.assert_series_equal(
        plan.local()(frame), frame.groupby("ward").age.mean(), atol=0.2, check_names=False
    )
    assert plan.sharing.shares == 1024


def test_the_page_s_programs():
    page = (Path(__file__).parents[3] / "docs" / "tables.md").read_text(encoding="utf-8")
    printed = []
    names = {"print": printed.append}
    for program in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        exec(compile(program, "tables.md", "exec"), names)
    _, found, _, question = printed
    frame = names["frame"]
    z = (frame.income - frame.income.mean()) / 1e5
    close([found["age"], found["skew"]], [frame.age.mean(), (z**3).mean()], bits=10)
    close(found["spread"], frame.income.std(), bits=10)
    close(found["stay of the old"], frame[frame.age > 60].stay.mean(), bits=10)
    for result, table in ((found["by sex"], frame), (question, frame[frame.age.between(60, 80)])):
        expected = table.groupby("sex")[["stay", "income"]].agg(["mean", "count"])
        pd.testing.assert_frame_equal(result, expected[result.columns], rtol=1e-3)
