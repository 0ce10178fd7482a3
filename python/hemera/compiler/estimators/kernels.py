"""Estimators by kernels: sums of a function of inner products or distances to points of the training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.compiler.estimators.features import Features, bits_for_sums, exponential, of_distances, pointwise
from hemera.compiler.estimators.model import Model, Steps, labelled, plain, refuse
from hemera.exporting.estimators import is_exactly
from hemera.package.finishing import Apply, Label
from hemera.package.specs import Labels

Floats = NDArray[np.float64]

_KERNELS = ("linear", "poly", "polynomial", "rbf", "sigmoid")


@dataclass(frozen=True)
class _Kernel:
    """A kernel of `sklearn.metrics.pairwise`, of rows and points. None: as it has it."""

    model: Any
    points: Floats
    name: Any
    gamma: float | None
    coef0: float | None
    degree: float | None

    @classmethod
    def of(cls, model: Any, points: Any, gamma: float | None) -> _Kernel:
        """TypeError for others than those of `_KERNELS`."""
        if not isinstance(model.kernel, str) or model.kernel not in _KERNELS:
            refuse(model, f"the kernel is {model.kernel!r}; train it with one of {', '.join(_KERNELS)}")
        degree = 3 if model.degree is None else model.degree
        if model.kernel in ("poly", "polynomial") and (degree != int(degree) or degree < 1):
            refuse(model, f"the kernel's degree is {degree}; train it with a whole number from 1 on")
        return cls(model, plain(points), model.kernel, gamma, model.coef0, degree)

    def __call__(self, x: Features, more_bits: float = 0.0) -> Any:
        """The kernel of each row and point."""
        points = self.points
        if self.name == "linear":
            return x.product(points.T).array
        width = 1 / points.shape[1] if self.gamma is None else float(self.gamma)
        if self.name == "rbf":
            return exponential(x.distances(points).array * -width, more_bits)
        inner = x.product(width * points.T, 1.0 if self.coef0 is None else float(self.coef0)).array
        return (
            pointwise(inner, np.tanh, more_bits) if self.name == "sigmoid" else inner ** int(self.degree or 3)
        )


def _summed(x: Features, kernel: Callable[..., Any], weights: Floats, bias: ArrayLike = 0.0) -> Features:
    """kernel(x) @ weights + bias, with the precision of the program."""
    more_bits = bits_for_sums(x, kernel, weights, bias)
    return Features.of(kernel(x, more_bits)).product(weights, bias)


def _of_svm(model: Any, weights: Any, bias: Any) -> Callable[[Features], Features]:
    """Sums of the kernel with weights of shape (scores, support vectors)."""
    own = plain(weights)
    if model.kernel == "linear":
        matrix = (own @ plain(model.support_vectors_)).T
        return lambda x: x.product(matrix, bias)
    kernel = _Kernel.of(model, model.support_vectors_, model._gamma)
    return lambda x: _summed(x, kernel, own.T, bias)


def svm(model: Any) -> Model:
    """SVC, NuSVC, SVR, NuSVR (C.-C. Chang, C.-J. Lin, "LIBSVM", section 6): of several classes the scores of
    all pairs. Probabilities of Platt's are not there."""
    bias = plain(model.intercept_)
    if not hasattr(model, "classes_"):
        return Model(_of_svm(model, model.dual_coef_, bias), {"predict": ()})
    count = len(model.classes_)
    if count == 2:
        methods = {"predict": labelled(model.classes_, "sign"), "decision_function": ()}
        return Model(_of_svm(model, model.dual_coef_, bias), methods)
    # The score of a pair: above 0 for the second class, as one-against-one classifiers have it.
    weights = -_pair_weights(plain(model.dual_coef_), model.n_support_)
    own, sign = (weights, 1.0) if model.decision_function_shape == "ovr" else (-weights, -1.0)
    ranked = model.break_ties and model.decision_function_shape == "ovr"
    chosen: Steps
    scores: Steps
    if sign > 0:
        chosen = (Apply("pair-scores"), Apply("argmax")) if ranked else (Apply("pair-votes"),)
        scores = (Apply("pair-scores"),)
    else:
        chosen, scores = (Apply("negative"), Apply("pair-votes")), ()
    labels = Label(Labels.of(model.classes_))
    return Model(
        _of_svm(model, own, -sign * bias),
        {"predict": (*chosen, labels), "decision_function": scores},
    )


def _pair_weights(dual: Any, counts: Any) -> Any:
    """Weights of shape (pairs, support vectors) of libsvm's, which has (classes - 1, support vectors): for
    the pair i < j the row j - 1 of the vectors of class i, and the row i of those of class j."""
    ends = np.concatenate(([0], np.cumsum(counts)))
    found = []
    for i in range(len(counts)):
        for j in range(i + 1, len(counts)):
            row = np.zeros(dual.shape[1])
            row[ends[i] : ends[i + 1]] = dual[j - 1, ends[i] : ends[i + 1]]
            row[ends[j] : ends[j + 1]] = dual[i, ends[j] : ends[j + 1]]
            found.append(row)
    return np.stack(found)


