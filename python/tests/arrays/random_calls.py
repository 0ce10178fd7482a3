"""Random calls of all functions, methods and operators that take encrypted arrays: by names of arguments."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

import hemera as hm
from hemera.arrays.array import Array
from hemera.arrays.numpy_functions import COMPUTING
from hemera.arrays.numpy_moves import MOVING
from hemera.arrays.numpy_ufuncs import UFUNCS
from hemera.arrays.spectra import TRANSFORMS

from .programs import in_parts

Random = np.random.Generator


@dataclass(frozen=True)
class Place:
    """An argument that is a value of the program."""

    at: int


@dataclass
class Drawing:
    """What arguments are drawn for: the first operand, beside others of the program."""

    rng: Random
    shapes: Sequence[tuple[int, ...]]
    at: int
    given: dict[str, Any]
    """Options so far."""

    @property
    def shape(self):
        return self.shapes[self.at]

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def last(self):
        """The last extent."""
        return (1, *self.shape)[-1]

    def one(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def whole(self, low, high, shape=None):
        found = self.rng.integers(low, high + 1, shape)
        return found if shape is not None else int(found)

    def axis(self):
        return self.whole(-max(self.ndim, 1), max(self.ndim, 1) - 1)

    def extent(self):
        """The extent of the given axis; of all where none is given."""
        axis = self.given.get("axis")
        return self.shape[axis] if isinstance(axis, int) and self.shape else math.prod(self.shape)

    def axes(self):
        chosen = self.rng.permutation(self.ndim)[: self.whole(1, max(1, self.ndim))]
        return self.one(None, self.axis(), tuple(int(x - self.ndim * self.whole(0, 1)) for x in chosen))

    def plain(self, shape):
        return self.one(self.whole(-3, 3, shape), self.whole(-6, 6, shape) / 4, self.whole(1, 9, shape) / 2)

    def other(self):
        """An operand that broadcasts with the first one, as a rule."""
        near = [at for at, own in enumerate(self.shapes) if _fits(own, self.shape)]
        shape = tuple(self.one(1, extent) for extent in self.shape[self.whole(0, self.ndim) :])
        return self.one(*(Place(self.one(*near)) for _ in range(2)), self.plain(shape), self.one(2, -1.5, 0))

    def alike(self):
        """An operand of the same shape."""
        near = [at for at, own in enumerate(self.shapes) if own == self.shape]
        return self.one(Place(self.one(*near)), self.plain(self.shape))

    def weights(self):
        axis, shape = self.given.get("axis"), self.shape
        if axis is not None and self.one(True, False):
            axes = axis if isinstance(axis, tuple) else (axis,)
            shape = tuple(self.shape[each] for each in axes) if self.shape else ()
        return self.whole(1, 5, shape) / self.one(1, 2)

    def part(self, extent):
        start, stop, step = self.whole(0, extent - 1), self.whole(-extent, extent), self.one(None, -1, 2)
        numbers = self.whole(-extent, extent - 1, 2)
        return self.one(numbers[0], slice(self.one(None, start), self.one(None, stop), step), numbers)

    def index(self):
        found = [self.part(extent) for extent in self.shape[: self.whole(0, self.ndim)]]
        found.insert(self.whole(0, len(found)), self.one(None, Ellipsis, slice(None)))
        return self.one(tuple(found[: self.ndim + 1]), self.rng.random(self.shape) < 0.7)


def _fits(a, b):
    return all(x == y or 1 in (x, y) for x, y in zip(a[::-1], b[::-1], strict=False))


def _edges(d):
    return np.sort(d.plain(3))


BY_NAME = {
    "axis": Drawing.axes,
    "axis1": Drawing.axis,
    "axis2": Drawing.axis,
    "b": lambda d: d.one(Place(d.at), d.plain(d.last), d.plain((d.last, 2)), d.other()),
    "bias": lambda d: d.one(True, False),
    "bins": _edges,
    "condition": lambda d: d.rng.random(d.extent()) < 0.7,
    "ddof": lambda d: d.one(0, 1, 0.5),
    "decimals": lambda d: d.one(0, 1, -1),
    "destination": Drawing.axis,
    "edge_order": lambda d: d.one(1, 2),
    "indices": lambda d: d.whole(-d.extent(), d.extent() - 1, d.one((), 2, (2, 2))),
    "indices_or_sections": lambda d: d.one(1, 2, [1], [0, 2]),
    "invert": lambda d: d.one(True, False),
    "k": lambda d: d.whole(-2, 2),
    "keepdims": lambda d: d.one(True, True, False),
    "method": lambda d: d.one("linear", "lower", "weibull", "median_unbiased", "hazen"),
    "minlength": lambda d: d.whole(0, 9),
    "n": lambda d: d.whole(0, 3),
    "new_shape": lambda d: d.one(3, (2, 3), (1, math.prod(d.shape))),
    "obj": lambda d: d.one(d.whole(-d.extent(), d.extent() - 1), [0, -1], slice(0, 1)),
    "offset": lambda d: d.whole(-1, 1),
    "ord": lambda d: d.one(None, 1, 2, np.inf, "fro", 1, np.inf, -1),
    "order": lambda d: d.one("C", "F"),
    "pad_width": lambda d: d.one(1, (2, 0), [(d.whole(0, 2), d.whole(0, 2)) for _ in d.shape] or 1),
    "q": lambda d: d.one(0.3, 1, [0.25, 0.8], [[0, 0.5]]),
    "repeats": lambda d: d.one(2, 1, d.whole(0, 2, d.extent()) + (np.arange(d.extent()) == 0)),
    "reps": lambda d: d.one(2, (2, 1), (1, 2, 1)),
    "right": lambda d: d.one(True, False),
    "rowvar": lambda d: d.one(True, False),
    "shape": lambda d: d.one((-1,), (1, -1), (math.prod(d.shape), 1), d.shape[::-1]),
    "shift": lambda d: d.one(1, -2, d.whole(0, 5)),
    "side": lambda d: d.one("left", "right"),
    "source": Drawing.axis,
    "start": lambda d: d.whole(0, d.ndim),
    "test_elements": lambda d: d.plain(3),
    "values": Drawing.other,
    "weights": Drawing.weights,
    "y": Drawing.alike,
}
"""Draws by the name of a parameter, or of a function and a parameter."""
ONE_AXIS = (
    *("argmax", "argmin", "argsort", "sort", "cumsum", "diff", "take", "repeat", "delete", "insert", "stack"),
    *("split", "rollaxis", "quantile", "percentile", "trapezoid", "compress", "unstack", "take_along_axis"),
    *("array_split", "concatenate"),
)
BY_NAME |= {f"{name}.axis": lambda d: d.one(None, d.axis(), d.axis()) for name in ONE_AXIS}
BY_NAME |= {f"{name}.mode": lambda d: d.one("full", "same", "valid") for name in ("convolve", "correlate")}
BY_NAME |= {f"{name}.v": lambda d: d.one(Place(d.at), d.plain(2)) for name in ("convolve", "correlate")}
BY_NAME |= {
    "expand_dims.axis": lambda d: d.one(d.axis(), (0, d.whole(1, 2)), (-1, 0)),
    "pad.mode": lambda d: d.one("constant", "edge", "reflect", "symmetric", "wrap"),
    "take.mode": lambda d: d.one("wrap", "clip", "raise"),
    "kron.b": Drawing.other,
    "outer.b": Drawing.other,
    "tensordot.b": lambda d: d.one(Place(d.at), d.plain(d.shape)),
    "matrix_power.n": lambda d: d.whole(1, 4),
    "rot90.axes": lambda d: tuple(d.rng.permutation(max(2, d.ndim))[:2].tolist()),
    "tensordot.axes": lambda d: d.one(0, 1, (0, 0), ([0, -1], [0, -1]), d.ndim),
    "transpose.axes": lambda d: tuple(d.rng.permutation(d.ndim).tolist()),
    "trapezoid.x": lambda d: np.cumsum(d.whole(1, 3, d.shape[-1:])),
    "trapezoid.dx": lambda d: d.one(0.5, 2),
    "pad.constant_values": lambda d: d.one(3, (1, -2)),
    "take_along_axis.indices": lambda d: d.whole(-1, 0, [max(1, each // 2) for each in d.shape]),
}


@dataclass(frozen=True)
class Call:
    """A function, and its arguments, of which some are values of the program."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    own: Callable[..., Any]
    """The same function of encrypted arrays."""
    before: Callable[[Any], Any] | None = None
    """What the first argument goes through."""

    def run(self, values, *, encrypted):
        function = self.own if encrypted else self.function
        arguments = _put(self.arguments, values)
        if self.before is not None:
            arguments = (self.before(arguments[0]), *arguments[1:])
        return function(*arguments, **_put(dict(self.options), values))

    def __str__(self):
        return f"{self.name}{self.arguments} {dict(self.options)}"


