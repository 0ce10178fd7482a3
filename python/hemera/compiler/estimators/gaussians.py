"""Estimators by probabilities: naive Bayes, discriminant analyses, mixtures, an ellipse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.compiler.estimators.features import Features
from hemera.compiler.estimators.model import PROBABILITIES, Model, Read, Run, plain, refuse

Floats = NDArray[np.float64]


def _axes_aligned(means: Floats, variances: Floats, constants: Floats) -> Run:
    """constants - sum((x - means)^2 / variances) / 2, one score a row of means."""
    inverse = 1 / variances
    bias = constants - 0.5 * (means**2 * inverse).sum(axis=1)
    return lambda x: x.quadratic(-0.5 * inverse.T, (means * inverse).T, bias)


def _whitened(means: Sequence[Floats], roots: Sequence[Floats], constants: Floats) -> Run:
    """constants - |(x - means[k]) @ roots[k]|^2 / 2, one score for each k."""
    matrix = np.concatenate(list(roots), axis=1)
    bias = np.concatenate([-mean @ root for mean, root in zip(means, roots, strict=True)])
    sums = -0.5 * np.repeat(np.eye(len(roots)), [root.shape[1] for root in roots], axis=0)

    def run(x: Features) -> Features:
        near = x.product(matrix, bias).array
        return Features.of((near * near) @ sums + constants)

    return run


def gaussian_naive(model: Any) -> Model:
    """GaussianNB."""
    means, variances = plain(model.theta_), plain(model.var_)
    constants = np.log(model.class_prior_) - 0.5 * np.log(2 * np.pi * variances).sum(axis=1)
    return _joint(model, _axes_aligned(means, variances, constants))


def _joint(model: Any, run: Run) -> Model:
    """Scores that are logarithms of a class's probability together with the row's."""
    return Model.of(run, model.classes_, **PROBABILITIES, predict_joint_log_proba="")


def _linear(model: Any, weights: Floats, bias: Any) -> Model:
    return _joint(model, lambda x: x.product(weights.T, bias))


def complement(model: Any) -> Model:
    """ComplementNB."""
    bias = plain(model.class_log_prior_) if len(model.classes_) == 1 else 0.0
    return _linear(model, plain(model.feature_log_prob_), bias)


def bernoulli(model: Any) -> Model:
    """BernoulliNB, of features as they are. TypeError for a threshold that clients do not take."""
    if model.binarize is not None:
        refuse(model, "only clients compare, at the start; train it with binarize=None after a Binarizer")
    likely = plain(model.feature_log_prob_)
    unlikely = np.log(1 - np.exp(likely))
    return _linear(model, likely - unlikely, model.class_log_prior_ + unlikely.sum(axis=1))


def quadratic_discriminant(model: Any) -> Model:
    """QuadraticDiscriminantAnalysis."""
    axes = zip(model.rotations_, model.scalings_, strict=True)
    roots = [plain(rotation) * plain(scaling) ** -0.5 for rotation, scaling in axes]
    constants = np.log(model.priors_) - 0.5 * np.array([np.log(own).sum() for own in model.scalings_])
    run = _whitened(list(map(plain, model.means_)), roots, constants)
    two = "difference" if len(model.classes_) == 2 else ""
    return Model.of(run, model.classes_, **PROBABILITIES, decision_function=two)


def gaussian_mixture(model: Any) -> Model:
    """GaussianMixture: numbers of components, and their probabilities."""
    means, precisions = plain(model.means_), plain(model.precisions_cholesky_)
    features = means.shape[1]
    kind = model.covariance_type
    constants = np.log(model.weights_) - 0.5 * features * np.log(2 * np.pi)
    if kind in ("diag", "spherical"):
        roots = precisions if kind == "diag" else np.repeat(precisions[:, None], features, axis=1)
        run = _axes_aligned(means, roots**-2, constants + np.log(roots).sum(axis=1))
    else:
        own = [precisions] * len(means) if kind == "tied" else list(precisions)
        constants = constants + np.array([np.log(np.diag(each)).sum() for each in own])
        run = _whitened(list(means), own, constants)
    return Model.of(run, predict="argmax", predict_proba="softmax")


def elliptic_envelope(model: Any) -> Model:
    """EllipticEnvelope: the squared Mahalanobis distance, and an offset."""
    values, vectors = np.linalg.eigh(plain(model.get_precision()))
    if values.min() < 0 and -values.min() > 1e-9 * values.max():
        refuse(model, "its precision matrix has negative eigenvalues; train it with other rows")
    root = vectors * np.sqrt(2 * np.maximum(values, 0))
    run = _whitened([plain(model.location_)], [root], np.array([-float(model.offset_)]))
    return Model.of(run, np.array([-1, 1]), predict="not-negative label", decision_function="")


READERS: dict[str, Read] = {
    "BernoulliNB": bernoulli,
    "ComplementNB": complement,
    "EllipticEnvelope": elliptic_envelope,
    "GaussianMixture": gaussian_mixture,
    "GaussianNB": gaussian_naive,
    "MultinomialNB": lambda own: _linear(own, plain(own.feature_log_prob_), plain(own.class_log_prior_)),
    "QuadraticDiscriminantAnalysis": quadratic_discriminant,
}
