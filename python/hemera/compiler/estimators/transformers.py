"""Transformers: scalers, linear maps, products of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from hemera.compiler.estimators.features import Features
from hemera.compiler.estimators.model import Model, identity, plain, refuse
from hemera.exporting.agreement import of_library
from hemera.exporting.estimators import SCALERS


def scaler(model: Any) -> Model:
    """StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler."""
    mean, deviation, clip = SCALERS[type(model).__name__](model)
    if clip is not None:
        refuse(model, "only clients clip, and here it is not the first step; train it with clip=False")
    count = int(model.n_features_in_)
    own = [np.broadcast_to(np.asarray(each, np.float64), (count,)) for each in (mean, deviation)]
    return Model(lambda x: x.standardised(*own), {"transform": ()})


def linear_map(model: Any) -> Model:
    """A transformer that is a matrix and an offset, which its own results of unit vectors are."""
    count = int(model.n_features_in_)
    found = plain(of_library(model, "transform", np.concatenate([np.zeros((1, count)), np.eye(count)])))
    offset = found[0]
    matrix = found[1:] - offset
    return Model(lambda x: x.product(matrix, offset).normalised(), {"transform": ()})


def selection(model: Any) -> Model:
    """A selection of features."""
    columns = np.flatnonzero(model.get_support())
    if not len(columns):
        refuse(model, "no feature is selected; train it with other settings")
    return Model(lambda x: x.taken(columns), {"transform": ()})


def function(model: Any) -> Model:
    """FunctionTransformer of no function."""
    if model.func is not None:
        refuse(
            model,
            "its function takes plain values; apply it to the rows at the client, and compile what comes "
            "after",
        )
    return nothing(model)


def nothing(_: Any) -> Model:
    """Features as they are."""
    return Model(identity, {"transform": ()})


def polynomial_features(model: Any) -> Model:
    """PolynomialFeatures: products of features, by halves of their factors."""
    powers = [tuple(int(power) for power in row) for row in model.powers_]
    factors = [tuple(np.repeat(np.arange(len(row)), row).tolist()) for row in powers]

    def run(x: Features) -> Features:
        return _products(x, factors)

    return Model(run, {"transform": ()})


def _products(x: Features, wanted: list[tuple[int, ...]]) -> Features:
    """The products of these features."""
    needed = set(wanted)
    waiting = list(wanted)
    while waiting:
        own = waiting.pop()
        if len(own) > 1:
            new = {own[: len(own) // 2], own[len(own) // 2 :]} - needed
            needed |= new
            waiting += new
    first = x.array
    levels: dict[int, tuple[Any, dict[tuple[int, ...], int]]] = {
        1: (first, {(at,): at for at in range(x.count)}),
    }

    def column(own: tuple[int, ...]) -> tuple[int, int]:
        return len(own), levels[len(own)][1][own]

    for degree in range(2, max(map(len, needed), default=1) + 1):
        of_degree = sorted(own for own in needed if len(own) == degree)
        if not of_degree:
            continue
        half = degree // 2
        left = _gathered(levels, [column(own[:half]) for own in of_degree])
        right = _gathered(levels, [column(own[half:]) for own in of_degree])
        levels[degree] = (left * right, {own: at for at, own in enumerate(of_degree)})
    return Features.of(_gathered(levels, [column(own) if own else (0, 0) for own in wanted]))


def _gathered(levels: dict[int, tuple[Any, Any]], columns: list[tuple[int, int]]) -> Any:
    """Columns (degree, number) of products; those of degree 0 are 1."""
    used = sorted({degree for degree, _ in columns if degree})
    if not used:
        return levels[1][0][:, [0] * len(columns)] * 0 + 1
    starts, start = {}, 0
    for degree in used:
        starts[degree] = start
        start += int(levels[degree][0].shape[1])
    parts = [levels[degree][0] for degree in used]
    joined = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    taken = joined[:, [starts[degree] + at if degree else 0 for degree, at in columns]]
    ones = np.array([0.0 if degree else 1.0 for degree, _ in columns])
    return taken * (1 - ones) + ones if ones.any() else taken
