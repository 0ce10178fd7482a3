"""Boosted trees: the circuit of `hemera.trees`, recorded (BFV), whose comparisons are exact."""

from __future__ import annotations

import importlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hemera import bfv
from hemera.compiler.packaged import Local, Packaged
from hemera.errors import MismatchError, ParameterError
from hemera.exporting.agreement import of_library, require_agreement, thinned
from hemera.exporting.estimators import TREE_LIBRARIES, name_of, steps_of
from hemera.exporting.function import package
from hemera.inputs.arguments import Progress
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.evaluator import Evaluator
from hemera.package.encodings import TreeRows
from hemera.package.specs import InputSpec, Labels, OutputSpec
from hemera.program.tracing import Recorder, Symbol
from hemera.program.values import Array, Form
from hemera.trees import Ensemble, Quantiser, read_model
from hemera.trees.ensemble import predicted
from hemera.trees.layout import Layout
from hemera.trees.packed import packed_scores
from hemera.trees.parameters import parameters_for
from hemera.trees.quantise import quantise
from hemera.trees.read import library_of

BOOSTED = (
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
)
"""Names of sklearn.ensemble."""
_COMPARED = 64
"""Rows on which trees are compared with their library."""
_LARGEST = 1e38
"""The largest generated number, which single precision takes: an edge may be the largest of all."""
_SINGLE = 4e-6
"""Part of the largest score by which sums in single precision, as xgboost's, may be off."""


def is_boosted(what: Any) -> bool:
    """Whether these are boosted trees, alone or in a pipeline after bins, or the path of a file of some."""
    if isinstance(what, (Ensemble, str, os.PathLike)):
        return True
    *before, last = steps_of(what) or [None]
    if name_of(last) not in BOOSTED and library_of(last) not in TREE_LIBRARIES:
        return False
    return all(name_of(step) == "KBinsDiscretizer" for step in before)


class LocalTrees(Local):
    """Both parties in this process: `predict` of encrypted rows, as of the estimator: labels or values of
    shape (rows,). MismatchError for rows of other features."""

    predict = Local.__call__


class CompiledTrees(Packaged):
    """Compiled boosted trees. `compile` makes one.

    Scores are exact up to the steps of leaves; clients learn the thresholds of all features, or the bins of a
    KBinsDiscretizer before the trees.
    """

    methods = ("predict",)

    def local(
        self, *, device: str = "cpu", threads: int | None = None, progress: Progress = None
    ) -> LocalTrees:
        """Both parties in this process."""
        return LocalTrees(self._package, device=device, threads=threads, progress=progress)

    def __repr__(self) -> str:
        return f"<CompiledTrees {self._package.name!r}: {self.params!r}>"


def compile_trees(
    what: Ensemble | Any,
    *,
    calibrate: Any = None,
    quantiser: Quantiser | None = None,
    samples: int = 64,
    params: str | bfv.Parameters | None = None,
    name: str | None = None,
    description: str = "",
    **others: Any,
) -> CompiledTrees:
    """Compile boosted trees. Clients read the labels of classes, of shape (rows,), or values, as `predict` of
    the model gives them.

    A model of a library is compared with its own results, and refused where they differ. So is a JSON file of
    xgboost, where xgboost is installed; LightGBM's can not be predicted with.

    Args:
        what: an `Ensemble`, or what `hemera.trees.read_model` takes: a model of xgboost, LightGBM or
            scikit-learn, or its JSON file; or a fitted `Pipeline` of scikit-learn of a
            KBinsDiscretizer(encode="ordinal") and one.
        calibrate: rows of shape (rows, features), on which it is compared; None: generated ones.
        quantiser: the bins of the features; None: those of the pipeline, or `Quantiser.of_model(model)`,
            which has the thresholds for clients.
        samples: that a request of one ciphertext for each comparison is laid out for, at most; more rows are
            more requests.
        params: a name of `hemera.trees.parameters.PARAMETERS`, or parameters of BFV with slots; None: "auto".
        others: `watch=`, which changes nothing here: trees have nothing to watch.

    Raises:
        ParameterError: when the model does not fit bins or parameters; for options of programs on real
            numbers.
        MismatchError: for a model whose results differ from its own library's.
    """
    refused = [option for option, value in others.items() if value is not None and option != "watch"]
    if refused:
        raise ParameterError(f"trees are exact, and take no {', '.join(refused)}")
    given = steps_of(what)
    if not given or (len(given) > 1 and quantiser is not None):
        raise ParameterError(
            "a Pipeline has trees at its end, and bins of its own: give no quantiser with it"
        )
    if len(given) > 1:
        trees, quantiser = _of_steps(given)
    else:
        trees = what if isinstance(what, Ensemble) else read_model(given[0])
    bins = Quantiser.of_model(trees) if quantiser is None else quantiser.for_depth(trees.depth)
    own = parameters_for("auto" if params is None else params, trees, bins)
    integers = quantise(trees, bins, own.plain_modulus.bit_length())
    scores, count, _ = trees.features.shape
    layout = Layout.choose(own.degree, scores, count, samples, trees.depth)
    layout = replace(layout, samples=layout.width)
    planes = layout.groups * len(integers.nodes) * integers.quantiser.planes
    recorder = Recorder("bfv", [Form(own.degree, (planes,))])
    # The recorder has the operations of an evaluator that the circuit uses.
    asked = [cast(Ciphertext, plane) for plane in recorder.inputs[0]]
    recorder.give(cast(Symbol, packed_scores(cast(Evaluator, recorder), integers, layout, asked)))
    read = "values" if integers.classes == 0 else "sign" if scores == 1 else "argmax"
    classes = getattr(given[-1], "classes_", None) if integers.classes else None
    labels = None if classes is None else Labels.of(classes)
    if labels is not None and len(labels) != integers.classes:
        raise MismatchError(f"the model has {len(labels)} labels for {integers.classes} classes")
    rows = _generated(bins) if calibrate is None else thinned(calibrate, _COMPARED)
    file = Path(what) if isinstance(what, (str, os.PathLike)) else None
    judge = what if file is None else _loaded(file)
    expected = (
        None if judge is None or isinstance(judge, Ensemble) else _predicted(judge, rows, trees.classes)
    )
    found = package(
        recorder.program,
        [InputSpec("planes", own.degree, own.degree, (planes,), low=0, high=1)],
        [OutputSpec("scores", own.degree, read=read, labels=labels)],
        own,
        name=name or (type(what).__name__ if file is None else file.stem),
        description=description,
        encoding=TreeRows(
            bins,
            layout,
            trees.features[:, :, integers.nodes],
            integers.scale,
            integers.classes,
            _names(given[0]),
        ),
    )
    if expected is not None:
        # Leaves are in steps, and the library's sums in single precision.
        most = ((count + 1) / 2 + _SINGLE * integers.bound) / integers.scale
        slack = np.full((len(rows), scores), most)
        who = type(given[-1] if file is None else judge).__name__
        require_agreement(found, rows, expected, slack, f"{who}.predict")
    return CompiledTrees(found)


