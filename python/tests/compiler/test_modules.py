"""Modules of PyTorch without PyTorch: what its export is given and what it leaves, by a stand-in."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.compiler.networks.reader import compile_module
from hemera.errors import MismatchError, ParameterError

from .onnx_models import model, node


class Tensor:
    def __init__(self, values: Any) -> None:
        self.values = values

    def double(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.values


class Layer:
    factor = -1.0

    def __init__(self, training: bool, *inner: Layer) -> None:
        self.training, self.inner = training, inner

    def __call__(self, x: Tensor, *_: Tensor) -> Any:
        return {"y": (Tensor(self.factor * x.values),), "no tensor": None}

    def modules(self) -> Iterator[Layer]:
        yield self
        for each in self.inner:
            yield from each.modules()

    def train(self, mode: bool = True) -> Layer:
        for each in self.modules():
            each.training = mode
        return self

    def eval(self) -> Layer:
        return self.train(False)


class ExportError(Exception):
    pass


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The shapes that are exported. A layer of three others can not be."""
    shapes: list[Any] = []

    def export(what: Layer, examples: Any, **_: Any) -> Any:
        assert not any(each.training for each in what.modules())
        shapes.append([each.shape for each in examples])
        if len(what.inner) == 3:
            raise ExportError("no such layer")
        return SimpleNamespace(model_proto=model([node("Neg", ["x"], ["y"])], shape=examples[0].shape))

    errors = SimpleNamespace(OnnxExporterError=ExportError)
    onnx = SimpleNamespace(export=export, errors=errors)
    torch = SimpleNamespace(zeros=np.zeros, onnx=onnx, Tensor=Tensor, as_tensor=Tensor, no_grad=nullcontext)
    found = {"torch": torch, "onnxscript": None}
    real = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", lambda name: found[name] if name in found else real(name))
    return shapes


SAMPLES = np.linspace(-1, 1, 40).reshape(10, 4)


@pytest.mark.parametrize("frozen", [2, 3])
@pytest.mark.parametrize("training", [True, False])
def test_each_layer_is_left_in_its_mode(training: bool, frozen: int, exported: list[Any]) -> None:
    """A frozen normalisation in a network that is trained, and the other way round; also after a failure."""
    module = Layer(training, *(Layer(not training, Layer(training)) for _ in range(frozen)))
    before = [each.training for each in module.modules()]
    if frozen == 3:
        with pytest.raises(ParameterError, match="Layer can not be exported to ONNX: no such layer"):
            compile_module(module, calibrate=SAMPLES)
    else:
        plan = compile_module(module, calibrate=SAMPLES, security=None)
        np.testing.assert_allclose(plan.evaluate_clear(SAMPLES[3]), -SAMPLES[3])
        assert plan.package.name == "Layer"
        assert compile_module(module, calibrate=SAMPLES, security=None, name="own").package.name == "own"
    assert [each.training for each in module.modules()] == before
    assert exported[0] == [(1, 4)]


@pytest.mark.parametrize(("factor", "taken"), [(-1 - 2.0**-7, True), (-1 - 2.0**-5, False), (1.0, False)])
def test_an_export_with_other_results_is_refused(factor: float, taken: bool, exported: list[Any]) -> None:
    """As those of PyTorch that leave the divisor of a pool out; but for roundings of half precision."""
    module = Layer(False)
    module.factor = factor
    spec = hm.ArraySpec((4,), (3, 8), step=0.5)
    for options in ({"calibrate": SAMPLES}, {}):
        with nullcontext() if taken else pytest.raises(ParameterError, match="'y' is not the module's"):
            compile_module(module, *([] if options else [spec]), security=None, **options)
    negated = {"Neg": lambda x: -x}  # the user says what the operator stands for
    assert compile_module(module, spec, replace=negated, security=None).evaluate_clear([3.0] * 4)[0] == -3
    assert len(exported) == 3


@pytest.mark.parametrize("count", [2, 40])
def test_an_export_is_compared_by_several_samples(count: int, exported: list[Any]) -> None:
    """At 0, as of a blank image, x and -x are the same."""
    module = Layer(False)
    module.factor = 1.0
    samples = np.zeros((count, 4))
    samples[-1] = 1
    with pytest.raises(ParameterError, match="'y' is not the module's"):
        compile_module(module, calibrate=samples, security=None)
    module.factor = -1.0
    assert (compile_module(module, calibrate=samples, security=None).evaluate_clear(samples[-1]) < 0).all()
    assert len(exported) == 2


class Beside(Layer):
    """A layer that adds what the other samples are less this one: nothing, where there are none."""

    def __call__(self, x: Tensor, *_: Tensor) -> Any:
        return Tensor(x.values.mean(0) - 2 * x.values)


class Alone(Layer):
    """A layer for one sample alone."""

    def __call__(self, x: Tensor, *_: Tensor) -> Any:
        (row,) = x.values
        return Tensor(-row[np.newaxis])


def test_a_module_that_brings_samples_together_is_refused(exported: list[Any]) -> None:
    for made in (Beside(False), Alone(False)):
        with (
            pytest.raises(ParameterError, match="'y' of a sample depends on the samples beside it")
            if isinstance(made, Beside)
            else nullcontext()
        ):
            compile_module(made, calibrate=SAMPLES, security=None)
    assert len(exported) == 2


def test_shapes_are_of_inputs_or_of_samples(exported: list[Any]) -> None:
    compile_module(Layer(False), hm.ArraySpec((4,), (-1, 1)), security=None)
    compile_module(Layer(False), np.zeros(4), calibrate=[SAMPLES], security=None)
    assert exported == [[(1, 4)]] * 2
    with pytest.raises((MismatchError, ParameterError)):
        compile_module(Layer(False), calibrate=(SAMPLES, SAMPLES[:, :2]))
    assert exported[2] == [(1, 4), (1, 2)]
    with pytest.raises(ParameterError, match="needs the shapes of its inputs: give calibrate="):
        compile_module(Layer(False))


@pytest.mark.parametrize("name", ["torch", "onnxscript"])
def test_packages_that_are_missing_are_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(wanted: str) -> Any:
        if wanted == name:
            raise ImportError(wanted)
        return None

    monkeypatch.setattr(importlib, "import_module", load)
    with pytest.raises(ParameterError, match=f"modules of PyTorch need the package {name}: "):
        compile_module(Layer(False), calibrate=SAMPLES)
