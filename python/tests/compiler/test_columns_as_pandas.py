"""Operations of columns, by kinds of values and by which rows are left, are those of NumPy and pandas on the
same frame, or refused."""

import contextlib
import operator

import numpy as np
import pandas as pd
import pytest

import hemera as hm
from hemera.errors import ParameterError

from .table_cases import assert_like, evaluated

ROWS = 16


def frame_of(seed=0):
    """Columns a: integers, x: real numbers, m: halves of which some are missing, f, g: truth values, s:
    texts, w: texts of which some are missing, d: dates, k: a public key."""
    rng = np.random.default_rng(seed)
    words = rng.choice(["x", "y", "z"], ROWS).astype(object)
    return pd.DataFrame(
        {
            "a": rng.integers(-1, 4, ROWS),
            "x": rng.uniform(1, 3, ROWS),
            "m": np.where(np.arange(ROWS) % 4 == 1, np.nan, rng.integers(1, 7, ROWS) / 2),
            "f": rng.random(ROWS) < 0.5,
            "g": rng.random(ROWS) < 0.3,
            "s": words,
            "w": np.where(np.arange(ROWS) % 5 == 2, None, words),
            "d": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 4, ROWS), "D"),
            "k": np.random.default_rng(9).choice(["u", "v"], ROWS),
        }
    )


FRAME = frame_of()
RANGES = {"a": (-1, 3), "x": (1, 3), "m": (0, 3)}
SPEC = hm.TableSpec.of(FRAME, ranges=RANGES, keys=["k"], steps={"m": 0.5})
COLUMNS = "axmfswd"
DAY = pd.Timestamp("2020-01-03")
COMPARED = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)

