"""Tokens and samples in slots, other axes in ciphertexts: NumPy's results, and how tokens meet."""

import math
from dataclasses import replace

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.layout import Layout
from hemera.arrays.tokens import Places
from hemera.compiler.batches import alike_nodes, in_batches
from hemera.compiler.bootstraps import seconds_without
from hemera.compiler.drafts import Chosen
from hemera.compiler.parameter_search import Search
from hemera.compiler.placement import Placement
from hemera.errors import MismatchError, ParameterError
from hemera.program.operations import Bootstraps

from ..arrays.programs import listed
from ..refusals import raises

RNG = np.random.default_rng(41)
Spec = hm.ArraySpec
TOKENS, FEATURES, SLOTS = 4, 6, 512
SAMPLES = SLOTS // TOKENS
SQUARE = RNG.normal(size=(FEATURES, FEATURES)) / 4
WIDE, NARROW = RNG.normal(size=(FEATURES, 9)) / 3, RNG.normal(size=(FEATURES, 3)) / 3
POSITIONS = RNG.normal(size=(TOKENS, FEATURES))
MASK = np.tril(np.ones((TOKENS, TOKENS)))


def insecure(depth):
    """With 512 slots."""
    return hm.ckks.Parameters.for_circuit(depth, scale_bits=40, range_bits=10, degree=1024, security=None)


def bits_of(found, wanted):
    return float(-np.log2(np.abs(found - wanted).max() / np.abs(wanted).max()))


def heads(x, count):
    """Tokens x features to heads x tokens x features of a head."""
    return x.reshape(len(x), count, -1).transpose(1, 0, 2)


def attention(x):
    scores = np.exp((x @ SQUARE) @ x.T / 8)
    return (scores @ (x @ NARROW)) / scores.sum(-1, keepdims=True)


def norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred * (0.5 + (centred * centred).mean(-1, keepdims=True))


PROGRAMS = {
    # Each token by itself.
    "layer": lambda x: x @ WIDE + np.arange(9.0) / 9,
    "features first": lambda x: WIDE.T @ x.T,
    "norm": norm,
    "function": lambda x: np.tanh(x @ NARROW),
    "positions": lambda x: x @ SQUARE + POSITIONS,
    "factors of tokens": lambda x: x * POSITIONS - 2 * x,
    "features moved": lambda x: np.concatenate([x[:, 3:], x[:, :2] * x[:, 1:3]], axis=1),
    "constants": lambda x: [0 * x + POSITIONS, x],
    # Sums over tokens.
    "mean of tokens": lambda x: x.mean(0),
    "centred": lambda x: (x - x.mean(0)) @ NARROW,
    "all": lambda x: {"sum": x.sum(), "squares": (x * x).mean()},
    "weighted mean": lambda x: (x.sum(0) @ WIDE) ** 2,
    "one for all tokens": lambda x: x * (x.sum(0) @ SQUARE),
    "turned values": lambda x: np.roll(x, 1, axis=0) * x + np.roll(x * x, 1, axis=0) * x,
    "some of the features turned": lambda x: x + np.roll(np.pad(x[:, :2], ((0, 0), (2, 2))), 1, axis=0),
    "turned tokens": lambda x: np.roll(x, 1, axis=0) - 2 * np.roll(x, -3, axis=0),
    "covariances": lambda x: x.T @ x / 4,
    # Tokens with tokens.
    "attention": attention,
    "softmax": lambda x: (lambda e: (e / e.sum(-1, keepdims=True)) @ x)(np.exp(x @ x.T / 8)),
    "heads": lambda x: (lambda y: ((y @ y.transpose(0, 2, 1) / 4) @ y).transpose(1, 0, 2).reshape(x.shape))(
        heads(x, 2)
    ),
    "masked scores": lambda x: ((x @ x.T) ** 2 * MASK + MASK / 2) @ x,
    "masked products": lambda x: ((x @ x.T) * MASK + MASK / 2) @ x,
    "scaled copies": lambda x: ((x / 8) @ (x * np.arange(1.0, 7.0)).T) @ (x * POSITIONS),
    "turned scores": lambda x: (x @ x.T).T @ (x @ NARROW),
    "sums of scores": lambda x: [(x @ x.T).sum(0), (x @ x.T).sum(1), (x @ (x @ SQUARE).T).mean()],
    "factors of both": lambda x: ((x @ x.T) * x.sum(1) * x[:, :1]) @ x / 8,
}