def _names(first: Any) -> tuple[str, ...]:
    """The names of the features, from the frame that the model was fitted on; LightGBM makes up names without
    one."""
    names = tuple(map(str, getattr(first, "feature_names_in_", ())))
    return () if names == tuple(f"Column_{at}" for at in range(len(names))) else names


def _of_steps(steps: list[Any]) -> tuple[Ensemble, Quantiser]:
    """The trees of a pipeline on the rows themselves, and its bins."""
    bins = steps[0]
    known = name_of(bins) == "KBinsDiscretizer" and bins.encode == "ordinal"
    if len(steps) != 2 or not known:
        named = " and ".join(type(step).__name__ for step in steps)
        raise ParameterError(
            f"{named}: trees are packaged by themselves, or after a fitted "
            'KBinsDiscretizer(encode="ordinal") alone'
        )
    edges = getattr(bins, "bin_edges_", None)
    if edges is None:
        raise ParameterError("the KBinsDiscretizer is not fitted; call fit first")
    quantiser = Quantiser(tuple(np.asarray(own[1:-1], np.float64) for own in edges))
    return quantiser.of_values(read_model(steps[1])), quantiser


def _loaded(path: Path) -> Any:
    """xgboost's booster of its file; None where it is another file, or xgboost is not installed."""
    try:
        if "learner" not in json.loads(path.read_bytes()):
            return None
        return importlib.import_module("xgboost").Booster(model_file=str(path))
    except (ImportError, OSError, TypeError, ValueError):
        return None  # `read_model` says what is wrong with the file


def _predicted(model: Any, rows: Any, classes: int) -> Array:
    """The library's results: of boosters, which have no labels, numbers of classes."""
    if type(model).__name__ != "Booster":
        return of_library(model, "predict", rows)
    if library_of(model) == "lightgbm":
        margins = of_library(model, "predict", rows, raw_score=True)
    else:
        xgboost = importlib.import_module("xgboost")
        table = xgboost.DMatrix(np.asarray(rows, np.float64), feature_names=model.feature_names)
        margins = of_library(model, "predict", table, output_margin=True)
    return predicted(margins.reshape(len(rows), -1), classes) if classes else margins


def _generated(bins: Quantiser) -> NDArray[np.float64]:
    """Rows with values on the edges of bins, just below them and anywhere between, and missing ones where the
    bins take them."""
    random = np.random.default_rng(0)
    columns = []
    for edges in bins.edges:
        ends = np.clip(edges, -_LARGEST, _LARGEST) if len(edges) else np.zeros(1)
        least = np.nextafter(ends.astype(np.float32), np.float32(-np.inf)).astype(np.float64)
        wide = float(ends[-1] - ends[0]) or 1.0
        anywhere = random.uniform(ends[0] - wide / 4, ends[-1] + wide / 4, len(ends) + 2)
        columns.append(random.choice(np.concatenate([ends, least, anywhere]), _COMPARED))
    rows = np.stack(columns, axis=1)
    if bins.missing is not None:
        rows[random.random(rows.shape) < 1 / 16] = np.nan
    return np.rint(rows) if bins.integral else rows