def one_class(model: Any) -> Model:
    """OneClassSVM: 1 for rows like those of the training, -1 for others."""
    steps = (Apply("sign"), Label(Labels.of(np.array([-1, 1]))))
    return Model(
        _of_svm(model, model.dual_coef_, plain(model.intercept_)),
        {"predict": steps, "decision_function": ()},
    )


def linear_one_class(model: Any) -> Model:
    """SGDOneClassSVM."""
    weights = plain(model.coef_).reshape(-1, 1)
    steps = (Apply("not-negative"), Label(Labels.of(np.array([-1, 1], np.int32))))
    return Model(
        lambda x: x.product(weights, -plain(model.offset_)), {"predict": steps, "decision_function": ()}
    )


def kernel_ridge(model: Any) -> Model:
    """KernelRidge."""
    weights = plain(model.dual_coef_)
    weights = weights.reshape(len(weights), -1)

    kernel = _Kernel.of(model, model.X_fit_, model.gamma)
    return Model(lambda x: _summed(x, kernel, weights), {"predict": ()})


def nystroem(model: Any) -> Model:
    """Nystroem."""

    kernel = _Kernel.of(model, model.components_, model.gamma)
    weights = plain(model.normalization_).T
    return Model(lambda x: _summed(x, kernel, weights), {"transform": ()})


def kernel_pca(model: Any) -> Model:
    """KernelPCA: the centred kernel, projected."""
    centerer = model._centerer
    used = np.flatnonzero(model.eigenvalues_)
    alphas = np.zeros_like(model.eigenvectors_)
    alphas[:, used] = model.eigenvectors_[:, used] / np.sqrt(model.eigenvalues_[used])
    means, whole = centerer.K_fit_rows_, centerer.K_fit_all_
    # (K - mean of the row - means + whole) @ alphas.
    matrix = alphas - alphas.sum(axis=0) / len(alphas)

    kernel = _Kernel.of(model, model.X_fit_, model.gamma_)
    bias = (whole - means) @ alphas
    return Model(lambda x: _summed(x, kernel, matrix, bias), {"transform": ()})


def random_fourier(model: Any) -> Model:
    """RBFSampler: cosines."""
    factor = (2 / model.n_components) ** 0.5

    def run(x: Features) -> Features:
        angles = x.product(plain(model.random_weights_), plain(model.random_offset_)).array
        return Features.of(pointwise(angles, np.cos) * factor)

    return Model(run, {"transform": ()})


# --- Gaussian processes. ---


def gaussian_process(model: Any) -> Model:
    """GaussianProcessRegressor: the mean."""
    if not hasattr(model, "X_train_"):
        refuse(model, "it is the prior, whose mean is 0; call fit first")
    weights = plain(model.alpha_)
    weights = weights.reshape(len(weights), -1)
    deviation, mean = np.atleast_1d(model._y_train_std), np.atleast_1d(model._y_train_mean)

    points = plain(model.X_train_)
    # Refused before anything is encrypted.
    _covariance(Features.of(points[:1]), points, model, model.kernel_)

    def kernel(x: Features, more_bits: float = 0.0) -> Any:
        return _covariance(x, points, model, model.kernel_, more_bits)

    return Model(lambda x: _summed(x, kernel, weights * deviation, mean), {"predict": ()})


def _covariance(x: Features, points: Any, model: Any, kernel: Any, more_bits: float = 0.0) -> Any:
    """A kernel of `sklearn.gaussian_process.kernels`, between rows and points."""
    name = type(kernel).__name__
    known = is_exactly(kernel, "sklearn.gaussian_process.kernels", name)
    if not known or name not in _COVARIANCES:
        refuse(model, f"the kernel has a {name} in it; train it with {', '.join(_COVARIANCES)}")
    if name == "ConstantKernel":
        return float(kernel.constant_value)
    if name == "WhiteKernel":
        return 0.0
    if name in ("Sum", "Product"):
        first, second = (_covariance(x, points, model, each, more_bits) for each in (kernel.k1, kernel.k2))
        return first + second if name == "Sum" else first * second
    if name == "Exponentiation":
        if kernel.exponent != int(kernel.exponent) or kernel.exponent < 1:
            refuse(model, f"the kernel has an exponent of {kernel.exponent}; train it with a whole number")
        return _covariance(x, points, model, kernel.kernel, more_bits) ** int(kernel.exponent)
    if name == "DotProduct":
        return x.product(points.T, float(kernel.sigma_0) ** 2).array
    length = np.broadcast_to(np.asarray(kernel.length_scale, np.float64), (x.count,))
    far = x.standardised(0.0, length).distances(points / length).array
    if name == "RBF":
        return exponential(far * -0.5, more_bits)
    alpha = float(kernel.alpha)
    return of_distances(far, lambda d: (1 + d / (2 * alpha)) ** -alpha, more_bits)


_COVARIANCES = (
    *("ConstantKernel", "DotProduct", "Exponentiation", "Product", "RBF", "RationalQuadratic", "Sum"),
    "WhiteKernel",
)
