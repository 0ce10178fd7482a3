"""Masked arrays, NA of pandas and nulls of Arrow are refused by all that take arrays, with the way out."""

import functools
import operator
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import hemera as hm
import hemera.compat.tenseal as ts
from hemera import circuits
from hemera.inputs.plain import plain_array

from .conftest import make_params
from .refusals import raises, refuse

SLOTS = 4


@functools.cache
def party(scheme):
    ctx = hm.Context(make_params(scheme), "cpu")
    secret_key = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(secret_key, rotations=[1, 2, 3], sum_slots=True))
    return ctx, ev, ev.encrypt(np.arange(1, SLOTS + 1))


@functools.cache
def integers():
    ctx = hm.integers.Context(bits=8, preset="test-exact")
    return ctx, ctx.encrypt(np.arange(SLOTS, dtype=np.uint8))


@functools.cache
def local(scheme):
    spec = hm.ArraySpec((SLOTS,), range=(0, 9), step=1)
    return hm.compile(lambda x: x.sum(), spec, scheme=scheme, security=None, name="sum").local(threads=1)


@functools.cache
def samples():
    spec = hm.ArraySpec((), range=(0, 9))
    return hm.compile(lambda x: x * 2, spec, samples=SLOTS, layout="slots", security=None).local(threads=1)


@functools.cache
def model():
    rows = np.random.default_rng(0).integers(0, 5, (40, SLOTS)).astype(float)
    fitted = LogisticRegression().fit(rows, rows.sum(axis=1) > 8)
    return hm.compile(fitted, calibrate=rows, rows=4, security=None)


@functools.cache
def index():
    found = hm.search.Index(4 * np.ones((20, SLOTS)), metric="dot")
    return found, hm.search.Client(found.settings)


@functools.cache
def tenseal():
    context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [60, 40, 40, 60])
    context.global_scale = 2**40
    return context


def _traced(function):
    """A plain array in a compiled program."""
    return lambda v: hm.compile(
        lambda x: function(x, v), hm.ArraySpec((SLOTS,), range=(0, 9), step=1), security=None
    )


def _eager(function):
    return lambda v: function(hm.array(np.arange(4.0), range=(0, 9)), v)


