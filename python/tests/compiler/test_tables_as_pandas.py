"""Studies of tables are pandas': truth values, filters, missing values, groups."""

import itertools
import operator
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import hemera as hm
from hemera.compiler.tables.frames import read_frame
from hemera.errors import MismatchError, ParameterError

from .table_cases import assert_like, evaluated, shallow

ROWS = 40
RANGES = {"a": (0, 5), "m": (0, 3), "n": (0, 4)}


def frame_of(seed=0):
    """Integers, halves and integers of which some are missing, truth values, text and a public key."""
    rng = np.random.default_rng(seed)
    words = rng.choice(["x", "y", "z"], ROWS).astype(object)
    words[rng.random(ROWS) < 0.2] = None
    return pd.DataFrame(
        {
            "a": rng.integers(0, 6, ROWS),
            "m": np.where(rng.random(ROWS) < 0.3, np.nan, rng.integers(0, 7, ROWS) / 2),
            "n": np.where(rng.random(ROWS) < 0.3, np.nan, rng.integers(0, 5, ROWS)),
            "f": rng.random(ROWS) < 0.5,
            "g": rng.random(ROWS) < 0.3,
            "s": words,
            "k": np.random.default_rng(9).choice(["u", "v", "w"], ROWS),
        }
    )


FRAMES = {False: frame_of(), True: frame_of().assign(m=lambda t: 2 * t.m)}
"""The frames of approximate programs, and of exact ones, which have no halves."""
SPECS = {
    exact: hm.TableSpec.of(
        frame, ranges={**RANGES, "m": (0, 6)}, keys=["k"], steps={"m": 1.0 if exact else 0.5}
    )
    for exact, frame in FRAMES.items()
}


