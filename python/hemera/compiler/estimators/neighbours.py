"""Estimators by distances: centres of clusters, centroids of classes, neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from hemera.compiler.estimators.model import PROBABILITIES, Model, Read, plain, refuse, steps_in
from hemera.package.finishing import Columns, Neighbours


def _to(points: Any, labels: Any = None, **methods: str) -> Model:
    """Squared distances to points, which may have labels."""
    own = plain(points)
    return Model.of(lambda x: x.distances(own), labels, **methods)


def found_centres(model: Any) -> Model:
    """MeanShift, AffinityPropagation."""
    if not len(model.cluster_centers_):
        refuse(model, "it found no cluster; train it with other settings")
    return _to(model.cluster_centers_, predict="argmin")


def centroid(model: Any) -> Model:
    """NearestCentroid: distances, and discriminant scores where classes have priors of their own."""
    if model.metric != "euclidean":
        refuse(model, f"the metric is {model.metric!r}; train it with metric='euclidean'")
    centroids, priors = plain(model.centroids_), np.asarray(model.class_prior_, np.float64)
    deviation = np.asarray(model.within_class_std_dev_, np.float64)
    weights = 1 / np.where(deviation != 0, deviation, 1.0) ** 2
    count = len(centroids)
    bias = 2 * np.log(priors) - (centroids**2 * weights).sum(axis=1)
    squares, linear = np.repeat(-weights[:, None], count, axis=1), 2 * (centroids * weights).T
    discriminant = {**PROBABILITIES, "decision_function": "difference" if count == 2 else ""}
    if not np.isclose(priors, 1 / count).all():
        return Model.of(lambda x: x.quadratic(squares, linear, bias), model.classes_, **discriminant)
    # Without priors of its own it predicts by distances in which features are not scaled.
    methods = {
        name: (Columns(count, 2 * count), *steps_in(words, model.classes_))
        for name, words in discriminant.items()
    }
    methods["predict"] = (Columns(0, count), *steps_in("argmin label", model.classes_))
    squares = np.concatenate([np.ones_like(squares), squares], axis=1)
    linear = np.concatenate([-2 * centroids.T, linear], axis=1)
    bias = np.concatenate([(centroids**2).sum(axis=1), bias])
    return Model(lambda x: x.quadratic(squares, linear, bias), methods)


def neighbours(model: Any) -> Model:
    """KNeighborsClassifier, KNeighborsRegressor: clients get the distances to all rows of the training, and
    their classes or targets."""
    metric = model.effective_metric_
    if metric != "euclidean":
        refuse(model, f"the metric is {metric!r}; train it with metric='euclidean'")
    if model.weights not in ("uniform", "distance"):
        refuse(model, "its weights are a function; train it with weights='uniform' or 'distance'")
    classes = getattr(model, "classes_", None)
    if classes is not None and model.outputs_2d_:
        refuse(model, "its rows have several labels; train one for each")
    targets = np.asarray(model._y, np.float64)
    count = 0 if classes is None else len(classes)
    mean = Neighbours(
        targets.reshape(len(targets), -1), int(model.n_neighbors), model.weights == "distance", count
    )
    run = _to(model._fit_X).run
    if classes is None:
        return Model(run, {"predict": (mean,)})
    return Model(run, {"predict": (mean, *steps_in("argmax label", classes)), "predict_proba": (mean,)})


READERS: dict[str, Read] = {
    "AffinityPropagation MeanShift": found_centres,
    # The centres are of subclusters, which have labels.
    "Birch": lambda own: _to(
        own.subcluster_centers_, own.subcluster_labels_, predict="argmin label", transform="root"
    ),
    # Its `predict` walks down a tree, and is not there.
    "BisectingKMeans": lambda own: _to(own.cluster_centers_, transform="root"),
    "KMeans MiniBatchKMeans": lambda own: _to(own.cluster_centers_, predict="argmin", transform="root"),
    "KNeighborsClassifier KNeighborsRegressor": neighbours,
    "NearestCentroid": centroid,
}
