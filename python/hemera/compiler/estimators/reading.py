"""The estimators of scikit-learn that are read, by their exact types; and those made of others: pipelines,
columns, votes, chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hemera.compiler.estimators import gaussians, kernels, linear, neighbours, transformers
from hemera.compiler.estimators.features import Features
from hemera.compiler.estimators.model import Model, Read, Run, Steps, refuse, steps_in
from hemera.compiler.estimators.refusals import refuse_type
from hemera.compiler.estimators.transformers import SAME
from hemera.errors import ParameterError
from hemera.exporting.estimators import INSIDE, SCALERS, name_of, steps_of
from hemera.package.finishing import Label, Parts


def read(model: Any) -> Model:
    """The program and the methods of a fitted estimator.

    Raises:
        TypeError: for a type that is not compiled, or settings that are not; the message has the way out.
        ParameterError: for an estimator that is not fitted.
    """
    name = name_of(model)
    if name not in KNOWN:
        refuse_type(model)
    try:
        return KNOWN[name](model)
    except AttributeError as error:
        raise ParameterError(f"the {name} is not fitted; call fit first ({error})") from None


def _encrypted(outer: Any, inner: Any, method: str = "transform") -> Model:
    """A part whose results are encrypted as they are; "passthrough" gives its input."""
    found = SAME if isinstance(inner, str) else read(inner)
    if found.methods.get(method) != ():
        refuse(
            outer,
            f"{method} of the {type(inner).__name__} inside ends at the client; put it last, or apply what "
            "comes before at the client",
        )
    return found


def chain(outer: Any, steps: Sequence[Any]) -> Model:
    """The steps of a Pipeline, one after the other; of none: the features as they are."""
    if not steps:
        return SAME
    runs = [_encrypted(outer, step).run for step in steps[:-1]]
    end = read(steps[-1])

    def run(x: Features) -> Features:
        for each in (*runs, end.run):
            x = each(x)
        return x

    return Model(run, end.methods)


def inside(model: Any) -> Model:
    """Searches and ways of training: the fitted model that they predict by."""
    return chain(model, steps_of(getattr(model, INSIDE[name_of(model)])))


def side_by_side(model: Any) -> Model:
    """FeatureUnion, ColumnTransformer: the results of transformers, each times the weight that its name has,
    one after the other."""
    # Transformers of a ColumnTransformer take some columns, and those of a FeatureUnion take all.
    columns = getattr(model, "_transformer_to_input_indices", {})
    runs = []
    for name, step, *_ in getattr(model, "transformers_", None) or model.transformer_list:
        at = columns.get(name)
        if step == "drop" or (at is not None and not len(at)):
            continue
        weight = float((model.transformer_weights or {}).get(name, 1.0))
        runs.append((_encrypted(model, step).run, at, weight))
    if not runs:
        refuse(model, "it has no transformer and no columns left; leave it out")

    def run_all(x: Features) -> Features:
        own = ((run(x if at is None else x.taken(at)), weight) for run, at, weight in runs)
        return Features.joined([found.times(weight) for found, weight in own])

    return Model.of(run_all, transform="")


# --- Votes. ---


def _together(models: Sequence[Model]) -> Run:
    """The scores of all, one after the other."""
    return lambda x: Features.joined([Features.of(each.run(x).array) for each in models])


def _method(outer: Any, model: Model, name: str) -> Steps:
    if name not in model.methods:
        refuse(outer, f"an estimator inside has no {name} that is compiled; train it with others")
    return model.methods[name]


def _numbered(steps: Steps) -> Steps:
    """Steps to the numbers of classes, without their labels."""
    return steps[:-1] if steps and isinstance(steps[-1], Label) else steps


def _joined(outer: Any, models: Sequence[Model], method: str, join: str, weights: Any = None) -> Parts:
    """The clients' step to a method's joined results of models whose scores come one after the other."""
    rows = Features.of(np.zeros((1, int(outer.n_features_in_))))
    ends = np.cumsum([0, *(each.run(rows).array.shape[1] for each in models)]).tolist()
    steps = [_method(outer, each, method) for each in models]
    votes = join == "majority"  # members are trained on numbers of classes: their labels are those
    parts = zip(ends[:-1], ends[1:], map(_numbered, steps) if votes else steps, strict=True)
    own = [1.0] * len(models) if weights is None else [float(weight) for weight in weights]
    return Parts(join, tuple(parts), tuple(own), len(outer.classes_) if votes else 0)


def _of_values(outer: Any, models: Sequence[Model], join: str, run: Run, weights: Any = None) -> Model:
    """Joined predictions: encrypted by a program where all members' are, else by clients."""
    if all(each.methods.get("predict") == () for each in models):
        return Model.of(run, predict="")
    return Model(_together(models), {"predict": (_joined(outer, models, "predict", join, weights),)})


