"""BERT on ranges as wide as those of trained weights, compared with NumPy."""

import dataclasses
import math

import numpy as np
import pytest

import hemera as hm
from hemera.errors import ParameterError
from hemera_apps.transformer.approximations import Approximations, Degrees
from hemera_apps.transformer.block import EncryptedBlock
from hemera_apps.transformer.clear import Ranges, Shape, Weights, gelu, token_weights
from hemera_apps.transformer.functions import MappedPolynomial, RefinedRoot
from hemera_apps.transformer.layout import Layout
from hemera_apps.transformer.network.calibration import Calibration
from hemera_apps.transformer.network.circuit import NetworkCircuit
from hemera_apps.transformer.network.config import NetworkConfig
from hemera_apps.transformer.network.head import HeadFunctions
from hemera_apps.transformer.network.model import Embeddings, Network
from hemera_apps.transformer.network.widened import Widening
from hemera_apps.transformer.planned import approximate_block
from hemera_apps.transformer.single.attention import SingleAttention
from hemera_apps.transformer.single.shared import Padding
from hemera_apps.transformer.softmax import DividedExponentials, NormalizedSquares
from hemera_apps.transformer.stages import Stages, agreement
from hemera_apps.transformer.watch import Unwatched

NARROW = Ranges(score=4, mixed=2, hidden=5, centred=8, sums=(64.0, 256.0), variances=((0.5, 2.0), (0.5, 2.0)))
BERT = NetworkConfig()
SMALL = NetworkConfig(
    Shape(8, 16, 2, 32), blocks=2, classes=3, vocabulary=40, preset="test-40", fields={"security": None}
)
WIDE = Widening(sharpness=12, outlier=60, hidden=14, pooled=20)


def bert(**ranges):
    """The functions of BERT-base on narrow ranges but for the given ones."""
    return BERT.functions(dataclasses.replace(NARROW, **ranges))


def test_narrow_ranges_keep_their_polynomials():
    functions, narrow = bert(), Approximations(NARROW, 768, degrees=Degrees())
    assert isinstance(functions.softmax, DividedExponentials)
    assert isinstance(narrow.softmax, DividedExponentials)
    assert [type(root) for root in functions.inverse_roots] == [MappedPolynomial] * 2
    assert not functions.wide_gelu
    assert functions.hidden_unit == 5
    for found, expected in (
        (functions.softmax.exponential, narrow.softmax.exponential),
        (functions.softmax.inverse.polynomial, narrow.softmax.inverse.polynomial),
        (functions.gelu, narrow.gelu),
    ):
        np.testing.assert_array_equal(found.coefficients, expected.coefficients)
    assert isinstance(bert(score=33.0).softmax, DividedExponentials)
    assert isinstance(bert(score=40.0).softmax, NormalizedSquares)  # for the exponential alone
    for each in (
        bert(score=70.0, sums=(1.0, 2.0**18)),
        bert(hidden=64.0),
        bert(variances=((0.15, 10.0), (0.75, 2500.0))),
    ):
        assert each.depths == functions.depths == narrow.depths  # in the same places


@pytest.mark.parametrize(
    ("score", "sums", "squarings"),
    [
        (10.0, (1.0, 2.0**11), 2),
        (27.0, (128.0, 2.0**29), 3),  # of roots of exponentials 1 : 2^11
        (70.0, (1.0, 2.0**18), 3),
        (70.0, (2.0**-40, 2.0**32), 5),  # of fourth roots 1 : 2^18
    ],
)
def test_softmax_of_wide_scores(score, sums, squarings):
    functions = bert(score=score, sums=sums).softmax
    assert isinstance(functions, NormalizedSquares)
    assert len(functions.roots) == squarings
    rng = np.random.default_rng(3)
    weights = np.where(np.arange(128) < 90, 128 / 90, 0.0)
    low, high = (math.log(end / 128) for end in sums)
    rows = []
    for top in np.linspace(low, min(high + math.log(90), score), 40):
        # All alike, some large ones, and one alone.
        rows += [np.full(128, min(top, high)), rng.uniform(-score, top, 128), np.full(128, -score)]
        rows[-2][7] = rows[-1][7] = top
    scores = np.array(rows)
    exact = np.exp(scores) * weights
    total = exact.sum(-1, keepdims=True)
    inside = ((total > sums[0]) & (total < sums[1])).ravel()
    assert inside.sum() > 60
    expected = (exact / total)[inside]
    found = functions.in_the_clear(scores[inside], weights)
    assert (np.abs(found - expected).max(-1) < 2.0**-14 * expected.max(-1)).all()