def compiled(program, *specs, **options):
    given = {"samples": SAMPLES, "params": insecure(8), "precision_bits": 14, **options}
    return hm.compile(program, *specs, layout="sequences", **given)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_sequence_has_numpys_results(name):
    program = PROGRAMS[name]
    plan = compiled(program, Spec((TOKENS, FEATURES), (-1, 1)), params=insecure(12))
    assert (plan.layout, plan.samples, plan.slots) == ("sequences", SAMPLES, SLOTS)
    assert "tokens and samples in slots" in plan.report()
    assert [each.shape for each in plan.package.inputs] == [(FEATURES,)]
    x = RNG.uniform(-1, 1, (SAMPLES + 3, TOKENS, FEATURES))
    wanted = [listed(program(each)) for each in x]
    for found in (plan.local(threads=1)(x), plan.evaluate_clear(x)):
        for at, own in enumerate(listed(found)):
            expected = np.stack([each[at] for each in wanted])
            assert own.shape == expected.shape
            np.testing.assert_allclose(own, expected, rtol=0, atol=2.0**-12 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4), (8, 8)])
def test_axes_of_one_extent_are_told_apart(shape):
    """Tokens are the first axis of inputs, though features are as many."""
    matrix = RNG.normal(size=shape[-2:]) / 3

    def program(x):
        y = x @ matrix
        turned = np.swapaxes(y, 0, -1)
        return {"layer": y, "turned": turned[0], "sum": (y * y).sum(0), "last": y.sum(-1)}

    tokens = shape[0]
    plan = compiled(program, Spec(shape, (-1, 1)), samples=SLOTS // tokens)
    x = RNG.uniform(-1, 1, (5, *shape))
    found = plan.local(threads=1)(x)
    for at, each in enumerate(x):
        for name, wanted in program(each).items():
            assert bits_of(found[name][at], wanted) > 12, name


def test_a_transformer_block():
    rng = np.random.default_rng(4)  # its own: rows have to stay in the ranges of these samples
    inner = rng.normal(size=(8, 12)) / 3
    weights = [rng.normal(size=(8, 8)) / 3 for _ in range(4)]

    def layer_norm(x):
        centred = x - x.mean(-1, keepdims=True)
        return centred * ((centred * centred).mean(-1, keepdims=True) + 0.2) ** -0.5

    def gelu(x):
        if hasattr(x, "gelu"):
            return x.gelu()
        return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2

    def block(x):
        q, k, v = (heads(x @ each, 2) for each in weights[:3])
        e = np.exp(q @ k.transpose(0, 2, 1) / 2)
        mixed = (e @ v) / e.sum(-1, keepdims=True)
        x = layer_norm(x + mixed.transpose(1, 0, 2).reshape(x.shape) @ weights[3])
        return layer_norm(x + gelu(x @ inner) @ inner.T)

    seen = rng.uniform(-1, 1, (300, 8, 8))
    plan = compiled(
        block,
        Spec((8, 8), (-1, 1)),
        samples=64,
        params=insecure(50),
        precision_bits=9,
        calibrate=seen,
        margin=0.2,
    )
    x = rng.uniform(-1, 1, (64, 8, 8))
    wanted = np.stack([block(each) for each in x])
    bits = bits_of(plan.local(threads=2)(x), wanted)
    assert bits > 9
    assert bits == pytest.approx(plan.expected_bits(x), abs=2)


def test_attention_turns_few_ciphertexts():
    """With t tokens queries turn by giant steps and keys by baby steps: 2 (sqrt(t) - 1) keys."""
    plan = compiled(attention, Spec((16, FEATURES), (-1, 1)), samples=32, params=insecure(12))
    assert plan.package.program.operations["sums of products"] == 2
    assert set(plan.package.interface.keys.rotations) == {32 * step for step in (1, 2, 3, 4, 8, 12)}
    # 16 x 16 scores and 4 x 16 x 3 sums of four products each; all else are rotations and functions.
    scores = compiled(lambda x: (x @ x.T) @ (x @ NARROW), Spec((16, FEATURES), (-1, 1)), samples=32)
    turns = 2 * 3 * FEATURES + 3 * 3 + 3 * 3
    assert f"{16 + 4 * 3 + turns} products with keys" in scores.cost().report()


def test_inputs_without_tokens_are_for_all_of_them():
    def program(x, shift, scale):
        return {"layer": x @ NARROW + shift, "scaled": x * scale, "shift": shift * shift}

    specs = Spec((TOKENS, FEATURES), (-1, 1)), Spec((3,), (-1, 1), "shift"), Spec((), (0, 1), "scale")
    plan = compiled(program, *specs)
    x, shift, scale = (RNG.uniform(0, 1, (7, *spec.shape)) for spec in specs)
    found = plan.local(threads=1)(x, shift, scale)
    for at in range(7):
        for name, wanted in program(x[at], shift[at], scale[at]).items():
            assert bits_of(found[name][at], wanted) > 12, name


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x[1:] + x[:-1],
        lambda x: x[0],
        lambda x: np.cumsum(x, axis=0),
        lambda x: x * x[::-1],
        lambda x: (np.broadcast_to(x[0], x.shape) * np.broadcast_to(x[0], x.shape)).sum(0),
        lambda x: POSITIONS.T @ x,
        lambda x: x.reshape(2, 12) @ np.ones((12, 2)),
    ],
)
def test_other_meetings_of_tokens_are_refused(program):
    with pytest.raises(ParameterError, match=r'tokens meet otherwise.*take layout="slots"'):
        compiled(program, Spec((TOKENS, FEATURES), (-1, 1)))


