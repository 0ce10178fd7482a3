"""Which layout programs of many samples take by themselves: the one of the least counted time, found soon."""

import numpy as np
import pytest

import hemera as hm
from hemera.compiler.layouts import Samples
from hemera.compiler.parameter_search import Search
from hemera.errors import ParameterError
from hemera.package.encodings import Arrays

RNG = np.random.default_rng(43)
Spec = hm.ArraySpec
TOKENS, FEATURES, SLOTS = 4, 6, 512
SHAPE = TOKENS, FEATURES
SQUARE, NARROW = RNG.normal(size=(FEATURES, FEATURES)) / 4, RNG.normal(size=(FEATURES, 3)) / 3
NAMES = {"ciphertexts": "an element in each ciphertext", "sequences": "tokens and samples in slots"}


def insecure(depth):
    """With 512 slots."""
    return hm.ckks.Parameters.for_circuit(depth, scale_bits=40, range_bits=10, degree=1024, security=None)


def attention(x):
    scores = np.exp((x @ SQUARE) @ x.T / 8)
    return (scores @ (x @ NARROW)) / scores.sum(-1, keepdims=True)


def layer(x):
    return np.tanh(x @ NARROW)


def differences(x):
    return (x[1:] - x[:-1]) @ NARROW


def compiled(program, *specs, **options):
    given = {"samples": SLOTS // TOKENS, "params": insecure(12), "precision_bits": 14, **options}
    return hm.compile(program, *(specs or (Spec(SHAPE, (-1, 1)),)), **given)


def require_numpys(plan, program, count, shape=SHAPE):
    x = RNG.uniform(-1, 1, (count, *shape))
    wanted = np.stack([program(each) for each in x])
    for found in (plan.local(threads=1)(x), plan.evaluate_clear(x)):
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2.0**-12)