# Each takes four numbers from 1 to 4.
ENTRIES = {
    "hm.array": lambda v: hm.array(v, range=(0, 9)),
    "hm.array of rows": lambda v: hm.array([v, v], range=(0, 9)),
    **{f"plan of {scheme}": lambda v, scheme=scheme: local(scheme)(v) for scheme in ("ckks", "bfv")},
    "plan of samples": lambda v: samples()(v),
    "check of a plan": lambda v: local_plan().check(rows_of(v), encrypted=0),
    "expected_bits": lambda v: local_plan().expected_bits(rows_of(v)),
    "calibrate": lambda v: hm.compile(
        lambda x: x * 2, hm.ArraySpec((SLOTS,)), calibrate=rows_of(v), security=None
    ),
    "interface of a package": lambda v: local_plan().package.interface.encode(v),
    **{
        f"traced {name}": _traced(function)
        for name, function in {
            "+": lambda x, v: x + v,
            "*": lambda x, v: x * v,
            "/": lambda x, v: x / v,
            "- on the left": lambda x, v: np.subtract(v, x),
            ">": lambda x, v: x > v,
            "==": lambda x, v: x == v,
            "@": lambda x, v: x @ v,
            "np.where": lambda x, v: np.where(x > 2, x, v),
            "np.concatenate": lambda x, v: np.concatenate([x, v]),
            "np.isin": lambda x, v: np.isin(x, v),
            "np.average": lambda x, v: np.average(x, weights=v),
            "np.digitize": lambda x, v: np.digitize(x, v),
            "np.polyval": lambda x, v: np.polyval(v, x),
            "np.convolve": lambda x, v: np.convolve(x, v),
            "an index": lambda x, v: x[whole(v, np.int64) - 1],
            "a filter": lambda x, v: x[v > 1],
            "take": lambda x, v: x.take(whole(v, np.int64) - 1),
            "np.choose": lambda x, v: np.choose((x > 2) * 1, [v, 1]),
        }.items()
    },
    "eager *": _eager(lambda x, v: x * v),
    "eager +": _eager(lambda x, v: x + v),
    **{
        f"{what} of {scheme}": lambda v, scheme=scheme, call=call: call(
            *party(scheme), v if scheme == "ckks" else whole(v, np.int64)
        )
        for scheme in ("ckks", "bfv")
        for what, call in {
            "encrypt": lambda _, ev, __, v: ev.encrypt(v),
            "encode": lambda _, ev, __, v: ev.encode(v),
            "encode of a context": lambda ctx, _, __, v: ctx.encode(v),
            "encrypt with a secret key": lambda ctx, _, __, v: ctx.encrypt(v, ctx.generate_secret_key()),
            "+": lambda _, __, x, v: x + v,
            "*": lambda _, __, x, v: x * v,
            "-": lambda _, __, x, v: x - v,
            "dot": lambda _, __, x, v: x.dot(v),
        }.items()
    },
    "/ of ckks": lambda v: party("ckks")[2] / v,
    "matmul of ckks": lambda v: party("ckks")[2] @ rows_of(v, SLOTS),
    "EncryptedMatrix": lambda v: hm.EncryptedMatrix.encrypt(rows_of(v, 2), party("ckks")[1]),
    "LinearTransform": lambda v: circuits.LinearTransform(rows_of(v, SLOTS), make_params("ckks")),
    "Polynomial": lambda v: circuits.Polynomial(v),
    "integers.encrypt": lambda v: integers()[0].encrypt(whole(v)),
    "integers +": lambda v: integers()[1] + whole(v),
    "integers <": lambda v: integers()[1] < whole(v),
    "integers.Table": lambda v: hm.integers.Table(repeated(v)),
    "search.Index": lambda v: hm.search.Index([v, v, v]),
    "search.Index.add": lambda v: index()[0].add([v]),
    "search ids": lambda v: index()[0].add(np.ones((4, SLOTS)), ids=whole(v, np.int64) + 100),
    "search.Client.query": lambda v: index()[1].query(v),
    "LinearModel": lambda v: hm.serving.LinearModel.of([v], [0.0]),
    "rows of an estimator": lambda v: model().local(threads=1).predict([v]),
    "ckks_vector": lambda v: ts.ckks_vector(tenseal(), v),
    "ckks_tensor": lambda v: ts.ckks_tensor(tenseal(), v),
    "plain_tensor": lambda v: ts.plain_tensor(v),
    "ckks_vector *": lambda v: ts.ckks_vector(tenseal(), [1.0, 2, 3, 4]) * v,
}


def local_plan():
    return hm.compile(lambda x: x.sum(), hm.ArraySpec((SLOTS,), range=(0, 9), step=1), security=None)


def rows_of(v, count=1):
    """A matrix of equal rows."""
    return np.ma.stack([v] * count)


def whole(v, dtype=np.uint8):
    return v.astype(dtype)


def repeated(v):
    return np.ma.concatenate([whole(v)] * 4)


@pytest.mark.parametrize("name", ENTRIES)
def test_masked_arrays(name):
    masked = np.ma.masked_array([1.0, 2, 3, 4], [False, True, False, False])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refuse((lambda: ENTRIES[name](masked), (TypeError, ValueError), "filled"))
        # Without a masked value it is an array.
        ENTRIES[name](np.ma.masked_array([1.0, 2, 3, 4], False))


class OfArrow:
    """An array of Arrow, or a series of Polars, as NumPy sees them: a null is NaN."""

    null_count = 1

    def __array__(self, dtype=None, copy=None):
        del copy
        return np.array([1.0, np.nan, 3, 4], dtype)

    def __len__(self):
        return SLOTS

    def __iter__(self):
        return iter(np.asarray(self))


MISSING = {
    "Int64": (pd.Series([1, None, 3, 4], dtype="Int64"), "fillna"),
    "Float64": (pd.array([1.0, None, 3, 4], dtype="Float64"), "fillna"),
    "boolean": (pd.Series([True, None, True, False], dtype="boolean"), "fillna"),
    "objects": (np.array([1, pd.NA, 3, 4], dtype=object), "a number in its place"),
    "a list": ([1, pd.NA, 3, 4], "a number in its place"),
    "NaT": ([1, pd.NaT, 3, 4], "a number in its place"),
    "a frame": (pd.DataFrame({"a": pd.array([1, None, 3, 4])}), "fillna"),
    "Arrow": (OfArrow(), "fill_null"),
    "masked rows": ([np.ma.masked_array([1, 2], [0, 1])], "filled"),
    "a masked number": (np.ma.masked, "filled"),
    "a list with a masked number": ([1.0, np.ma.masked], "filled"),
}


