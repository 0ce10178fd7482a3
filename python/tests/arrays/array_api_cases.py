"""Functions of the array API standard on encrypted arrays, judged by array-api-strict.

    python python/tests/arrays/array_api_cases.py [--all]

prints how many cases are right, refused and wrong, by the standard's sections.
"""

import collections
import itertools
import operator
import sys
import warnings

import array_api_strict as strict
import numpy as np

from hemera.arrays.namespace import NAMESPACE

if __package__:
    from .judged import called, judged, with_leaves
else:
    from judged import called, judged, with_leaves

ARRAYS = {
    "b": np.array([[True, False, True], [False, False, True]]),
    "i": np.array([[3, 0, -2], [1, -2, 2]]),
    "f": np.array([[1.5, 0.0, -0.5], [1.0, -2.0, 2.0]]),
}
POSITIVE = np.array([[1.5, 1.0, 2.5], [1.0, 2.0, 3.0]])
UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag
isfinite isinf isnan log log10 log1p log2 logical_not negative positive real reciprocal round sign signbit
sin sinh sqrt square tan tanh trunc"""
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign
divide equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or
logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract"""
OPERATORS = """add sub mul truediv floordiv mod pow and_ or_ xor lt le gt ge eq ne neg pos abs invert lshift
rshift matmul"""
REDUCTIONS = "all any argmax argmin count_nonzero max mean min prod std sum var"


def pairs():
    """Operands of each kind that broadcast, with 0-d arrays and Python's numbers."""
    for x in ARRAYS.values():
        yield x, x[::-1]
        yield x, x[0]
        yield x[:, :1], x[1]
        yield x, x[0, 0]
        yield np.asarray(x[1, 2]), x[:, None]
        yield x, x[1, 2].item()
        yield np.asarray(x[0, 0]), np.asarray(x[1, 2])
    yield ARRAYS["i"], ARRAYS["b"]
    yield POSITIVE, ARRAYS["i"]


def elementwise():
    """Functions and operators of single elements."""
    inputs = [*ARRAYS.values(), POSITIVE, *(np.asarray(x[0, 0]) for x in ARRAYS.values())]
    for name, x in itertools.product(UNARY.split(), inputs):
        yield "elementwise", name, (x,), {}
    for name, (a, b) in itertools.product(BINARY.split(), pairs()):
        yield "elementwise", name, (a, b), {}
    for x, ends in itertools.product(ARRAYS.values(), [(None, 1), (-1, None), (-1, 1), (0.5, 1.5), ()]):
        yield "elementwise", "clip", (x, *ends), {}
    for name in OPERATORS.split():
        alone = name in ("neg", "pos", "abs", "invert")
        for a, b in pairs():
            yield "operators", f"operator.{name}", (a,) if alone else (a, b), {}


def over_axes():
    """Functions over axes."""
    shaped = [*ARRAYS.values(), np.asarray(2.5), np.arange(8).reshape(2, 2, 2)]
    axes = [{}, *({"axis": at} for at in (0, -1, (0, 1), (), 5))]
    for name, x, options, kept in itertools.product(
        REDUCTIONS.split(), shaped, axes, [{}, {"keepdims": True}]
    ):
        yield "over axes", name, (x,), {**options, **kept}
    for name in ("std", "var"):
        yield "over axes", name, (ARRAYS["f"],), {"axis": 1, "correction": 1}
    for x, options in itertools.product(ARRAYS.values(), [{"axis": 1}, {"axis": -2}, {}]):
        yield "over axes", "cumulative_sum", (x,), options
        yield "over axes", "cumulative_sum", (x,), {**options, "include_initial": True}
        yield "over axes", "diff", (x,), options
        yield "over axes", "diff", (x,), {**options, "n": 2}
        for descending in (False, True):
            yield "order", "sort", (x,), {**options, "descending": descending}
            yield "order", "argsort", (x,), {**options, "descending": descending}
    for side in ("left", "right"):
        yield "order", "searchsorted", (np.array([-2, 0, 3]), ARRAYS["i"]), {"side": side}