@pytest.mark.parametrize("program", [attention, layer])
def test_sequences_are_taken_where_they_are_faster(program):
    plan, named = compiled(program), compiled(program, layout="sequences")
    assert plan.layout == named.layout == "sequences"
    assert plan.layout_seconds["sequences"] == pytest.approx(
        plan.package.cost(1, device="cpu-avx512-16").seconds
    )
    assert plan.layout_seconds["sequences"] < plan.layout_seconds["slots"]
    assert (named.layout_seconds, plan.samples) == ({}, SLOTS // TOKENS)
    line = f"{NAMES['sequences']}: about {plan.layout_seconds['sequences']:.2g} s, and at least "
    assert f"{line}{plan.layout_seconds['slots']:.2g} s with elements in slots" in plan.report()
    require_numpys(plan, program, SLOTS // TOKENS + 3)
    # The same program as by name.
    x = RNG.uniform(-1, 1, (5, *SHAPE))
    np.testing.assert_array_equal(plan.evaluate_clear(x), named.evaluate_clear(x))
    assert plan.package.interface.encoding == named.package.interface.encoding
    assert plan.package.program.operations == named.package.program.operations
    assert plan.package.interface.keys == named.package.interface.keys
    assert plan.expected_bits(x) == pytest.approx(named.expected_bits(x), abs=1)


def test_slots_are_taken_where_they_are_faster():
    """Functions of sequences that fill half of the slots take twice as long, here most of the time."""

    def program(x):
        return np.tanh(np.tanh(x)) @ NARROW[:4]

    plan = hm.compile(program, Spec((4, 4), (-1, 1)), samples=1024, precision_bits=14)
    assert plan.layout == "slots"
    assert plan.layout_seconds["slots"] < plan.layout_seconds["sequences"]
    assert plan.layout_seconds["slots"] == pytest.approx(plan.package.cost(1, device="cpu-avx512-16").seconds)
    assert f"s with {NAMES['sequences']}" in plan.report()
    assert "at least" not in plan.report().split("not possible")[0]
    assert "not possible: matrices as pairs: the function is none of two" in plan.report()
    named = hm.compile(program, Spec((4, 4), (-1, 1)), samples=1024, precision_bits=14, layout="slots")
    assert plan.package.program.operations == named.package.program.operations
    x = RNG.uniform(-1, 1, (3, 4, 4))
    np.testing.assert_allclose(plan.evaluate_clear(x), [program(each) for each in x], atol=2.0**-12)
    full = hm.compile(program, Spec((4, 4), (-1, 1)), samples=2048, precision_bits=14)
    assert full.layout == "sequences"


def test_what_sequences_refuse_takes_another_layout():
    plan = compiled(differences)
    assert (plan.layout, plan.layout_seconds) == ("slots", {})
    require_numpys(plan, differences, 5)
    many = compiled(differences, samples=SLOTS)
    assert (many.layout, "sequences" in many.layout_seconds) == ("ciphertexts", False)
    require_numpys(many, differences, 5)
    assert compiled(lambda x: x @ x.T).layout == "slots"  # a result of two axes of tokens
    with pytest.raises(ParameterError, match="tokens meet otherwise"):
        compiled(differences, layout="sequences")


@pytest.mark.parametrize("device", ["cpu-avx512-16", "nvidia-h200"])
def test_an_element_in_each_ciphertext_is_compared_too(device):
    """Samples that fill the slots by themselves."""
    for program in (attention, layer):
        plan = compiled(program, samples=SLOTS, device=device)
        seconds = plan.layout_seconds
        assert {"ciphertexts", "sequences"} <= set(seconds)
        assert plan.layout == min(seconds, key=seconds.__getitem__)
        for name, words in NAMES.items():
            own = hm.compile(
                program,
                Spec(SHAPE, (-1, 1)),
                samples=SLOTS,
                params=insecure(12),
                precision_bits=14,
                device=device,
                layout=name,
            )
            requests = SLOTS // own.samples
            assert seconds[name] == pytest.approx(own.package.cost(requests, device=device).seconds)
            assert words in plan.report()
        require_numpys(plan, program, 3)


def test_inputs_without_tokens_are_given_as_they_are():
    """Clients give and get the same arrays, whatever the layout is."""

    def program(x, shift):
        return np.tanh(x @ NARROW + shift)

    specs = Spec(SHAPE, (-1, 1)), Spec((3,), (-1, 1), "shift")
    plan = compiled(program, *specs)
    encoding = plan.package.interface.encoding
    assert isinstance(encoding, Arrays)
    assert [each.to_data()["tokens"] for each in encoding.inputs] == [0, None]
    slots = compiled(program, *specs, layout="slots")
    x, shift = (RNG.uniform(-1, 1, (7, *spec.shape)) for spec in specs)
    wanted = np.stack([program(*each) for each in zip(x, shift, strict=True)])
    for own in (plan, slots):
        np.testing.assert_allclose(own.local(threads=1)(x, shift), wanted, atol=2.0**-12)


@pytest.mark.parametrize(
    ("program", "shape", "options"),
    [
        (layer, SHAPE, {"samples": 32}),  # a quarter of the slots
        (layer, SHAPE, {"samples": 64, "params": None}),  # of those of the smallest ring
        (layer, SHAPE, {"samples": 512, "params": None}),  # of those that the function needs
        (lambda x: x @ NARROW[:5, :2], (128, 5), {"samples": 1}),
        (lambda x: np.tanh(x), (4,), {}),  # tokens of one number
        (lambda x: x @ NARROW, (3, FEATURES), {}),
        (lambda x: np.tanh(x), (), {}),
        (lambda x: x @ NARROW, SHAPE, {"share": True, "params": None}),
        (layer, SHAPE, {"layout": "slots"}),
    ],
)
def test_hopeless_programs_are_not_tried(program, shape, options, monkeypatch):
    def tried(*_, **__):
        pytest.fail("sequences were planned")

    monkeypatch.setattr(Samples, "in_sequences", tried)
    assert compiled(program, Spec(shape, (-1, 1)), **options).layout == "slots"


def test_half_of_the_slots_is_enough(monkeypatch):
    tried, plan_of = [], Samples.in_sequences

    def watched(self, **options):
        tried.append(self.count)
        return plan_of(self, **options)

    monkeypatch.setattr(Samples, "in_sequences", watched)
    for samples in (32, 64):
        compiled(layer, samples=samples)
    without_layer = compiled(lambda x: np.tanh(x) + 1)
    assert tried == [64, 128]
    assert (without_layer.layout, without_layer.layout_seconds) == ("slots", {})


def test_slots_are_planned_only_where_they_may_be_faster(monkeypatch):
    planned, plan_of = [], Search.chosen

    def watched(self, *given):
        planned.append(self.samples)
        return plan_of(self, *given)

    monkeypatch.setattr(Search, "chosen", watched)
    for bound, expected in ((1e-9, [128]), (1e9, [])):
        planned.clear()
        monkeypatch.setattr(Search, "seconds_at_least", lambda *_, bound=bound: bound)
        plan = compiled(layer)
        assert (plan.layout, planned) == ("sequences", expected)
        assert (plan.layout_seconds["slots"] == bound) == (not expected)
    # Where slots are taken, they are planned once.
    planned.clear()
    seconds = iter([2.0, 1.0])
    monkeypatch.setattr("hemera.compiler.candidates.Found.seconds", lambda *_: next(seconds))
    monkeypatch.setattr(Search, "seconds_at_least", lambda *_: 0.5)
    plan = compiled(layer)
    assert (plan.layout, plan.layout_seconds) == ("slots", {"sequences": 2.0, "slots": 1.0})
    assert planned == [128]
    require_numpys(plan, layer, 3)


@pytest.mark.parametrize(
    ("program", "params"),
    [
        (layer, insecure(12)),
        (attention, insecure(20)),
        (layer, None),
        (lambda x: x @ SQUARE + np.roll(x, 1), hm.ckks.Parameters.for_bootstrapping("test-40")),
    ],
)
def test_bounds_of_slots_are_below_their_times(program, params):
    plan = compiled(program, layout="slots", params=params, samples=32)
    search = Search(plan._lowered.cut.whole, 32, 14, 128, "cpu-avx512-16", params=params)
    for requests in (1, 5):  # several take less than one after the other
        counted = plan.package.cost(requests, device="cpu-avx512-16").seconds
        assert counted is not None
        assert 0.2 * counted < search.seconds_at_least(requests) <= 1.1 * counted


def test_arrays_that_are_too_large_for_slots_lie_in_sequences():
    """With 256 samples 12,000 elements would take 6,000 ciphertexts of 512 slots."""
    wide = RNG.normal(size=(FEATURES, 3000))
    plan = compiled(lambda x: ((x @ wide) ** 2).mean(-1), samples=256, params=insecure(3))
    assert (plan.layout, set(plan.layout_seconds)) == ("sequences", {"sequences"})
    x = RNG.uniform(-1, 1, (2, *SHAPE))
    np.testing.assert_allclose(plan.evaluate_clear(x), ((x @ wide) ** 2).mean(-1), atol=2.0**-8)
    with pytest.raises(ParameterError, match="would take 6000 ciphertexts"):
        compiled(lambda x: ((x @ wide) ** 2).mean(-1), samples=256, params=insecure(3), layout="slots")


def test_products_of_tokens_alone_are_tried():
    """Without a plain matrix."""
    plan = compiled(lambda x, y: (x @ y.T) @ y, *[Spec(SHAPE, (-1, 1))] * 2, params=insecure(4))
    assert plan.layout == "sequences"
    x, y = (RNG.uniform(-1, 1, (3, *SHAPE)) for _ in range(2))
    np.testing.assert_allclose(plan.evaluate_clear(x, y), x @ np.swapaxes(y, 1, 2) @ y, atol=2.0**-10)


def product(x, y):
    return x @ y


COUNTED = [
    (layer, SLOTS // TOKENS, SHAPE, {"sequences": 1, "slots": 1}),
    (layer, 2 * SLOTS // TOKENS, SHAPE, {"sequences": 2, "slots": 1, "ciphertexts": 1}),
    (layer, SLOTS, SHAPE, {"sequences": 4, "slots": 1, "ciphertexts": 1}),
    # Samples along an axis, of which a ciphertext has 64 of 8 slots.
    (layer, 1, (2 * SLOTS, FEATURES), {"ciphertexts": 2, "slots": 16}),
    (layer, 1, (2 * SLOTS + 1, FEATURES), {"ciphertexts": 3, "slots": 17}),
    (product, SLOTS // TOKENS, (TOKENS, TOKENS), {"pairs": 1, "slots": 1}),
    (product, 2 * SLOTS // TOKENS, (TOKENS, TOKENS), {"pairs": 2, "slots": 1}),
]


@pytest.mark.parametrize(("program", "samples", "shape", "wanted"), COUNTED)
def test_each_layout_is_counted_for_its_own_requests(program, samples, shape, wanted, monkeypatch):
    """All samples are compared: as many batches of ciphertexts as a layout takes for them."""
    least = []

    def at_least(_, requests):
        least.append(requests)
        return 0.0

    monkeypatch.setattr("hemera.compiler.candidates.Found.seconds", lambda own, _: float(own.requests))
    monkeypatch.setattr(Search, "seconds_at_least", at_least)
    specs = [Spec(shape, (-1, 1))] * (1 + (program is product))
    plan = compiled(program, *specs, samples=samples)
    assert plan.layout_seconds == wanted
    assert least == [wanted["slots"]]
