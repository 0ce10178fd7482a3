"""Gradient-boosted trees as packages: the circuit of `hemera.applications.trees`, recorded (BFV)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from hemera import bfv
from hemera.applications.trees import Ensemble, Quantiser, read_model
from hemera.applications.trees.layout import Layout
from hemera.applications.trees.packed import PackedCircuit
from hemera.applications.trees.parameters import parameters_for
from hemera.applications.trees.quantise import quantise
from hemera.ciphertext import Ciphertext
from hemera.errors import ParameterError
from hemera.evaluator import Evaluator
from hemera.serving.encodings import TreeRows
from hemera.serving.exporting import package
from hemera.serving.package import Package
from hemera.serving.specs import InputSpec, OutputSpec
from hemera.serving.tracing import Recorder, Symbol
from hemera.serving.values import Form

__all__ = ["export_trees"]


def export_trees(
    model: Ensemble | Any,
    quantiser: Quantiser | None = None,
    *,
    name: str,
    description: str = "",
    samples: int = 64,
    parameters: str | bfv.Parameters = "auto",
) -> Package:
    """Package boosted trees; scores are exactly those of `hemera.applications.trees.Server`.

    Args:
        model: an `Ensemble`, or what `read_model` takes: a model of xgboost, LightGBM or scikit-learn, or its
            JSON file; or a fitted `Pipeline` of scikit-learn of a KBinsDiscretizer(encode="ordinal") and one.
        quantiser: the bins of the features; None: those of the pipeline, or `Quantiser.of_model(model)`,
            which tells clients the thresholds.
        samples: that a request of one ciphertext for each comparison is laid out for, at most; more rows are
            more requests.
        parameters: a name of `hemera.applications.trees.PARAMETERS`, or parameters of BFV with slots.

    Raises:
        ParameterError: when the model does not fit bins or parameters.
    """
    if hasattr(model, "steps") and quantiser is None:
        model, quantiser = _of_pipeline(model)
    trees = model if isinstance(model, Ensemble) else read_model(model)
    bins = Quantiser.of_model(trees) if quantiser is None else quantiser.for_depth(trees.depth)
    params = parameters_for(parameters, trees, "packed", bins)
    integers = quantise(trees, bins, params.plain_modulus.bit_length())
    scores, count, _ = trees.features.shape
    layout = Layout.choose(params.degree, scores, count, samples, trees.depth)
    layout = replace(layout, samples=layout.width)
    planes = layout.groups * len(integers.nodes) * integers.planes
    recorder = Recorder("bfv", [Form(params.degree, (planes,))])
    # The recorder has the operations of an evaluator that the circuit uses.
    circuit = PackedCircuit(cast(Evaluator, recorder), integers, layout)
    result = cast(Symbol, circuit(*(cast(Ciphertext, plane) for plane in recorder.inputs[0])))
    recorder.give(result)
    read = "argmax" if integers.classes else "values"
    return package(
        recorder.program,
        [InputSpec("planes", params.degree, params.degree, (planes,), low=0, high=1)],
        [OutputSpec("scores", params.degree, read=read)],
        params,
        name=name,
        description=description,
        encoding=TreeRows(
            bins, layout, trees.features[:, :, integers.nodes], integers.scale, integers.classes
        ),
    )


def _of_pipeline(pipeline: Any) -> tuple[Ensemble, Quantiser]:
    """The trees of a pipeline on the rows themselves, and its bins."""
    steps = [step for _, step in pipeline.steps]
    edges = getattr(steps[0], "bin_edges_", None)
    if len(steps) != 2 or edges is None or steps[0].encode != "ordinal":
        named = " and ".join(type(step).__name__ for step in steps)
        raise ParameterError(
            f"{named}: trees are packaged by themselves, or after a fitted "
            'KBinsDiscretizer(encode="ordinal") alone'
        )
    quantiser = Quantiser(tuple(np.asarray(own[1:-1], np.float64) for own in edges))
    return quantiser.of_values(read_model(steps[1])), quantiser