def assert_is_pandas_s(study, *, exact=False):
    """Compiled, of numbers as approximate or exact programs have them; and refused where pandas refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Groups whose rows are filtered out stay, as of keys that are categories.
            wanted = study(FRAMES[exact].astype({"k": "category"}))
    except (TypeError, KeyError):
        with pytest.raises(TypeError):
            evaluated(study, SPECS[exact], FRAMES[exact], exact)
        return
    try:
        found = evaluated(study, SPECS[exact], FRAMES[exact], exact)
    except (ParameterError, TypeError) as error:
        ways = "public|multiples of a known step" + exact * "|is not whole|exact programs|look-up has at most"
        if not re.search(ways, str(error)):
            raise
        return
    if isinstance(wanted, pd.Series):
        wanted = wanted[found.index]  # but for those of which a public filter leaves none
    assert_like(found, wanted, room=1e-2)


STUDIES = {
    "mask of a filtered table": lambda t: (t[t.a > 2].s == "x").sum(),
    "mask of a key of a filtered table": lambda t: (t[t.a > 2].k == "u").sum(),
    "key of a filtered table as a filter": lambda t: (u := t[t.a > 2])[u.k != "v"].n.mean(),
    "groups of a filtered table": lambda t: t[(t.a > 2) & t.f].groupby("k").m.mean(),
    "groups that a public filter leaves": lambda t: t[t.k != "v"].groupby("k").m.count(),
    "masks as numbers": lambda t: (t.f * 3 + t.g).sum(),
    "assigned": lambda t: (u := t.assign(z=lambda d: d.a * 2))[u.z > 4].z.sum(),
    "assigned of the whole table": lambda t: t[t.f].assign(z=t.a * 2).z.sum(),
    "assigned numbers": lambda t: t.assign(z=2)[t.f].z.sum(),
    "values of a Series": lambda t: (SERIES.to_numpy() * t.a).where(SERIES.to_numpy() > 0, 1).sum(),
    "in place": lambda t: [c := t.a * 2, d := c, c := operator.iadd(c, 1), d.sum()][-1],
    "a key where a mask is": lambda t: (u := t[t.a > 1])[u.k.where(u.f) == "u"].a.sum(),
    "a mask of keys": lambda t: t[(t.k == "u") | (t.a > 4)].n.sum(),
}


IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow)
IN_PLACE += (operator.ifloordiv, operator.imod)
OF_MASKS = (operator.iand, operator.ior, operator.ixor)
STUDIES |= {f.__name__: lambda t, f=f: [c := t.a + 1, d := c, f(c, 3), d.sum()][-1] for f in IN_PLACE}
STUDIES |= {f.__name__: lambda t, f=f: [c := t.f & t.f, d := c, f(c, t.g), d.sum()][-1] for f in OF_MASKS}


@pytest.mark.parametrize("name", STUDIES)
def test_studies(name):
    assert_is_pandas_s(STUDIES[name])
    assert_is_pandas_s(STUDIES[name], exact=True)


@pytest.mark.parametrize("filters", [*itertools.permutations(["k != 'v'", "k != 'w'", "a > 1"])])
def test_groups_are_those_that_all_public_filters_leave(filters):
    def study(t):
        for each in filters:
            name, compare, value = each.split(" ", 2)
            t = t[t[name] > 1 if compare == ">" else t[name] != value[1]]
        return t.groupby("k").m.count()

    assert_is_pandas_s(study)
    assert evaluated(study, SPECS[False], FRAMES[False]).index.tolist() == ["u"]


@pytest.mark.parametrize("exact", [False, True])
def test_truth_values_are_rounded(exact):
    """Noise makes each number true."""
    frame = FRAMES[exact]

    def study(t):
        return {"none": (t.a > 5).any(), "mask": t.n.isna(), "all": (t.a >= 0).all(), "flags": t.f & t.g}

    options = {"scheme": "bfv", "security": None} if exact else {"params": shallow()}
    found = hm.compile(study, SPECS[exact], **options).local(threads=1)(frame)
    for name, wanted in study(frame).items():
        np.testing.assert_array_equal(found[name], wanted)
        assert np.asarray(found[name]).dtype == np.bool_


STEPS = {
    "public filter": lambda t: t[t.k != "v"],
    "filter": lambda t: t[t.a > 1],
    "assigned": lambda t: t.assign(z=1, m=lambda d: 2 * d.m),
    "some columns": lambda t: t[["m", "a", *(["k"] if isinstance(t, pd.DataFrame) else [])]],
}


@pytest.mark.parametrize("steps", [*itertools.permutations(STEPS)])
def test_each_step_keeps_what_the_steps_before_it_left(steps):
    def study(t, last):
        for each in steps:
            t = STEPS[each](t)
        return last(t)

    lasts = [lambda t: t.groupby("k").m.sum(), lambda t: t.groupby("k")[["m"]].count()]
    for last in (*lasts, lambda t: t.m.mean()):
        found = evaluated(lambda t, last=last: study(t, last), SPECS[False], FRAMES[False])
        assert_like(found, study(FRAMES[False], last))


ENCRYPTED = {
    "key of a filtered table": STUDIES["key of a filtered table as a filter"],
    "groups of a filtered table": STUDIES["groups of a filtered table"],
    "groups that a public filter leaves": STUDIES["groups that a public filter leaves"],
    "masks as numbers": STUDIES["masks as numbers"],
    "assigned": STUDIES["assigned"],
    "counts of texts": lambda t: t[t.f].s.value_counts(),
    "truth of groups": lambda t: t[t.a > 4].groupby("k", observed=False).g.any(),
    "groups that are emptied": lambda t: t[t.a > 9].groupby("k", observed=False).m.count(),
    "texts in order": lambda t: (t.s > "x").sum(),
    "filled by others": lambda t: t.m.fillna(t.n).where(t.f, t.a).sum(),
}


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_studies_encrypted(scheme):
    """Several results of one table, of which the program was made for another one."""
    exact = scheme == "bfv"
    options = {"security": None} if exact else {"params": shallow(), "precision_bits": 12}

    def study(t):
        return {name: each(t) for name, each in ENCRYPTED.items()}

    plan = hm.compile(study, SPECS[exact], scheme=scheme, **options)
    other = frame_of(3) if not exact else frame_of(3).assign(m=lambda t: 2 * t.m)
    wanted = study(other.astype({"k": "category"}))
    wanted["groups that a public filter leaves"] = wanted["groups that a public filter leaves"][["u", "w"]]
    assert_like(plan.local(threads=1)(other), wanted, room=0.01)
    # The function in the clear takes plain columns of the same kinds.
    assert_like(plan.clear(other), wanted, room=1e-9)
    assert plan.check(other, encrypted=0).bits > 12


def test_variances_of_keys():
    """Their divisor is n - 1 as that of columns, but not in NumPy's functions."""

    def study(t):
        z = (t.a - t.a.mean()) / t.a.std()
        numbers = [
            (2 * t.a).var(),
            (t.a > 1).std(),
            t.a.std(ddof=0),
            np.var(t.a),
            np.where(t.f, t.a, 1).std(),
        ]
        return {"z": (z * t.n).sum(), **{str(at): (t.n * each).sum() for at, each in enumerate(numbers)}}

    spec = hm.TableSpec.of(FRAMES[False], ranges=RANGES, keys=["a", "f"])
    assert_like(evaluated(study, spec, FRAMES[False]), study(FRAMES[False]))