def _mean_of_values(outer: Any, models: Sequence[Model], weights: Any = None) -> Model:
    own = np.ones(len(models)) if weights is None else np.asarray(weights, np.float64)

    def mean(x: Features) -> Features:
        total = 0.0
        for each, weight in zip(models, (own / own.sum()).tolist(), strict=True):
            total = each.run(x).array * weight + total
        return Features.of(total)

    return _of_values(outer, models, "mean", mean, weights)


def _mean_of_probabilities(outer: Any, models: Sequence[Model], weights: Any = None) -> Model:
    mean = _joined(outer, models, "predict_proba", "mean", weights)
    methods = {"predict": (mean, *steps_in("argmax label", outer.classes_)), "predict_proba": (mean,)}
    return Model(_together(models), methods)


def voting(model: Any) -> Model:
    """VotingRegressor, VotingClassifier. Clients get the scores of each member, but for a mean of values."""
    models, weights = [read(each) for each in model.estimators_], model.weights
    if weights is not None:  # those of members that are dropped, too
        pairs = zip(model.estimators, weights, strict=True)
        weights = [weight for (_, member), weight in pairs if not isinstance(member, str)]
    if not hasattr(model, "classes_"):
        return _mean_of_values(model, models, weights)
    if model.voting == "soft":
        return _mean_of_probabilities(model, models, weights)
    majority = _joined(model, models, "predict", "majority", weights)
    return Model(_together(models), {"predict": (majority, *steps_in("label", model.classes_))})


def bagging(model: Any) -> Model:
    """BaggingRegressor, BaggingClassifier."""

    def member(inner: Any, columns: Any) -> Model:
        own = read(inner)
        return Model(lambda x: own.run(x.taken(columns)), own.methods)

    models = list(map(member, model.estimators_, model.estimators_features_))
    if not hasattr(model, "classes_"):
        return _mean_of_values(model, models)
    if any(len(each.classes_) != len(model.classes_) for each in model.estimators_):
        refuse(model, "some members do not know all classes; train it with more rows for each")
    return _mean_of_probabilities(model, models)


# --- Several classes and targets. ---


def one_against_rest(model: Any) -> Model:
    """OneVsRestClassifier: a score for each class, or for the second of two."""
    if model.multilabel_:
        refuse(model, "its rows have several labels; compile each of estimators_ by itself")
    models = _of_scores(model)
    two = len(models) == 1
    methods = {"predict": "sign label" if two else "argmax label", "decision_function": ""}
    if all(each.methods.get("predict_proba") == steps_in("sigmoid both") for each in models):
        methods["predict_proba"] = "sigmoid both" if two else "one-against-rest"
    return Model.of(_together(models), model.classes_, **methods)


def one_against_one(model: Any) -> Model:
    """OneVsOneClassifier: a score for each pair of classes."""
    models = _of_scores(model)
    if len(models) == 1:
        return Model.of(_together(models), model.classes_, predict="sign label")
    methods = {"predict": "pair-scores argmax label", "decision_function": "pair-scores"}
    return Model.of(_together(models), model.classes_, **methods)


def _of_scores(model: Any) -> list[Model]:
    """The estimators inside, whose scores are encrypted as they are."""
    return [_encrypted(model, each, "decision_function") for each in model.estimators_]


def several_targets(model: Any) -> Model:
    """MultiOutputRegressor, MultiOutputClassifier: the results of an estimator for each target."""
    models = [read(each) for each in model.estimators_]
    return _of_values(model, models, "stack", _together(models))


def of_inliers(model: Any) -> Model:
    """RANSACRegressor: the regressor that was trained on the rows that fit it."""
    inner = read(model.estimator_)
    return Model(inner.run, {"predict": _method(model, inner, "predict")})


