"""The cases by which ONNX's own package tests backends, read and computed by Hemera.

    python python/tests/compiler/onnx_cases.py [--compile] [--chunk I/N] [names]

prints how many are right, refused and wrong: of values in the clear, and of encrypted inputs, with the
program that is recorded (with --compile: the compiled one) in the clear.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

import hemera as hm
from hemera.arrays.array import Array
from hemera.arrays.chains import FusingRecorder
from hemera.compiler.networks.reader import graph_of
from hemera.compiler.networks.tensors import DTYPES, is_real

BITS = 16
MORE_BITS = 28
TOLERANCE = 2.0**-12
"""The allowed error of encrypted results, relative to the largest one, or to 1."""


@dataclass(frozen=True)
class Case:
    """A network with an example of inputs and of the results that it has for them."""

    name: str
    model: onnx.ModelProto
    inputs: Sequence[Any]
    expected: Sequence[Any]
    rtol: float
    atol: float

    @property
    def operators(self):
        """The operators of ONNX's domain."""
        return {each.op_type for each in self.model.graph.node if each.domain in ("", "ai.onnx")}


@dataclass(frozen=True)
class Verdict:
    """What came of a case: "right", "refused" or "wrong"."""

    found: str
    told: str = ""


def cases():
    """All that the installed package has with the network in it."""
    from onnx.backend.test.loader import load_model_tests

    for kind in ("node", "simple", "pytorch-converted", "pytorch-operator"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tests = load_model_tests(kind=kind)
        for test in tests:
            if test.model is not None:
                model, (inputs, outputs) = test.model, test.data_sets[0]
            else:
                folder = Path(test.model_dir)
                model = onnx.load(folder / "model.onnx")
                inputs, outputs = (_stored(folder / "test_data_set_0", each) for each in ("input", "output"))
            yield Case(test.name, model, inputs, outputs, test.rtol, test.atol)


def _stored(folder, kind):
    found = []
    for at in range(len(list(folder.glob(f"{kind}_*.pb")))):
        content = (folder / f"{kind}_{at}.pb").read_bytes()
        try:
            found.append(numpy_helper.to_array(onnx.TensorProto.FromString(content)))
        except Exception:  # sequences and the like, which no operator takes that is there
            found.append(None)
    return found


def judged(case, *, encrypted, compiled=False):
    """The verdict on a case, of plain values, or of encrypted inputs. Where the recorded program has too few
    bits, one with more is judged, and then the compiled one, which has those that were asked for or is
    refused."""
    for bits in (None,) if compiled or not encrypted else (BITS, MORE_BITS, None):
        found = _judged(case, encrypted, bits)
        if found.found != "wrong":
            break
    return found


def _judged(case, encrypted, bits):
    """The verdict with bits of the recorded program; None: of the compiled one."""
    try:
        with np.errstate(all="ignore"):
            found = _encrypted(case, bits) if encrypted else _plain(case)
    except hm.Error as error:
        return Verdict("refused", f"{type(error).__name__}: {error}")
    for (name, own), expected in zip(found.items(), case.expected, strict=True):
        wanted = _held(expected)
        if np.shape(own) != wanted.shape:
            return Verdict("wrong", f"{name}: shape {np.shape(own)} for {wanted.shape}")
        if not _near(np.asarray(own), wanted, _tolerances(case, expected, encrypted)):
            return Verdict("wrong", f"{name}: {np.ravel(own)[:6]} for {np.ravel(wanted)[:6]}")
    return Verdict("right")


def _tolerances(case, expected, encrypted):
    """Relative, and absolute: not below the roundings of the expected type."""
    wanted = _held(expected)
    held = expected.dtype if isinstance(expected, np.ndarray) else wanted.dtype
    own = 2.0**-8 if held.kind not in "biuf" else float(np.finfo(held).eps) if held.kind == "f" else 0.0
    if held.itemsize < 4:
        own *= 3  # the expected result is rounded at each node, ours is not
    if not encrypted:
        return max(case.rtol, own), case.atol
    size = np.abs(wanted[np.isfinite(wanted)].astype(np.float64)).max(initial=1.0)
    return 0.0, max(TOLERANCE, own) * float(size)


def _near(own, expected, tolerances):
    if own.dtype.kind in "biu":
        return bool(own.dtype == expected.dtype and np.array_equal(own, expected))
    rtol, atol = tolerances
    return bool(np.allclose(own, expected.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True))


def _plain(case):
    graph = graph_of(case.model, {})
    return graph.values(_named(graph, case))


def _named(graph, case):
    names = [each.name for each in case.model.graph.input]
    given = dict(zip(names, case.inputs, strict=False))
    return {name: _held(given[name]) for name, _ in graph.inputs}


def _held(value):
    """Numbers as the graph has them: bfloat16 as float32."""
    found = numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
    return found if found.dtype.kind in "biuf" else found.astype(np.float32)


def _encrypted(case, bits):
    """Results of encrypted real numbers, or integers and truth values where there are no others; of the first
    one alone where all are refused. The rest are constants of the network."""
    graph = graph_of(case.model, {})
    values = _named(graph, case)
    real = [name for name in values if is_real(graph.kinds[name])] or list(values)
    try:
        return _of(case, values, real, bits)
    except hm.Error:
        if len(real) == 1:
            raise
        return _of(case, values, real[:1], bits)


def _of(case, values, real, bits):
    bound = onnx.ModelProto.FromString(case.model.SerializeToString())
    for name in set(values) - set(real):
        bound.graph.initializer.append(numpy_helper.from_array(values[name], name))
    graph = graph_of(bound, {})
    given = [values[name].astype(np.float64) for name in real]
    steps = [None if is_real(graph.kinds[name]) else 1.0 for name in real]
    ends = [(float(x.min(initial=np.inf)), float(x.max(initial=-np.inf))) for x in given]

    def run(*arrays):
        return graph.values(dict(zip(real, arrays, strict=True)))

    if bits is None:
        specs = [
            hm.ArraySpec(x.shape, None if kind == "bool" else end, dtype=DTYPES[kind])
            for x, end, kind in zip(given, ends, (graph.kinds[name] for name in real), strict=True)
        ]
        samples = [x[None] for x in given]
        try:
            plan = hm.compile(run, *specs, calibrate=samples, precision_bits=BITS, security=None)
        except TypeError as error:  # of results that depend on no input
            raise hm.errors.ParameterError(str(error)) from error
        found = plan.evaluate_clear(*given)
        return found if isinstance(found, dict) else {next(iter(plan.outputs)): found}
    recorder = FusingRecorder(precision_bits=bits)
    arrays = [
        Array(recorder, recorder.input(name, x.shape, *end, x[None], step), _letter(graph.kinds[name]))
        for name, x, end, step in zip(real, given, ends, steps, strict=True)
    ]
    results = run(*arrays)
    own = {name: each for name, each in results.items() if isinstance(each, Array)}
    recorder.program.outputs = [(name, each._number) for name, each in own.items()]
    try:
        recorder.settle()
    except TypeError as error:  # of comparisons that no later function takes in
        raise hm.errors.ParameterError(str(error)) from error
    found = recorder.program.evaluate_clear([x[None] for x in given])
    return {**results, **{name: each[0] for name, each in zip(own, found, strict=True)}}


def _letter(kind):
    return "f" if is_real(kind) else "b" if kind == "bool" else "i"


def main():
    """Print the counts, and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--all", action="store_true", help="print each verdict")
    parser.add_argument("--chunk", default="1/1", metavar="I/N", help="every Nth case, from the Ith")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    counts = collections.defaultdict(collections.Counter)
    first, step = map(int, options.chunk.split("/"))
    for case in itertools.islice(cases(), first - 1, None, step):
        if options.names and case.name not in options.names:
            continue
        for encrypted in (False, True):
            start = time.perf_counter()
            verdict = judged(case, encrypted=encrypted, compiled=options.compile)
            seconds = time.perf_counter() - start
            kind = "encrypted" if encrypted else "in the clear"
            counts[kind][verdict.found] += 1
            if options.all or verdict.found == "wrong":
                print(f"{verdict.found} {kind} {case.name} {seconds:.2f} s {verdict.told}", flush=True)
    for kind, own in counts.items():
        print(f"{kind}: {dict(own)} of {sum(own.values())}")


if __name__ == "__main__":
    main()