def test_lengths():
    table = hm.Table.encrypt(FRAMES[False], ranges=RANGES, keys=["k"], steps={"m": 0.5})
    some = FRAMES[False][FRAMES[False].k == "u"]
    assert (len(table), len(table.a), len(table.k)) == (ROWS, ROWS, ROWS)
    public = table[table.k == "u"]
    assert (len(public), len(public.a), len(public.k)) == (len(some),) * 3
    for filtered in (table[table.a > 2], public[public.a > 2], table[table.a > 2][table.k == "u"]):
        for counted in (filtered, filtered.a, filtered.k):
            with pytest.raises(TypeError, match=r"count\(\)"):
                len(counted)
        assert "40 rows, filtered" in repr(filtered)


SERIES = pd.Series(np.arange(ROWS) % 3, index=np.arange(ROWS)[::-1])
"""pandas aligns it by an index that programs do not have, also where it is in order."""
REFUSED = {
    "mask of another filter": (lambda t: t[t[t.a > 2].f], MismatchError, "other filters"),
    "columns of two filters": (lambda t: t[t.a > 2].a + t.a, MismatchError, "different filters"),
    "assigned of another filter": (lambda t: t.assign(z=t[t.a > 2].a), MismatchError, "other filters"),
    "assigned key": (lambda t: t.assign(k=t.a), ParameterError, "'k' is a public key"),
    "assigned rows": (lambda t: t.assign(z=[1, 2]), MismatchError, "shape \\(2,\\)"),
    "a list of another length": (lambda t: t.a + np.ones(1), MismatchError, "do not fit"),
    "a mask of other rows": (lambda t: t[np.ones(3, bool)], MismatchError, "40 rows"),
    "masks of numbers": (lambda t: t.a & t.n, TypeError, "take masks"),
    "mask with a number": (lambda t: (t.a > 2) | 1, TypeError, "take masks"),
    "texts with numbers": (lambda t: t.s == t.a, TypeError, "holds categories"),
    "no rows": (lambda t: t[t.k == "none"].groupby("k").m.sum(), ParameterError, "leave no rows"),
    "a Series times a column": (lambda t: (SERIES * t.a).sum(), MismatchError, r"series.to_numpy\(\)"),
    "a Series to fill with": (lambda t: t.n.fillna(SERIES.sort_index()), MismatchError, "aligns a Series"),
    "a Series as a filter": (lambda t: t[SERIES > 0], MismatchError, "aligns a Series"),
    "a Series that is assigned": (lambda t: t.assign(z=SERIES).z, MismatchError, "aligns a Series"),
    "fmax": (lambda t: np.fmax(t.m, t.a), TypeError, "fillna first"),
    "out": (lambda t: np.add(t.a, 1, out=np.zeros(ROWS)), TypeError, "takes no out"),
    "in place": (lambda t: operator.iadd(t.a, 1), TypeError, r"write c = c \+ x"),
    "items": (lambda t: operator.setitem(t.a, 0, 1), TypeError, "do not change in place"),
    "columns of a table": (lambda t: operator.setitem(t, "z", t.a), TypeError, r"t.assign\(z=column\)"),
    "attributes of a table": (lambda t: setattr(t, "a", t.n), TypeError, r"t.assign\(a=column\)"),
    "loops": (lambda t: list(t.a), TypeError, "loops over rows"),
    "inclusive": (lambda t: t.a.between(1, 2, inclusive=True), ParameterError, "'neither'"),
    "whole numbers that are missing": (lambda t: t.m.astype(int), TypeError, "fillna first"),
    "category to fill with": (lambda t: t.s.fillna("?"), ParameterError, "no category"),
    "truth to fill numbers with": (lambda t: t.m.fillna(True), TypeError, "not True"),
    "numbers counted": (lambda t: t.a.value_counts(), TypeError, "counts one"),
    "sorted rows of a filter": (lambda t: np.sort(t[t.f].a), TypeError, "np.where"),
    "sums of missing values": (lambda t: np.add.reduce(t.m), TypeError, "fillna first"),
    "medians of missing values": (lambda t: t.m.median(), TypeError, "rows that are public"),
    "None among numbers": (lambda t: t.a.isin([1, None]), TypeError, "np.nan"),
    "groups without rows left out": (
        lambda t: t[t.f].groupby("k", observed=True).a.sum(),
        ParameterError,
        "observed=False",
    ),
    "values of a filter": (lambda t: t[t.f].a.values, TypeError, "whole columns"),
    "a table compared": (lambda t: t.a if t == 3 else t.m, TypeError, "no operators"),
    "whether a table": (lambda t: t.a if t else t.m, TypeError, "neither true"),
    "sum of a table": (lambda t: t.sum(), AttributeError, "of one column"),
    "merge": (lambda t: t.merge(t), AttributeError, "joined before"),
    "group_by": (lambda t: t.group_by("k"), AttributeError, r"t.groupby\(keys\)"),
    "a misspelt method": (lambda t: t.a.fillnan(0), AttributeError, "Did you mean 'fillna'"),
    "a misspelt column": (lambda t: t.colum_a, AttributeError, "Its columns are a, m, n, f, g, s, k"),
    "a misspelt statistic": (lambda t: t.groupby("k").a.maen(), AttributeError, "."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    study, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        evaluated(study, SPECS[False], FRAMES[False])


def test_truth_values_some_of_which_are_missing():
    frame = {"b": [True, None, False, True], "c": [True, True, None, False], "x": [1.0, 2.0, 4.0, 8.0]}
    table = hm.Table.encrypt(frame, ranges={"x": (0, 9)})
    series = pd.Series(frame["b"], dtype="boolean")
    for found, expected in (
        (table.b.sum(), series.sum()),
        (table.b.count(), series.count()),
        (table[table.b.fillna(True)].x.sum(), 11),
        (table[table.b.fillna(False)].x.sum(), 9),
        (table[table.b == True].x.sum(), 9),  # noqa: E712
        (table[table.b != True].x.sum(), 6),  # noqa: E712
        (table.b.isna().sum(), 1),
    ):
        np.testing.assert_allclose(found.decrypt(params=shallow()), expected, atol=1e-3)
    for tried in (
        lambda: table.b + table.c,
        lambda: ~table.b,
        lambda: table[table.b],
        lambda: table.b & table.c,
    ):
        with pytest.raises(TypeError):
            tried()


COLUMNS = {
    "a list with NA": [1, pd.NA, 3, 4],
    "a list with None": [1, None, 3, 4],
    "a list with NaN": [1, float("nan"), 3, 4],
    "objects": np.array([1, pd.NA, 3, 4], dtype=object),
    "Int64": pd.Series([1, None, 3, 4], dtype="Int64"),
    "Float64": pd.array([1.0, None, 3, 4], dtype="Float64"),
    "masked": np.ma.masked_array([1, 9, 3, 4], [0, 1, 0, 0]),
    "floats": np.array([1, np.nan, 3, 4]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_with_missing_values_of_any_library(name):
    column = COLUMNS[name]
    frames = [{"x": column}] + ([] if name == "masked" else [pd.DataFrame({"x": column})])
    for frame in frames:
        (own,) = hm.TableSpec.of(frame, ranges={"x": (0, 5)}).columns
        assert (own.may_miss, own.categories) == (True, ())
        values, present = own.arrays(read_frame(frame)["x"])
        assert (values.tolist(), present.tolist()) == ([1, 0, 3, 4], [1, 0, 1, 1])


KINDS = [
    *([1.0, 2.0], [1.5, 2.0], [1.0, np.nan], [1.5, np.nan], [1.5, None], [1, 2], [1, None]),
    *([True, False], [True, None], ["a", "b"], ["a", None]),
]


@pytest.mark.parametrize("values", KINDS)
def test_kinds_of_columns_are_pandas_s(values):
    """Numbers next to missing ones are whole if they all are, as convert_dtypes has it."""
    series = pd.Series(values)
    wanted = series.convert_dtypes() if series.isna().any() else series
    frames = ({"x": values}, {"x": series}, pd.DataFrame({"x": wanted}))
    for column in (read_frame(each)["x"] for each in frames):
        assert column.kind == wanted.dtype.kind
    options = {} if wanted.dtype.kind in "Ob" else {"ranges": {"x": (0, 5)}}
    (own,) = hm.TableSpec.of({"x": values}, **options).columns
    assert (own.step, own.may_miss) == (None if wanted.dtype.kind == "f" else 1, bool(series.isna().any()))


def test_truths_and_dates_with_missing_values():
    (own,) = hm.TableSpec.of({"b": pd.array([True, None], dtype="boolean")}).columns
    assert (own.is_truth, own.may_miss) == (True, True)
    dates = pd.to_datetime(["2020-01-01", None, "2020-01-02"])
    assert hm.TableSpec.of({"d": dates[1:2]}).columns[0].may_miss  # of none that is there
    for frame in ({"d": dates}, {"d": dates.to_numpy()}, pd.DataFrame({"d": dates})):
        (own,) = hm.TableSpec.of(frame).columns
        assert own.may_miss
        assert len(own.categories) == 2
    masked = {
        "d": np.ma.masked_array(dates.to_numpy(), [1, 0, 0]),
        "f": np.ma.masked_array([np.nan, 1, 2], [0, 0, 1]),
    }
    for column in read_frame(masked).values():  # what is masked, and what is none by itself
        assert column.missing.sum() == 2
    one = hm.TableSpec.of({"s": ["a", "a"], "t": [None, "b"], "k": [1, 2]}, keys=["k"])
    assert [own.range for own in one.columns] == [(0, 1), (0, 1)]
    plan = hm.compile(lambda t: {"a": (t.s == "a").sum(), "b": (t.t == "b").sum()}, one, security=None)
    assert plan.local(threads=1)({"s": ["a", "a"], "t": [None, "b"], "k": [1, 2]}) == pytest.approx(
        {"a": 2, "b": 1}, abs=1e-3
    )


def test_keys_do_not_change():
    """Programs depend on them."""
    keys = np.array(["u", "v"])
    spec = hm.TableSpec.of({"x": [1.0, 2.0], "k": keys}, ranges={"x": (0, 5)}, keys=["k"])
    keys[0] = "w"
    assert spec.keys["k"].tolist() == ["u", "v"]
    with pytest.raises(ValueError, match="read-only"):
        spec.keys["k"][0] = "w"


def test_integers_of_results_are_whole():
    """As pandas has them, where no value is missing; of sums near 6,000 16 bits are too few for it."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"i": rng.integers(-5, 8, 24), "u": rng.integers(0, 256, 24), "b": rng.random(24) < 0.5}
    )
    frame["key"] = rng.choice(["x", "y"], 24)
    spec = hm.TableSpec.of(frame, ranges={"i": (-5, 7), "u": (0, 255)}, keys=["key"])

    def study(t):
        whole = {"max": t.i.max(), "sum": t.i.sum(), "of some": t[t.b].i.min(), "column": t.i * t.i - 1}
        of_groups = {"by": t.groupby("key").i.sum(), "by some": t[t.b].groupby("key").i.max()}
        return whole | of_groups | {"real": t.i.mean(), "long": t.u.sum()}

    wanted, found = study(frame), hm.compile(study, spec, security=None).local(threads=1)(frame)
    for name, own in found.items():
        kind = "f" if name in ("real", "long") else "i"
        assert np.asarray(own).dtype.kind == kind, name
        if kind == "i":
            np.testing.assert_array_equal(own, wanted[name])
    assert abs(found["long"] - wanted["long"]) < 6120 * 2.0**-16
