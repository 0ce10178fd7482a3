"""Why estimators of scikit-learn are not compiled, and the way out of each."""

from __future__ import annotations

from typing import Any, NoReturn

from hemera.compiler.estimators.model import refuse
from hemera.exporting.estimators import TREE_LIBRARIES

_TREES = (
    "it compares features, which is exact in BFV and not here; train a GradientBoostingClassifier or "
    "-Regressor, or a HistGradientBoostingClassifier or -Regressor, which are compiled to BFV"
)
_BOOSTED = (
    "boosted trees are compiled by themselves, or after a KBinsDiscretizer alone, and not as a part; apply "
    "other steps to the rows at the client, and compile the trees"
)
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
_REASONS = {
    _TREES: (
        "AdaBoostClassifier AdaBoostRegressor DecisionTreeClassifier DecisionTreeRegressor "
        "ExtraTreeClassifier ExtraTreeRegressor ExtraTreesClassifier ExtraTreesRegressor IsolationForest "
        "RandomForestClassifier RandomForestRegressor RandomTreesEmbedding"
    ),
    _BOOSTED: (
        "GradientBoostingClassifier GradientBoostingRegressor HistGradientBoostingClassifier "
        "HistGradientBoostingRegressor"
    ),
    _MASTER: "RFE RFECV",
    _WRAPPED: "CalibratedClassifierCV",
    _TEXT: (
        "CategoricalNB CountVectorizer DictVectorizer FeatureHasher HashingVectorizer OneHotEncoder "
        "OrdinalEncoder PatchExtractor TargetEncoder TfidfTransformer TfidfVectorizer"
    ),
    _TARGETS: "LabelBinarizer LabelEncoder MultiLabelBinarizer",
    _CLIENT: "KNNImputer MissingIndicator Normalizer SimpleImputer IterativeImputer",
    _ONE_NUMBER: (
        "AdditiveChi2Sampler Binarizer IsotonicRegression KBinsDiscretizer PowerTransformer "
        "QuantileTransformer SkewedChi2Sampler SplineTransformer"
    ),
    _NO_NEW: (
        "AgglomerativeClustering DBSCAN HDBSCAN OPTICS SpectralBiclustering SpectralClustering "
        "SpectralCoclustering SpectralEmbedding MDS TSNE ClassicalMDS"
    ),
    _DENSE: (
        "DictionaryLearning Isomap LatentDirichletAllocation LocallyLinearEmbedding NMF "
        "MiniBatchDictionaryLearning MiniBatchNMF PolynomialCountSketch SparseCoder BernoulliRBM "
        "KernelCenterer"
    ),
    "its predictions depend on random numbers or on no feature; they are the client's own": (
        "DummyClassifier DummyRegressor"
    ),
    "its probabilities are integrals of a variance; train a GaussianProcessRegressor, or an SVC": (
        "GaussianProcessClassifier"
    ),
    "it compares distances with a radius; train a KNeighborsClassifier or -Regressor": (
        "KNeighborsTransformer NearestNeighbors RadiusNeighborsClassifier RadiusNeighborsRegressor "
        "RadiusNeighborsTransformer LocalOutlierFactor KernelDensity"
    ),
    "it is a graph of the training rows; train a KNeighborsClassifier": "LabelPropagation LabelSpreading",
    "each classifier takes labels of those before it; train a MultiOutputClassifier": "ClassifierChain",
    "codes of classes have no scores; train a OneVsRestClassifier": "OutputCodeClassifier",
    "its weights have priors of their own; train a GaussianMixture": "BayesianGaussianMixture",
    "a covariance is no model of rows; train an EllipticEnvelope": (
        "EmpiricalCovariance GraphicalLasso GraphicalLassoCV LedoitWolf MinCovDet OAS ShrunkCovariance"
    ),
}
"""Names of types by the reasons."""
_WHY = {name: reason for reason, names in _REASONS.items() for name in names.split()}
_OTHERWISE = (
    "docs/compile-estimators.md lists the estimators that are; write another one as a function of an "
    "encrypted array for hm.compile"
)


def refuse_type(model: Any) -> NoReturn:
    """TypeError for a type that is not compiled."""
    library = type(model).__module__.partition(".")[0]
    if library in TREE_LIBRARIES:
        refuse(model, _BOOSTED)
    if library != "sklearn":
        refuse(
            model,
            f"types are taken exactly, and this one is of {type(model).__module__}; give an estimator of "
            "scikit-learn itself, or a function of an encrypted array",
        )
    refuse(model, _WHY.get(type(model).__name__, _OTHERWISE))
