"""Estimators by probabilities: naive Bayes, discriminant analyses, mixtures, an ellipse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.compiler.estimators.features import Features
from hemera.compiler.estimators.model import Model, log_probabilities, plain, refuse
from hemera.package.finishing import Apply, Label
from hemera.package.specs import Labels

Floats = NDArray[np.float64]


def _joint(classes: Any) -> dict[str, Any]:
    return {**log_probabilities(classes), "predict_joint_log_proba": ()}


def _axes_aligned(x: Features, means: Floats, variances: Floats, constants: Floats) -> Features:
    """constants - sum((x - means)^2 / variances) / 2, one score a row of means."""
    inverse = 1 / variances
    bias = constants - 0.5 * (means**2 * inverse).sum(axis=1)
    return x.quadratic(-0.5 * inverse.T, (means * inverse).T, bias)


def _whitened(x: Features, means: Sequence[Floats], roots: Sequence[Floats], constants: Floats) -> Features:
    """constants - |(x - means[k]) @ roots[k]|^2 / 2, one score for each k."""
    matrix = np.concatenate(list(roots), axis=1)
    bias = np.concatenate([-mean @ root for mean, root in zip(means, roots, strict=True)])
    near = x.product(matrix, bias).array
    sums = np.zeros((matrix.shape[1], len(roots)))
    ends = np.concatenate(([0], np.cumsum([root.shape[1] for root in roots])))
    for at, root in enumerate(roots):
        sums[ends[at] : ends[at] + root.shape[1], at] = -0.5
    return Features.of((near * near) @ sums + constants)


def gaussian_naive(model: Any) -> Model:
    """GaussianNB."""
    means, variances = plain(model.theta_), plain(model.var_)
    constants = np.log(model.class_prior_) - 0.5 * np.log(2 * np.pi * variances).sum(axis=1)
    return Model(
        lambda x: _axes_aligned(x, means, variances, constants),
        _joint(model.classes_),
    )


def multinomial(model: Any) -> Model:
    """MultinomialNB."""
    weights, bias = plain(model.feature_log_prob_), plain(model.class_log_prior_)
    return Model(lambda x: x.product(weights.T, bias), _joint(model.classes_))


def complement(model: Any) -> Model:
    """ComplementNB."""
    weights = plain(model.feature_log_prob_)
    bias = plain(model.class_log_prior_) if len(model.classes_) == 1 else 0.0
    return Model(lambda x: x.product(weights.T, bias), _joint(model.classes_))


def bernoulli(model: Any) -> Model:
    """BernoulliNB, of features that are 0 or 1: clients compare them with the threshold."""
    likely = plain(model.feature_log_prob_)
    unlikely = np.log(1 - np.exp(likely))
    bias = model.class_log_prior_ + unlikely.sum(axis=1)
    return Model(lambda x: x.product((likely - unlikely).T, bias), _joint(model.classes_))


def quadratic_discriminant(model: Any) -> Model:
    """QuadraticDiscriminantAnalysis."""
    means = [plain(mean) for mean in model.means_]
    roots = [
        plain(rotation) * plain(scaling) ** -0.5
        for rotation, scaling in zip(model.rotations_, model.scalings_, strict=True)
    ]
    constants = np.log(model.priors_) - 0.5 * np.array([np.log(own).sum() for own in model.scalings_])
    two = (Apply("difference"),) if len(model.classes_) == 2 else ()
    methods = {**log_probabilities(model.classes_), "decision_function": two}
    return Model(lambda x: _whitened(x, means, roots, constants), methods)


def gaussian_mixture(model: Any) -> Model:
    """GaussianMixture: numbers of components, and their probabilities."""
    means, precisions = plain(model.means_), plain(model.precisions_cholesky_)
    features = means.shape[1]
    kind = model.covariance_type
    constants = np.log(model.weights_) - 0.5 * features * np.log(2 * np.pi)
    if kind in ("diag", "spherical"):
        roots = precisions if kind == "diag" else np.repeat(precisions[:, None], features, axis=1)
        constants = constants + np.log(roots).sum(axis=1)
        return Model(lambda x: _axes_aligned(x, means, roots**-2, constants), _components())
    own = [precisions] * len(means) if kind == "tied" else list(precisions)
    constants = constants + np.array([np.log(np.diag(each)).sum() for each in own])
    return Model(lambda x: _whitened(x, list(means), own, constants), _components())


def _components() -> dict[str, Any]:
    return {"predict": (Apply("argmax"),), "predict_proba": (Apply("softmax"),)}


def elliptic_envelope(model: Any) -> Model:
    """EllipticEnvelope: the squared Mahalanobis distance, and an offset."""
    values, vectors = np.linalg.eigh(plain(model.get_precision()))
    if values.min() < 0 and -values.min() > 1e-9 * values.max():
        refuse(model, "its precision matrix has negative eigenvalues; train it with other rows")
    root = vectors * np.sqrt(2 * np.maximum(values, 0))
    steps = (Apply("not-negative"), Label(Labels.of(np.array([-1, 1]))))
    return Model(
        lambda x: _whitened(x, [plain(model.location_)], [root], np.array([-float(model.offset_)])),
        {"predict": steps, "decision_function": ()},
    )