def test_refusals():
    spec = Spec((TOKENS, FEATURES), (-1, 1))
    raises(ParameterError, "several axes of tokens", lambda: compiled(lambda x: x @ x.T, spec))
    with pytest.raises(ParameterError, match="a power of two, filled up"):
        compiled(lambda x: x @ SQUARE, Spec((3, FEATURES), (-1, 1)))
    with pytest.raises(ParameterError, match="whose first axis is that of tokens"):
        compiled(lambda x: x + 1, Spec((), (-1, 1)))
    with pytest.raises(ParameterError, match=r"32 samples fill too few of the 512 slots; at least 64"):
        compiled(lambda x: x @ SQUARE, spec, samples=32)
    with pytest.raises(ParameterError, match='take layout="slots" with share=True'):
        compiled(lambda x: x @ SQUARE, spec, share=True, params=None)


def test_bootstraps_are_of_all_tokens_and_samples():
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    turn = np.linalg.qr(RNG.normal(size=(2, 2)))[0]

    def long(x):
        for _ in range(9):
            x = 0.6 * (x @ turn) + 0.2 * x * x + 0.1 * x.mean(0)
        return x

    samples = params.max_slots // 4
    x = RNG.uniform(-1, 1, (samples, 4, 2))
    plan = compiled(
        long, Spec((4, 2), (-1, 1)), calibrate=x[:100], samples=samples, params=params, precision_bits=10
    )
    program = plan.package.program
    found = [node for node in program.nodes if isinstance(node.operation, Bootstraps)]
    assert 1 <= len(found) <= 2
    assert {program.forms[node.operands[0]].shape for node in found} == {(2,)}
    bits = bits_of(plan.local(threads=1)(x), np.stack([long(each) for each in x]))
    assert bits > 9


def test_heads_have_one_place_among_levels():
    def program(x):
        parts = []
        for head in range(3):
            own = x @ SQUARE[:, 2 * head : 2 * head + 2]
            parts.append((own @ own.T / 8) ** 2 @ own)
        return np.concatenate(parts, axis=1) @ SQUARE

    plan = compiled(program, Spec((TOKENS, FEATURES), (-1, 1)), params=insecure(14))
    arrays = plan._lowered.arrays
    kinds = {}
    first = len(plan.package.program.inputs)
    for value, array in enumerate(arrays):
        if array is not None and value >= first:
            kinds.setdefault(array, []).append(plan.package.program.nodes[value - first].operation.name)
    assert all(len(set(names)) == 1 for names in kinds.values())
    assert list(kinds.values()).count(["sums of products"] * 3) == 2
    assert ["power"] * 3 in kinds.values()
    assert plan.package.program.operations["joined"] == 1  # one matrix for the results of all heads


