"""Random programs of all functions that take encrypted arrays, judged by NumPy: values, shapes and kinds, and
what is told of each value before: its range, its step and its sign."""

import collections
import itertools
import warnings

import numpy as np
import pytest

from hemera.arrays import comparisons, contraction, statistics
from hemera.arrays.array import Array
from hemera.arrays.folding import folded, with_squares
from hemera.arrays.recorder import Recorder
from hemera.arrays.tiling import split

from .judged import is_refusal, leaves
from .programs import on_tiles
from .random_calls import Drawing, Place, all_draws

DRAWS = all_draws()
BITS = 8
MOST, LARGEST, MOST_WHOLE = 60, 1e4, 2.0**52
"""Elements and magnitudes of values that further operations take, and of results that are compared."""
KINDS = [
    ("b", 0, 1, 1),
    *(("i", low, high, 1) for low, high in ((0, 7), (-4, 4), (-9, -2), (0, 2), (-3, 1), (100, 106), (-6, 0))),
    *(("f", low, high, 0.5) for low, high in ((0, 3), (-1, 2), (-4, -1))),
    *(
        ("f", low, high, None)
        for low, high in ((-2, 2), (0, 3), (0.5, 4), (-5, -1), (50, 53), (-0.75, 0.5), (-7, 0))
    ),
]
"""Inputs: the kind, the range and the step."""
SHAPES = [(), (1,), (3,), (4,), (1, 3), (3, 1), (2, 3), (2, 2), (3, 3), (4, 1, 2), (2, 3, 2), (2, 1, 3)]
EXACT = {
    *("ceil", "floor", "trunc", "rint", "round", "floor_divide", "remainder", "sign", "heaviside", "isin"),
    *(
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "x == y",
        "digitize",
        "histogram",
    ),
    *("searchsorted", "argmax", "argmin", "argsort", "astype", "bincount", "count_nonzero", "ufunc.reduce"),
    *("all", "any", "logical_and", "logical_or", "logical_not", "logical_xor", "choose", "where"),
}
"""Functions that jump: of values that are exact in float64."""

LENIENT = {"np.round", "np.bincount", "np.correlate", "np.cov", "np.multi_dot"}
"""Functions that take more than those of NumPy: whole numbers of float64, and arrays of other shapes."""