def _put(value, values):
    if isinstance(value, Place):
        return values[value.at]
    if isinstance(value, dict):
        return {key: _put(each, values) for key, each in value.items()}
    return type(value)([_put(each, values) for each in value]) if isinstance(value, (list, tuple)) else value


def _by_signature(function, name, d):
    """Arguments by the signature, options as the last one: those that are needed, and some of the others."""
    first, *others = inspect.signature(function).parameters.values()
    near = [Place(d.at), *(d.alike() for _ in range(d.whole(0, 2)))]
    found = [near if first.name in ("arrays", "tup") else Place(d.at)]
    for each in others:
        own = "constant_values" if each.kind is each.VAR_KEYWORD else each.name
        draw = BY_NAME.get(f"{name}.{own}") or BY_NAME.get(own)
        is_needed = each.default is each.empty and each.kind is not each.VAR_KEYWORD
        if draw is None or not (is_needed or d.one(True, False)):
            continue
        is_next = len(found) - 1 == others.index(each) and each.kind is not each.KEYWORD_ONLY
        if is_next and own == each.name and (is_needed or d.one(True, False)):
            found.append(draw(d))
        else:
            d.given[own] = draw(d)
    return [*found, d.given]


SPECIAL = {
    np.vdot: lambda d: [Place(d.at), d.alike()],
    np.append: lambda d: [Place(d.at), d.alike(), d.one({}, {"axis": d.axis()})],
    np.block: lambda d: [d.one([Place(d.at), d.alike()], [[Place(d.at)], [d.alike()]])],
    np.bincount: lambda d: [Place(d.at), {"minlength": d.whole(5, 11)}],
    np.choose: lambda d: d.one(
        [Place(d.at), [1, 5, -2, 7, 0, 3]], [d.whole(0, 1, d.shape), [Place(d.at), d.alike()]]
    ),
    np.clip: lambda d: [Place(d.at), d.one(None, -1, 0.5, d.plain(d.shape)), d.one(None, 1, 2, 60)],
    np.compress: lambda d: [d.rng.random(d.last) < 0.7, Place(d.at), {"axis": d.one(-1, None)}],
    np.concatenate: lambda d: [[Place(d.at), d.alike()], d.one({}, {"axis": d.one(None, d.axis())})],
    np.dot: lambda d: [Place(d.at), BY_NAME["b"](d)],
    np.einsum: lambda d: [d.one("...i->...", "...i->i...", "ij->ji", "i...->"), Place(d.at)],
    np.extract: lambda d: [d.rng.random(d.shape) < 0.7, Place(d.at)],
    np.gradient: lambda d: [
        *(Place(d.at), *d.one([], [0.5])),
        d.one({}, {"axis": d.axis(), "edge_order": d.one(1, 2)}),
    ],
    np.histogram: lambda d: [Place(d.at), *d.one([3], [np.unique(d.plain(4))]), {"range": (-2, d.one(3, 7))}],
    np.inner: lambda d: [Place(d.at), d.one(Place(d.at), d.plain((d.last,)), 2)],
    np.interp: lambda d: [Place(d.at), [-1.0, 0.5, 2], d.plain(3)],
    np.linalg.solve: lambda d: [d.plain((*d.shape, 1)[:1] * 2) + 9 * np.eye((*d.shape, 1)[0]), Place(d.at)],
    np.linalg.multi_dot: lambda d: [[Place(d.at), d.plain((d.last, 2)), d.plain(2)]],
    np.piecewise: lambda d: [Place(d.at), [d.rng.random(d.shape) < 0.5], [1.5, -2]],
    np.polyval: lambda d: d.one([d.plain(d.whole(1, 4)), Place(d.at)], [Place(d.at), d.plain(2)]),
    np.searchsorted: lambda d: [_edges(d), Place(d.at), {"side": d.one("left", "right")}],
    np.select: lambda d: [[d.rng.random(d.shape) < 0.5], [Place(d.at)], d.one(0, 2.5)],
    np.size: lambda d: [Place(d.at), d.one({}, {"axis": d.axis()})],
    np.where: lambda d: [
        d.one(d.rng.random(d.shape) < 0.5, Place(d.whole(0, len(d.shapes) - 1))),
        *d.one([Place(d.at), d.other()], [d.other(), Place(d.at)]),
    ],
    **dict.fromkeys((np.ones_like, np.zeros_like), lambda d: [Place(d.at)]),
}


