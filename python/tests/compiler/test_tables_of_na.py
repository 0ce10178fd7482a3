"""Missing values that pandas keeps in comparisons (NA), and arrays that NumPy gives in place of columns."""

import numpy as np
import pandas as pd
import pytest

import hemera as hm

from .table_cases import assert_like, evaluated, shallow

FRAME = pd.DataFrame(
    {
        "a": [0, 1, 2, 3, 4, 5],
        "n": pd.Series([0, None, 2, 3, None, 1], dtype="Int64"),
        "m": [0.5, 1.0, np.nan, 2.0, np.nan, 0.0],
        "f": [True, False, True, False, True, True],
        "b": pd.Series([True, None, False, True, False, None], dtype="boolean"),
        "s": pd.Series(["x", "y", None, "x", "z", None], dtype="string"),
        "d": pd.to_datetime(["2020-01-01", None, "2021-01-01", "2020-01-01", None, "2022-01-01"]),
        "k": ["u", "u", "v", "v", "u", "v"],
    }
)
SPEC = hm.TableSpec.of(FRAME, ranges={"a": (0, 5), "n": (0, 3), "m": (0, 2)}, keys=["k"], steps={"m": 0.5})

OF_NA = {
    "not equal": lambda t: t[t.n != 2].a.sum(),
    "all": lambda t: (t.n >= 0).all(),
    "mean": lambda t: (t.n > 1).mean(),
    "count": lambda t: (t.n > 1).count(),
    "missing": lambda t: (t.n > 1).isna().sum(),
    "filled": lambda t: t[(t.n > 1).fillna(True)].a.sum(),
    "opposite": lambda t: t[~(t.n > 1)].a.sum(),
    "between": lambda t: t[~t.n.between(1, 2)].a.sum(),
    "beside NaN": lambda t: (t.n + 1 > t.m).mean(),
    "of NaN alone": lambda t: (t.m != 1).mean(),
    "and, decided": lambda t: (t.b & t.f).count(),
    "or, decided": lambda t: (t.b | t.f).count(),
    "or of two": lambda t: ((t.n > 0) | t.b).mean(),
    "and of two": lambda t: ((t.n > 0) & t.b).mean(),
    "different": lambda t: (t.b ^ t.f).mean(),
    "with True": lambda t: ((t.n > 1) & True).mean(),
    "False or": lambda t: (False | (t.n > 1)).count(),
    "of NumPy, not decided": lambda t: np.logical_and(t.b, t.f).count(),
    "or of NumPy": lambda t: np.logical_or(t.b, t.n > 1).sum(),
    "not of NumPy": lambda t: np.logical_not(t.n).sum(),
    "texts": lambda t: (t.s == "x").mean(),
    "other texts": lambda t: t[t.s != "x"].a.sum(),
    "order of texts": lambda t: (t.s < "y").count(),
    "dates": lambda t: (t.d > "2020-06-01").mean(),
    "of groups": lambda t: t.assign(z=t.n > 0).groupby("k").z.mean(),
    "isin": lambda t: (~t.n.isin([1, 2])).sum(),
    "NA is in": lambda t: t.n.isin([pd.NA]).sum(),
    "NaN is not in": lambda t: t.n.isin([np.nan]).sum(),
    "NaN is in": lambda t: t.m.isin([np.nan]).sum(),
    "NA is not in": lambda t: t.m.isin([pd.NA]).sum(),
    "NaT is in": lambda t: t.d.isin([pd.NaT]).sum(),
    "None is not in": lambda t: t.d.isin([None]).sum(),
    "None among texts": lambda t: t.s.isin(["x", None]).sum(),
    "is NaN": lambda t: np.isnan(t.n).sum(),
    "is no NaN": lambda t: (~np.isnan(t.n)).sum(),
    "is NaN of NaN": lambda t: np.isnan(t.m).sum(),
    "is infinite": lambda t: np.isinf(t.n).count(),
    "is not infinite": lambda t: (~np.isinf(t.m)).sum(),
    "is finite": lambda t: (~np.isfinite(t.n)).sum(),
    "is finite of NaN": lambda t: (~np.isfinite(t.m)).sum(),
    "as floats": lambda t: (t.n.astype(float) != 2).mean(),
}
OF_NUMPY = {
    **{
        f"{name} of where": lambda t, name=name: getattr(np.where(t.f, t.a, 2), name)()
        for name in ("sum", "mean", "var", "std", "max", "min", "prod", "any", "all")
    },
    **{
        f"{name} of missing values": lambda t, name=name: getattr(np.where(t.f, t.m, t.a), name)()
        for name in ("sum", "mean", "var", "std", "max", "min", "any", "all")
    },
    "none is left": lambda t: np.where(t.m.isna(), 0, t.m).mean(),
    "deviation of a filter": lambda t: (lambda some: np.where(some.a > 2, some.a, 0).std())(t[t.f]),
    "missing of a filter": lambda t: (lambda some: np.where(some.f, some.m, 1).sum())(t[t.a < 2]),
    "missing beyond a filter": lambda t: (lambda some: np.where(some.f, some.m, 1).sum())(t[t.m.notna()]),
    "and a column": lambda t: (np.where(t.f, t.a, 2) + t.a).var(),
    "and a number": lambda t: (np.where(t.f, t.a, 2) * 2 + 1).var(),
    "assigned": lambda t: t.assign(z=np.where(t.f, t.a, 2)).z.var(),
    "select": lambda t: np.select([t.f, t.a > 2], [t.a, 1], 5).var(),
    "isin": lambda t: np.isin(t.a, [1, 2]).std(),
    "comparisons": lambda t: (np.where(t.f, t.a, 2) > 2).var(),
    "ddof": lambda t: np.where(t.f, t.a, 2).var(ddof=1),
    "by NumPy": lambda t: np.var(np.where(t.f, t.a, 2)),
    "missing by NumPy": lambda t: np.mean(np.where(t.f, t.m, 1)),
    "medians": lambda t: np.median(t.a.shift(1)),
    "medians of all": lambda t: np.median(t.a),
    "digitize": lambda t: np.digitize(t.a, [1, 3]).var(),
    "where of columns": lambda t: t.a.where(t.f, 2).var(),
}


