"""An element in each ciphertext, whose slots are samples: NumPy's results, and when it is chosen."""

import numpy as np
import pytest

import hemera as hm
from hemera.arrays import conv
from hemera.compiler.costs import CostModel
from hemera.errors import FormatError, LevelError, MismatchError, ParameterError
from hemera.package.encodings import Arrays
from hemera.program.expected_noise import ExpectedNoise
from hemera.program.operations import Bootstraps, MatrixRows
from hemera.program.values import Form
from hemera.serving import Package

from ..arrays.programs import listed
from ..refusals import raises

RNG = np.random.default_rng(34)
Spec = hm.ArraySpec
SAMPLES = 512
FIRST, BIAS = RNG.normal(size=(12, 9)) / 4, RNG.normal(size=9)
SECOND = RNG.normal(size=(9, 5)) / 3
KERNEL = RNG.uniform(-1, 1, (3, 2, 2, 2)) / 4


def insecure(depth):
    """With 512 slots."""
    return hm.ckks.Parameters.for_circuit(depth, scale_bits=40, range_bits=10, degree=1024, security=None)


def compiled(program, *shapes, **options):
    """With an element in each ciphertext."""
    given = {"samples": SAMPLES, "params": insecure(3), "layout": "ciphertexts", **options}
    return hm.compile(program, *(Spec(shape, (-1, 1)) for shape in shapes or [(12,)]), **given)


def perceptron(x):
    hidden = x @ FIRST + BIAS
    return (hidden * hidden) @ SECOND


def bits_of(found, wanted):
    return float(-np.log2(np.abs(found - wanted).max() / np.abs(wanted).max()))


