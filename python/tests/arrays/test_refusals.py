"""What can not be, of encrypted arrays: typed errors that say why, and the way out."""

import math
import operator

import numpy as np
import pytest

from hemera import circuits
from hemera.arrays import conv
from hemera.arrays.array import Array
from hemera.arrays.recorder import Recorder
from hemera.errors import MismatchError, ParameterError, RangeError

OTHER = Array(Recorder(), 0)


def array(shape=(2, 3), low=-2, high=2, step=None):
    recorder = Recorder(precision_bits=10)
    return Array(recorder, recorder.input("x", shape, low, high, step=step))


DEPENDS = "can not depend on them"
DATES = np.array(["2020-01-01", "2021-01-01"], "M8[D]")

# What is tried, the error, and a part of its message. x has the shape (2, 3) and values in [-2, 2]; n the
# same with whole numbers.
REFUSED = [
    (lambda x, _: bool(x), TypeError, DEPENDS),
    (lambda x, _: 1 if x.sum() else 0, TypeError, DEPENDS),
    (lambda _, n: 1 if n[0, 0] > 1 else 0, TypeError, DEPENDS),
    (lambda x, _: float(x.sum()), TypeError, DEPENDS),
    (lambda x, _: int(x.sum()), TypeError, DEPENDS),
    (lambda x, _: complex(x.sum()), TypeError, DEPENDS),
    (lambda x, _: round(x.sum()), TypeError, DEPENDS),
    (lambda x, _: math.sqrt(x.sum()), TypeError, DEPENDS),
    (lambda x, _: np.asarray(x), TypeError, DEPENDS),
    (lambda x, _: np.array([x, x]), TypeError, DEPENDS),
    (lambda x, _: np.zeros(3)[x.sum()], TypeError, DEPENDS),
    (lambda x, _: range(x.sum()), TypeError, DEPENDS),
    (lambda x, _: x[x], TypeError, "encrypted index"),
    (lambda x, _: x[0, x], TypeError, "encrypted index"),
    (lambda _, n: n[n > 0], TypeError, "encrypted index"),
    (lambda _, n: n.take(n), TypeError, "encrypted index"),
    (lambda _, n: n.compress(n > 0), TypeError, "encrypted mask"),
    (lambda _, n: np.take(n, n), TypeError, "np.choose"),
    (lambda _, n: np.compress(n[0] > 0, n, axis=1), TypeError, "np.compress asks for them"),
    (lambda x, _: np.repeat(x, x), TypeError, DEPENDS),
    (lambda x, n: np.roll(x, n[0, 0]), TypeError, DEPENDS),
    (lambda x, n: np.sum(x, n[0, 0]), TypeError, DEPENDS),
    (lambda _, n: np.where(n > 0), TypeError, DEPENDS),
    (lambda _, n: np.nonzero(n), TypeError, "np.count_nonzero"),
    (lambda _, n: np.unique(n), TypeError, "np.bincount"),
    (lambda x, _: max(x[0]), TypeError, "known step"),
    (lambda _, n: max(n[0]), TypeError, DEPENDS),
    (lambda _, n: 3 in n, TypeError, DEPENDS),
    (lambda x, _: x > 1, TypeError, r"hm.circuits.compare\(gap=, largest=\)"),
    (lambda x, _: x == 1, TypeError, "known step"),
    (lambda _, n: n > np.exp(n), TypeError, "known step"),
    (lambda _, n: np.exp(n) <= n, TypeError, "known step"),
    (lambda _, n: n == n * np.pi, TypeError, "known step"),
    (lambda _, n: n == "a", TypeError, "not str"),
    (lambda _, n: n == None, TypeError, "not NoneType"),  # noqa: E711
    (lambda _, n: n > 1j, TypeError, "real numbers"),
    (lambda x, _: x.argmax(), TypeError, "known step"),
    (lambda x, _: np.argsort(x), TypeError, "known step"),
    (lambda x, _: np.sign(x), TypeError, "known step"),
    (lambda x, _: np.histogram(x, 3, (0, 1)), TypeError, "known step"),
    (lambda _, n: np.histogram(n), TypeError, "least and the largest"),
    (lambda _, n: np.histogram(n, 3, (0, 3), density=True), TypeError, "density"),
    (lambda _, n: np.bincount(n.ravel() + 2), TypeError, "minlength"),
    (lambda _, n: np.bincount(n + 2, minlength=5), ParameterError, "one axis"),
    (lambda _, n: np.choose(n / 2 + 1, [1, 2, 3]), IndexError, "the step 0.5"),
    (lambda _, n: n & (n > 0), TypeError, "a mask of 0 and 1"),
    (lambda _, n: ~n, TypeError, "-1 - x in NumPy"),
    (lambda _, n: np.where(n, 1, 2), TypeError, "a mask of 0 and 1"),
    (lambda x, _: x + 1j, TypeError, "real numbers"),
    (lambda x, _: x * np.array([1j, 2, 3]), TypeError, "real numbers"),
    (lambda x, _: x @ np.array([1j, 2, 3]), TypeError, "real numbers"),
    (lambda x, _: x + OTHER, TypeError, "another program"),
    (lambda x, _: x @ OTHER, TypeError, "another program"),
    (lambda x, _: np.stack([x, OTHER]), TypeError, "another program"),
    (lambda x, _: x + "a", TypeError, "unsupported operand"),
    (lambda x, _: x * None, TypeError, "unsupported operand"),
    (lambda x, _: x / "a", TypeError, "unsupported operand"),
    (lambda x, _: np.array(["a", "b", "c"]) + x, TypeError, "."),
    (lambda x, _: x @ ["a", "b", "c"], TypeError, "arrays of numbers"),
    (lambda x, _: x + np.nan, ParameterError, "finite"),
    (lambda x, _: x * np.inf, ParameterError, "finite"),
    (lambda x, _: x / 0, ZeroDivisionError, "divided by 0"),
    (lambda x, _: x / [1, 0, 2], ZeroDivisionError, "divided by 0"),
    (lambda x, _: 1 / x, RangeError, "has 0 in it"),
    (lambda x, _: x**-1, RangeError, "has 0 in it"),
    (lambda x, _: np.log(x), RangeError, "narrower range"),
    (lambda x, _: np.log(x + 2), RangeError, "narrower range"),
    (lambda x, _: np.sqrt(x), RangeError, "narrower range"),
    (lambda x, _: x**0.5, RangeError, "narrower range"),
    (lambda x, _: np.arcsin(x), ParameterError, "not finite everywhere from -2 to 2"),
    (lambda x, _: np.tan(x), ParameterError, "no polynomial of degree 1023"),
    (lambda x, _: x**1.5, RangeError, "sqrt of values from -2 on"),
    (lambda x, _: x**0.3, RangeError, "of positive ones alone"),
    (lambda x, _: np.arctan2(x, x), RangeError, "give x a range above 0"),
    (lambda x, _: (x + 4) ** np.arange(33)[:, None, None], ParameterError, "33 different exponents"),
    (lambda x, _: x**math.inf, TypeError, "raised to finite numbers"),
    (lambda x, _: x ** "2", TypeError, "numbers"),
    (lambda x, _: x**x, RangeError, "log of values from -2 on"),
    (lambda x, _: x**1j, TypeError, "real numbers"),
    (lambda x, _: x ** float("nan"), TypeError, "raised to finite numbers"),
    (lambda x, _: x**2000, ParameterError, "powers from 0 to 1024"),
    (lambda x, _: x**1000, ParameterError, "too large"),
    (lambda x, _: x * 1e200 * 1e200, ParameterError, "too large"),
    (lambda x, _: (-2) ** x, TypeError, "positive plain number"),
    (lambda x, _: np.array([1.0, 2, 3]) ** x, TypeError, "positive plain number"),
    (lambda x, _: x // 2, TypeError, "multiples of a known step"),
    (lambda x, _: x % 2, TypeError, "multiples of a known step"),
    (lambda x, _: x.astype(int), TypeError, "which jumps; give inputs a step"),
    (lambda x, _: x + np.ones(4), MismatchError, "do not fit"),
    (lambda x, _: x * x[:, :2], MismatchError, "do not fit"),
    (lambda x, _: x @ np.ones(2), MismatchError, "do not fit"),
    (lambda x, _: np.ones((2, 2, 2)) @ np.ones((3, 1, 1)) @ x, ValueError, "."),
    (lambda x, _: np.ones((3, 5, 2)) @ np.broadcast_to(x, (2, 2, 3)), MismatchError, "do not fit"),
    (lambda x, _: x @ 2, MismatchError, "single numbers"),
    (lambda x, _: np.dot(x, np.ones(2)), MismatchError, "do not fit"),
    (lambda x, _: np.inner(x, np.ones(2)), MismatchError, "do not fit"),
    (lambda x, _: np.tensordot(x, np.ones(2), 1), MismatchError, "do not fit"),
    (lambda x, _: np.tensordot(x, x, 3), MismatchError, "3 axes"),
    (lambda x, _: np.tensordot(x, x, ([0], [0, 1])), MismatchError, "1 axes and 2 axes"),
    (lambda x, _: np.vdot(x, np.ones(2)), MismatchError, "do not fit"),
    (lambda x, _: np.einsum("ii,ij", x, x), MismatchError, "stands for"),
    (lambda x, _: np.einsum("ij,jk->il", x, x), ParameterError, "does not name"),
    (lambda x, _: np.einsum("ij,ij->ii", x, x), ParameterError, "does not name"),
    (lambda x, _: np.einsum("ij,jk", x, x), MismatchError, "'j' stands for 3 and for 2"),
    (lambda x, _: x.mean((0, 0)), ValueError, "duplicate"),
    (lambda x, _: x.sum("a"), TypeError, "."),
    (lambda x, _: x.sum(0.5), TypeError, "."),
    (lambda x, _: np.cumsum(x, 5), np.exceptions.AxisError, "out of bounds"),
    (lambda x, _: np.diff(x, axis=2), np.exceptions.AxisError, "out of bounds"),
    (lambda x, _: np.sort(x, 2), np.exceptions.AxisError, "out of bounds"),
    (lambda x, _: np.prod(x, -3), np.exceptions.AxisError, "out of bounds"),
    (lambda x, _: np.moveaxis(x, 0, 3), np.exceptions.AxisError, "out of bounds"),
    (lambda x, _: x.reshape(4), ValueError, "cannot reshape"),
    (lambda x, _: x.transpose(0), ValueError, "axes"),
    (lambda x, _: x.squeeze(0), ValueError, "cannot select an axis"),
    (lambda x, _: x["a"], IndexError, "only integers"),
    (lambda x, _: x[0.5], IndexError, "only integers"),
    (lambda x, _: np.concatenate([x, np.ones((3, 2))]), ValueError, "must match exactly"),
    (lambda x, _: np.stack([x, x[0]]), ValueError, "same shape"),
    (lambda x, _: np.broadcast_to(x, (3, 2)), ValueError, "could not be broadcast"),
    (lambda x, _: np.stack([x, ["a"]]), TypeError, "arrays of numbers"),
    (lambda x, _: x * np.ones((2, 3)).view(np.matrix), TypeError, "np.matrix has products of its own"),
    (lambda x, _: np.eye(2).view(np.matrix) * x, TypeError, "np.matrix has products of its own"),
    (lambda x, _: np.stack([x, np.full((2, 3), np.nan)]), ParameterError, "finite"),
    (lambda x, _: np.stack([x, np.full((2, 3), 1j)]), TypeError, "real numbers"),
    (lambda x, _: np.concatenate([x, x], dtype=np.float32), TypeError, "dtype"),
    (lambda x, _: np.take(x, 0, out=np.zeros(())), TypeError, "no out"),
    (lambda x, _: np.sum(x, dtype=int), TypeError, "dtype"),
    (lambda x, _: np.sum(x, where=[True, False, True]), TypeError, "where"),
    (lambda x, _: np.sum(x, initial=3), TypeError, "initial"),
    (lambda x, _: np.add.reduce(x, initial=3), TypeError, "initial"),
    (lambda x, _: np.add.accumulate(x, dtype=int), TypeError, "add.accumulate takes no dtype"),
    (lambda x, _: np.subtract.accumulate(x), TypeError, "subtract.accumulate"),
    (lambda x, _: np.maximum.accumulate(x, 2), np.exceptions.AxisError, "out of bounds"),
    (lambda x, _: np.cumprod(x, dtype=int), TypeError, "dtype"),
    (lambda x, _: np.fft.fft2(x), TypeError, "np.fft2 takes no encrypted array"),
    (lambda x, _: np.fft.fft(x, 0), ValueError, "data points"),
    (lambda x, _: np.fft.rfft(x, axis=2), np.exceptions.AxisError, "out of bounds"),
    (lambda x, _: np.fft.rfft(np.fft.fft(x)), TypeError, "real numbers"),
    (lambda x, _: np.fft.fft(x) < 1, TypeError, "z.real and z.imag"),
    (lambda x, _: np.fft.fft(x) / x, TypeError, "."),
    (lambda x, _: np.fft.fft(x) * "a", TypeError, "."),
    (lambda x, _: np.sum(np.fft.fft(x)), TypeError, "z.real and z.imag"),
    (lambda x, _: np.add.at(np.zeros(3), [0], x), TypeError, "add.at"),
    (lambda x, _: np.add(x, 1, out=np.zeros((2, 3))), TypeError, "out"),
    (lambda x, _: np.add(x, 1, where=False), TypeError, "where"),
    (lambda x, _: np.pad(x, 1, "mean"), TypeError, "'mean' is not taken"),
    (lambda x, _: np.pad(x, 1, "reflect", reflect_type="odd"), TypeError, "odd"),
    (lambda x, _: np.average(x, weights=[1, 2]), Exception, "."),
    (lambda x, _: np.average(x, 0, [1, -1]), ZeroDivisionError, "."),
    (lambda x, _: np.average(x, returned=True), TypeError, "np.average takes"),
    (lambda x, _: np.cov(x, x.T), MismatchError, "2 and 3 observations"),
    (lambda x, _: np.cov(x[None]), ParameterError, "two axes"),
    (lambda x, _: np.linalg.norm(x, 3), ParameterError, "order 3"),
    (lambda x, _: np.linalg.norm(x, 2), ParameterError, "order 2"),
    (lambda x, _: np.polyval([[1.0]], x), TypeError, "one axis"),
    (lambda x, _: np.polyval([np.nan, 1], x), TypeError, "finite"),
    (lambda x, _: np.polyval(x[0], x[0]), TypeError, "plain points"),
    (lambda x, _: np.polyval([1, 1j], x), TypeError, "np.polyval: real numbers are needed"),
    (lambda x, _: np.average(x, weights=np.full((2, 3), 1j)), TypeError, "np.average: real numbers"),
    (lambda _, n: np.isin(n, ["a"]), TypeError, "np.isin: real numbers are needed, not <U1"),
    (lambda _, n: np.isin(n, np.ma.array([1, 2], mask=[0, 1])), ParameterError, "masked"),
    (lambda _, n: np.digitize(n, DATES), TypeError, "edges: real numbers are needed, not datetime64"),
    (lambda _, n: np.searchsorted([1j, 2], n), TypeError, "edges: real numbers"),
    (lambda _, n: np.histogram(n, ["a", "b"]), TypeError, "edges: real numbers"),
    (lambda _, n: np.pad(n, 1, constant_values=DATES[0]), TypeError, "np.pad"),
    (lambda x, _: np.linalg.solve(np.eye(2) * 1j, x), TypeError, "np.linalg.solve: real numbers"),
    (lambda x, _: conv(x[None], np.full((1, 1, 1, 1), 1j)), TypeError, "conv: real numbers"),
    (lambda x, _: np.clip(x, 0, 10**400), ParameterError, "beyond the largest of float64"),
    (lambda _, n: np.isin(n, 10**400), ParameterError, "np.isin: .* beyond the largest of float64"),
    (lambda x, _: np.convolve(x, [1.0]), MismatchError, "two vectors"),
    (lambda x, _: np.floor(x), TypeError, "round in the clear"),
    (lambda x, _: np.round(x), TypeError, "round in the clear"),
    (lambda x, _: np.arccos(x * 9), ParameterError, r"take np\.arccos\(np\.clip\(x, -0\.99, 0\.99\)\)"),
    (lambda x, _: x.round(), TypeError, "round in the clear"),
    (lambda x, _: np.linalg.inv(x), ParameterError, "square matrices"),
    (lambda x, _: np.fft.fftn(x), TypeError, "."),
    (lambda x, _: np.put_along_axis(x, np.zeros((1, 3), int), 1, 0), TypeError, "in place"),
    (lambda x, _: np.sum([x, x], axis=0), TypeError, "."),
    (lambda x, _: np.diag(np.zeros((2, 2)), k=x.sum()), TypeError, DEPENDS),
    (lambda x, _: np.heaviside(1.0, x), TypeError, "np.heaviside"),
    (lambda x, _: len(x.sum()), TypeError, "no length"),
    (lambda x, _: list(x.sum()), TypeError, "no length"),
    (lambda x, _: hash(x), TypeError, "unhashable"),
    (lambda x, _: x[:, :0], ParameterError, "0 elements"),
    (lambda x, _: np.outer(np.broadcast_to(x, (1000, 2, 3)), np.ones(10**6)), ParameterError, "entries"),
    (lambda x, _: circuits.maximum(largest=4)(x), ParameterError, "takes 2 values"),
    (lambda x, _: circuits.tanh((-4, 4))(x, x), ParameterError, "takes 1 values"),
    (lambda x, _: circuits.maximum(largest=4)(x, "a"), TypeError, "not str"),
    (lambda x, _: circuits.Polynomial([1, 1j])(x), TypeError, "real values"),
    (lambda x, _: circuits.Polynomial([[1, 2], [3, 4]])(x), TypeError, "one at a time"),
    (lambda x, _: circuits.Polynomial(np.ones((2, 4)), per_slot=True)(x), TypeError, "same coefficients"),
    (lambda x, _: x.approximated(lambda v: abs(v) ** 0.5, most=15), ParameterError, "degree 15"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("at", range(len(REFUSED)))
def test_refused(at):
    tried, error, message = REFUSED[at]
    with pytest.raises(error, match=message):
        tried(array(), array(step=1))


# What is tried with a number, the last that is taken, the first that is not, the error and its message.
EDGES = [
    (lambda _, n, a: np.bincount(n[0] + 2, minlength=a), 5, 4, TypeError, "from 0 to 4: minlength must"),
    (lambda _, n, a: np.bincount(n[0] + a, minlength=9), 2, 1, TypeError, "from -1 to 3: minlength"),
    (lambda _, n, a: np.choose(n + 2, list(range(a))), 5, 4, IndexError, "do not choose of 4"),
    (lambda _, n, a: np.choose(n + a, list(range(9))), 2, 1, IndexError, "from -1 to 3"),
    (lambda x, _, a: x.var(ddof=a), 5, 6, ParameterError, "ddof=6"),
    (lambda x, _, a: np.cov(x, ddof=a), 2, 3, ParameterError, "3 observations"),
    (lambda x, _, a: np.clip(x, 1, a), 1, 0.99, ParameterError, "wrong way round"),
    (lambda x, _, a: np.array_split(x, a), 2, 3, ParameterError, "0 elements"),
    (
        lambda x, _, a: np.broadcast_to(x[0, 0], a),
        1 << 22,
        (1 << 22) + 1,
        ParameterError,
        "more than 4194304",
    ),
    (lambda x, _, a: np.sort(np.broadcast_to(x[0, 0], a)), 64, 65, ParameterError, "at most 64"),
    (lambda _, n, a: np.argmax(np.broadcast_to(n[0, 0], a)), 64, 65, ParameterError, "at most 64"),
    (lambda x, _, a: (x / 2) ** a, 1024, 1025, ParameterError, "powers from 0 to 1024"),
    (lambda x, _, a: x[a], 1, 2, IndexError, "out of bounds"),
    (lambda x, _, a: x.sum(a), -2, -3, np.exceptions.AxisError, "out of bounds"),
    (lambda _, n, a: (n + a).astype(np.int8), 125, 126, TypeError, "beyond the type"),
    (lambda _, n, a: (n + a).astype(np.uint8), 2, 1, TypeError, "beyond the type"),
    (lambda x, _, a: np.log(x + a), 2.001, 2, RangeError, "narrower range"),
    (lambda _, n, a: np.histogram(n, a), [0, 1], [0], ParameterError, "two edges"),
    (lambda _, n, a: np.digitize(n, a), [1, 1], [1, 0], ParameterError, "ascending"),
]


@pytest.mark.skipif(np.finfo(np.longdouble).nmant == 52, reason="longdouble is float64")
@pytest.mark.parametrize(
    "jump", [np.floor_divide, np.mod, np.greater, np.equal, lambda n, at: np.digitize(n, [0, at]), np.isin]
)
def test_numbers_of_wider_types_do_not_move_jumps(jump):
    """7 / (7 / 5) is 5, and 5.0000000000000001 or 4.9999999999999999 where 7 / 5 is rounded."""
    n = array(step=1)
    jump(n, np.longdouble(0.75))
    with pytest.raises(ParameterError, match=r"none of float64.*np\.float64"):
        jump(n, np.longdouble(7) / 5)


@pytest.mark.parametrize("at", range(len(EDGES)))
def test_the_last_that_is_taken_and_the_first_that_is_not(at):
    tried, last, first, error, message = EDGES[at]
    tried(array(), array(step=1), last)
    with pytest.raises(error, match=message):
        tried(array(), array(step=1), first)


IN_PLACE = {
    "an item": (lambda x, _: operator.setitem(x, 0, 1), "do not change in place"),
    "a number of a row": (lambda x, _: operator.setitem(x[0], 0, x[0, 0] + 1), "do not change in place"),
    "an argument": (lambda x, _: x.__iadd__(1), r"write y = y \+ x"),
    "a view": (lambda x, _: (x * 2)[0].__imul__(3), r"write y = y \* x"),
    "what has views": (lambda x, _: [y := x * 2, y.T, operator.isub(y, 1)], r"write y = y - x"),
    "what is in a tuple": (lambda x, _: [y := x * 2, np.unstack(y), operator.isub(y, 1)], r"write y = y - x"),
    "a part of a tuple": (lambda x, _: operator.isub(np.unstack(x * 2)[0], 1), r"write y = y - x"),
    "no differences": (lambda x, _: [y := x * 2, np.diff(y, 0), operator.iadd(y, 2)], r"write y = y \+ x"),
    "what is moved": (lambda x, _: [y := x * 2, np.flip(y), operator.itruediv(y, 2)], r"write y = y / x"),
    "an element as a view": (lambda x, _: (x * 1)[..., 0, 0].__ipow__(2), r"write y = y \*\* x"),
    "a view by einsum": (lambda x, _: [y := x * 2, operator.iadd(np.einsum("ij->ji", y), 1)], r"write y = y"),
    "another kind": (lambda _, n: ((n > 1) & (n < 2)).__iadd__(1), "int64 of bool, which NumPy refuses"),
    "another shape": (lambda x, _: (x[0] * 2).__iadd__(x), r"\+= of shape \(3,\)"),
    "a plain array": (lambda x, _: np.zeros((2, 3)).__iadd__(x), r"no out with .* write x = x \+ y"),
    "out": (lambda x, _: np.add(x, x, out=np.zeros((2, 3))), "takes no out"),
    "at": (lambda x, _: np.add.at(x, 0, 1), "np.add.at: encrypted arrays do not change"),
    "at of a plain array": (lambda x, _: np.add.at(np.zeros((2, 3)), 0, x[0]), "np.add.at"),
    "copyto": (lambda x, _: np.copyto(np.zeros((2, 3)), x), "write x = x"),
    "put": (lambda x, _: np.put_along_axis(x, np.zeros((2, 1), int), 1, 1), "write x = x"),
    "sort": (lambda x, _: x.sort(), r"np.sort\(x\) makes a sorted one"),
    "fill": (lambda x, _: x.fill(0), "do not change so"),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_what_would_change_other_arrays_is_refused(name):
    tried, message = IN_PLACE[name]
    x, n = (each._as_argument() for each in (array(), array(step=1)))
    with pytest.raises((TypeError, AttributeError, MismatchError), match=message):
        tried(x, n)


MISSING = {
    "item": "take them after decryption",
    "tolist": "take them after decryption",
    "imag": "its values are real",
    "searchsorted": "np.digitize",
    "byteswap": "docs/compile.md has the functions",
    "summ": "Did you mean 'sum'",
    "reshap": "Did you mean 'reshape'",
    "_private": "$",
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_attributes_name_the_way_out(name):
    with pytest.raises(AttributeError, match=f"has no '{name}'.*{MISSING[name]}"):
        getattr(array(), name)
    assert not hasattr(array(), name)


KEYWORDS = {
    "prepend": (lambda x: np.diff(x, prepend=0), "np.diff takes no prepend"),
    "kind": (lambda x: np.sort(x, kind="stable"), "np.sort takes no kind"),
    "to_begin": (lambda x: np.ediff1d(x, to_begin=0), "np.ediff1d takes no to_begin"),
    "fweights": (lambda x: np.cov(x, fweights=[1, 1, 1]), "np.cov takes no fweights"),
    "subok": (lambda x: np.tril(x, kk=1), "kk"),
    "out": (lambda x: np.dot(x, np.ones(3), out=np.ones(2)), "np.dot takes no out"),
    "too many": (lambda x: np.trace(x, 0, 0, 1, None), "np.trace with encrypted arrays: too many"),
    "spacing": (lambda x: np.trapezoid(x, y=2), "."),
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_numpy_s_keywords_are_named(name):
    tried, message = KEYWORDS[name]
    with pytest.raises(TypeError, match=message) as caught:
        tried(array())
    assert "lambda" not in str(caught.value)
    assert "locals" not in str(caught.value)


def test_functions_of_other_libraries_are_named():
    special = pytest.importorskip("scipy.special", reason="SciPy's functions are tried")
    stats = pytest.importorskip("scipy.stats", reason="SciPy's functions are tried")
    for tried, message in (
        (lambda x: special.binom(x, 2.0), "^binom takes no encrypted array: docs/compile.md"),
        (stats.zscore, "functions of other libraries do"),
    ):
        with pytest.raises(TypeError, match=message):
            tried(array())