BY_ROWS = {
    "abs": (abs, "axmf"),
    "abs()": (lambda c: c.abs(), "axmf"),
    "-": (operator.neg, "axmf"),
    "+": (operator.pos, "axmf"),
    "~": (operator.inv, "f"),
    "+ 1": (lambda c: c + 1, "axmf"),
    "1 -": (lambda c: 1 - c, "axmf"),
    "* 2": (lambda c: c * 2, "axmf"),
    "/ 2": (lambda c: c / 2, "axmf"),
    "2 /": (lambda c: 2 / (c + 2), "axmf"),
    "// 2": (lambda c: c // 2, "amf"),
    "% 2": (lambda c: c % 2, "amf"),
    "** 2": (lambda c: c**2, "axmf"),
    "** 0": (lambda c: c**0 + c.notna(), "axmf"),
    "1 **": (lambda c: 1.0**c, "axmf"),
    "2 **": (lambda c: 2.0**c, "axmf"),
    "float_power": (lambda c: np.float_power(c, 2), "axmf"),
    "add, sub": (lambda c: c.add(1).sub(3).rsub(1), "axmf"),
    "mul, div, pow": (lambda c: c.mul(2).div(3).pow(2), "axmf"),
    **{f"{each.__name__} 2": (lambda c, each=each: each(c, 2), "amf") for each in COMPARED},
    **{f"2 {each.__name__}": (lambda c, each=each: each(2, c), "amf") for each in COMPARED},
    **{f"{each.__name__} 'y'": (lambda c, each=each: each(c, "y"), "sw") for each in COMPARED},
    **{f"'y' {each.__name__}": (lambda c, each=each: each("y", c), "sw") for each in COMPARED},
    **{f"{each.__name__} day": (lambda c, each=each: each(c, DAY), "d") for each in COMPARED},
    "gt, le": (lambda c: c.gt(0) & c.le(2), "amf"),
    "> 'xx'": (lambda c: c > "xx", "sw"),
    "> 'zz'": (lambda c: c > "zz", "sw"),
    "> text of a day": (lambda c: c > "2020-01-02", "swd"),
    "< numpy's day": (lambda c: c < np.datetime64("2020-01-02T12:00"), "d"),
    "day isin": (lambda c: c.isin([DAY]), "axmfd"),
    "between": (lambda c: c.between(1, 2), "amf"),
    "between texts": (lambda c: c.between("y", "z", inclusive="left"), "sw"),
    "between days": (lambda c: c.between("2020-01-02", DAY), "d"),
    "isin": (lambda c: c.isin([1, 2.5, 1]), "amf"),
    "isin missing": (lambda c: c.isin([1, np.nan]), "amf"),
    "isin texts": (lambda c: c.isin(["x", "z"]), "axmfsw"),
    "isin texts or missing": (lambda c: c.isin(["x", None, pd.NA]), "sw"),
    "isin nothing": (lambda c: (c.isin([]) | c.notna()) & c.isna(), "axmfswd"),
    "np.isin": (lambda c: np.isin(c, [1, 2]), "amf"),
    "isna": (lambda c: c.isna(), "axmfswd"),
    "notnull": (lambda c: c.notnull(), "axmfswd"),
    "isnan": (lambda c: np.isnan(c), "axmf"),
    "isfinite": (lambda c: np.isfinite(c), "axmf"),
    "isinf": (lambda c: np.isinf(c) | (c > 1), "amf"),
    "fillna": (lambda c: c.fillna(1), "axmf"),
    "fillna text": (lambda c: c.fillna("x") == "x", "sw"),
    "astype": (lambda c: c.astype(float) * 2, "axmf"),
    "astype int": (lambda c: c.astype(int) + 1, "af"),
    "astype bool": (lambda c: c.astype(bool), "axf"),
    "clip": (lambda c: c.clip(1, 2), "axm"),
    "clip above": (lambda c: c.clip(upper=2), "axm"),
    "np.clip": (lambda c: np.clip(c, 1, 2), "axm"),
    "round": (lambda c: c.round(), "amf"),
    "rounded twice": (lambda c: c.round() + c.round(), "amf"),
    "np.round": (lambda c: np.round(c), "amf"),
    "np.floor": (lambda c: np.floor(c), "amf"),
    "np.sign": (lambda c: np.sign(c), "am"),
    "np.square": (lambda c: np.square(c), "axmf"),
    "np.exp": (lambda c: np.exp(c), "axmf"),
    "np.tanh": (lambda c: np.tanh(c), "axmf"),
    "np.log": (lambda c: np.log(c + 2), "axmf"),
    "np.sqrt": (lambda c: np.sqrt(c + 2), "axmf"),
    "np.cos": (lambda c: np.cos(c), "axmf"),
    "np.maximum": (lambda c: np.maximum(c, 1), "axmf"),
    "np.minimum": (lambda c: np.minimum(1, c), "axmf"),
    "np.fmax": (lambda c: np.fmax(c, 1), "axf"),
    "np.logical_and": (lambda c: np.logical_and(c, c), "axmf"),
    "np.logical_or": (lambda c: np.logical_or(c, False), "axmf"),
    "np.logical_not": (lambda c: np.logical_not(c), "axmf"),
    "np.where": (lambda c: np.where(c > 1, c, 2), "amf"),
    "np.where of numbers": (lambda c: np.where(c, 1, 2), "axmf"),
    "np.where of missing": (lambda c: np.where(c < 2, 1.5, c), "amf"),
    "np.select": (lambda c: np.select([c > 2, c > 1], [c, 1], -1), "amf"),
    "where": (lambda c: c.where(c > 1), "am"),
    "where else": (lambda c: c.where(c > 1, 0), "am"),
    "where not 0": (lambda c: c.where(c, 0), ""),
    "where a truth value": (lambda c: c.where(c > 0, True), "f"),
    "mask": (lambda c: c.mask(c > 1, -1), "am"),
    "np.digitize": (lambda c: np.digitize(c, [1, 2]), "amf"),
    "np.polyval": (lambda c: np.polyval([1, -2, 3], c), "axmf"),
}
"""Operations row by row, and the columns that they are right for: they are refused for all others."""


OF_WHOLE = {
    "shift": (lambda c: c.shift(2), "axmf"),
    "shift back": (lambda c: c.shift(-1), "axmf"),
    "diff": (lambda c: c.diff(), "axm"),
    "np.diff": (lambda c: np.diff(c), "axf"),
    "np.sort": (lambda c: np.sort(c), "axf"),
    "np.median": (lambda c: np.median(c), "axf"),
    "np.quantile": (lambda c: np.quantile(c, 0.25), "ax"),
    "quantile": (lambda c: c.quantile(0.25), "ax"),
    "np.dot": (lambda c: np.dot(c, np.arange(ROWS)), "axf"),
    "np.concatenate": (lambda c: np.concatenate([c, [1, 2]]), "axf"),
    "np.average": (lambda c: np.average(c), "axf"),
    "np.cov": (lambda c: np.cov(c), "axf"),
    "np.histogram": (lambda c: np.histogram(c, [-1, 0, 1, 3])[0], "axf"),
}
"""Operations that bring rows together: for columns of which no row is missing or filtered out."""

RUNNING = {
    "cumsum": (lambda c: c.cumsum(), "axmf"),
    "np.cumsum": (lambda c: np.cumsum(c), "axmf"),
    "dropna": (lambda c: c.dropna() * 2, "axmf"),
    "items by a mask": (lambda c: c[c > 1] + 1, "amf"),
}
"""Operations whose results have the rows that are left."""

STATISTICS = {
    **{name: (operator.methodcaller(name), "axmf") for name in ("sum", "mean", "max", "min", "prod")},
    **{name: (operator.methodcaller(name), "axmf") for name in ("var", "std", "any", "all")},
    "var, ddof": (lambda c: c.var(ddof=0), "axmf"),
    "std, ddof": (lambda c: c.std(ddof=2), "axmf"),
    "count": (lambda c: c.count(), "axmfswd"),
    "nunique": (lambda c: c.nunique(), "fswd"),
}
OF_COLUMNS = {
    **{
        f"np.{each.__name__}": (each, "axmf")
        for each in (np.sum, np.mean, np.max, np.min, np.prod, np.var, np.std, np.any, np.all)
    },
    "np.count_nonzero": (np.count_nonzero, "axmf"),
    "np.std, ddof": (lambda c: np.std(c, ddof=2), "axmf"),
    "np.add.reduce": (np.add.reduce, "axf"),
    "value_counts": (lambda c: c.value_counts(), "fswd"),
    "frequencies": (lambda c: c.value_counts(normalize=True), "fswd"),
}
LEFT = {
    "all": lambda t: t,
    "filtered": lambda t: t[t.f],
    "by key": lambda t: t[t.k != "v"],
    "both": lambda t: (u := t[t.k != "v"])[u.a > 0],
    "one": lambda t: t[(t.a == FRAME.a[0]) & (t.m == FRAME.m[0]) & (t.d == FRAME.d[0])],
    "none": lambda t: t[t.a > 3],
    "none of v": lambda t: t[(t.k == "u") & (t.a > 0)],
}
"""Which rows are left."""


def held(found):
    """A column, of pandas where NumPy gives an array."""
    return pd.Series(found) if isinstance(found, np.ndarray) else found


def assert_refused(study):
    with pytest.raises((TypeError, AttributeError, ParameterError)) as error:
        evaluated(study, SPEC, FRAME)
    assert str(error.value)


def assert_as_pandas(study, right, name):
    if right:
        assert_like(evaluated(study, SPEC, FRAME), study(FRAME), name)
    else:
        assert_refused(study)


@pytest.mark.parametrize("name", BY_ROWS)
def test_by_rows(name):
    """All rows, sums of filtered rows, and means of groups."""
    operation, right = BY_ROWS[name]
    for column in COLUMNS:

        def study(t, column=column):
            found = held(operation(t[column]))
            named = t.assign(c=found * 1)
            return {
                "rows": found,
                "some": named[t.f].c.sum(),
                "groups": named[t.a > 0].groupby("k").c.mean(),
                "of filtered": operation(t[t.g][column]).sum(),
            }

        assert_as_pandas(study, column in right, f"{name} of {column}")


@pytest.mark.parametrize("name", OF_WHOLE)
def test_of_whole_columns(name):
    operation, right = OF_WHOLE[name]
    for column in COLUMNS:
        assert_as_pandas(
            lambda t, column=column: operation(t[column]), column in right, f"{name} of {column}"
        )
        assert_refused(lambda t, column=column: held(operation(t[t.f][column])))


@pytest.mark.parametrize("name", RUNNING)
def test_of_rows_that_are_left(name):
    operation, right = RUNNING[name]
    for column in COLUMNS:
        for left in LEFT.values():
            assert_as_pandas(
                lambda t, column=column, left=left: held(operation(left(t)[column])).sum(),
                column in right,
                f"{name} of {column}",
            )


@pytest.mark.parametrize("name", [*STATISTICS, *OF_COLUMNS])
def test_statistics(name):
    """Statistics of columns, and of groups where pandas has them: groups whose rows encrypted masks leave out
    stay, as of keys that are categories."""
    operation, right = (STATISTICS | OF_COLUMNS)[name]
    for column in COLUMNS:

        def study(t, column=column):
            found = {"some": t.a.sum()}
            for own, left in LEFT.items():
                rows = left(t)
                found[own] = operation(rows[column])
                if name in STATISTICS:
                    if isinstance(rows, pd.DataFrame):
                        labels = ["u"] if own in ("by key", "both") else ["u", "v"]
                        rows = rows.assign(k=pd.Categorical(rows.k, labels))
                    found[f"{own}, by k"] = operation(rows.groupby("k", observed=False)[column])
            return found

        assert_as_pandas(study, column in right, f"{name} of {column}")


def test_texts_and_dates_as_results():
    found = evaluated(lambda t: {name: t[name] for name in "swdk"}, SPEC, FRAME)
    assert (found["s"].tolist(), found["k"].tolist()) == (FRAME.s.tolist(), FRAME.k.tolist())
    assert found["w"].tolist() == [None if pd.isna(each) else each for each in FRAME.w]
    assert found["d"].tolist() == FRAME.d.tolist()


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("listed", [["low", "mid", "high", "never"], [30, 10, 20, 40], [0.5, 1.5, -1, 9]])
def test_categories_of_pandas(listed, ordered):
    """Their order is the listed one, or none, of numbers too; those without rows are counted."""
    low, mid, high, _ = listed
    kind = pd.CategoricalDtype(listed, ordered=ordered)
    levels = pd.Series([mid, high, low, mid, None], dtype=kind)
    frame = pd.DataFrame({"c": levels, "e": levels.iloc[::-1].array, "x": [1, 2, 3, 4, 5]})
    spec = hm.TableSpec.of(frame, ranges={"x": (0, 9)})
    studies = {
        "equal": lambda t: t.c == mid,
        "equal columns": lambda t: t.c == t.e,
        "counts": lambda t: t[t.x > 2].c.value_counts(),
        "shares of none": lambda t: t[t.x > 8].c.value_counts(normalize=True),
        "nunique": lambda t: t.c.nunique(),
    }
    in_order = {
        **{each.__name__: (lambda t, each=each: each(t.c, mid)) for each in COMPARED[2:]},
        **{f"{each.__name__} columns": (lambda t, each=each: each(t.c, t.e)) for each in COMPARED[2:]},
        "between": lambda t: t.c.between(low, mid),
    }
    for name, study in (studies | in_order).items():
        if ordered or name in studies:
            assert_like(evaluated(study, spec, frame), study(frame), name)
        else:
            with pytest.raises(TypeError, match="order"):
                evaluated(study, spec, frame)
    with pytest.raises(TypeError, match="holds categories"):
        evaluated(lambda t: (t.c + 1).sum(), spec, frame)


@pytest.mark.parametrize("value", ["2020-01-02", DAY, np.datetime64("2020-01-03T01"), 9, 3, 7])
def test_keys_that_are_dates_or_categories(value):
    """They compare as columns do, of all rows and of filtered ones; no row is a value that is not there."""
    levels = pd.CategoricalDtype([9, 3, 5], ordered=True)
    frame = FRAME.assign(level=pd.Series([3, 5, 9, 9] * 4, dtype=levels))
    spec = hm.TableSpec.of(frame, ranges=RANGES, keys=["k", "d", "level"])
    name = "level" if value in (9, 3, 7) else "d"
    for each in COMPARED if value != 7 else COMPARED[:2]:
        for left in (lambda t: t, lambda t: t[t.f]):

            def study(t, each=each, left=left):
                rows = left(t)
                some = rows[each(rows[name], value) | each(value, rows[name])]
                return {"a": some.a.sum(), "x": rows[rows[name].isin([DAY, 9][name == "level" :])].x.sum()}

            assert_like(evaluated(study, spec, frame), study(frame), each.__name__)
    found = evaluated(lambda t: t[t.f].groupby(name).a.sum(), spec, frame)
    wanted = frame[frame.f].groupby(name).a.sum()
    assert found.index.tolist() == frame.groupby(name).a.sum().index.tolist()
    assert_like(found, wanted.reindex(found.index).fillna(0))


OF_TWO = {
    **{each.__name__: each for each in (operator.add, operator.mul, operator.and_, operator.or_, *COMPARED)},
    **{each.__name__: each for each in (operator.sub, operator.pow, operator.mod, np.maximum, np.minimum)},
    "where": lambda c, e: c.where(e > 0, e),
    "np.where": lambda c, e: np.where(c, e, 1),
    "fillna": lambda c, e: c.fillna(e),
    "items": lambda c, e: c[e > 1],
}


def drawn(rng, depth):
    """An expression of columns of a table, and its name."""
    if depth == 0:
        column = str(rng.choice([*"aaxxmmffg", *COLUMNS]))
        return lambda t: t[column], column
    (first, own), (second, other) = drawn(rng, depth - 1), drawn(rng, int(rng.integers(depth)))
    if rng.random() < 0.5:
        one = str(rng.choice([*BY_ROWS]))
        return lambda t: BY_ROWS[one][0](first(t)), f"{one} of ({own})"
    two = str(rng.choice([*OF_TWO]))
    return lambda t: OF_TWO[two](first(t), second(t)), f"{two} of ({own}) and ({other})"


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_random_expressions(seed, exact):
    """What is computed, of all rows or of groups, is right where pandas has numbers; what pandas refuses of
    columns may be arrays. Exact programs are of whole numbers."""
    rng, right = np.random.default_rng(seed), 0
    frame = FRAME.assign(m=2 * FRAME.m, x=FRAME.x.round()) if exact else FRAME
    steps = {"m": 1.0, "x": 1.0} if exact else {"m": 0.5}
    spec = hm.TableSpec.of(frame, ranges=RANGES | {"m": (0, 6)}, keys=["k"], steps=steps)
    for _ in range(80):
        expression, name = drawn(rng, int(rng.integers(1, 4)))
        statistic, left = str(rng.choice([*STATISTICS])), str(rng.choice([*LEFT]))
        grouped = rng.random() < 0.3

        def study(t, expression=expression, statistic=statistic, left=left, by=grouped):
            rows = LEFT[left](t)
            found = expression(rows)
            if by:  # groups whose rows are filtered out stay, as of keys that are categories
                found = rows.assign(c=found * 1).groupby("k", observed=False).c
            return {"some": STATISTICS[statistic][0](found), "a": t.a.sum()}

        try:
            found = evaluated(study, spec, frame, exact)
        except (hm.Error, TypeError, AttributeError, ArithmeticError):
            continue
        with contextlib.suppress(TypeError, AttributeError, NotImplementedError):
            wanted = study(frame.astype({"k": "category"}))
            if grouped:
                wanted["some"] = wanted["some"][found["some"].index]  # public filters leave none of some
            if np.isfinite(wanted["some"]).all():
                assert_like(found, wanted, f"{statistic} of {left}: {name}", 1e-2)
                right += 1
    assert right > 8


def test_a_column_that_matters_by_its_range_alone():
    assert_as_pandas(lambda t: np.minimum(t.x, t.g) * 1, True, "x is above 1")
    assert_as_pandas(lambda t: {"a": t.a.sum(), "of none": t[t.x < 1].f.sum()}, True, "x is above 1")
