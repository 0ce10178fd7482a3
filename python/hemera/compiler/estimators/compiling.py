"""Compiles fitted estimators of scikit-learn."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.arrays.array import Array
from hemera.arrays.recorded import number_of
from hemera.arrays.recorder import Recorder
from hemera.compiler import compiling
from hemera.compiler.compiled import Compiled
from hemera.compiler.estimators.compiled import CompiledEstimator
from hemera.compiler.estimators.features import Features
from hemera.compiler.estimators.linear import of_arrays
from hemera.compiler.estimators.model import Model, refuse
from hemera.compiler.estimators.reading import chain
from hemera.compiler.estimators.refusals import refuse_type
from hemera.compiler.specs import ArraySpec
from hemera.errors import MismatchError, ParameterError, PrecisionError
from hemera.exporting.agreement import of_library, require_rows, thinned
from hemera.exporting.estimators import SCALERS, Scaled, name_of, scaled_by, steps_of
from hemera.exporting.linear import LinearModel
from hemera.package.encodings import Arrays, Scaling, Table, chunked, column_ranges, finite_rows
from hemera.package.finishing import Method, undecided
from hemera.parameters import Parameters

Floats = NDArray[np.float64]

_MARGIN = 0.5
_SLOTS = 4096
_MOST_ROWS = 1024
_MOST_ENTRIES = 1 << 20
"""The most entries of all linear maps: more rows at a time take long to compile."""
_MOST_SAMPLES = 1 << 24
"""Products of samples with entries of one map."""
_TRIES = 3
"""The most plans for the bits that scores have."""
_TRIED = 32
"""Samples of the program of one row."""
_DRAWN = 512
"""Rows that are drawn where none are given."""
_COMPARED = 200
"""Rows on which a reading is compared with its library."""
_LARGEST_CHANGE = 2.0**-7
"""The most that errors of scores may change a probability, or its logarithm relative to the largest."""
_MOST_MORE = 32
"""Bits that scores have more than asked, at most, so that it does."""
_TOLERANCE = 1e-5
_ROUNDING = 1e-12
"""The rounding of scores in double precision, as part of the largest."""
_UNEXPECTED = 3.0
"""Bits by which an error may be larger than is expected."""
_TIES = 0.02
"""Part of the compared rows whose classes may differ, because they are near a tie."""


@dataclass(frozen=True)
class _Client:
    """How clients prepare rows, and what that makes of the features that the program takes."""

    scaling: Scaling
    thresholds: tuple[float, ...]
    scale: Floats
    offset: Floats

    def __call__(self, rows: Any) -> Floats:
        """The encrypted values of rows."""
        if not self.thresholds:
            return self.scaling(rows)
        values = finite_rows(rows, len(self.thresholds), "calibrate")
        return (values > np.asarray(self.thresholds)).astype(np.float64)


def compile_estimator(
    what: Any,
    *inputs: Any,
    calibrate: Any = None,
    clip: ArrayLike | None = None,
    method: str | None = None,
    rows: int | None = None,
    precision_bits: float = 16,
    margin: float = _MARGIN,
    params: Parameters | None = None,
    security: int | None = 128,
    share: bool = False,
    shares: int = 1024,
    watch: bool = True,
    name: str | None = None,
    description: str = "",
) -> CompiledEstimator:
    """Compile a fitted estimator of scikit-learn, a Pipeline, or a `hemera.serving.LinearModel` of arrays.

        model = hm.compile(make_pipeline(StandardScaler(), SVC()).fit(X, y), calibrate=X)
        model.local().predict(X_test)

    Clients scale rows into [-1, 1] by the calibrated ranges, and take the last step to results: a softmax, a
    vote, labels. docs/compile-estimators.md lists the estimators, and what clients learn of each. The reading
    is compared with scikit-learn's own results.

    Args:
        what: the estimator, of an exact type of scikit-learn.
        calibrate: rows of shape (rows, features) like those to come, which give ranges to all values.
        clip: in place of `calibrate`, of linear models: the largest size of a feature after the scalers at
            the start, one number or one for each. A model whose scaler clips needs neither.
        method: the one whose results clients of the packaged model read, like "predict_proba"; None: the
            first, `predict` or `transform`.
        rows: how many each run takes. None: the power of two with which the widest value of the program fills
            4,096 slots, of up to 1,024 rows and 2^20 entries of linear maps.
        precision_bits: bits that scores have at least, relative to their largest value: more where
            probabilities of large scores need them.
        margin: the part by which the ranges of the rows, and of values in between, are widened to both sides.
        params, security, share, shares, watch, name, description: as of functions.

    Raises:
        TypeError: for an estimator that is not compiled; the message has the way out.
        ParameterError: for one that is not fitted, without `calibrate`, for a method that it has not, and
            when a value needs more slots than there are or no approximation has the precision.
        MismatchError: for rows that do not fit it, and when the reading differs from scikit-learn's results.
        LevelError: when the given parameters have too few levels.
    """
    if inputs:
        raise ParameterError("an estimator's rows are its input: give them as calibrate=, and no others")
    first = (steps_of(what) or [what])[0]
    count = int(getattr(first, "n_features_in_", (np.shape(calibrate) or (0,))[-1]))
    names = tuple(map(str, getattr(first, "feature_names_in_", ())))
    scaled, threshold, model = _divided(what, count)
    if calibrate is None:
        calibrate = _drawn(scaled, count, clip)
    elif clip is not None:
        raise ParameterError("the range comes from calibrate= or from clip=; give one of them")
    given = finite_rows(calibrate, count, "calibrate")
    client = _client(scaled, threshold, given, names, margin if clip is None else 0.0)

    def program(z: Any) -> Any:
        return model.run(Features(z, client.scale, client.offset)).array

    few = thinned(calibrate, _COMPARED)
    chosen, samples = _rows_and_samples(program, client(few), rows)
    taken = _spread(given, samples)
    encrypted = client(taken)
    scores = np.asarray(program(client(few)), np.float64)
    methods = _compared(what, model, scores, few)
    probable = [
        (at, own) for at, own in methods.items() if at.endswith("_proba") and not _is_near(own, scores)
    ]
    bits = max([precision_bits, *(_bits_for(*each, scores, precision_bits) for each in probable)])
    if method is not None and method not in methods:
        known = ", ".join(methods)
        raise ParameterError(f"{type(what).__name__}: the method is one of {known}, not {method}")
    compiled = partial(
        compiling.compile,
        program,
        ArraySpec((chosen, count), (0.0, 1.0) if client.thresholds else (-1.0, 1.0), "rows"),
        calibrate=chunked(encrypted, chosen),
        margin=margin,
        layout="slots",
        params=params,
        security=security,
        share=share,
        shares=shares,
        watch=watch,
        scales=False,  # the client of an estimator scales by itself
        name=name or type(what).__name__,
        description=description,
    )
    plan = _precise(compiled, bits)
    told = max(bits, plan.expected_bits() - _UNEXPECTED)
    lacking = max(_bits_for(*each, scores, told) for each in methods.items()) - told
    if lacking:
        plan = _precise(compiled, bits + lacking)
    encoding = plan.package.interface.encoding
    assert isinstance(encoding, Arrays)
    (before,), (after, *watched), unwatched = encoding.inputs, encoding.outputs, encoding.unwatched
    error = float(np.abs(scores).max(initial=0.0) * 2.0 ** -(told + lacking))
    methods = {name: own.with_error(error) for name, own in methods.items()}
    table = Table(client.scaling, client.thresholds, before, after, methods, tuple(watched), unwatched)
    return CompiledEstimator(plan, table if method is None else table.first(method))


def _drawn(scaled: Scaled, count: int, clip: ArrayLike | None) -> Floats:
    """Rows of the range of `clip`, with its ends; of scalers that clip, rows of their range and beyond."""
    at = np.random.default_rng(0).uniform(-1, 1, (_DRAWN, count))
    if np.isfinite(scaled.low).all():
        return np.asarray((scaled.low + scaled.high) / 2 + (scaled.high - scaled.low) * at)
    if clip is None:
        raise ParameterError(
            "which range are the features in? Give rows like those to come, calibrate=X (of `hemera export`: "
            "--calibrate FILE); or, of a linear model, clip= (--clip), the largest size of a feature after "
            "the scalers at the start"
        )
    try:
        half = np.broadcast_to(np.asarray(clip, np.float64), (count,)) * scaled.deviation
    except ValueError:
        raise MismatchError(f"clip: one number, or one for each of {count} features") from None
    if not (half > 0).all() or not np.isfinite(half).all():
        raise ParameterError(f"clip must be above 0 and finite, not {clip}")
    at[0], at[1] = -1, 1
    return np.asarray(scaled.mean + half * at)


def _divided(what: Any, count: int) -> tuple[Scaled, float | None, Model]:
    """The clients' first steps, which are scalers, with what they clip, and a threshold with which clients
    compare features after these; and the rest for the program."""
    if isinstance(what, LinearModel):
        return what.scaled, None, of_arrays(what)
    steps = steps_of(what)
    scalers = list(itertools.takewhile(lambda step: name_of(step) in SCALERS, steps))
    rest, threshold = steps[len(scalers) :], None
    if rest and name_of(rest[0]) == "Binarizer":
        threshold, *rest = rest[0].threshold, *rest[1:]
        if not rest:
            refuse_type(steps[-1])
    if rest and name_of(rest[0]) == "BernoulliNB":
        if threshold is not None and rest[0].binarize not in (None, 0.0):
            refuse(rest[0], f"it compares again, after {threshold}; train it with binarize=None")
        threshold = rest[0].binarize if threshold is None else threshold
        rest[0] = copy(rest[0]).set_params(binarize=None)
    model, scaled = chain(what, rest), scaled_by(scalers, count)
    if threshold is not None and np.isfinite(scaled.low).all():
        refuse(scalers[-1], "it clips before a threshold; train it with clip=False")
    return scaled, threshold, model


def _client(
    own: Scaled, threshold: float | None, rows: Floats, names: tuple[str, ...], margin: float
) -> _Client:
    count = rows.shape[1]
    if threshold is not None:
        limits = tuple((own.mean + own.deviation * threshold).tolist())
        scaling = Scaling((0.0,) * count, (1.0,) * count, 1.0, names, True)
        return _Client(scaling, limits, np.ones(count), np.zeros(count))
    clips = bool(np.isfinite(own.low).all())
    if clips:
        centre, half = (own.low + own.high) / 2, (own.high - own.low) / 2
    else:
        centre, half = column_ranges(rows, 1 + 2 * margin)
    reach = np.where(half > 0, half, 1.0)  # a feature between equal limits counts as them
    scaling = Scaling(tuple(centre.tolist()), tuple(reach.tolist()), 1.0, names, clips)
    return _Client(scaling, (), half / own.deviation, (centre - own.mean) / own.deviation)


def _spread(rows: Floats, most: int) -> Floats:
    """Some of the rows: evenly chosen ones, and those with the least and the largest of a column."""
    chosen = np.unique(np.concatenate([rows.argmin(axis=0), rows.argmax(axis=0)]))
    if len(chosen) > most // 2:
        chosen = chosen[:: -(-2 * len(chosen) // most)]
    return np.concatenate([rows[chosen], np.asarray(thinned(rows, most))])


def _rows_and_samples(program: Callable[[Any], Any], few: Floats, rows: int | None) -> tuple[int, int]:
    """How many rows a run takes, and how many are samples: by a program of one row, with a few samples."""
    recorder = Recorder(precision_bits=2)
    given = recorder.input("rows", (1, few.shape[1]), -1.0, 1.0, few[:_TRIED, None])
    recorder.program.outputs = [("scores", number_of(program(Array(recorder, given))))]
    maps = [own.entries for _, _, own in recorder.program.maps]
    samples = max(64, min(2048, _MOST_SAMPLES // max([1, *maps])))
    if rows is not None:
        if rows < 1:
            raise ParameterError(f"a run takes at least one row, not {rows}")
        return int(rows), samples
    widest = max([1 << (node.size - 1).bit_length() for node in recorder.program.nodes])
    room = min(_SLOTS // widest, _MOST_ROWS, _MOST_ENTRIES // max(1, sum(maps)))
    return 1 << (max(1, room).bit_length() - 1), samples


def _precise(compiled: Callable[..., Compiled], bits: float) -> Compiled:
    """The plan whose scores have these bits: small sums of large terms take more than were asked for.
    PrecisionError where that does not help."""
    more = 0.0
    for _ in range(_TRIES):
        plan = compiled(precision_bits=bits + more)
        had = plan.expected_bits()
        if had >= bits - 1:  # of a few draws
            return plan
        more += bits - had
    raise PrecisionError(
        f"scores would have {had:.1f} of the {bits:g} bits that were asked for. Ask for fewer "
        "(precision_bits=), or scale the features first, as by a StandardScaler"
    )


def _is_near(method: Method, scores: Floats) -> bool:
    """Whether results are of the nearest neighbours."""
    return bool(undecided(method.steps, scores, np.inf).any())


def _bits_for(name: str, method: Method, scores: Floats, asked: float) -> float:
    """Bits of scores with which a method's numbers are right. Those of scores of 10^8, as joint logarithms of
    features that are nearly constant, depend on the last bits of these, and inverses of distances on those of
    small ones. Votes may differ where scores are near a tie."""
    if np.dtype(method.kind).kind != "f" or name == "decision_function":
        return asked
    near, largest = scores - scores.min(axis=1, keepdims=True), np.abs(scores).max(initial=0.0)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (2 * len(scores), scores.shape[1]))
    if _is_near(method, scores):  # which neighbours are near remains
        signs = np.where(np.concatenate([near, near]) == 0, -1.0, 1.0)
    for more in range(0, _MOST_MORE + 1, 4):
        error = float(largest * 2.0 ** -(asked + more))
        given = np.concatenate([scores, near + 2 * error])
        wanted, found = method(given), method.with_error(error)(given + signs * error)
        known = np.isfinite(wanted)
        size = float(np.abs(wanted[known]).max(initial=0.0))
        room = _LARGEST_CHANGE * (max(1.0, size) if name.endswith("_proba") else size)
        if np.abs(found - wanted)[known].max(initial=0.0) <= room:
            break
    return asked + more


# --- The reading against the library. ---


def _compared(what: Any, model: Model, scores: Floats, rows: Any) -> dict[str, Method]:
    """The methods, with types and shapes of the library's results. MismatchError where results differ."""
    found, rounding = {}, float(_ROUNDING * np.abs(scores).max(initial=0.0))
    for name, steps in model.methods.items():
        if not hasattr(what, name):
            continue
        expected = of_library(what, name, rows)
        kind = {"U": "str", "O": "object"}.get(expected.dtype.kind, expected.dtype.name)
        method = Method(steps, kind, expected.shape[1:]).with_error(rounding)
        own = method(scores)
        told = ~undecided(steps, scores, rounding)
        own, expected, is_real = own[told], expected[told], expected.dtype.kind == "f"
        good = own == expected
        if is_real:
            size = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
            with np.errstate(invalid="ignore"):
                good |= np.abs(own - expected) <= _TOLERANCE * (size + np.abs(expected))
        named, then = f"{type(what).__name__}.{name}", "the estimator is not compiled"
        require_rows(good, own, expected, named, "its reading", then, 0.0 if is_real else _TIES)
        found[name] = method
    if not found:
        refuse(what, "none of its methods is compiled; train it with other settings")
    return found