def test_noise_of_sums_leaves_terms_in_their_range():
    softmax = bert(score=70.0, sums=(1.0, 2.0**18)).softmax
    assert isinstance(softmax, NormalizedSquares)
    for number, root in enumerate(softmax.roots[:-1]):
        low, high = ((end - root.shift) / root.factor for end in (-1, 1))
        sums = np.geomspace(low, high, 4001)
        of_terms = root.in_the_clear(sums) ** 2 * sums / (2 if number == 0 else 1)
        assert of_terms.max() * (1 + 2.0**-10) < 1
        assert of_terms.min() > 0.4  # rough, but of the same size


def test_roots_of_wide_ranges():
    functions = bert(variances=((0.15, 10.0), (0.75, 2500.0)), centred=60.0)
    for root, (low, high), unit in zip(
        functions.inverse_roots, ((0.15, 10.0), (0.75, 2500.0)), (1, (2 / 60) ** 2), strict=True
    ):
        assert isinstance(root, RefinedRoot)
        variances = np.geomspace(low, high, 1001)
        found = root.in_the_clear(768 * unit * variances)
        np.testing.assert_allclose(found, np.sqrt(low / variances), rtol=2.0**-15)
    np.testing.assert_allclose(functions.largest_roots, [0.15**-0.5, 0.75**-0.5])
    far = RefinedRoot(1, 30_000, 15, 6)
    x = np.geomspace(1, 30_000, 1001)
    np.testing.assert_allclose(far.in_the_clear(x), x**-0.5, rtol=2.0**-15)


def test_gelu_and_tanh_of_wide_ranges():
    for largest, degree in ((20.0, 31), (64.0, 127), (200.0, 255)):
        functions = bert(hidden=largest)
        assert functions.wide_gelu
        assert len(functions.gelu.coefficients) == degree + 1
        x = np.linspace(-largest, largest, 2001)
        doubled = 2 * x / functions.hidden_unit
        found = functions.gelu(np.clip(doubled**2 - 1, -1, 1)) + x / 2
        np.testing.assert_allclose(found, gelu(x), atol=largest * 2.0**-15)
    for pooled, degree in ((20.0, 127), (40.0, 255)):
        head = HeadFunctions(pooled, Degrees())
        assert len(head.tanh.coefficients) == degree + 1
        x = np.linspace(-pooled, pooled, 2001)
        np.testing.assert_allclose(head.approximate(x), np.tanh(x), atol=2.0**-12)


def test_ranges_beyond_reach_name_their_place(refuse):
    for ranges, words in (
        ({"score": 400.0}, "the softmax of scores up to 400: they are at most 300"),
        ({"sums": (64.0, math.inf)}, "the softmax of scores up to 4"),
        ({"score": 70.0, "sums": (2.0**-3000, 1.0)}, "the softmax of scores"),
        (
            {"score": 300.0, "sums": (1e-250, 1e250)},
            "no softmax of 8 squarings is within .* scores up to 300",
        ),
        ({"hidden": 2000.0}, r"GELU of values up to 2000: no polynomial of degree 511 .* within 2\^-15"),
        (
            {"variances": ((0.1, 1e6), (0.5, 2.0))},
            r"the variances of the first layer norm from 0.1 to 1e\+06",
        ),
        (
            {"variances": ((0.5, 2.0), (0.1, 1e9))},
            r"the variances of the second layer norm from 0.1 to 1e\+09",
        ),
    ):
        with pytest.raises(ParameterError, match=words):
            bert(**ranges)
    with pytest.raises(
        ParameterError, match="the pooler's tanh of values up to 90: no polynomial of degree 255"
    ):
        HeadFunctions(90, Degrees())
    refuse((lambda: RefinedRoot(1, 100, 15, 4), ParameterError, "4 levels are too few for a guess"))
    # Where no range is wide, as before: blocks of many inputs.
    with pytest.raises(
        ParameterError, match="the softmax's sums from 1 to 2048: no polynomial of degree 127"
    ):
        Approximations(dataclasses.replace(NARROW, sums=(1.0, 2048.0)), 768)
    state = Widening(hidden=1e5).state(SMALL, 3)
    words_of, real = np.random.default_rng(2).integers(0, 40, (8, 8)), np.full(8, 8)
    with pytest.raises(ParameterError, match="block 1: GELU of values up to"):
        Calibration.of(Network(SMALL, state), Embeddings(SMALL, state)(words_of, words_of % 2), real)


def test_blocks_of_many_inputs_take_no_wide_ranges():
    shape = SMALL.shape
    params = hm.ckks.Parameters.for_bootstrapping("test-40", levels=11, security=None)
    bootstrap, layout = hm.circuits.Bootstrap(params), Layout(8, 4, params.max_slots)
    for ranges in ({"hidden": 64.0}, {"sums": (1.0, 2048.0)}):
        functions = SMALL.functions(dataclasses.replace(NARROW, **ranges))
        with pytest.raises(ParameterError, match="a block of many inputs takes no functions on wide ranges"):
            EncryptedBlock(Weights.random(shape, 1), shape, layout, functions, params, bootstrap)


