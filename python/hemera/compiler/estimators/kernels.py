"""Estimators by kernels: sums of a function of inner products or distances to points of the training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.arrays.recorded import recorder_of
from hemera.compiler.estimators.features import Features, approximated, not_negative
from hemera.compiler.estimators.model import Model, Read, Run, plain, refuse
from hemera.exporting.estimators import name_of

Floats = NDArray[np.float64]
Kernel = Callable[[Features], Any]

_SAMPLES = 257
_MOST_BITS = 12.0
_KERNELS = ("linear", "poly", "polynomial", "rbf", "sigmoid")


def _kernel(model: Any, points: Any, gamma: float | None) -> Kernel:
    """A kernel of `sklearn.metrics.pairwise`, of each row and point. TypeError for others than those of
    `_KERNELS`."""
    name, degree, own = model.kernel, 3 if model.degree is None else model.degree, plain(points)
    if not isinstance(name, str) or name not in _KERNELS:
        refuse(model, f"the kernel is {name!r}; train it with one of {', '.join(_KERNELS)}")
    if name in ("poly", "polynomial") and (degree != int(degree) or degree < 1):
        refuse(model, f"the kernel's degree is {degree}; train it with a whole number from 1 on")
    width = 1 / own.shape[1] if gamma is None else float(gamma)
    offset = 1.0 if model.coef0 is None else float(model.coef0)

    def kernel(x: Features) -> Any:
        if name == "linear":
            return x.product(own.T).array
        if name == "rbf":
            return np.exp(not_negative(x.distances(own).array) * -width)
        inner = x.product(width * own.T, offset).array
        return np.tanh(inner) if name == "sigmoid" else inner ** int(degree)

    return kernel


def _summed(kernel: Kernel, weights: Floats, bias: ArrayLike = 0.0) -> Run:
    """kernel(x) @ weights + bias, with the precision of the program: where sums cancel, as the samples of x
    show them, the kernel has more bits."""

    def run(x: Features) -> Features:
        samples = x.samples(_SAMPLES)
        if samples is None:
            return Features.of(kernel(x)).product(weights, bias)
        found = np.asarray(kernel(samples))
        largest = max(1.0, float(np.abs(found @ weights + np.asarray(bias)).max()))
        most = float(np.abs(weights).sum(axis=0).max()) * max(1.0, float(np.abs(found).max()))
        recorder = recorder_of(x.scaled)
        asked = recorder.precision_bits
        recorder.precision_bits += float(np.clip(np.log2(max(most, 1.0) / largest), 0.0, _MOST_BITS))
        values = Features.of(kernel(x))
        recorder.precision_bits = asked
        return values.product(weights, bias)

    return run


# --- Support vectors. ---


def _of_svm(model: Any, weights: Any, bias: Any) -> Run:
    """Sums of the kernel with weights of shape (scores, support vectors)."""
    own = plain(weights)
    if model.kernel == "linear" or not own.size:
        matrix = (own @ plain(model.support_vectors_)).T
        return lambda x: x.product(matrix, bias)
    return _summed(_kernel(model, model.support_vectors_, model._gamma), own.T, bias)


def svm(model: Any) -> Model:
    """SVC, NuSVC, SVR, NuSVR (C.-C. Chang, C.-J. Lin, "LIBSVM", section 6): of several classes the scores of
    all pairs. Probabilities of Platt's are not there."""
    weights, bias = plain(model.dual_coef_), plain(model.intercept_)
    classes = getattr(model, "classes_", None)
    if classes is None:
        return Model.of(_of_svm(model, weights, bias), predict="")
    if len(classes) == 2:
        return Model.of(_of_svm(model, weights, bias), classes, predict="sign label", decision_function="")
    pairs = _pair_weights(weights, model.n_support_)
    if model.decision_function_shape != "ovr":
        run = _of_svm(model, pairs, bias)
        return Model.of(run, classes, predict="negative pair-votes label", decision_function="")
    # The score of a pair: above 0 for the second class, as one-against-one classifiers have it.
    chosen = "pair-scores argmax label" if model.break_ties else "pair-votes label"
    run = _of_svm(model, -pairs, -bias)
    return Model.of(run, classes, predict=chosen, decision_function="pair-scores")


def _pair_weights(dual: Any, counts: Any) -> Any:
    """Weights of shape (pairs, support vectors) of libsvm's, which has (classes - 1, support vectors): for
    the pair i < j the row j - 1 of the vectors of class i, and the row i of those of class j."""
    of_class = np.repeat(np.arange(len(counts)), counts)
    pairs = zip(*np.triu_indices(len(counts), 1), strict=True)
    return np.stack([dual[j - 1] * (of_class == i) + dual[i] * (of_class == j) for i, j in pairs])


