"""Write a model as one file for a server: a Python function, scikit-learn, xgboost, LightGBM or
coefficients."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from rich.console import Console

from hemera import _options
from hemera._extras import how_to_install
from hemera.commands.tables import read_table
from hemera.errors import FileError, FormatError, ParameterError
from hemera.exporting.estimators import Results, is_exactly, steps_of
from hemera.inputs.fields import SAYS_MORE, read_json
from hemera.serving import LinearModel, Package, export_linear, export_trees
from hemera.trees.parameters import PARAMETERS
from hemera.trees.read import library_of

_BOOSTED = tuple(
    f"{way}GradientBoosting{kind}" for way in ("", "Hist") for kind in ("Classifier", "Regressor")
)
"""The classes of sklearn.ensemble that `read_model` takes, or refuses with a reason."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="FILE.py:FUNCTION that returns a package; a JSON file of xgboost, LightGBM or coefficients; or "
        "a joblib file of a fitted model. A joblib file runs code: take it only from people you trust",
    )
    parser.add_argument("target", metavar="OUT", help="the file to write, like tumours.hemera-model")
    parser.add_argument("--name", help="name of the model (default: OUT without its ending)")
    parser.add_argument("--description", default="", help="text about the model, for people")
    parser.add_argument(
        "--calibrate",
        metavar="ROWS",
        type=Path,
        help="a table of rows, .csv or .npy: linear models are packaged for twice its range, and every model "
        "is compared with its library on it",
    )
    trees = parser.add_argument_group("boosted trees")
    trees.add_argument(
        "--samples", type=_options.positive, default=64, help="the most rows of a request (default: 64)"
    )
    trees.add_argument(
        "--parameters",
        choices=PARAMETERS,
        default="auto",
        help="parameters by name, or auto: the smallest (default)",
    )
    linear = parser.add_argument_group("linear and logistic models")
    linear.add_argument(
        "--clip",
        type=float,
        help="the largest size of a feature after the model's scaler, in place of --calibrate",
    )
    linear.add_argument(
        "--results",
        choices=get_args(Results),
        default="auto",
        help="results for clients (default: probabilities of models fitted for them, else predictions)",
    )
    linear.add_argument(
        "--scale-bits", type=_options.positive, default=40, help="log2 of the scale of CKKS (default: 40)"
    )
    parser.add_argument(
        "--json", metavar="FILE", help='also write the description to FILE ("-": standard output)'
    )


def run(options: argparse.Namespace) -> int:
    package = _package(options)
    package.save(options.target)
    if options.json:
        _options.write_json(options.json, package.describe())
    text = f"{options.target}: {package!r}, {_options.size_text(len(bytes(package)))}"
    Console(stderr=options.json == "-").print(text, markup=False, highlight=False, soft_wrap=True)
    return 0


def _package(options: argparse.Namespace) -> Package:
    path, colon, function = options.model.rpartition(":")
    if colon and path.endswith(".py"):
        return _called(Path(path), function)
    told = {"name": options.name or Path(options.target).stem, "description": options.description}
    source = Path(options.model)
    model = _from_json(source) if source.suffix == ".json" else _from_joblib(source)
    rows = None if options.calibrate is None else read_table(options.calibrate)
    if isinstance(model, Path) or _has_trees(model):
        return export_trees(
            model, calibrate=rows, samples=options.samples, parameters=options.parameters, **told
        )
    return export_linear(
        model,
        calibrate=rows,
        clip=options.clip,
        results=options.results,
        scale_bits=options.scale_bits,
        **told,
    )


def _has_trees(model: object) -> bool:
    last = steps_of(model)[-1:]
    return bool(last) and (
        library_of(last[0]) in ("xgboost", "lightgbm")
        or any(is_exactly(last[0], "sklearn.ensemble", name) for name in _BOOSTED)
    )


def _called(path: Path, name: str) -> Package:
    """The package that a function of the user's own file returns."""
    if not path.is_file():
        raise FileError(f"cannot read {path}: no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # The file imports its neighbours, as a script does.
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
        function: Callable[[], Any] | None = getattr(module, name, None)
        if not callable(function):
            raise ParameterError(f"{path} has no function {name!r}")
        package = function()
    finally:
        sys.path.pop(0)
    if not isinstance(package, Package):
        raise ParameterError(
            f"{path}:{name} returned {type(package).__name__}; return the package that "
            "hemera.serving.export(...) makes"
        )
    return package


def _from_json(path: Path) -> Any:
    """A linear model, or the path for `read_model`."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    fields = read_json(text, f"{path} is not JSON")
    linear = isinstance(fields, dict) and "coefficients" in fields
    return LinearModel.from_json(path) if linear else path


def _from_joblib(path: Path) -> Any:
    try:
        joblib = importlib.import_module("joblib")
    except ImportError:
        raise ParameterError(f"joblib files need scikit-learn: {how_to_install('models')}") from None
    try:
        return joblib.load(path)
    except SAYS_MORE:
        raise
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:
        raise FormatError(
            f"{path} is no file of joblib: {error}; MODEL is FILE.py:FUNCTION, FILE.json or FILE.joblib"
        ) from None