@pytest.mark.parametrize("study", [*OF_NA.values(), *OF_NUMPY.values()], ids=[*OF_NA, *OF_NUMPY])
def test_studies_are_pandas_s(study):
    assert_like(evaluated(study, SPEC, FRAME), study(FRAME))


def test_encrypted():
    names = (
        "not equal",
        "all",
        "or of two",
        "std of where",
        "std of missing values",
        "any of missing values",
    )
    both = {**OF_NA, **OF_NUMPY}

    def study(t):
        return {name: both[name](t) for name in names}

    plan = hm.compile(study, SPEC, params=shallow())
    other = FRAME.assign(**{name: FRAME[name].array[::-1] for name in "anm"})
    for frame in (FRAME, other):
        assert_like(plan.local(threads=1)(frame), study(frame), room=0.01)


REFUSED = {
    "where by NA": (lambda t: np.where(t.n > 1, t.a, 0).sum(), "fillna"),
    "where of NA": (lambda t: np.where(t.f, t.n, 0).sum(), "fillna"),
    "column's where by NA": (lambda t: t.a.where(t.n > 1, 0).sum(), "fillna"),
    "running sums of NaN": (lambda t: np.where(t.f, t.m, 0).cumsum().sum(), "fillna"),
    "arithmetic of truth values": (lambda t: ((t.n > 1) + 0).sum(), "fillna"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    study, words = REFUSED[name]
    with pytest.raises(TypeError, match=words):
        evaluated(study, SPEC, FRAME)


def test_ends_of_truth_values_are_truth_values_where_there_are_some():
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "f": [True, False, False, True], "k": list("xyxy")})
    frame["n"] = pd.array([True, None, False, None], dtype="boolean")

    def study(t):
        some = t[t.a > 1]
        return {"max": some.f.max(), "min": some.f.min(), "na": t.n.min(), "none": t[t.a > 4].f.max()}

    spec = hm.TableSpec.of(frame, ranges={"a": (0, 5)}, keys=["k"])
    found, wanted = hm.compile(study, spec, security=None).local(threads=1)(frame), study(frame)
    assert [type(found[name]) for name in ("max", "min", "na")] == [bool] * 3
    assert [found[name] for name in ("max", "min", "na")] == [wanted[name] for name in ("max", "min", "na")]
    assert np.isnan(found["none"])
    assert np.isnan(wanted["none"])