def _spread(x):
    return x / 32 + np.arange(x.size).reshape(x.shape)


BEFORE = {
    "bincount": lambda x: np.ravel(x * x)[:4],
    **dict.fromkeys(
        ("arccos", "arcsin", "arctanh", "tan", "sinh", "cosh", "exp", "exp2", "expm1"), lambda x: x / 128
    ),
    **dict.fromkeys(
        ("log", "log10", "log1p", "log2", "arccosh", "reciprocal", "sqrt", "cbrt"), lambda x: x / 16 + 3
    ),
    **dict.fromkeys(("std", "corrcoef", "norm"), _spread),
    **dict.fromkeys(("det", "inv"), lambda x: x / 4 + 30 * np.eye(x.shape[-1])),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "invert"), lambda x: x > 0),
}
"""What comes before functions that are not there of most values."""
REDUCING = (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or)
SHIFTS = np.left_shift, np.right_shift
SCALARS = {np.divmod, np.floor_divide, np.fmod, np.remainder, *SHIFTS, np.power, np.float_power, np.heaviside}
JUDGES = {
    "hm.softmax": (lambda x, **o: scipy.special.softmax(x * 1.0, **o), hm.softmax, ("axis",)),
    "hm.logsumexp": (
        lambda x, **o: scipy.special.logsumexp(x * 1.0, **o),
        hm.logsumexp,
        ("axis", "keepdims"),
    ),
    "hm.relu": (lambda x: np.maximum(x, 0.0), hm.relu, ()),
    "hm.sigmoid": (scipy.special.expit, hm.sigmoid, ()),
    "hm.silu": (lambda x: x * scipy.special.expit(x), hm.silu, ()),
    "hm.softplus": (lambda x: np.logaddexp(0, x), hm.softplus, ()),
    "hm.gelu": (lambda x: x * scipy.special.ndtr(x), hm.gelu, ()),
    "hm.erf": (scipy.special.erf, hm.erf, ()),
}
METHODS = sorted(
    name
    for name in vars(Array)
    if not name.startswith("_")
    and callable(getattr(np.ndarray, name, None))
    and name not in ("dot", "reshape", "transpose")
)
OWN = {
    "x[index]": (
        lambda x, index: np.asarray(x[index]) if isinstance(x, np.ndarray) else x[index],
        Drawing.index,
    ),
    "x.astype": (lambda x, kind: x.astype(kind), lambda d: d.one(bool, int, float)),
    "x.reshape": (lambda x, shape: x.reshape(shape), BY_NAME["shape"]),
    "x.transpose": (lambda x, axes: x.transpose(*axes), BY_NAME["transpose.axes"]),
    "x.T": (lambda x, n: x.T[:n], lambda d: d.one(None, 1)),
    "x.dot": (lambda x, y: (x if isinstance(x, Array) else np.asarray(x)).dot(y), BY_NAME["b"]),
    "x @ x.T": (
        lambda x, turned: np.dot(np.transpose(x), x) if turned else x @ np.transpose(x),
        lambda d: d.one(True, False),
    ),
    "y @ x": (lambda x, y: y @ x, lambda d: d.plain((d.one(2, 3), (*d.shape, 1)[0]))),
    "x == y": (lambda x, y: x == y, Drawing.other),
    "y / x": (lambda x, y: y / (x / 16 + 7), lambda d: d.one(2, 1.5)),
    "ufunc.reduce": (
        lambda x, given: given[0].reduce(x, axis=given[1]),
        lambda d: (d.one(*REDUCING), d.axes()),
    ),
    **{
        f"np.{each.__name__}.accumulate": (lambda x, axis, each=each: each.accumulate(x, axis), Drawing.axis)
        for each in (np.add, np.multiply, np.maximum, np.minimum)
    },
    "ufunc.outer": (
        lambda x, given: given[0].outer(x, given[1]),
        lambda d: (d.one(np.add, np.multiply, np.subtract), d.plain(2)),
    ),
}


