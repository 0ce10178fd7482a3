"""Write a model as one file for a server: a Python function, scikit-learn, xgboost, LightGBM or
coefficients."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

import hemera
from hemera import _options
from hemera._extras import how_to_install
from hemera.commands.tables import read_table
from hemera.compiler.estimators.trees import is_boosted
from hemera.errors import FileError, FormatError, ParameterError
from hemera.inputs.fields import SAYS_MORE, read_json
from hemera.package.encodings import Table
from hemera.serving import LinearModel, Package
from hemera.trees.parameters import PARAMETERS

_RESULTS = {
    "values": "predict",
    "labels": "predict",
    "probabilities": "predict_proba",
    "scores": "decision_function",
}
"""Methods of estimators by the results that clients ask for."""


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
        help="a table of rows, .csv or .npy: models other than trees are packaged for twice its range, and "
        "every model is compared with its library on it",
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
    others = parser.add_argument_group("other models")
    others.add_argument(
        "--clip",
        type=float,
        help="of a linear model, in place of --calibrate: the largest size of a feature after its scaler",
    )
    others.add_argument(
        "--results",
        choices=("auto", *_RESULTS),
        default="auto",
        help="results for clients (default: probabilities of models fitted for them, else predictions)",
    )
    _options.add_json(parser)


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
    given: dict[str, Any] = {"calibrate": rows, **told}
    if is_boosted(model):
        given |= {"samples": options.samples, "params": options.parameters}
    else:
        given |= {"clip": options.clip, "method": _RESULTS.get(options.results)}
    try:
        plan = hemera.compile(model, **{name: value for name, value in given.items() if value is not None})
    except TypeError as error:  # a type that is not compiled, with the way out
        raise ParameterError(str(error)) from None
    package: Package = plan.package
    table = package.interface.encoding
    if options.results == "auto" and isinstance(table, Table) and "predict_proba" in table.methods:
        return Package(replace(package.interface, encoding=table.first("predict_proba")), package.program)
    return package


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
        found = function()
    finally:
        sys.path.pop(0)
    package = getattr(found, "package", found)
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