def one_class(model: Any) -> Model:
    """OneClassSVM: 1 for rows like those of the training, -1 for others."""
    run = _of_svm(model, model.dual_coef_, plain(model.intercept_))
    return Model.of(run, np.array([-1, 1]), predict="sign label", decision_function="")


def linear_one_class(model: Any) -> Model:
    """SGDOneClassSVM."""
    weights, bias = plain(model.coef_).reshape(-1, 1), -plain(model.offset_)
    labels = np.array([-1, 1], np.int32)
    return Model.of(
        lambda x: x.product(weights, bias), labels, predict="not-negative label", decision_function=""
    )


# --- Ridges and projections. ---


def kernel_ridge(model: Any) -> Model:
    """KernelRidge."""
    weights = plain(model.dual_coef_)
    kernel = _kernel(model, model.X_fit_, model.gamma)
    return Model.of(_summed(kernel, weights.reshape(len(weights), -1)), predict="")


def nystroem(model: Any) -> Model:
    """Nystroem."""
    kernel = _kernel(model, model.components_, model.gamma)
    return Model.of(_summed(kernel, plain(model.normalization_).T), transform="")


def kernel_pca(model: Any) -> Model:
    """KernelPCA: the centred kernel, projected."""
    used = np.flatnonzero(model.eigenvalues_)
    alphas = np.zeros_like(model.eigenvectors_)
    alphas[:, used] = model.eigenvectors_[:, used] / np.sqrt(model.eigenvalues_[used])
    means, whole = model._centerer.K_fit_rows_, model._centerer.K_fit_all_
    # (K - mean of the row - means + whole) @ alphas.
    matrix = alphas - alphas.sum(axis=0) / len(alphas)
    kernel = _kernel(model, model.X_fit_, model.gamma_)
    return Model.of(_summed(kernel, matrix, (whole - means) @ alphas), transform="")


def random_fourier(model: Any) -> Model:
    """RBFSampler: cosines."""
    factor = (2 / model.n_components) ** 0.5
    weights, offset = plain(model.random_weights_), plain(model.random_offset_)
    return Model.of(lambda x: Features.of(np.cos(x.product(weights, offset).array) * factor), transform="")


# --- Gaussian processes. ---


def gaussian_process(model: Any) -> Model:
    """GaussianProcessRegressor: the mean."""
    if not hasattr(model, "X_train_"):
        refuse(model, "it is the prior, whose mean is 0; call fit first")
    weights, points = plain(model.alpha_), plain(model.X_train_)
    deviation, mean = np.atleast_1d(model._y_train_std), np.atleast_1d(model._y_train_mean)

    def kernel(x: Features) -> Any:
        return _covariance(x, points, model, model.kernel_)

    kernel(Features.of(points[:1]))  # refused before anything is encrypted
    return Model.of(_summed(kernel, weights.reshape(len(weights), -1) * deviation, mean), predict="")


def _covariance(x: Features, points: Any, model: Any, kernel: Any) -> Any:
    """A kernel of `sklearn.gaussian_process.kernels`, between rows and points."""
    name = name_of(kernel)
    if name not in _COVARIANCES:
        other = type(kernel).__name__
        refuse(model, f"the kernel has a {other} in it; train it with {', '.join(_COVARIANCES)}")
    if name == "ConstantKernel":
        return float(kernel.constant_value)
    if name == "WhiteKernel":
        return 0.0
    if name in ("Sum", "Product"):
        first, second = (_covariance(x, points, model, each) for each in (kernel.k1, kernel.k2))
        return first + second if name == "Sum" else first * second
    if name == "Exponentiation":
        if kernel.exponent != int(kernel.exponent) or kernel.exponent < 1:
            refuse(model, f"the kernel has an exponent of {kernel.exponent}; train it with a whole number")
        return _covariance(x, points, model, kernel.kernel) ** int(kernel.exponent)
    if name == "DotProduct":
        return x.product(points.T, float(kernel.sigma_0) ** 2).array
    length = np.broadcast_to(np.asarray(kernel.length_scale, np.float64), (x.count,))
    far = not_negative(x.standardised(0.0, length).distances(points / length).array)
    if name == "RBF":
        return np.exp(far * -0.5)
    alpha = float(kernel.alpha)
    return approximated(far, lambda d: (1 + d / (2 * alpha)) ** -alpha)


_COVARIANCES = (
    *("ConstantKernel", "DotProduct", "Exponentiation", "Product", "RBF", "RationalQuadratic", "Sum"),
    "WhiteKernel",
)

READERS: dict[str, Read] = {
    "GaussianProcessRegressor": gaussian_process,
    "KernelPCA": kernel_pca,
    "KernelRidge": kernel_ridge,
    "NuSVC NuSVR SVC SVR": svm,
    "Nystroem": nystroem,
    "OneClassSVM": one_class,
    "RBFSampler": random_fourier,
    "SGDOneClassSVM": linear_one_class,
}
