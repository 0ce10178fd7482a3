"""Estimators by distances: centres of clusters, centroids of classes, neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from hemera.compiler.estimators.model import (
    Model,
    Steps,
    labelled,
    log_probabilities,
    of_columns,
    plain,
    refuse,
)
from hemera.package.finishing import Apply, Label, Neighbours
from hemera.package.specs import Labels

_NEAREST: Steps = (Apply("argmin"),)
_ROOT: Steps = (Apply("root"),)


def clusters(model: Any) -> Model:
    """KMeans, MiniBatchKMeans: distances to the centres."""
    centres = plain(model.cluster_centers_)
    return Model(lambda x: x.distances(centres), {"predict": _NEAREST, "transform": _ROOT})


def bisecting(model: Any) -> Model:
    """BisectingKMeans: distances to the centres; `predict` walks down a tree, and is not there."""
    centres = plain(model.cluster_centers_)
    return Model(lambda x: x.distances(centres), {"transform": _ROOT})


def nearest_centres(model: Any) -> Model:
    """MeanShift, AffinityPropagation."""
    if not len(model.cluster_centers_):
        refuse(model, "it found no cluster; train it with other settings")
    centres = plain(model.cluster_centers_)
    return Model(lambda x: x.distances(centres), {"predict": _NEAREST})


def birch(model: Any) -> Model:
    """Birch: distances to the centres of subclusters, which have labels."""
    centres = plain(model.subcluster_centers_)
    labels = Label(Labels.of(model.subcluster_labels_))
    return Model(lambda x: x.distances(centres), {"predict": (*_NEAREST, labels), "transform": _ROOT})


def centroid(model: Any) -> Model:
    """NearestCentroid: distances, and discriminant scores where classes have priors of their own."""
    if model.metric != "euclidean":
        refuse(model, f"the metric is {model.metric!r}; train it with metric='euclidean'")
    centroids, priors = plain(model.centroids_), np.asarray(model.class_prior_, np.float64)
    deviation = np.asarray(model.within_class_std_dev_, np.float64)
    weights = 1 / np.where(deviation != 0, deviation, 1.0) ** 2
    count = len(centroids)
    two: Steps = (Apply("difference"),) if count == 2 else ()
    bias = 2 * np.log(priors) - (centroids**2 * weights).sum(axis=1)
    squares, linear = np.repeat(-weights[:, None], count, axis=1), 2 * (centroids * weights).T
    discriminant = log_probabilities(model.classes_)
    if not np.isclose(priors, 1 / count).all():
        return Model(lambda x: x.quadratic(squares, linear, bias), {**discriminant, "decision_function": two})
    # Without priors of its own it predicts by distances in which features are not scaled.
    methods = {name: of_columns(count, 2 * count, steps) for name, steps in discriminant.items()}
    methods["predict"] = of_columns(0, count, labelled(model.classes_, "argmin"))
    methods["decision_function"] = of_columns(count, 2 * count, two)
    squares = np.concatenate([np.ones_like(squares), squares], axis=1)
    linear = np.concatenate([-2 * centroids.T, linear], axis=1)
    bias = np.concatenate([(centroids**2).sum(axis=1), bias])
    return Model(lambda x: x.quadratic(squares, linear, bias), methods)


def _require_distances(model: Any) -> Any:
    """The rows of the training, of a model whose distances are Euclidean."""
    metric = model.effective_metric_
    if metric != "euclidean":
        refuse(model, f"the metric is {metric!r}; train it with metric='euclidean'")
    if model.weights not in ("uniform", "distance"):
        refuse(model, "its weights are a function; train it with weights='uniform' or 'distance'")
    return plain(model._fit_X)


def neighbour_classes(model: Any) -> Model:
    """KNeighborsClassifier: clients get the distances to all rows of the training, and their classes."""
    points = _require_distances(model)
    if model.outputs_2d_:
        refuse(model, "its rows have several labels; train one for each")
    targets = np.asarray(model._y, np.float64).reshape(-1, 1)
    vote = Neighbours(targets, int(model.n_neighbors), model.weights == "distance", len(model.classes_))
    methods = {"predict": (vote, *labelled(model.classes_, "argmax")), "predict_proba": (vote,)}
    return Model(lambda x: x.distances(points), methods)


def neighbour_values(model: Any) -> Model:
    """KNeighborsRegressor: clients get the distances to all rows of the training, and their targets."""
    points = _require_distances(model)
    targets = np.asarray(model._y, np.float64)
    targets = targets.reshape(len(targets), -1)
    mean = Neighbours(targets, int(model.n_neighbors), model.weights == "distance")
    return Model(lambda x: x.distances(points), {"predict": (mean,)})
