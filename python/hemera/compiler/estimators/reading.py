"""The estimators of scikit-learn that are read, by their exact types, and why others are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hemera.compiler.estimators import (
    composed,
    gaussians,
    kernels,
    linear,
    neighbours,
    transformers,
)
from hemera.compiler.estimators.model import Model, refuse
from hemera.errors import ParameterError
from hemera.exporting.estimators import SCALERS, TREE_LIBRARIES, is_exactly, steps_of
from hemera.exporting.linear import LinearModel

Read = Callable[[Any], Model]

_ALONE: dict[str, dict[Read, tuple[str, ...]]] = {
    "sklearn.cluster": {
        neighbours.clusters: ("KMeans", "MiniBatchKMeans"),
        neighbours.bisecting: ("BisectingKMeans",),
        neighbours.birch: ("Birch",),
        neighbours.nearest_centres: ("AffinityPropagation", "MeanShift"),
        transformers.linear_map: ("FeatureAgglomeration",),
    },
    "sklearn.covariance": {gaussians.elliptic_envelope: ("EllipticEnvelope",)},
    "sklearn.cross_decomposition": {
        linear.centred: ("CCA", "PLSCanonical", "PLSRegression"),
        transformers.linear_map: ("PLSSVD",),
    },
    "sklearn.decomposition": {
        transformers.linear_map: (
            *("FactorAnalysis", "FastICA", "IncrementalPCA", "MiniBatchSparsePCA", "PCA", "SparsePCA"),
            "TruncatedSVD",
        ),
        kernels.kernel_pca: ("KernelPCA",),
    },
    "sklearn.discriminant_analysis": {
        linear.discriminant: ("LinearDiscriminantAnalysis",),
        gaussians.quadratic_discriminant: ("QuadraticDiscriminantAnalysis",),
    },
    "sklearn.feature_selection": {
        transformers.selection: (
            *("GenericUnivariateSelect", "SelectFdr", "SelectFpr", "SelectFromModel", "SelectFwe"),
            *("SelectKBest", "SelectPercentile", "SequentialFeatureSelector", "VarianceThreshold"),
        ),
    },
    "sklearn.gaussian_process": {kernels.gaussian_process: ("GaussianProcessRegressor",)},
    "sklearn.linear_model": {
        kernels.linear_one_class: ("SGDOneClassSVM",),
        linear.classifier: ("PassiveAggressiveClassifier", "Perceptron"),
        linear.gradient_descent: ("SGDClassifier",),
        linear.log_link: ("GammaRegressor", "PoissonRegressor"),
        linear.logistic: ("LogisticRegression", "LogisticRegressionCV"),
        linear.regressor: (
            *("ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV", "HuberRegressor"),
            *("Lars", "LarsCV", "Lasso", "LassoCV", "LassoLars", "LassoLarsCV", "LassoLarsIC"),
            *("LinearRegression", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso"),
            *("MultiTaskLassoCV", "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV"),
            *("PassiveAggressiveRegressor", "QuantileRegressor", "Ridge", "RidgeCV", "SGDRegressor"),
            "TheilSenRegressor",
        ),
        linear.ridge_classifier: ("RidgeClassifier", "RidgeClassifierCV"),
        linear.tweedie: ("TweedieRegressor",),
    },
    "sklearn.kernel_approximation": {
        kernels.nystroem: ("Nystroem",),
        kernels.random_fourier: ("RBFSampler",),
    },
    "sklearn.kernel_ridge": {kernels.kernel_ridge: ("KernelRidge",)},
    "sklearn.mixture": {gaussians.gaussian_mixture: ("GaussianMixture",)},
    "sklearn.naive_bayes": {
        gaussians.bernoulli: ("BernoulliNB",),
        gaussians.complement: ("ComplementNB",),
        gaussians.gaussian_naive: ("GaussianNB",),
        gaussians.multinomial: ("MultinomialNB",),
    },
    "sklearn.neighbors": {
        neighbours.centroid: ("NearestCentroid",),
        neighbours.neighbour_classes: ("KNeighborsClassifier",),
        neighbours.neighbour_values: ("KNeighborsRegressor",),
        transformers.linear_map: ("NeighborhoodComponentsAnalysis",),
    },
    "sklearn.neural_network": {
        linear.network_of_classes: ("MLPClassifier",),
        linear.network_of_values: ("MLPRegressor",),
    },
    "sklearn.preprocessing": {
        transformers.scaler: tuple(SCALERS),
        transformers.polynomial_features: ("PolynomialFeatures",),
        transformers.function: ("FunctionTransformer",),
    },
    "sklearn.random_projection": {
        transformers.linear_map: ("GaussianRandomProjection", "SparseRandomProjection"),
    },
    "sklearn.svm": {
        kernels.svm: ("NuSVC", "NuSVR", "SVC", "SVR"),
        kernels.one_class: ("OneClassSVM",),
        linear.classifier: ("LinearSVC",),
        linear.regressor: ("LinearSVR",),
    },
}

_OF_OTHERS: dict[str, dict[Callable[[Any, Read], Model], tuple[str, ...]]] = {
    "sklearn.compose": {composed.column_transformer: ("ColumnTransformer",)},
    "sklearn.ensemble": {
        composed.bagging: ("BaggingClassifier", "BaggingRegressor"),
        composed.stacking: ("StackingClassifier", "StackingRegressor"),
        composed.voting_of_classes: ("VotingClassifier",),
        composed.voting_of_values: ("VotingRegressor",),
    },
    "sklearn.linear_model": {composed.of_inliers: ("RANSACRegressor",)},
    "sklearn.multiclass": {
        composed.one_against_one: ("OneVsOneClassifier",),
        composed.one_against_rest: ("OneVsRestClassifier",),
    },
    "sklearn.multioutput": {
        composed.several_targets: ("MultiOutputClassifier", "MultiOutputRegressor"),
        composed.regressor_chain: ("RegressorChain",),
    },
    "sklearn.pipeline": {composed.feature_union: ("FeatureUnion",)},
}

_TREES = (
    "it compares features, which is exact in BFV and not here; train a GradientBoostingClassifier or "
    "-Regressor, or a HistGradientBoostingClassifier or -Regressor, which are compiled to BFV"
)
_BOOSTED = (
    "boosted trees are compiled by themselves, or after a KBinsDiscretizer alone, and not as a part; apply "
    "other steps to the rows at the client, and compile the trees"
)
_SEARCH = "a search is compiled by its best model: give best_estimator_"
_MASTER = "it is a search of features; compile its estimator_ on the rows' columns get_support()"
_WRAPPED = "its probabilities are calibrated apart; compile the classifier inside of it"
_TEXT = "it takes text or objects; apply it to the rows at the client, and compile what comes after"
_TARGETS = "it is for targets, which are plain; apply it at the client"
_CLIENT = "apply it to the rows at the client, and compile what comes after"
_NO_NEW = "it has no results for new rows; train a KMeans, or a classifier on its labels"
_DENSE = (
    "its results depend on the training rows in another way than a kernel's sum; train a PCA, a KernelPCA or "
    "a Nystroem"
)
_ONE_NUMBER = "its function of a feature is piecewise; apply it at the client, which takes no server"
_REASONS: dict[str, tuple[str, ...]] = {
    _TREES: (
        *("AdaBoostClassifier", "AdaBoostRegressor", "DecisionTreeClassifier", "DecisionTreeRegressor"),
        *("ExtraTreeClassifier", "ExtraTreeRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"),
        *("IsolationForest", "RandomForestClassifier", "RandomForestRegressor", "RandomTreesEmbedding"),
    ),
    _BOOSTED: (
        *("GradientBoostingClassifier", "GradientBoostingRegressor"),
        *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
    ),
    _SEARCH: ("GridSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV", "RandomizedSearchCV"),
    _MASTER: ("RFE", "RFECV"),
    _WRAPPED: ("CalibratedClassifierCV", "FixedThresholdClassifier", "TunedThresholdClassifierCV"),
    _TEXT: (
        *("CategoricalNB", "CountVectorizer", "DictVectorizer", "FeatureHasher", "HashingVectorizer"),
        *("OneHotEncoder", "OrdinalEncoder", "PatchExtractor", "TargetEncoder", "TfidfTransformer"),
        *("TfidfVectorizer",),
    ),
    _TARGETS: ("LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer", "TransformedTargetRegressor"),
    _CLIENT: ("KNNImputer", "MissingIndicator", "Normalizer", "SimpleImputer", "IterativeImputer"),
    _ONE_NUMBER: (
        *("AdditiveChi2Sampler", "Binarizer", "IsotonicRegression", "KBinsDiscretizer"),
        *("PowerTransformer", "QuantileTransformer", "SkewedChi2Sampler", "SplineTransformer"),
    ),
    _NO_NEW: (
        *("AgglomerativeClustering", "DBSCAN", "HDBSCAN", "OPTICS", "SpectralBiclustering"),
        *("SpectralClustering", "SpectralCoclustering", "SpectralEmbedding", "MDS", "TSNE", "ClassicalMDS"),
    ),
    _DENSE: (
        *("DictionaryLearning", "Isomap", "LatentDirichletAllocation", "LocallyLinearEmbedding", "NMF"),
        *("MiniBatchDictionaryLearning", "MiniBatchNMF", "PolynomialCountSketch", "SparseCoder"),
        *("BernoulliRBM", "KernelCenterer"),
    ),
    "its predictions depend on random numbers or on no feature; they are the client's own": (
        *("DummyClassifier", "DummyRegressor"),
    ),
    "its probabilities are integrals of a variance; train a GaussianProcessRegressor, or an SVC": (
        "GaussianProcessClassifier",
    ),
    "it compares distances with a radius; train a KNeighborsClassifier or -Regressor": (
        *("KNeighborsTransformer", "NearestNeighbors", "RadiusNeighborsClassifier"),
        *("RadiusNeighborsRegressor", "RadiusNeighborsTransformer", "LocalOutlierFactor", "KernelDensity"),
    ),
    "it is a graph of the training rows; train a KNeighborsClassifier": (
        "LabelPropagation",
        "LabelSpreading",
    ),
    "each classifier takes labels of those before it; train a MultiOutputClassifier": ("ClassifierChain",),
    "codes of classes have no scores; train a OneVsRestClassifier": ("OutputCodeClassifier",),
    "it is a way of training; compile its estimator_, or the estimator inside": (
        *("FrozenEstimator", "SelfTrainingClassifier"),
    ),
    "its weights have priors of their own; train a GaussianMixture": ("BayesianGaussianMixture",),
    "a covariance is no model of rows; train an EllipticEnvelope": (
        *("EmpiricalCovariance", "GraphicalLasso", "GraphicalLassoCV", "LedoitWolf", "MinCovDet", "OAS"),
        "ShrunkCovariance",
    ),
}
_WHY = {name: reason for reason, names in _REASONS.items() for name in names}
_OTHERWISE = (
    "docs/compile-estimators.md lists the estimators that are; write another one as a function of an "
    "encrypted array for hm.compile"
)

KNOWN: dict[str, str] = {
    **{
        name: module
        for readers in (_ALONE, _OF_OTHERS)
        for module, own in readers.items()
        for names in own.values()
        for name in names
    },
    "Pipeline": "sklearn.pipeline",
}
"""The types that are compiled, with the module of scikit-learn that has them."""


def read(model: Any) -> Model:
    """The program and the methods of a fitted estimator, or of a linear model of arrays.

    Raises:
        TypeError: for a type that is not compiled, or settings that are not; the message has the way out.
        ParameterError: for an estimator that is not fitted.
    """
    if isinstance(model, LinearModel):
        return linear.of_arrays(model)
    name = type(model).__name__
    if name not in KNOWN or not is_exactly(model, KNOWN[name], name):
        _refuse_type(model)
    if name == "Pipeline":
        return read_steps(model, steps_of(model))
    try:
        for of_others, names in _OF_OTHERS.get(KNOWN[name], {}).items():
            if name in names:
                return of_others(model, read)
        return next(own for own, names in _ALONE[KNOWN[name]].items() if name in names)(model)
    except AttributeError as error:
        raise ParameterError(f"the {name} is not fitted; call fit first ({error})") from None


def read_steps(outer: Any, steps: list[Any]) -> Model:
    """The program and the methods of steps one after the other; of none: the features as they are."""
    return composed.chain(outer, steps, read) if steps else transformers.nothing(outer)


def _refuse_type(model: Any) -> None:
    name = type(model).__name__
    of_library = type(model).__module__.partition(".")[0] == "sklearn"
    if type(model).__module__.partition(".")[0] in TREE_LIBRARIES:
        refuse(model, _BOOSTED)
    if not of_library:
        refuse(
            model,
            f"types are taken exactly, and this one is of {type(model).__module__}; give an estimator of "
            "scikit-learn itself, or a function of an encrypted array",
        )
    refuse(model, _WHY.get(name, _OTHERWISE))