def moved():
    """Functions that move elements."""
    for x in (*ARRAYS.values(), np.arange(12).reshape(2, 1, 3, 2)):
        n = x.ndim
        calls = {
            "broadcast_to": [((x, (3, *x.shape)), {})],
            "concat": [(([x, x],), {}), (([x, x],), {"axis": -1}), (([x, x[..., :1]],), {"axis": None})],
            "expand_dims": [((x,), {"axis": at}) for at in (0, -1, n, -n - 1, n + 1)],
            "flip": [((x,), {}), ((x,), {"axis": -1}), ((x,), {"axis": (0, 1)})],
            "moveaxis": [((x, 0, -1), {}), ((x, (0, 1), (1, 0)), {})],
            "permute_dims": [((x, tuple(range(n))[::-1]), {}), ((x, (1, 0)), {})],
            "repeat": [((x, 2), {}), ((x, 3), {"axis": 1})],
            "reshape": [((x, (-1,)), {}), ((x, (x.size, 1)), {}), ((x, (5,)), {})],
            "roll": [((x, 1), {}), ((x, -2), {"axis": -1}), ((x, (1, 2)), {"axis": (0, 1)})],
            "squeeze": [((x[:, :1], 1), {}), ((x, 0), {}), ((x[:1, :1], (0, 1)), {})],
            "stack": [(([x, x],), {}), (([x, x],), {"axis": -1})],
            "tile": [((x, (2,)), {}), ((x, (2, 1, 2)), {})],
            "unstack": [((x,), {}), ((x,), {"axis": 1})],
            "take": [((x, np.array([0, -1])), {"axis": 1}), ((x.reshape(-1), np.array([2, 0])), {})],
            "take_along_axis": [((x, np.zeros(x.shape, int)), {"axis": -1})],
            "tril": [((x,), {}), ((x,), {"k": -1})],
            "triu": [((x,), {"k": 1})],
            "matrix_transpose": [((x,), {})],
            "broadcast_arrays": [((x, x[0]), {})],
            "astype": [((x, np.bool_), {}), ((x, np.int64), {}), ((x, np.float64), {})],
            "where": [((ARRAYS["b"], y, y[::-1]), {}) for y in [x[:1, :1].reshape(-1)[:1]]],
        }
        for name, each in calls.items():
            for arguments, options in each:
                yield "places", name, arguments, options


def products():
    """Sums of products."""
    for x in ARRAYS.values():
        y = np.stack([x, x[::-1]])
        for a, b in [
            (x, x.T),
            (x, x[0]),
            (x[0], x.T),
            (y, x.T),
            (x[0], x[1]),
            (x, x),
            (y, np.swapaxes(y, 1, 2)),
        ]:
            yield "products", "matmul", (a, b), {}
        for axes in (0, 1, 2, ((0,), (0,)), ((1, 0), (1, 0))):
            yield "products", "tensordot", (x, x.T if axes == 1 else x), {"axes": axes}
        for options in ({}, {"axis": -2}):
            yield "products", "vecdot", (x, x[::-1]), options
        yield "products", "vecdot", (x, x[0]), {}


def cases():
    """All cases: section, function, arguments and options."""
    yield from elementwise()
    yield from over_axes()
    yield from moved()
    yield from products()


def _function(space, name):
    return getattr(operator, name[9:]) if name.startswith("operator.") else getattr(space, name)


def _strict(value):
    types = {np.bool_: strict.bool, np.int64: strict.int64, np.float64: strict.float64}
    if isinstance(value, type) and value in types:
        return types[value]
    if isinstance(value, np.generic):
        return strict.asarray(np.asarray(value))
    return with_leaves(value, strict.asarray)


def wanted(name, arguments, options):
    """What array-api-strict has: plain arrays, or the error that it raises."""
    given = [_strict(each) for each in arguments]
    named = {at: _strict(x) for at, x in options.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = called(_function(strict, name), given, named)
    if isinstance(found, (list, tuple)):
        return [np.asarray(each) for each in found]
    return found if isinstance(found, Exception) else np.asarray(found)


def verdicts(every=1):
    """The verdicts on cases, or each fifth one and the like: one for each choice of encrypted arguments. What
    the standard leaves open, as promotion of whole numbers to real ones, has NumPy's values."""
    for case in itertools.islice(cases(), 0, None, every):
        _, name, arguments, options = case
        expected = wanted(name, arguments, options)
        own = _function(NAMESPACE, name)
        if isinstance(expected, Exception):
            expected = called(own, arguments, options)
        for verdict in judged(own, arguments, options, expected):
            yield case, verdict


def main():
    """Print the counts, and what is wrong."""
    counts = collections.defaultdict(collections.Counter)
    for (section, name, arguments, options), verdict in verdicts():
        counts[section][verdict.found] += 1
        counts["all"][verdict.found] += 1
        if verdict.found == "wrong" or "--all" in sys.argv:
            text = f"{verdict.found}: {name} of {arguments}, {options}: {verdict.told}"
            print(" ".join(text.split())[:400], flush=True)
    for section, own in counts.items():
        print(f"| {section} | {own['right']:,} | {own['refused']:,} | {own['wrong']:,} |")


if __name__ == "__main__":
    main()
