"""Estimators of estimators: pipelines, columns, votes, chains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hemera.compiler.estimators.features import Features
from hemera.compiler.estimators.model import Model, Steps, labelled, refuse
from hemera.compiler.estimators.transformers import nothing
from hemera.package.finishing import Apply, Label, Parts
from hemera.package.specs import Labels

Read = Callable[[Any], Model]


def values_of(model: Model, outer: Any, inner: Any, method: str) -> Callable[[Features], Features]:
    """The program of a part whose results are encrypted as they are."""
    if model.methods.get(method) != ():
        refuse(
            outer,
            f"{method} of the {type(inner).__name__} inside ends at the client; put it last, or apply what "
            "comes before at the client",
        )
    return model.run


def chain(outer: Any, steps: Sequence[Any], read: Read) -> Model:
    """A Pipeline's steps."""
    *before, last = steps
    runs = [values_of(read(step), outer, step, "transform") for step in before]
    end = read(last)

    def run(x: Features) -> Features:
        for each in runs:
            x = each(x)
        return end.run(x)

    return Model(run, end.methods)


def feature_union(model: Any, read: Read) -> Model:
    """FeatureUnion."""
    return _beside(model, [(*each, None) for each in model.transformer_list], read)


def column_transformer(model: Any, read: Read) -> Model:
    """ColumnTransformer."""
    return _beside(model, model.transformers_, read)


def _beside(outer: Any, named: Sequence[tuple[str, Any, Any]], read: Read) -> Model:
    """The results of transformers, each times the weight that its name has, one after the other.

    Args:
        named: names, transformers or "drop" or "passthrough", and the columns that they take; None: all.
    """
    runs = []
    for name, step, columns in named:
        if isinstance(step, str) and step == "drop":
            continue
        at = None if columns is None else _numbers(columns, outer)
        if at is not None and not len(at):
            continue
        run = values_of(nothing(step) if isinstance(step, str) else read(step), outer, step, "transform")
        runs.append((run, at, float((outer.transformer_weights or {}).get(name, 1.0))))
    if not runs:
        refuse(outer, "it has no transformer and no columns left; leave it out")

    def run_all(x: Features) -> Features:
        own = ((run(x if at is None else x.taken(at)), weight) for run, at, weight in runs)
        return Features.joined([found.times(weight) for found, weight in own])

    return Model(run_all, {"transform": ()})


def _numbers(columns: Any, model: Any) -> Any:
    """Numbers of columns that a fitted ColumnTransformer keeps."""
    count = int(model.n_features_in_)
    if isinstance(columns, slice):
        names = list(getattr(model, "feature_names_in_", ()))
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            start = 0 if columns.start is None else names.index(columns.start)
            stop = count if columns.stop is None else names.index(columns.stop) + 1
            return np.arange(count)[start : stop : columns.step]
        return np.arange(count)[columns]
    given = np.atleast_1d(np.asarray(columns))
    if given.dtype.kind in "UO" and all(isinstance(each, str) for each in given.tolist()):
        names = list(model.feature_names_in_)
        return np.array([names.index(each) for each in given.tolist()], np.int64)
    if given.dtype.kind == "b":
        return np.flatnonzero(given)
    return given.astype(np.int64) % count


# --- Votes. ---


def _together(models: Sequence[Model]) -> Callable[[Features], Features]:
    """The scores of all, one after the other."""
    return lambda x: Features.joined([Features.of(each.run(x).array) for each in models])


def _mean(models: Sequence[Model], weights: Any) -> Callable[[Features], Features]:
    """The mean of the scores."""
    own = np.asarray(weights, np.float64) / np.sum(weights)

    def run(x: Features) -> Features:
        total = 0.0
        for each, weight in zip(models, own.tolist(), strict=True):
            total = each.run(x).array * weight + total
        return Features.of(total)

    return run


def _parts(
    outer: Any,
    models: Sequence[Model],
    steps: Sequence[Steps],
    join: str,
    weights: Any = None,
    classes: int = 0,
) -> Parts:
    """The clients' steps with the scores of each, one after the other."""
    rows = Features.of(np.zeros((1, int(outer.n_features_in_))))
    ends = np.cumsum([0, *(each.run(rows).array.shape[1] for each in models)]).tolist()
    parts = tuple(zip(ends[:-1], ends[1:], steps, strict=True))
    own = [1.0] * len(parts) if weights is None else [float(weight) for weight in weights]
    return Parts(join, parts, tuple(own), classes)


def _of_all(outer: Any, models: Sequence[Model], method: str, join: str, weights: Any = None) -> Parts:
    """A method's results of each."""
    return _parts(outer, models, [_method(outer, each, method) for each in models], join, weights)


def _used_weights(model: Any) -> Any:
    """The weights of the estimators that vote: those that are not dropped."""
    if model.weights is None:
        return None
    return [
        weight
        for (_, own), weight in zip(model.estimators, model.weights, strict=True)
        if not (isinstance(own, str) and own == "drop")
    ]


def voting_of_values(model: Any, read: Read) -> Model:
    """VotingRegressor: the mean, encrypted where all members' results are."""
    return _mean_of_values(model, [read(each) for each in model.estimators_], _used_weights(model))


def _mean_of_values(model: Any, models: list[Model], weights: Any) -> Model:
    own = [1.0] * len(models) if weights is None else weights
    if all(each.methods.get("predict") == () for each in models):
        return Model(_mean(models, own), {"predict": ()})
    return Model(_together(models), {"predict": (_of_all(model, models, "predict", "mean", own),)})