class Program:
    """Values of a program: for four draws of the inputs in the clear, and encrypted."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.recorder = Recorder(precision_bits=BITS)
        self.clear = []
        self.arrays = []
        self.inputs = []
        self.calls = []
        for _ in range(self.rng.integers(1, 3)):
            self.add_input(SHAPES[self.rng.integers(len(SHAPES))])
        self.add_input(self.clear[0][0].shape)

    def add_input(self, shape):
        kind, low, high, step = KINDS[self.rng.integers(len(KINDS))]
        ends = np.full(shape, low), np.full(shape, high)
        if self.rng.random() < 0.5:  # of each element its own
            middle = (low + high) / 2 + self.rng.uniform(-0.1, 0.1, shape) * (high - low)
            ends = self.rng.uniform(low, middle), self.rng.uniform(middle, high)
        least, most = (
            each if step is None else np.clip(np.round(each / step) * step, low, high) for each in ends
        )
        rows = np.stack(
            [self.rng.uniform(least, most), least, most, np.where(self.rng.random(shape) < 0.5, least, most)]
        )
        rows = rows if step is None else np.clip(np.round(rows / step) * step, low, high)
        number = self.recorder.input(f"x{len(self.inputs)}", shape, low, high, None, step)
        self.recorder.narrow(number, rows[1].ravel(), rows[2].ravel())
        self.inputs.append(rows)
        self.clear.append(list(rows.astype({"b": np.bool_, "i": np.int64, "f": np.float64}[kind])))
        self.arrays.append(Array(self.recorder, number, kind))

    def call(self, name):
        """Draw a call, and take its results in: "right", "refused", or "undefined" where NumPy refuses."""
        at = int(self.rng.integers(len(self.arrays)))
        if name[name.find(".") + 1 :] in EXACT:
            exact = [at for at, rows in enumerate(self.clear) if all(map(_is_exact, rows))]
            at = exact[self.rng.integers(len(exact))] if exact else at
        call = DRAWS[name](Drawing(self.rng, [each.shape for each in self.arrays], at, {}))
        if name[name.find(".") + 1 :] in EXACT and not all(
            _is_exact(each) for each in _taken(call, self.clear)
        ):
            return "undefined"
        rows = [_called(call, [each[row] for each in self.clear]) for row in range(4)]
        if any(getattr(each, "dtype", None) == np.float16 for each in leaves(rows)):  # of truth values
            rows = [_called(call, [_wide(each[row]) for each in self.clear]) for row in range(4)]
            rows = [_floats(each) for each in rows]
        found = _called(call, self.arrays, encrypted=True)
        failed = next((each for each in rows if isinstance(each, Exception)), None)
        if isinstance(found, Exception):
            assert failed is not None or is_refusal(found), (str(call), found)
            return "undefined" if failed is not None else "refused"
        if failed is not None:
            is_of_values = any(not isinstance(each, Exception) for each in rows) or isinstance(
                failed, ArithmeticError
            )
            is_of_values = is_of_values or call.name in LENIENT
            assert is_of_values, f"{call} of {[each.shape for each in self.arrays]}: {found} for {failed!r}"
            return "undefined"
        if any(isinstance(each, Array) and max(map(abs, each.range)) > MOST_WHOLE for each in leaves(found)):
            return "undefined"  # where NumPy's whole numbers can overflow
        self.calls.append(call)
        for own, *wanted in itertools.zip_longest(leaves(found), *map(leaves, rows)):
            self.take(call, own, wanted)
        return "right"

    def take(self, call, own, wanted):
        plain = [np.asarray(each) for each in wanted]
        assert np.shape(own) == plain[0].shape, (str(call), np.shape(own), plain[0].shape)
        kind = {"u": "i"}.get(plain[0].dtype.kind, plain[0].dtype.kind)
        assert np.asarray(own).dtype.kind == kind if not isinstance(own, Array) else own._kind == kind, (
            str(call),
            kind,
        )
        if not isinstance(own, Array):
            assert all(np.array_equal(own, each) for each in plain), str(call)
        else:
            self.arrays.append(own)
            self.clear.append(wanted if own.shape or isinstance(wanted[0], np.generic) else plain)

    def small(self):
        """Whether further operations can take the last values: else they are left out."""
        for at in range(len(self.inputs), len(self.arrays)):
            if self.arrays[at].size > MOST or np.abs(np.asarray(self.clear[at], np.float64)).max() > LARGEST:
                return False
        return True

    def check(self, *, in_other_forms):
        """All values are those of NumPy, in each form of the program, and what is told of them holds."""
        program, told = self.recorder.program, "; ".join(map(str, self.calls))
        values = program.values(self.inputs, formulas=program.approximated)
        for at, (array, wanted) in enumerate(zip(self.arrays, self.clear, strict=True)):
            rows = np.asarray(wanted, np.float64)
            size = max(1.0, float(np.abs(rows).max()))
            assert np.allclose(values[array._number], rows, rtol=0, atol=2e-6 * size), (
                told,
                at,
                values[array._number],
                rows,
            )
        near = program.values(self.inputs)
        if len(self.calls) == 1:
            factor = 16 if self.calls[0].name == "hm.logsumexp" else 4
            for array, wanted in zip(self.arrays, self.clear, strict=True):
                rows = np.asarray(wanted, np.float64)
                size = max(1.0, float(np.abs(rows).max()), *(float(np.abs(each).max()) for each in near))
                assert np.allclose(near[array._number], rows, rtol=0, atol=factor * 2.0**-BITS * size), told
        if in_other_forms:
            self.check_forms(told, values, near)
        self.check_told(told, values, near)

    def check_forms(self, told, values, near):
        program = self.recorder.program
        program.outputs = [(str(at), each._number) for at, each in enumerate(self.arrays)]
        simpler, squared = folded(program), folded(with_squares(program))
        forms = [
            (each.values(self.inputs, formulas=each.approximated), [at for _, at in each.outputs], values)
            for each in (simpler, squared)
        ]
        forms.append((on_tiles(split(simpler, 4), self.inputs), range(len(self.arrays)), near))
        for found, places, wanted in forms:
            for place, array in zip(places, self.arrays, strict=True):
                size = max(1.0, float(np.abs(wanted[array._number]).max()))
                assert np.allclose(found[place], wanted[array._number], rtol=0, atol=2e-6 * size), told

    def check_told(self, told, values, near):
        recorder = self.recorder
        for number, (meant, is_near) in enumerate(zip(values, near, strict=True)):
            size = max(1.0, float(np.abs(is_near).max()))
            flat, slack = is_near.reshape(len(is_near), -1), 1e-9 * size
            ends = recorder.program.nodes[number].range
            for low, high in (recorder.facts[number].bounds, recorder.facts[number].certain, ends):
                assert (np.clip(flat, low - slack, high + slack) == flat).all(), (told, number)
            assert (meant * recorder.facts[number].sign >= -1e-9 * size).all(), (told, number)
            step = recorder.facts[number].step
            if step is not None:
                assert np.abs(meant / step - np.round(meant / step)).max() < 1e-4, (told, number, step)


def _taken(call, clear):
    return [
        row
        for each in [*leaves(call.arguments), *call.options.values()]
        for row in (clear[each.at] if isinstance(each, Place) else [0])
    ]


def _wide(value):
    return value.astype(np.int64) if value.dtype == np.bool_ else value


def _floats(value):
    return value if isinstance(value, Exception) else np.asarray(value, np.float64)[()]


def _is_exact(value):
    scaled = np.asarray(value, np.float64) * 64
    return bool((scaled == np.round(scaled)).all())


def _called(call, values, *, encrypted=False):
    with warnings.catch_warnings(), np.errstate(all="ignore" if encrypted else "raise", under="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call.run(values, encrypted=encrypted)
        except Exception as error:
            return error


NAMES = sorted(DRAWS)
LIMITS = [(contraction, "_MOST_LISTED", 0), (statistics, "_MOST_PAIRED", 1), (comparisons, "_MOST_POINTS", 3)]
STEEP = {
    "np.corrcoef",
    "np.hypot",
    "np.norm",
    "np.sqrt",
    "np.std",
    "x.std",
    "np.fabs",
    "np.absolute",
    "np.clip",
    "hm.relu",
}
"""Functions whose approximations take long to make: a program has one at most."""
LATER = [name for name in NAMES if name not in STEEP]


def run(seed, counts):
    """A program of one to six calls, the first of a function in turn, on both sides of the limits from which
    on it is made otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        for at, (module, name, limit) in enumerate(LIMITS):
            if seed // len(NAMES) >> at & 1:
                patch.setattr(module, name, limit)
        _run(seed, counts)


def _run(seed, counts):
    first = NAMES[seed % len(NAMES)]
    for attempt in range(8):
        program = Program((7, seed, attempt))
        verdict = program.call(first)
        counts[first][verdict] += 1
        if verdict == "right":
            break
    for name in program.rng.choice(LATER, program.rng.integers(0, program.rng.integers(1, 7))):
        if not program.small():
            break
        counts[name][program.call(name)] += 1
    program.check(in_other_forms=seed % 4 == 0)


def test_random_programs():
    counts = {name: collections.Counter() for name in NAMES}
    for seed in range(750):
        run(seed, counts)
    assert [name for name in NAMES if not counts[name]["right"]] == []
    total = sum(counts.values(), collections.Counter())
    assert total["refused"] < 0.1 * total["right"], total
