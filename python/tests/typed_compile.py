"""What a type checker knows of `hm.compile`: read by mypy (test_examples), and not run."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import hemera as hm
from hemera.compiler.tables.compiled import CompiledTable, LocalTable


def function(x: Any) -> Any:
    return x + 1


def of_functions(samples: NDArray[np.float64]) -> None:
    assert_type(hm.compile(function, hm.ArraySpec((8,), range=(0, 1))), hm.compiler.Compiled)
    assert_type(
        hm.compile(lambda x: x, hm.ArraySpec(8, range=(0, 1)), precision_bits=9), hm.compiler.Compiled
    )
    assert_type(hm.compile(lambda x: x, samples[0], calibrate=samples), hm.compiler.Compiled)
    assert_type(hm.compile(function, hm.ArraySpec(8, range=(0, 1)), upload_limit=10**9), hm.compiler.Compiled)
    assert_type(hm.compile(np.median, samples[0], calibrate=samples).outputs, dict[str, tuple[int, ...]])


def of_others(spec: hm.TableSpec, samples: NDArray[np.float64]) -> None:
    assert_type(hm.compile(lambda t: t.age.mean(), spec), CompiledTable)
    assert_type(hm.compile(lambda t: t.age.mean(), spec).local(), LocalTable)
    assert_type(hm.compile("network.onnx", calibrate=samples), hm.compiler.Compiled)
    x = hm.array(samples, range=(0, 1))
    assert_type(hm.compile({"mean": x}), hm.compiler.Compiled)
    assert_type(hm.compile([x, x]), hm.compiler.Compiled)


def of_operators(x: hm.Ciphertext, values: NDArray[np.int64]) -> None:
    """Operands are numbers and arrays; an unused comment of these is an error, too."""
    assert_type(2 * (x + 1.5) * values - [0.5, 1], hm.Ciphertext)
    x * "a"  # type: ignore[operator]
    x - {"a": 1}  # type: ignore[operator]
    x.rotat(1)  # type: ignore[attr-defined]
    x.dot("a")  # type: ignore[arg-type]
