"""Models, networks and tables of strangers, as targets of tests and of fuzzing."""

import contextlib
import json
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from sklearn.linear_model import LogisticRegression

import hemera as hm
from hemera import serving
from hemera.client import wire
from hemera.commands.tables import read_table
from hemera.package.interface import Interface
from hemera.times.table import DeviceTimes
from hemera.trees.read import read_model

from .compiler.table_cases import patients, spec_of
from .hostile_damage import Target

STORED = Path(__file__).parent / "trees" / "tree_models"


def models(folder):
    """All of them, by name."""
    return {**_trees(folder), **_packages(), **_networks(), **_tables(folder)}


def _of_file(path, read):
    """What reads bytes as a file."""

    def of_file(data):
        path.write_bytes(data)
        read(path)

    return of_file


def _trees(folder):
    """Models of trees, as their libraries write them, and linear ones."""
    linear = {"coefficients": [1.0, 2.0], "intercept": 0.5, "mean": [0, 0], "deviation": [1, 1]}
    found = {"linear": {**linear, "low": [-1, -1], "high": [1, 1]}}
    for name, file in (("xgboost", "xgboost-diabetes-1"), ("LightGBM", "lightgbm-diabetes-2")):
        found[name] = json.loads((STORED / f"{file}.json").read_bytes())["model"]
    found["LightGBM"] = {**found["LightGBM"], "tree_info": found["LightGBM"]["tree_info"][:1]}
    of_xgboost = found["xgboost"]["learner"]["gradient_booster"]["model"]
    of_xgboost |= {name: of_xgboost[name][:1] for name in ("trees", "tree_info")}
    return {
        f"{name} model": Target(
            json.dumps(model).encode(),
            _of_file(
                folder / "model.json", serving.LinearModel.from_json if name == "linear" else read_model
            ),
            "text",
        )
        for name, model in found.items()
    }


def _packages():
    """Packaged models of each encoding of rows, and a server's description of one."""
    rng = np.random.default_rng(5)
    rows, labels = rng.normal(size=(30, 4)), rng.integers(0, 2, 30)
    simple = serving.export(
        lambda x: x.polyval([1, 2.5]) @ np.eye(4) + serving.dot([x], [np.arange(4)]),
        inputs=serving.InputSpec("x", 4, low=-1),
        name="simple",
        security=None,
    )
    spec = hm.ArraySpec((2, 3), range=(-1, 1))
    integers = hm.ArraySpec((4,), range=(0, 9))
    arrays = hm.compile(lambda x: x * x + x.sum(0), spec, precision_bits=8, security=None)
    exact = hm.compile(lambda x: x + x, integers, scheme="bfv", security=None)
    frame = patients()
    table = hm.compile(lambda t: t.groupby("ward").age.mean(), spec_of(frame), security=None)
    linear = hm.compile(LogisticRegression().fit(rows, labels), calibrate=rows, security=None).package
    eight = np.zeros(8, np.uint8)
    digits = serving.export_integers(
        lambda x: np.where(x < 3, x, x[::-1]) * 5,
        **{"inputs": {"x": eight}, "bits": 8, "preset": "test-exact", "name": "digits"},
    )
    made = {
        "": (simple, np.zeros((1, 4))),
        " of arrays": (arrays.package, np.zeros((1, 2, 3))),
        " of integers": (exact.package, np.zeros((1, 4), np.int64)),
        " of tables": (table.package, frame),
        " of rows": (linear, rows[:1]),
        " of encrypted integers": (digits, eight),
    }

    def reader(values):
        def described(data):
            loaded = serving.Package.load(data)
            loaded.describe()
            with contextlib.suppress(hm.errors.Error):  # of rows that another encoding refuses
                loaded.evaluate_clear(values)

        return described

    found = {
        f"packaged model{name}": Target(bytes(package), reader(values))
        for name, (package, values) in made.items()
    }

    def read_description(data):
        try:
            told = json.loads(data)
        except (ValueError, RecursionError) as error:  # as commands and clients do
            raise hm.errors.FormatError(str(error)) from None
        Interface.from_dict(told).describe()

    for name in (" of arrays", " of tables", " of rows", " of encrypted integers"):
        told = made[name][0].interface.describe()
        found[f"description of a model{name}"] = Target(json.dumps(told).encode(), read_description, "text")
    return found


def _networks():
    """A network with a loop of shapes, constants of several types and an attribute."""
    rng = np.random.default_rng(6)
    constants = {
        "w": rng.normal(size=(3, 2)).astype(np.float32),
        "shape": np.array([0, 2, -1]),
        "axes": np.array([-1]),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("LeakyRelu", ["a"], ["b"], alpha=0.25),
        helper.make_node("Reshape", ["b", "shape"], ["c"]),
        helper.make_node("ReduceSum", ["c", "axes"], ["d"], keepdims=1),
        helper.make_node("Cast", ["d"], ["y"], to=TensorProto.FLOAT),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", 3))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(each, name) for name, each in constants.items()],
    )
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)

    def read(data):
        hm.compile(data, hm.ArraySpec((3,), range=(-1, 1)), precision_bits=6, security=None)

    return {"ONNX network": Target(whole.SerializeToString(), read, "bytes")}


def _tables(folder):
    """Tables of times and of numbers, and bodies of requests."""
    times = DeviceTimes("a", [("add", 4096, 50, 1.0, 1e-6)] * 2, 1e-6, {"version": "0"})
    np.save(folder / "numbers.npy", np.arange(6.0).reshape(2, 3))
    kind, pieces = wire.write_body({"a": b"1234", "keys": bytes(20)})

    def read_body(data):
        wire.read_body(kind, data, "keys")

    return {
        "table of times": Target(
            json.dumps({**vars(times), "least": 0.0}).encode(),
            _of_file(folder / "times.json", DeviceTimes.load),
            "text",
        ),
        "table of numbers": Target(
            (folder / "numbers.npy").read_bytes(), _of_file(folder / "numbers.npy", read_table), "bytes"
        ),
        "table of lines": Target(
            b"a,b\n1,2.5\n-3,4e5\n", _of_file(folder / "numbers.csv", read_table), "bytes"
        ),
        "body of a request": Target(b"".join(pieces), read_body, "bytes"),
    }