def regressor_chain(model: Any) -> Model:
    """RegressorChain: each regressor takes the results of those before it."""
    runs = [_encrypted(model, each, "predict").run for each in model.estimators_]
    back = np.argsort(model.order_)

    def run(x: Features) -> Features:
        found: list[Features] = []
        for each in runs:
            found.append(each(Features.joined([x, *found])))
        return Features.joined(found).taken(back)

    return Model.of(run, predict="")


def stacking(model: Any) -> Model:
    """StackingRegressor, StackingClassifier: a last estimator on encrypted results of the others."""
    if "predict_proba" in model.stack_method_:
        refuse(
            model,
            "probabilities of its estimators end at the client; train it with "
            "stack_method='decision_function'",
        )
    pairs = zip(model.estimators_, model.stack_method_, strict=True)
    runs = [_encrypted(model, each, method).run for each, method in pairs]
    last = read(model.final_estimator_)

    def run(x: Features) -> Features:
        parts = [each(x) for each in runs]
        return last.run(Features.joined([*parts, x] if model.passthrough else parts))

    methods = dict(last.methods)
    if hasattr(model, "classes_") and "predict" in methods:
        # The last estimator is trained on numbers of classes.
        methods["predict"] = (*_numbered(methods["predict"]), *steps_in("label", model.classes_))
    return Model(run, methods)


# --- Targets and thresholds around one estimator. ---


def of_targets(model: Any) -> Model:
    """TransformedTargetRegressor with a scaler, whose inverse is linear."""
    name, inner = name_of(model.transformer_), _encrypted(model, model.regressor_, "predict")
    if name == "FunctionTransformer" and model.func is None is model.inverse_func:
        return inner
    mean, deviation, clip = SCALERS[name](model.transformer_) if name in SCALERS else (0, 1, (0, 0))
    if clip is not None:
        refuse(model, f"targets are scaled back by {', '.join(SCALERS)}; compile its regressor_")
    scale, offset = 1 / np.asarray(deviation, np.float64), np.asarray(mean, np.float64)
    return Model.of(lambda x: inner.run(x).standardised(-offset * scale, scale), predict="")


def of_threshold(model: Any) -> Model:
    """FixedThresholdClassifier, TunedThresholdClassifierCV: by the score of the positive class of two."""
    inner, limit = read(model.estimator_), getattr(model, "best_threshold_", None)
    is_likely = model.response_method != "decision_function" and hasattr(model.estimator_, "predict_proba")
    is_sigmoid = inner.methods.get("predict_proba") == steps_in("sigmoid both")
    if inner.methods.get("decision_function") != () or (is_likely and not is_sigmoid):
        refuse(model, "the classifier inside has no score of two classes that is compiled; train another one")
    if limit is None:
        limit = (0.5 if is_likely else 0.0) if model.threshold == "auto" else model.threshold
    if is_likely and not 0 < limit < 1:
        refuse(model, f"a probability is always, or never, at least {limit}; train it with another threshold")
    limit = np.log(limit / (1 - limit)) if is_likely else float(limit)
    tuned = getattr(model, "_curve_scorer", None)
    positive = model.pos_label if tuned is None else tuned._get_pos_label()
    is_first = positive is not None and positive == model.classes_[0]

    def run(x: Features) -> Features:
        return inner.run(x).standardised(-limit if is_first else limit, 1.0)

    return Model.of(run, model.classes_, predict="sign label")


_OF_OTHERS: dict[str, Read] = {
    "BaggingClassifier BaggingRegressor": bagging,
    "ColumnTransformer FeatureUnion": side_by_side,
    "MultiOutputClassifier MultiOutputRegressor": several_targets,
    "OneVsOneClassifier": one_against_one,
    "OneVsRestClassifier": one_against_rest,
    "Pipeline": lambda own: chain(own, steps_of(own)),
    "FixedThresholdClassifier TunedThresholdClassifierCV": of_threshold,
    "RANSACRegressor": of_inliers,
    "RegressorChain": regressor_chain,
    "StackingClassifier StackingRegressor": stacking,
    "TransformedTargetRegressor": of_targets,
    **dict.fromkeys(INSIDE, inside),
    "VotingClassifier VotingRegressor": voting,
}
_TABLES = (
    *(gaussians.READERS, kernels.READERS, linear.READERS, neighbours.READERS, transformers.READERS),
    _OF_OTHERS,
)
KNOWN: dict[str, Read] = {
    name: own for table in _TABLES for names, own in table.items() for name in names.split()
}
"""The types that are compiled, by their names."""