@pytest.mark.parametrize("name", MISSING)
def test_values_that_are_missing(name):
    values, way = MISSING[name]
    refuse((lambda: plain_array(values, "values"), ValueError, way))


@pytest.mark.parametrize(
    "values", [["1"], [b"1"], ["1", None], [1j], np.zeros(1, "M8[s]"), np.zeros(1, "i1,i1")]
)
def test_what_numpy_makes_numbers_of_is_no_number(values):
    refuse((lambda: plain_array(values, "x", np.float64), TypeError, "x: real numbers are needed, not "))


def test_values_that_are_there():
    """The last that is taken: no value is missing, or NaN is a number of NumPy's."""
    for given in (
        pd.Series([1, 2], dtype="Int64"),
        pd.array([1, 2], dtype="Int64"),
        pd.DataFrame({"a": [1, 2]}),
        pd.Index([1, 2]),
        [1, 2.0],
        ((1, 2), [np.float32(3), True]),
        np.ma.masked_array([1, 2], [0, 0]),
    ):
        np.testing.assert_array_equal(plain_array(given, "values"), np.asarray(given))
    for given in (pd.Series([1.0, np.nan]), [1.0, float("nan")], pd.Series([np.float32("nan")])):
        assert np.isnan(plain_array(given, "values")).any()


FRONTS = [
    "hm.array",
    "plan of ckks",
    "traced *",
    "traced >",
    "encrypt of ckks",
    "+ of ckks",
    "search.Client.query",
    "ckks_vector",
]


@pytest.mark.parametrize("kind", ["Int64", "Arrow"])
@pytest.mark.parametrize("name", FRONTS)
def test_missing_values_at_each_front(name, kind):
    values, way = MISSING[kind]
    refuse((lambda: ENTRIES[name](values), (TypeError, ValueError), way))


def column():
    return hm.Table.encrypt({"a": [1.0, 2, 3, 4]}, ranges={"a": (0, 5)})["a"]


AT_THE_RIGHT = {
    "ciphertext of ckks": lambda: party("ckks")[2],
    "ciphertext of bfv": lambda: party("bfv")[2],
    "plaintext": lambda: party("ckks")[1].encode([1.0, 2, 3, 4]),
    "hm.array": lambda: hm.array([1.0, 2, 3, 4], range=(0, 5)),
    "mask": lambda: hm.array([1.0, 2, 3, 4], range=(0, 5), step=1) > 2,
    "integers": lambda: integers()[1],
    "truth values": lambda: integers()[1] > 2,
    "column": column,
}
OPERATORS = [
    operator.mul,
    operator.add,
    operator.sub,
    operator.truediv,
    operator.pow,
    operator.lt,
    operator.eq,
]


@pytest.mark.parametrize("name", AT_THE_RIGHT)
def test_masked_arrays_on_the_left(name):
    """NumPy's masked arrays ask for the values of the operand at their right."""
    x = AT_THE_RIGHT[name]()
    for masked in (False, [False, True, False, False]):
        left = np.ma.masked_array(np.array([1, 2, 3, 4], np.uint8), masked)
        for tried in (*OPERATORS, operator.iadd, operator.imul, np.ma.multiply, np.ma.add):
            raises(hm.errors.ParameterError, r"values\.filled\(number\)", tried, left.copy(), x)
        assert left.tolist() == [1, 2 if masked is False else None, 3, 4]
    # Functions of NumPy take all operands at once, and see which values are masked.
    left = np.ma.masked_array([1.0, 2, 3, 4], [False, True, False, False])
    refuse((lambda: np.multiply(left, x), (TypeError, ValueError), None))


def test_the_way_out_of_masks_on_the_left():
    left = np.ma.masked_array([1.0, 2, 3, 4], [False, True, False, False])
    x = hm.array([1.0, 2, 3, 4], range=(0, 5))
    np.testing.assert_allclose(hm.compute(left.filled(7) * x, security=None), [1, 14, 9, 16], atol=1e-3)
    np.testing.assert_allclose(hm.compute(np.asarray(left) * x, security=None), [1, 4, 9, 16], atol=1e-3)


def test_masked_numbers_are_no_zeros():
    _, __, x = party("ckks")
    for tried in (lambda: x * np.ma.masked, lambda: x + np.ma.masked, lambda: x / np.ma.masked):
        refuse((tried, (TypeError, ValueError), "masked"))