def test_operations_of_a_class_do_the_same():
    def program(x):
        a, b, c, d = (x @ SQUARE[:, at : at + 1] for at in range(4))
        return np.tanh(a) + np.tanh(b) + c * d

    plan = compiled(program, Spec((TOKENS, FEATURES), (-1, 1)))
    whole = plan._lowered.cut.whole
    classes = {}
    for node, own in zip(whole.nodes, alike_nodes(whole), strict=True):
        classes.setdefault(own, []).append(node)
    for nodes in classes.values():
        assert len({(type(node.operation), node.shape, len(node.operands)) for node in nodes}) == 1
    counts = sorted((type(nodes[0].operation).__name__, len(nodes)) for nodes in classes.values())
    assert ("Apply", 2) in counts
    assert ("Affine", 2) in counts  # what the functions take


def test_bootstraps_are_compared_with_deep_parameters(monkeypatch):
    steps, _ = in_batches(compiled(norm, Spec((4, 6), (-1, 1)))._lowered.cut.whole, 1, 2, 14)
    search = Search(steps.cut.whole, 2, 14, 128, "cpu-avx512-16")
    deep = hm.ckks.Parameters.for_circuit(28, scale_bits=40, range_bits=10)
    assert deep.degree == 1 << 16
    own = seconds_without(steps, deep, device=search.device)
    for factor, expected in ((0.5, True), (2.0, False)):
        placement = Placement((), (), (), factor * own, factor * own, True, "test")
        other = Chosen(insecure(8), replace(steps, placement=placement))
        monkeypatch.setattr(Search, "bootstrapped", lambda *_, other=other, **__: other)
        assert (search.faster(deep, steps) is other) == expected
    assert search.faster(None, steps) is other
    assert search.faster(insecure(8), steps).params == insecure(8)


@pytest.mark.parametrize(
    ("program", "tokens", "ciphertexts"),
    [
        (lambda x: x @ WIDE, [0], [(9,)]),
        (lambda x: WIDE.T @ x.T, [1], [(9,)]),
        (lambda x: x.mean(0), [None], [(6,)]),
        (lambda x: [x, (x @ x.T).sum(0)], [0, 0], [(6,), (1,)]),
    ],
)
def test_results_are_sent_with_their_tokens_in_slots(program, tokens, ciphertexts):
    """A ciphertext for each feature, and not for each feature of each token."""
    plan = compiled(program, Spec((TOKENS, FEATURES), (-1, 1)))
    encoding = plan.package.interface.encoding
    assert [each.to_data()["tokens"] for each in encoding.outputs] == tokens
    assert [each.shape for each in plan.package.outputs] == ciphertexts


@pytest.mark.parametrize(
    ("shape", "tokens"), [((4, 3), 0), ((2, 4), 1), ((2, 4, 3), 1), ((3,), None), ((), None)]
)
def test_slots_of_layouts(shape, tokens):
    layout = Layout.in_ciphertexts(shape, 2, 4, tokens)
    x = RNG.normal(size=(3, 2, *shape))
    (slots,) = layout.encode(x, 8)
    assert slots.shape == (3, *layout.batch, 8)
    for element, places in enumerate(np.ndindex(*(each for at, each in enumerate(shape) if at != tokens))):
        for token in range(4):
            for sample in range(2):
                index = places if tokens is None else (*places[:tokens], token, *places[tokens:])
                assert (slots[:, element, 2 * token + sample] == x[(slice(None), sample, *index)]).all()
    np.testing.assert_array_equal(layout.decode([slots]), x)
    raises(ParameterError, "12 slots", layout.encode, x, 12)
    raises(MismatchError, "", lambda: layout.encode(x[:, :1], 8))


@pytest.mark.parametrize("shape", [(8, 8), (2, 8, 8), (8, 3, 8)])
def test_each_pair_of_tokens_has_a_place(shape):
    own, other = (axis for axis, extent in enumerate(shape) if extent == 8)
    places = Places.turned(shape, own, other)
    slots = places.ciphertexts * 8 + places.tokens
    assert sorted(slots) == list(range(math.prod(shape)))
    index = np.indices(shape).reshape(len(shape), -1)
    offset = (index[other] - index[own]) % 8
    giant = offset // 4 * 4
    # The first token's slot is turned by the giant step, and the second's by the baby step.
    np.testing.assert_array_equal((places.tokens - index[own]) % 8, giant)
    np.testing.assert_array_equal((index[other] - places.tokens) % 8, offset - giant)
