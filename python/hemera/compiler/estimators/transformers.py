"""Transformers: scalers, linear maps, products of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from hemera.compiler.estimators.features import Features
from hemera.compiler.estimators.linear import of_unit_vectors
from hemera.compiler.estimators.model import Model, Read, refuse
from hemera.exporting.estimators import SCALERS

_Factors = tuple[int, ...]
"""Numbers of features that are multiplied."""


def scaler(model: Any) -> Model:
    """StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler."""
    mean, deviation, clip = SCALERS[type(model).__name__](model)
    if clip is not None:
        refuse(model, "only clients clip, and here it is not the first step; train it with clip=False")
    count = int(model.n_features_in_)
    own = [np.broadcast_to(np.asarray(each, np.float64), (count,)) for each in (mean, deviation)]
    return Model.of(lambda x: x.standardised(*own), transform="")


def linear_map(model: Any) -> Model:
    """A transformer that is a matrix and an offset."""
    matrix, offset = of_unit_vectors(model)
    return Model.of(lambda x: x.product(matrix, offset).normalised(), transform="")


def selection(model: Any) -> Model:
    """A selection of features."""
    columns = np.flatnonzero(model.get_support())
    if not len(columns):
        refuse(model, "no feature is selected; train it with other settings")
    return Model.of(lambda x: x.taken(columns), transform="")


def function(model: Any) -> Model:
    """FunctionTransformer of no function."""
    if model.func is not None:
        refuse(
            model,
            "its function takes plain values; apply it to the rows at the client, and compile what comes "
            "after",
        )
    return SAME


SAME = Model.of(lambda x: x, transform="")
"""Features as they are."""


def polynomial_features(model: Any) -> Model:
    """PolynomialFeatures: products of features, by halves of their factors."""
    powers = [np.repeat(np.arange(len(row)), row).tolist() for row in model.powers_.astype(int)]
    return Model.of(lambda x: _products(x, list(map(tuple, powers))), transform="")


def _products(x: Features, wanted: list[_Factors]) -> Features:
    """The products of these features; that of none is 1."""
    needed, waiting = set(wanted), list(wanted)
    while waiting:
        own = waiting.pop()
        if len(own) > 1:
            new = {own[: len(own) // 2], own[len(own) // 2 :]} - needed
            needed |= new
            waiting += new
    found = x.array
    columns: dict[_Factors, int] = {(at,): at for at in range(x.count)}
    for degree in range(2, max(map(len, needed), default=1) + 1):
        of_degree = sorted(own for own in needed if len(own) == degree)
        if not of_degree:
            continue
        halves = (own[: degree // 2] for own in of_degree), (own[degree // 2 :] for own in of_degree)
        left, right = (found[:, [columns[own] for own in half]] for half in halves)
        columns.update({own: len(columns) + at for at, own in enumerate(of_degree)})
        found = np.concatenate([found, left * right], axis=1)
    ones = np.array([float(not own) for own in wanted])
    taken = found[:, [columns.get(own, 0) for own in wanted]]
    return Features.of(taken * (1 - ones) + ones if ones.any() else taken)


READERS: dict[str, Read] = {
    "FunctionTransformer": function,
    "GenericUnivariateSelect SelectFdr SelectFpr SelectFromModel SelectFwe SelectKBest SelectPercentile "
    "SequentialFeatureSelector VarianceThreshold": selection,
    "FactorAnalysis FastICA FeatureAgglomeration GaussianRandomProjection IncrementalPCA MiniBatchSparsePCA "
    "NeighborhoodComponentsAnalysis PCA PLSSVD SparsePCA SparseRandomProjection TruncatedSVD": linear_map,
    "PolynomialFeatures": polynomial_features,
    " ".join(SCALERS): scaler,
}