PROGRAMS = {
    "perceptron": ((12,), perceptron),
    "tokens": ((4, 12), lambda x: x @ FIRST + BIAS),
    "features first": ((12, 4), lambda x: FIRST.T @ x + BIAS[:, None]),
    "moments": ((12,), lambda x: {"mean": x.mean(), "centred": x - x.mean(), "sum": x.sum()}),
    "places": ((3, 4), lambda x: [np.roll(x, 1), x.T, x[::-1, 1:], np.pad(x, 1)]),
    "factors": ((9,), lambda x: np.arange(9.0) * x - 3 * x + 1),
    "functions": ((6,), lambda x: np.exp(x) @ FIRST[:6]),
    "encrypted matrices": ((3, 4), lambda x: x @ x.T),
    "convolution": ((2, 4, 4), lambda x: conv(x, KERNEL, np.arange(3.0))),
    "padded convolution": ((2, 4, 4), lambda x: conv(x, KERNEL, padding=1)),
    "number": ((), lambda x: 3 * x * x + 1),
    "constants": ((3,), lambda x: [0 * x + np.arange(3.0), x @ FIRST[:3]]),
    "squares": ((3, 4), lambda x: (x * x).mean(1) + 1),
    "sums of equal products": ((4,), lambda x: [(x * x[::-1]).sum(), x * x[::-1]]),
    "two maps": ((12,), lambda x: np.concatenate([x @ FIRST, x[:2] * x[1:3] @ SECOND[:2]])),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_sample_has_numpys_results(name):
    shape, program = PROGRAMS[name]
    plan = compiled(program, shape, params=insecure(8))
    assert (plan.layout, plan.samples, plan.layout_seconds) == ("ciphertexts", SAMPLES, {})
    assert "an element in each ciphertext" in plan.report()
    assert [each.shape for each in plan.package.inputs] == [(int(np.prod(shape)),)]
    local = plan.local(threads=1)
    for count in (1, SAMPLES + 3):
        x = RNG.uniform(-1, 1, (count, *shape))
        wanted = [listed(program(each)) for each in x]
        for found, atol in ((local(x), 2.0**-16), (plan.evaluate_clear(x), 2.0**-16)):
            for at, own in enumerate(listed(found)):
                expected = np.stack([each[at] for each in wanted])
                assert own.shape == expected.shape
                np.testing.assert_allclose(own, expected, rtol=0, atol=atol * max(1, np.abs(expected).max()))


@pytest.mark.parametrize(("precision_bits", "weights"), [(6, 8), (14, 16), (16, 32), (24, 32)])
def test_results_have_the_stated_bits(precision_bits, weights):
    plan = compiled(perceptron, precision_bits=precision_bits)
    matrices = [each.operation for each in plan.package._program.nodes]
    assert {each.bits for each in matrices if isinstance(each, MatrixRows)} == {weights}
    x = RNG.uniform(-1, 1, (SAMPLES, 12))
    wanted = perceptron(x)
    error = plan.local(threads=1)(x) - wanted
    assert bits_of(error + wanted, wanted) > precision_bits
    noise = ExpectedNoise(plan.package._program, plan.params)
    expected = plan.package.evaluate_clear(x, noise=noise) - wanted
    assert np.sqrt(np.mean(error**2)) == pytest.approx(np.sqrt(np.mean(expected**2)), rel=0.15)
    assert plan.check(x[:4], encrypted=4, threads=1).bits == pytest.approx(plan.expected_bits(x[:4]), abs=2.5)


def test_a_full_batch_has_an_element_in_each_ciphertext():
    plan = hm.compile(perceptron, Spec((12,), (-1, 1)), samples=8192)
    assert plan.layout == "ciphertexts"
    assert plan.samples == plan.params.max_slots == 8192
    assert plan.layout_seconds["ciphertexts"] < plan.layout_seconds["slots"]
    assert f"{plan.layout_seconds['slots']:.2g} s with elements in slots" in plan.report()
    assert not plan.package.interface.keys.rotations
    x = RNG.uniform(-1, 1, (8192, 12))
    assert bits_of(plan.local(threads=1)(x), perceptron(x)) > 16


def test_a_small_batch_has_elements_in_slots():
    plan = hm.compile(perceptron, Spec((12,), (-1, 1)), samples=64)
    assert (plan.layout, plan.layout_seconds) == ("slots", {})
    assert plan.package.interface.keys.rotations
    assert "not possible: an element in each ciphertext: 64 samples fill too few of the" in plan.report()
    with pytest.raises(ParameterError, match="64 samples fill too few of the 8192 slots; at least 4096"):
        hm.compile(perceptron, Spec((12,), (-1, 1)), samples=64, layout="ciphertexts")
    half = {"samples": 256, "params": insecure(3)}
    assert hm.compile(perceptron, Spec((12,), (-1, 1)), **half).layout == "ciphertexts"
    half["samples"] = 128
    assert hm.compile(perceptron, Spec((12,), (-1, 1)), **half).layout == "slots"


def test_the_layout_of_less_time_is_chosen(monkeypatch):
    options = {"samples": 256, "params": insecure(3)}
    seconds = iter([1.0, 2.0, 2.0, 1.0])
    monkeypatch.setattr("hemera.compiler.candidates.Found.seconds", lambda *_: next(seconds))
    monkeypatch.setattr("hemera.compiler.parameter_search.Search.seconds_at_least", lambda *_: 0.5)
    plan = hm.compile(perceptron, Spec((12,), (-1, 1)), **options)
    assert (plan.layout, plan.layout_seconds) == ("ciphertexts", {"ciphertexts": 1.0, "slots": 2.0})
    plan = hm.compile(perceptron, Spec((12,), (-1, 1)), **options)
    assert (plan.layout, plan.layout_seconds) == ("slots", {"ciphertexts": 2.0, "slots": 1.0})


def test_bootstraps_are_of_all_samples():
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    turn = np.linalg.qr(RNG.normal(size=(4, 4)))[0]

    def long(x):
        x = x + (x * x[::-1]).sum() / 8 if x.ndim == 1 else x + (x * x[:, ::-1]).sum(1, keepdims=True) / 8
        for _ in range(8):
            x = 0.7 * (x @ turn) + 0.2 * x * x
        return x

    x = RNG.uniform(-1, 1, (params.max_slots, 4))
    options = {"samples": params.max_slots, "params": params, "precision_bits": 10}
    plan = compiled(long, (4,), calibrate=x[:200], **options)
    program = plan.package.program
    bootstraps = [node for node in program.nodes if isinstance(node.operation, Bootstraps)]
    assert len(bootstraps) == 1
    assert program.forms[bootstraps[0].operands[0]].shape == (4,)
    largest = max(np.abs(long(x)).max(), 0.5)
    assert largest <= bootstraps[0].operation.magnitude <= 4
    assert "sums of products" in program.operations
    assert bootstraps[0].operation.real
    assert "1 bootstrap, placed by" in plan.report()
    bits = bits_of(plan.local(threads=1)(x), long(x))
    assert bits > 10
    assert bits == pytest.approx(plan.expected_bits(x[:64]), abs=2.5)


def test_larger_matrices_take_longer():
    model = CostModel(insecure(3), 3, 0, "cpu-avx512-16")
    form = Form(SAMPLES, (12,))
    seconds = [
        model.of(MatrixRows(RNG.normal(size=shape), np.arange(shape[1])[:, None], bits), [form])(3)
        for shape, bits in (((2, 12), 16), ((20, 12), 16), ((200, 12), 16), ((200, 12), 32))
    ]
    assert seconds == sorted(seconds)
    assert len(set(seconds)) == 4


def test_sums_of_products_are_relinearized_once():
    plan = compiled(lambda x: x @ x.T, (3, 4))
    operations = plan.package.program.operations
    assert operations["sums of products"] == 1
    assert "multiply" not in operations
    assert "power" not in operations
    counted = plan.cost().report()
    assert "9 products with keys" in counted  # of 3 x 3 entries, of 4 products each
    # Products that others take too are computed once.
    both = compiled(lambda x: [(x * x[::-1]).sum(), x * x[::-1]], (4,))
    assert both.package.program.operations["multiply"] == 1
    assert "dot" not in both.package.program.operations


def test_programs_without_matrices_stay_in_slots():
    plan = compiled(lambda x: x * x + 1, (2,), layout="auto")
    assert plan.layout == "slots"


BATCHES = {
    # The shape of the input, that of the results of a sample's program, and the program.
    "X @ W": ((700, 12), (9,), lambda x: x @ FIRST + BIAS),
    "W @ X": ((12, 700), (9,), lambda x: FIRST.T @ x + BIAS[:, None]),
    "perceptron": ((600, 12), (5,), perceptron),
    "transposed": ((600, 12), (9,), lambda x: (x @ FIRST).T),
    "tokens": ((300, 2, 12), (2, 9), lambda x: x @ FIRST),
}


@pytest.mark.parametrize("name", BATCHES)
def test_samples_along_an_axis_of_the_array(name):
    shape, one, program = BATCHES[name]
    plan = compiled(program, shape, samples=1)
    assert (plan.layout, plan.samples) == ("ciphertexts", SAMPLES)
    assert plan.package._interface.outputs[0].shape == (int(np.prod(one)),)
    x = RNG.uniform(-1, 1, shape)
    found = plan.local(threads=1)(x)
    wanted = program(x)
    assert found.shape == wanted.shape
    assert bits_of(found, wanted) > 16
    assert bits_of(found, wanted) == pytest.approx(plan.expected_bits(x[np.newaxis]), abs=2)
    agreement = plan.check(x[np.newaxis], threads=1)
    assert agreement.bits > 16
    assert agreement.clear_error < 1e-12


def test_samples_that_meet_stay_in_slots():
    for program in (
        lambda x: (x - x.mean(0)) @ FIRST,
        lambda x: np.roll(x, 1, axis=0) @ FIRST,
        lambda x: x @ FIRST + np.arange(600.0)[:, None] / 600,
        lambda x: np.arange(600.0)[:, None] / 600 * x @ FIRST,
        lambda x: x[:599] @ FIRST,
    ):
        plan = hm.compile(program, Spec((600, 12), (-1, 1)), params=insecure(4))
        assert plan.layout == "slots"
        with pytest.raises(ParameterError, match="not do the same with each sample along an axis"):
            hm.compile(program, Spec((600, 12), (-1, 1)), params=insecure(4), layout="ciphertexts")
    few = hm.compile(lambda x: x @ FIRST, Spec((100, 12), (-1, 1)), params=insecure(3))
    assert few.layout == "slots"


def test_arrays_with_values_take_the_best_way():
    x = RNG.uniform(-1, 1, (4096, 12))
    encrypted = hm.array(x, range=(-1, 1))
    plan = hm.compile(encrypted @ FIRST + BIAS)
    assert plan.layout == "ciphertexts"
    assert not plan.package.interface.keys.count  # neither rotations nor relinearization
    found = (encrypted @ FIRST + BIAS).decrypt(threads=1)
    assert bits_of(found, x @ FIRST + BIAS) > 16
    turned = (FIRST.T @ hm.array(x.T, range=(-1, 1))).decrypt(threads=1)
    assert bits_of(turned, FIRST.T @ x.T) > 16
    twice = hm.compile(hm.array(np.concatenate([x, x]), range=(-1, 1)) @ FIRST)
    assert (twice.layout, twice.samples) == ("ciphertexts", 4096)
    counted = twice.package.cost(2, device="cpu-avx512-16").seconds
    assert twice.layout_seconds["ciphertexts"] == pytest.approx(counted)
    small = hm.array(x[:64], range=(-1, 1)) @ FIRST
    assert hm.compile(small).layout == "slots"
    assert bits_of(small.decrypt(threads=1), x[:64] @ FIRST) > 16


def test_several_inputs():
    def program(a, b):
        return {"sum": a @ FIRST[:3] + b @ FIRST[:5], "product": a[:, :2] * b[:, :2]}

    specs = Spec((600, 3), (-1, 1), "a"), Spec((600, 5), (0, 2), "b")
    plan = hm.compile(program, *specs, params=insecure(3), layout="ciphertexts")
    a, b = RNG.uniform(-1, 1, (600, 3)), RNG.uniform(0, 2, (600, 5))
    found, wanted = plan.local(threads=1)(a, b), program(a, b)
    for name, value in wanted.items():
        assert bits_of(found[name], value) > 16
    raises(MismatchError, "samples", lambda: plan.evaluate_clear(a, b[:599]))
    raises(MismatchError, r"\(samples, 5\)", lambda: plan.evaluate_clear(a, b[:, :4]))
    raises(ParameterError, "b: the model is for values from 0", lambda: plan.evaluate_clear(a, b - 1))


def test_files_keep_the_layout(tmp_path):
    program = BATCHES["W @ X"][2]
    plan = compiled(program, (12, 700), samples=1)
    path = tmp_path / "model"
    plan.save(path)
    again = Package.load(path)
    x = RNG.uniform(-1, 1, (12, 700))
    np.testing.assert_array_equal(again.evaluate_clear(x), plan.evaluate_clear(x))
    encoding = again.interface.encoding
    assert isinstance(encoding, Arrays)
    assert encoding == plan.package.interface.encoding
    raises(MismatchError, r"\(12, samples\)", again.evaluate_clear, x.T)
    data = encoding.to_data()
    assert data["inputs"][0] == {"sample": [12], "samples": 512, "axis": 1}
    for wrong in ({"samples": 500}, {"axis": 2}, {"axis": -1}, {"sample": [0]}, {"samples": 1}):
        changed = {**data, "inputs": [{**data["inputs"][0], **wrong}]}
        raises(FormatError, "", Arrays.from_data, changed)


def test_refusals_name_the_way_out():
    spec = Spec((12,), (-1, 1))
    options = {"samples": SAMPLES, "layout": "ciphertexts"}
    with pytest.raises(ParameterError, match='take layout="slots" with share=True'):
        hm.compile(perceptron, spec, share=True, **options)
    with pytest.raises(ParameterError, match="results have at most 30 bits"):
        hm.compile(perceptron, spec, params=insecure(3), precision_bits=31, **options)
    raises(LevelError, "", lambda: hm.compile(perceptron, spec, params=insecure(2), **options))
    with pytest.raises(ParameterError, match="auto"):
        hm.compile(perceptron, spec, layout="rows")
    with pytest.raises(ParameterError, match="elements lie in slots"):
        hm.compile(lambda x: x + 1, Spec((12,), (0, 1)), scheme="bfv", layout="slots")
    with pytest.raises(ParameterError, match="would take 5000 ciphertexts"):
        hm.compile(lambda x: x + 1, Spec((5000,), (0, 1)), params=insecure(2), **options)


def test_layers_of_whole_numbers_are_exact():
    """Matrices that are multiples of small integers are not rounded, whatever precision is asked for."""
    whole = RNG.integers(-9, 10, (12, 7)) * 0.1
    whole[0, 0] = 0.1

    params = hm.ckks.Parameters.for_circuit(2, scale_bits=50, degree=1024, security=None)
    for largest, exact in ((127, True), (128, False)):
        whole[1, 1] = largest * 0.1
        plan = compiled(lambda x: x @ whole, params=params, precision_bits=20)
        kinds = [each.operation for each in plan.package.program.nodes]
        assert [each.is_whole for each in kinds if isinstance(each, MatrixRows)] == [exact]
    whole[1, 1] = 0
    plan = compiled(lambda x: x @ whole, params=params, precision_bits=34)
    assert plan.depth == 1
    x = RNG.uniform(-1, 1, (SAMPLES, 12))
    assert bits_of(plan.local(threads=1)(x), x @ whole) > 34
