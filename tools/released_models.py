"""The packaged models of a release's files, and their results as others compute them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import hemera as hm
from hemera import serving
from hemera.trees.ensemble import random_ensemble

DEGREE = 1024


def drawn(scheme: str, *shape: int, seed: int) -> Any:
    """Values that JSON holds exactly: integers, or multiples of 1/64 in [-1, 1]."""
    integers = np.random.default_rng(seed).integers(-64, 65, shape)
    return integers / 64 if scheme == "ckks" else integers


@dataclass(frozen=True)
class Model:
    """A packaged model, rows for it, and the results that others compute of them."""

    package: serving.Package
    rows: Any
    results: Any
    bits: int = 12
    """Bits of the results after the point; relative to the largest one where that is above 1."""


MODELS: dict[str, Callable[[], Model]] = {}


def model(make: Callable[[], Model]) -> Callable[[], Model]:
    """A maker of a model, by its name."""
    MODELS[make.__name__.replace("_", "-")] = make
    return make


READINGS: dict[str, Callable[[Any], Any]] = {
    "values": lambda s: s,
    "sigmoid": lambda s: 1 / (1 + np.exp(-s)),
    "softmax": lambda s: np.exp(s) / np.exp(s).sum(-1, keepdims=True),
    "sign": lambda s: (s > 0).astype(int),
    "argmax": lambda s: s.argmax(-1),
    "exp": np.exp,
    "one-against-rest": lambda s: (1 / (1 + np.exp(-s))) / (1 / (1 + np.exp(-s))).sum(-1, keepdims=True),
    "clipped": lambda s: (np.clip(s, -1, 1) + 1) / 2,
}
"""What clients make of scores, written anew from docs/serving.md."""


@model
def operations_of_ckks() -> Model:
    """Every operation that a function on CKKS ciphertexts records, each in an output of its own."""
    random = np.random.default_rng(3)
    matrix, weights = random.integers(-8, 9, (8, 8)) / 16, random.integers(-8, 9, 8) / 8
    coefficients = [0.5, 0.25, -0.125]

    def program(x: Any, y: Any) -> dict[str, Any]:
        a, b = x[0], x[1]
        return {
            "sum": a + b - y,
            "negative": -a,
            "product": a * b,
            "power": a**3,
            "dot": serving.dot([a, b], [b, y]),
            "dot of arrays": serving.dot([a, b], [weights, matrix[0]]),
            "numbers": 3 * (a + 0.5) * 0.25,
            "arrays": (a + weights) * weights,
            "matrix": a @ matrix,
            "polynomial": a.polyval(coefficients),
            "function": hm.circuits.sigmoid((-2, 2), bits=12)(a),
            "rotated": a.rotate(1),
            "conjugate": a.conjugate(),
            "total": a.sum(),
        }

    def expected(x: Any, y: Any) -> dict[str, Any]:
        a, b = x[:, 0], x[:, 1]
        return {
            "sum": a + b - y,
            "negative": -a,
            "product": a * b,
            "power": a**3,
            "dot": a * b + b * y,
            "dot of arrays": a * weights + b * matrix[0],
            "numbers": 3 * (a + 0.5) * 0.25,
            "arrays": (a + weights) * weights,
            "matrix": a @ matrix,
            "polynomial": np.polynomial.polynomial.polyval(a, coefficients),
            "function": 1 / (1 + np.exp(-a)),
            "rotated": np.roll(a, -1, axis=-1),
            "conjugate": a,
            "total": np.repeat(a.sum(-1, keepdims=True), 8, axis=-1),
        }

    x, y = drawn("ckks", 2, 2, 8, seed=4), drawn("ckks", 2, 8, seed=5)
    package = serving.export(
        program,
        inputs=[serving.InputSpec("x", 8, shape=(2,)), serving.InputSpec("y", 8)],
        name="operations",
        description="every operation",
        security=None,
        outputs=dict.fromkeys(expected(x, y), 8),
    )
    return Model(package, [x, y], expected(x, y), bits=11)


@model
def readings() -> Model:
    """Scores of a matrix, read in every way."""
    matrix = np.random.default_rng(6).integers(-8, 9, (8, 3)) / 8
    rows = np.random.default_rng(7).uniform(-1, 1, (4, 8))
    package = serving.export(
        lambda x: dict.fromkeys(READINGS, x @ matrix),
        inputs=8,
        name="readings",
        security=None,
        outputs={name: (3, name) for name in READINGS},
    )
    return Model(package, rows, {name: read(rows @ matrix) for name, read in READINGS.items()})


def _operations_of_integers(scheme: str) -> Model:
    of = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}[scheme]
    params = of.for_circuit(2, slots=DEGREE, security=None)
    slots = params.max_slots
    array = np.arange(slots) % 5

    def program(x: Any, y: Any) -> dict[str, Any]:
        return {
            "rotated": x.rotate(-3) * y,
            "swapped": x.swap_rows() - 3 * y + array,
            "total": (x * array).sum(),
            "square": x**2 + 1,
        }

    def expected(x: Any, y: Any) -> dict[str, Any]:
        rows = x.reshape(len(x), 2, -1)
        return {
            "rotated": np.roll(rows, 3, axis=-1).reshape(x.shape) * y,
            "swapped": rows[:, ::-1].reshape(x.shape) - 3 * y + array,
            "total": np.repeat((x * array).sum(-1, keepdims=True), slots, axis=-1),
            "square": x**2 + 1,
        }

    x = np.tile(np.random.default_rng(8).integers(-1, 2, 32), slots // 32)[np.newaxis]
    y = np.roll(x, 5, axis=-1) * 2
    package = serving.export(
        program,
        inputs=[serving.InputSpec("x", slots), serving.InputSpec("y", slots)],
        name="integers",
        params=params,
        outputs=dict.fromkeys(expected(x, y), 12),
    )
    return Model(package, [x, y], {name: each[:, :12] for name, each in expected(x, y).items()})


@model
def operations_of_bfv() -> Model:
    return _operations_of_integers("bfv")


@model
def operations_of_bgv() -> Model:
    return _operations_of_integers("bgv")


@model
def bootstrap() -> Model:
    """A bootstrap between two products."""
    values = drawn("ckks", 1, 16, seed=9) * 0.75
    package = serving.export(
        lambda x: ((x * x).bootstrap(real=True) * x).rotate(1),
        inputs=16,
        name="deep",
        params=hm.ckks.Parameters.for_bootstrapping("test-40"),
    )
    return Model(package, values, np.roll(values**3, -1, axis=-1), bits=16)


@model
def exact_bootstrap() -> Model:
    """A bootstrap of BFV between squares."""
    params = hm.bfv.Parameters.for_bootstrapping("bfv11-test", plain_modulus=12289)
    values = np.random.default_rng(21).integers(-2, 3, (1, params.max_slots))
    package = serving.export(
        lambda x: x.square().square().bootstrap().square(),
        inputs=params.max_slots,
        name="exact",
        params=params,
        outputs={"output": 12},
    )
    return Model(package, values, values[:, :12] ** 8)


@model
def linear() -> Model:
    """A logistic regression of two classes after a scaler: links at the client."""
    random = np.random.default_rng(10)
    weights, mean, deviation = random.integers(-8, 9, 5) / 8, np.arange(5) / 2, np.arange(1, 6) / 4
    rows = random.integers(-8, 9, (7, 5)) / 8
    model = serving.LinearModel.of(
        weights, 0.25, mean=mean, deviation=deviation, read="sigmoid", names="abcde"
    )
    package = hm.compile(model, name="linear", clip=4.0, rows=8, security=None).package
    return Model(package, rows, 1 / (1 + np.exp(-(((rows - mean) / deviation) @ weights + 0.25))))


@model
def labels() -> Model:
    """A linear classifier whose results are text."""
    random = np.random.default_rng(11)
    weights, rows = random.integers(-8, 9, (3, 4)) / 8, random.uniform(-1, 1, (6, 4))
    names = np.array(["low", "middle", "high"])
    model = serving.LinearModel.of(weights, [0.5, 0.0, -0.25], read="argmax", labels=names)
    package = hm.compile(model, name="labels", clip=2.0, rows=8, security=None).package
    return Model(package, rows, names[(rows @ weights.T + [0.5, 0.0, -0.25]).argmax(-1)])


@model
def trees() -> Model:
    """Boosted trees, walked node by node here."""
    ensemble = random_ensemble(1, 3, 2, feature_count=4, levels=6, seed=12)
    rows = np.random.default_rng(12).integers(0, 6, (5, 4))
    package = hm.compile(ensemble, name="trees", samples=4).package

    def score(row: Any) -> float:
        total = float(ensemble.base[0])
        for features, thresholds, leaves in zip(
            ensemble.features[0], ensemble.thresholds[0], ensemble.leaves[0], strict=True
        ):
            node = 0
            while node < len(features):
                node = 2 * node + (1 if row[features[node]] < thresholds[node] else 2)
            total += float(leaves[node - len(features)])
        return total

    return Model(package, rows, np.array([int(score(row) > 0) for row in rows]))


@model
def compiled() -> Model:
    """A function on arrays: maps, and a result of no axes."""
    weights = np.random.default_rng(13).integers(-8, 9, (6, 4)) / 8

    def study(x: Any) -> dict[str, Any]:
        z = (x - x.mean()) / 4
        return {"mean": x.mean(), "cubes": (z**3).mean(), "moved": x @ weights[:, ::-1]}

    rows = drawn("ckks", 3, 6, seed=14) * 4
    plan = hm.compile(study, hm.ArraySpec((6,), range=(-4, 4)), name="compiled", security=None)
    wanted = [study(row) for row in rows]
    return Model(plan.package, rows, {name: np.array([each[name] for each in wanted]) for name in wanted[0]})


@model
def compiled_for_others() -> Model:
    """Results that others may see: the file has the bound of their noise."""
    rows = drawn("ckks", 2, 8, seed=15)
    plan = hm.compile(
        lambda x: x * x + x,
        hm.ArraySpec((8,), range=(-1, 1)),
        share=True,
        shares=16,
        precision_bits=12,
        name="shared",
        security=None,
    )
    return Model(plan.package, rows, rows * rows + rows, bits=10)


@model
def compiled_samples() -> Model:
    """Two samples in a ciphertext, one of them in the imaginary parts, with bootstraps between."""
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    size = params.max_slots

    def program(x: Any) -> Any:
        for _ in range(12):
            x = (x * x - 0.5) * 1.25
        return x.sum() / size

    rows = np.tile(drawn("ckks", 2, 16, seed=16), size // 16)
    plan = hm.compile(
        program, hm.ArraySpec((size,), (-1, 1)), samples=2, params=params, precision_bits=10, name="samples"
    )
    return Model(plan.package, rows, np.array([program(row) for row in rows]), bits=16)


@model
def compiled_deep() -> Model:
    """Matrices and squares one after the other: bootstraps are placed, and levels are dropped."""
    random = np.random.default_rng(19)
    matrices = random.integers(-8, 9, (9, 4, 4)) / 32

    def program(x: Any) -> Any:
        for matrix in matrices:
            x = matrix @ x
            x = 3 * x + x * x
        return x

    rows = drawn("ckks", 2, 4, seed=20)
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    spec = hm.ArraySpec((4,), (-1, 1))
    calibrate = random.uniform(-1, 1, (20, 4))
    plan = hm.compile(program, spec, calibrate=calibrate, params=params, precision_bits=8, name="deep")
    return Model(plan.package, rows, np.array([program(row) for row in rows]), bits=16)


@model
def compiled_table() -> Model:
    """Sums of groups, as pandas has them."""
    pd = importlib.import_module("pandas")
    ages = [20, 30, 41, 57, 70, 66, 35, 28]
    frame = pd.DataFrame({"age": ages, "ward": list("ABABABBA")})
    spec = hm.TableSpec.of(frame, ranges={"age": (0, 120)}, keys=["ward"])
    plan = hm.compile(lambda t: t.groupby("ward").age.sum(), spec, name="table", security=None)
    return Model(
        plan.package, np.array([ages], float), frame.groupby("ward").age.sum().to_numpy()[np.newaxis]
    )


@model
def compiled_integers() -> Model:
    """An exact program: counts and look-ups."""

    def survey(x: Any) -> dict[str, Any]:
        return {"counts": np.histogram(x, [1, 2, 3, 4, 5, 6])[0], "high": (x > 3).sum(), "rows": x[::-1] * 2}

    rows = np.random.default_rng(17).integers(1, 6, (2, 30))
    plan = hm.compile(survey, hm.ArraySpec((30,), (1, 5)), scheme="bfv", security=None, name="survey")
    wanted = [survey(row) for row in rows]
    return Model(plan.package, rows, {name: np.array([each[name] for each in wanted]) for name in wanted[0]})


def _estimator(estimator: Any, rows: Any, targets: Any, given: Any) -> Model:
    fitted = estimator.fit(rows, targets)
    plan = hm.compile(fitted, calibrate=rows, rows=8, security=None, name="estimator")
    return Model(plan.package, given, fitted.predict(given))


def _flowers() -> tuple[Any, Any]:
    """Three clouds of points with names."""
    random = np.random.default_rng(18)
    centres = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, -1.0], [0.0, 2.0, 0.0]])
    kinds = np.arange(30) % 3
    return centres[kinds] + random.normal(size=(30, 3)) / 4, np.array(["iris", "rose", "tulip"])[kinds]


def _of_sklearn(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"sklearn.{module}"), name)


@model
def neighbours() -> Model:
    """The three nearest rows of each row: the client counts their classes."""
    rows, targets = _flowers()
    return _estimator(_of_sklearn("neighbors", "KNeighborsClassifier")(3), rows, targets, rows[:8])


@model
def discriminant() -> Model:
    """Several methods, each of some columns of the scores."""
    rows, targets = _flowers()
    own = _of_sklearn("discriminant_analysis", "LinearDiscriminantAnalysis")()
    return _estimator(own, rows, targets, rows[:8])


@model
def votes() -> Model:
    """The mean of two estimators."""
    rows, targets = _flowers()
    regression = _of_sklearn("linear_model", "LogisticRegression")
    both = [("a", regression()), ("b", regression(C=0.1))]
    return _estimator(
        _of_sklearn("ensemble", "VotingClassifier")(both, voting="soft"), rows, targets, rows[:8]
    )