def test_encrypted_softmax_in_several_ciphertexts():
    """A head in each of three ciphertexts, and four shares of 16 tokens, of which 11 count."""
    shape, real = Shape(16, 12, 3, 20), 11
    config = dataclasses.replace(SMALL, shape=shape)
    circuit = NetworkCircuit(config)
    plans, levels = circuit.plans(), circuit.levels
    functions = config.functions(dataclasses.replace(NARROW, score=40.0, sums=(2.0**-8, 2.0**14)))
    softmax = functions.softmax
    assert isinstance(softmax, NormalizedSquares)
    assert softmax.middle < -10
    context = hm.Context(circuit.params, "cpu")
    secret_key = context.generate_secret_key()
    evaluator = context.bind(circuit.generate_keys(context, secret_key))
    rng = np.random.default_rng(4)
    largest = rng.uniform(-5, 8, (3, 16, 1))
    scores = np.maximum(largest - rng.uniform(0, 6, (3, 16, 16)) ** 2, -39)
    scores[..., 5:6] = largest
    scores[..., real:] = 0  # as their keys are
    exact = np.exp(scores) * token_weights(shape, real)[0]
    sums = exact.sum(-1, keepdims=True)
    assert 2.0**-8 < sums.min() < 2.0**-4 < 2.0**10 < sums.max() < 2.0**14

    def rows_of(values):
        """Rows of token i with token i + 4 c + e of share c, as ciphertexts of all heads of a share."""
        found = np.empty((4, 3, circuit.params.max_slots))
        for c, slot in np.ndindex(4, circuit.params.max_slots):
            token, place = slot // 4 % 16, slot % 4
            found[c, :, slot] = values[:, token, (token + 4 * c + place) % 16]
        return found.reshape(12, -1)

    attention = SingleAttention(Weights.random(shape, 1), functions, plans, Unwatched(), kept=False)
    t = evaluator.encrypt(rows_of(scores / softmax.half)).at_level(levels.fresh - 3)
    found = attention._weights(t, Padding(plans, real))
    assert (len(found), found.level) == (12, levels.base + 2)
    np.testing.assert_allclose(context.decrypt(found, secret_key).real, rows_of(exact / sums), atol=2.0**-15)


def test_encrypted_network_on_wide_ranges():
    circuit = NetworkCircuit(SMALL)
    context = hm.Context(circuit.params, "cpu")
    secret_key = context.generate_secret_key()
    evaluator = context.bind(circuit.generate_keys(context, secret_key))
    rng = np.random.default_rng(5)
    words, types, real = rng.integers(0, 40, (128, 8)), rng.integers(0, 2, (128, 8)), rng.integers(3, 9, 128)
    real[0] = count = 5
    state = WIDE.state(SMALL, 3)
    network, features = Network(SMALL, state), Embeddings(SMALL, state)(words, types)
    calibration = Calibration.of(network, features, real)
    first, second = calibration.ranges
    assert first.score > 70
    assert first.hidden > 50
    assert all(high > 2000 * low for low, high in first.variances)
    assert second.hidden > 30
    assert calibration.pooled > 40
    x = features[:1]
    traces = network.traces(x, [count])
    padding = circuit.network(network, calibration).padding(count)
    y, near = evaluator.bind(circuit.encrypt(x, context, secret_key)), x
    for number, (weights, ranges) in enumerate(zip(network.blocks, calibration.ranges, strict=True)):
        stages = Stages(evaluator, lambda _: None, circuit.layout, traces[number], secret_key)
        encrypted = circuit.network(network, calibration, watch=stages)
        y = encrypted.blocks[number](y, padding)
        functions, expected = SMALL.functions(ranges), traces[number]["output"][:, :count]
        near = approximate_block(weights, SMALL.shape, functions, near, [count])
        rows = circuit.layout.unpack(context.decrypt(y, secret_key).real)
        found = encrypted.blocks[number].norm(rows)[:, :count]
        assert y.level == circuit.levels.fresh
        assert agreement(found, expected) > 15
        assert agreement(near[:, :count], expected) > 16
        assert number > 0 or stages.bits["mixed"] > 17
        # Bootstraps of the squares and of their first sum, in place of the sums'; of GELU; of the roots.
        assert isinstance(functions.softmax, NormalizedSquares)
        assert functions.wide_gelu
        refined = sum(isinstance(root, RefinedRoot) for root in functions.inverse_roots)
        assert refined == (2, 1)[number]
        bootstraps = sum(row["bootstraps"] for row in stages.rows)
        assert bootstraps == 5 + len(functions.softmax.roots) + 1 + refined
    logits = circuit.logits(encrypted.head(y).at_level(0), secret_key)
    assert agreement(logits, network.logits(x, [count])[0]) > 14
