"""Members of pandas' tables and columns that encrypted ones do not have: errors that name the way out."""

from __future__ import annotations

from collections.abc import Iterable

from hemera.inputs.arguments import did_you_mean

__all__ = ["NO_COLUMN", "missing"]

_THERE = "docs/tables.md has what there is"
NO_COLUMN = f"statistics are methods, as column.sum(). {_THERE}"
"""What errors of functions of NumPy that take no column advise."""
_ARRAYS = (
    "hm.compile takes functions on arrays, which have it for a column without missing values: "
    "hm.ArraySpec((rows,), range=, step=)"
)
_INSTEAD = {
    **dict.fromkeys(
        ("max", "min", "median", "quantile", "mode", "nunique", "rank", "nlargest", "nsmallest"), _ARRAYS
    ),
    **dict.fromkeys(
        ("cumsum", "cumprod", "diff", "shift", "rolling", "ewm", "expanding", "prod", "round"), _ARRAYS
    ),
    **dict.fromkeys(
        ("corr", "cov", "skew", "kurt", "sem"),
        "sums, means and products of columns make it: ((t.a - t.a.mean()) * (t.b - t.b.mean())).mean()",
    ),
    **dict.fromkeys(("where", "mask"), "mask * a + ~mask * b selects row by row, and t[mask] filters"),
    **dict.fromkeys(("clip",), "np.maximum(np.minimum(column, high), low) is the same"),
    **dict.fromkeys(
        ("value_counts", "unique", "describe"),
        "(column == value).sum() counts one value, and t.groupby(key).size() those of a public key",
    ),
    **dict.fromkeys(
        ("query", "loc", "iloc", "filter", "drop", "head", "tail", "sample"),
        "t[mask] filters rows, and t[[names]] takes columns",
    ),
    **dict.fromkeys(
        ("group_by", "pivot_table", "pivot", "resample"), "t.groupby(keys) groups by public keys"
    ),
    **dict.fromkeys(("merge", "join", "append", "concat"), "tables are joined before they are encrypted"),
    **dict.fromkeys(
        ("apply", "map", "transform", "pipe"),
        "a column takes operators, and NumPy's functions of single elements",
    ),
    **dict.fromkeys(("sort_values", "sort_index", "sort"), "statistics do not depend on the order of rows"),
    **dict.fromkeys(
        ("dropna",), "statistics leave missing values out, t[column.notna()] filters, and fillna fills them"
    ),
    **dict.fromkeys(("isnull",), "isna() is the same"),
    **dict.fromkeys(("notnull",), "notna() is the same"),
    **dict.fromkeys(
        ("to_numpy", "tolist", "item", "to_list", "array", "iterrows", "itertuples"),
        "values are encrypted when the program runs; return the column as a result",
    ),
    **dict.fromkeys(
        ("dt", "str", "cat"), "parts of dates and texts are columns or keys that are made before"
    ),
    **dict.fromkeys(
        ("shape", "size"), "len(t) is how many rows there are, and t.columns has the names of columns"
    ),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), "== != < <= > >= compare"),
    **dict.fromkeys(("add", "sub", "mul", "div", "pow"), "+ - * / ** compute row by row"),
}


def missing(what: str, name: str, instance: object, names: Iterable[str] = ()) -> AttributeError:
    """The error for an attribute that a table or a column does not have.

    Args:
        names: columns that are attributes too.
    """
    told = f"{what} has no {'column ' if names else ''}{name!r}"
    if not name.startswith("_"):
        there = [*names, *(each for each in dir(type(instance)) if not each.startswith("_"))]
        near = did_you_mean(name, there)
        if name in _INSTEAD and not any(each == name for each in names):
            told += f": {_INSTEAD[name]}. {_THERE}"
        else:
            told += near or f". {_THERE}"
        if names:
            told += f". Its columns are {', '.join(names)}"
    return AttributeError(told, name=name, obj=instance)