def all_draws():
    """Draws of a call, by name."""
    found = dict[str, Callable[[Drawing], Call]]()
    for function in {**COMPUTING, **dict.fromkeys(MOVING)}:
        name = function.__name__
        made = SPECIAL.get(function) or functools.partial(_by_signature, function, name)
        own = functools.partial(in_parts, function) if function in TRANSFORMS else function
        judged = {np.argsort: functools.partial(np.argsort, kind="stable")}.get(function, own)
        found[f"np.{name}"] = _drawn(f"np.{name}", made, judged, own)
    for ufunc in UFUNCS:
        name = f"np.{ufunc.__name__}"
        found[name] = _drawn(name, functools.partial(_of_ufunc, ufunc), ufunc)
    for name in METHODS:
        by_signature = functools.partial(_by_signature, getattr(Array, name), name)
        found[f"x.{name}"] = _drawn(f"x.{name}", by_signature, functools.partial(_method, name))
    for name, (judge, own, options) in JUDGES.items():
        found[name] = _drawn(
            name,
            lambda d, options=options: [
                *(Place(d.at), {each: BY_NAME[each](d) for each in options if d.ndim and d.one(True, False)})
            ],
            judge,
            own,
        )
    for name, (expression, argument) in OWN.items():
        found[name] = _drawn(name, lambda d, argument=argument: [Place(d.at), argument(d), {}], expression)
    return found


def _method(name, x, *arguments, **options):
    if name == "argsort" and not isinstance(x, Array):
        options["kind"] = "stable"
    return getattr(x, name)(*arguments, **options)


def _of_ufunc(ufunc, d):
    other = d.one(1, 2, 3, 1.5, -2.5) if ufunc in SCALARS else d.other()
    if ufunc is np.matmul:
        other = BY_NAME["b"](d)
    if ufunc.__name__.startswith("bitwise"):
        other = d.rng.random(d.shape) < 0.5
    is_turned = ufunc not in SCALARS and ufunc.__name__ not in BEFORE and d.one(True, False)
    return [Place(d.at), other][: ufunc.nin][:: -1 if is_turned else 1]


def _drawn(name, draw, judge, own=None):
    def drawn(d):
        arguments = draw(d)
        options = arguments.pop() if isinstance(arguments[-1], dict) else {}
        before = BEFORE.get(name[name.find(".") + 1 :]) if d.one(True, True, False) else None
        return Call(name, judge, tuple(arguments), options, own or judge, before)

    return drawn
