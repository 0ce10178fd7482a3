"""Members of pandas' tables and columns that encrypted ones do not have: errors that name the way out."""

from __future__ import annotations

from collections.abc import Iterable

from hemera.inputs.arguments import did_you_mean

_THERE = "docs/tables.md has what there is"
NO_COLUMN = f"statistics are methods, as column.sum(). {_THERE}"
"""What errors of functions of NumPy that take no column advise."""
_INSTEAD = {
    "quantile mode rank nlargest nsmallest cumprod cummax cummin sample rolling ewm expanding pct_change": (
        "hm.compile takes functions on arrays, which have it for a column without missing values: "
        "hm.ArraySpec((rows,), range=, step=)"
    ),
    "corr cov skew kurt sem": (
        "sums, means and products of columns make it: ((t.a - t.a.mean()) * (t.b - t.b.mean())).mean()"
    ),
    "value_counts unique describe": (
        "t.column.value_counts() counts categories, (column == value).sum() one value, and "
        "t.groupby(key).size() those of a public key"
    ),
    "sum mean std var max min median prod nunique": (
        "t.column.sum() is of one column, and t.groupby(keys)[[names]].sum() of groups"
    ),
    "query loc iloc filter drop head tail": "t[mask] filters rows, and t[[names]] takes columns",
    "group_by pivot_table pivot resample": "t.groupby(keys) groups by public keys",
    "merge join append concat": "tables are joined before they are encrypted",
    "apply map transform pipe": "a column takes operators, and NumPy's functions of single elements",
    "sort_values sort_index sort": "statistics do not depend on the order of rows",
    "dropna fillna isna": "t[t.column.notna()] filters rows, and t.column.fillna(value) fills them",
    "to_numpy tolist item to_list array iterrows itertuples": (
        "values are encrypted when the program runs; return the column as a result"
    ),
    "dt str cat": "parts of dates and texts are columns or keys that are made before",
    "shape size": "len(t) is how many rows there are, and t.columns has the names of columns",
}
"""What leads to the same, by the names of members."""


def missing(what: str, name: str, instance: object, names: Iterable[str] = ()) -> AttributeError:
    """The error for an attribute that a table or a column does not have.

    Args:
        names: columns that are attributes too.
    """
    names = list(names)
    told = f"{what} has no {'column ' if names else ''}{name!r}"
    if not name.startswith("_"):
        there = [*names, *(each for each in dir(type(instance)) if not each.startswith("_"))]
        near = did_you_mean(name, there)
        way = next((each for known, each in _INSTEAD.items() if name in known.split()), None)
        if way and name not in names:
            told += f": {way}. {_THERE}"
        else:
            told += near or f". {_THERE}"
        if names:
            told += f". Its columns are {', '.join(names)}"
    return AttributeError(told, name=name, obj=instance)