def _method(outer: Any, model: Model, name: str) -> Steps:
    if name not in model.methods:
        refuse(outer, f"an estimator inside has no {name} that is compiled; train it with others")
    return model.methods[name]


def _numbered(steps: Steps) -> Steps:
    """Steps to the numbers of classes, without their labels."""
    return steps[:-1] if steps and isinstance(steps[-1], Label) else steps


def voting_of_classes(model: Any, read: Read) -> Model:
    """VotingClassifier. Clients get the scores of each member."""
    models = [read(each) for each in model.estimators_]
    weights, label = _used_weights(model), Label(Labels.of(model.classes_))
    if model.voting == "soft":
        mean = _of_all(model, models, "predict_proba", "mean", weights)
        return Model(_together(models), {"predict": (mean, Apply("argmax"), label), "predict_proba": (mean,)})
    # Members are trained on numbers of classes: their labels are those.
    steps = [_numbered(_method(model, each, "predict")) for each in models]
    majority = _parts(model, models, steps, "majority", weights, len(model.classes_))
    return Model(_together(models), {"predict": (majority, label)})


def bagging(model: Any, read: Read) -> Model:
    """BaggingRegressor, BaggingClassifier."""
    models = []
    for each, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        own = read(each)
        models.append(
            Model(lambda x, own=own, at=columns: own.run(x.taken(at)), own.methods)  # type: ignore[misc]
        )
    if not hasattr(model, "classes_"):
        return _mean_of_values(model, models, None)
    if any(len(each.classes_) != len(model.classes_) for each in model.estimators_):
        refuse(model, "some members do not know all classes; train it with more rows for each")
    mean = _of_all(model, models, "predict_proba", "mean")
    methods = {"predict": (mean, *labelled(model.classes_, "argmax")), "predict_proba": (mean,)}
    return Model(_together(models), methods)


# --- Several classes and targets. ---


def _of_scores(model: Any, read: Read) -> list[Model]:
    """The estimators inside, whose scores are encrypted as they are."""
    models = [read(each) for each in model.estimators_]
    for each, inner in zip(models, model.estimators_, strict=True):
        values_of(each, model, inner, "decision_function")
    return models


def one_against_rest(model: Any, read: Read) -> Model:
    """OneVsRestClassifier: a score for each class, or for the second of two."""
    if model.multilabel_:
        refuse(model, "its rows have several labels; compile each of estimators_ by itself")
    models = _of_scores(model, read)
    labels = labelled(model.classes_, "sign" if len(models) == 1 else "argmax")
    methods: dict[str, Steps] = {"predict": labels, "decision_function": ()}
    if all(each.methods.get("predict_proba") == (Apply("sigmoid"), Apply("both")) for each in models):
        two = (Apply("sigmoid"), Apply("both"))
        methods["predict_proba"] = two if len(models) == 1 else (Apply("one-against-rest"),)
    return Model(_together(models), methods)


def one_against_one(model: Any, read: Read) -> Model:
    """OneVsOneClassifier: a score for each pair of classes."""
    models = _of_scores(model, read)
    if len(models) == 1:
        methods = {"predict": labelled(model.classes_, "sign")}
    else:
        scores: Steps = (Apply("pair-scores"),)
        methods = {
            "predict": (*scores, *labelled(model.classes_, "argmax")),
            "decision_function": scores,
        }
    return Model(_together(models), methods)


def of_inliers(model: Any, read: Read) -> Model:
    """RANSACRegressor: the regressor that was trained on the rows that fit it."""
    inner = read(model.estimator_)
    return Model(inner.run, {"predict": _method(model, inner, "predict")})


def several_targets(model: Any, read: Read) -> Model:
    """MultiOutputRegressor, MultiOutputClassifier: the results of an estimator for each target."""
    models = [read(each) for each in model.estimators_]
    if all(each.methods.get("predict") == () for each in models):
        return Model(_together(models), {"predict": ()})
    return Model(_together(models), {"predict": (_of_all(model, models, "predict", "stack"),)})


def regressor_chain(model: Any, read: Read) -> Model:
    """RegressorChain: each regressor takes the results of those before it."""
    runs = [values_of(read(each), model, each, "predict") for each in model.estimators_]
    back = np.argsort(model.order_)

    def run(x: Features) -> Features:
        found: list[Features] = []
        for each in runs:
            found.append(each(Features.joined([x, *found])))
        return Features.joined(found).taken(back)

    return Model(run, {"predict": ()})


def stacking(model: Any, read: Read) -> Model:
    """StackingRegressor, StackingClassifier: a last estimator on encrypted results of the others."""
    runs = []
    for each, method in zip(model.estimators_, model.stack_method_, strict=True):
        if method == "predict_proba":
            refuse(
                model,
                "probabilities of its estimators end at the client; train it with "
                "stack_method='decision_function'",
            )
        runs.append(values_of(read(each), model, each, method))
    last = read(model.final_estimator_)

    def run(x: Features) -> Features:
        parts = [each(x) for each in runs]
        return last.run(Features.joined([*parts, x] if model.passthrough else parts))

    methods = dict(last.methods)
    if hasattr(model, "classes_") and "predict" in methods:
        # The last estimator is trained on numbers of classes.
        methods["predict"] = (*_numbered(methods["predict"]), Label(Labels.of(model.classes_)))
    return Model(run, methods)
