"""Whether a package gives what the model's own library gives: at export, on rows in the clear."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import MismatchError, ParameterError
from hemera.integer_parameters import IntegerParameters
from hemera.package.package import Package
from hemera.package.specs import CLASSES
from hemera.program.values import Array

Floats = NDArray[np.float64]
_MOST = 500
"""Rows that are compared."""


def thinned(rows: Any, most: int = _MOST) -> Any:
    """At most `most` rows of a table, evenly chosen: a frame remains one."""
    return rows[:: max(1, -(-len(rows) // most))]


def of_library(model: Any, method: str, rows: Any, **options: Any) -> Array:
    """The results of a library's model. ParameterError with the library's reason where it has none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names of columns, which generated rows lack; precision
            return np.asarray(getattr(model, method)(rows, **options))
    except Exception as error:
        raise ParameterError(
            f"{type(model).__name__}.{method} does not take the rows that the package is compared on: "
            f"{error}; give others: calibrate="
        ) from error


def require_agreement(package: Package, rows: Any, expected: Array, slack: Floats, method: str) -> None:
    """MismatchError where a package's results, in the clear, are not those of its library.

    Args:
        expected: the library's results for the rows.
        slack: shape (rows, scores): by how much scores may differ; where they are as near to a tie, classes
            may differ too.
        method: of the library, for the message.
    """
    interface = package.interface
    modulus = package.params.plain_modulus if isinstance(package.params, IntegerParameters) else 0
    values = package.program.evaluate_clear(interface.encode(rows), modulus)
    count = len(rows)
    found = np.asarray(interface.decode(values, count))
    if found.shape != expected.shape:
        raise MismatchError(
            f"{method} gives an array of shape {expected.shape}, and the package one of {found.shape}; the "
            "model is not packaged. Write it as a function of an encrypted row for hemera.serving.export"
        )
    spec = package.outputs[0]
    plain = [replace(spec, read="values", labels=None, column=True)]
    scores = np.asarray(interface.encoding.decode(values, plain, count), np.float64).reshape(slack.shape)
    if spec.read in CLASSES:
        good = (found == expected) | _tied(scores, slack, spec.read).reshape(found.shape)
    else:
        own = slack if found.size == slack.size else slack.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            difference = np.abs(found - expected).reshape(len(found), -1)
            good = (difference <= own).reshape(found.shape) | (found == expected)
    require_rows(good, found, expected, method, "the package", "the model is not packaged")


def require_rows(
    good: NDArray[np.bool_], found: Any, expected: Any, method: str, who: str, then: str, most: float = 0.0
) -> None:
    """MismatchError where more than a part of the rows is not good: what follows `then`, with the first one.

    Args:
        good: of shape (rows, ...), as results are.
        who: has other results than the library's method.
    """
    bad = np.flatnonzero(~good.all(axis=tuple(range(1, good.ndim))))
    if len(bad) > most * len(good):
        at = int(bad[0])
        raise MismatchError(
            f"{method} gives {_short(expected[at])} for row {at}, and {who} {_short(found[at])}; "
            f"{len(bad)} of {len(good)} rows differ, and {then}. Write it as a function of an encrypted "
            "array for hm.compile"
        )


def _tied(scores: Floats, slack: Floats, read: str) -> NDArray[np.bool_]:
    """Where scores are too near to a tie to decide the class."""
    if read == "sign" or scores.shape[1] == 1:
        return np.asarray(np.abs(scores) <= slack)
    first, second = np.sort(scores, axis=1)[:, :-3:-1].T
    return np.asarray(first - second <= 2 * slack.max(axis=1))


def _short(result: Array) -> str:
    return np.array2string(np.asarray(result), precision=6, threshold=8)
