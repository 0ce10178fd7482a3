"""The encrypted block of BERT and its parts, compared with NumPy."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, MismatchError, ParameterError, RangeError
from hemera_apps.transformer.approximations import Approximations
from hemera_apps.transformer.block import EncryptedBlock
from hemera_apps.transformer.clear import Ranges, Shape, Weights, clear_block, gelu, random_inputs
from hemera_apps.transformer.functions import MappedPolynomial
from hemera_apps.transformer.layout import Layout
from hemera_apps.transformer.planned import approximate_block, least_bits, require_in_ranges
from hemera_apps.transformer.prepared import PreparedBlock, Settings
from hemera_apps.transformer.softmax import DividedExponentials, NormalizedSquares
from hemera_apps.transformer.stages import Stages, agreement

SMALL = Settings(
    Shape(8, 16, 2, 32), preset="test-40", fields={"security": None}, sharpness=0.5, size=8, together=2
)


def block_by_tokens(weights, shape, x):
    """The block of one input, token by token."""
    biases = weights.biases
    q, k, v = (
        [getattr(weights, name) @ token + biases[name] for token in x] for name in ("query", "key", "value")
    )
    found = []
    for t, token in enumerate(x):
        mixed = np.zeros(shape.features)
        for head in range(shape.heads):
            own = slice(head * shape.width, (head + 1) * shape.width)
            terms = [math.exp(q[t][own] @ other[own] / math.sqrt(shape.width)) for other in k]
            for term, other in zip(terms, v, strict=True):
                mixed[own] += term / sum(terms) * other[own]
        for step in (0, 1):
            if step == 0:
                token = token + weights.output @ mixed + biases["output"]
            else:
                hidden = weights.up @ token + biases["up"]
                hidden = np.array([h * (1 + math.erf(h / math.sqrt(2))) / 2 for h in hidden])
                token = token + weights.down @ hidden + biases["down"]
            token = (token - np.mean(token)) / np.std(token) * weights.gains[step] + weights.shifts[step]
        found.append(token)
    return np.array(found)


def test_clear_block_is_that_of_single_tokens():
    shape = Shape(5, 6, 3, 7)
    weights = Weights.random(shape, 1)
    x = random_inputs(shape, 3, 2)
    found = clear_block(weights, shape, x)["output"]
    for one, expected in zip(found, x, strict=True):
        np.testing.assert_allclose(one, block_by_tokens(weights, shape, expected), atol=1e-9)


def test_inputs_lie_token_after_token_and_repeat():
    layout = Layout(tokens=4, inputs=3, slots=32)
    values = np.random.default_rng(3).normal(size=(3, 4, 5))
    rows = layout.pack(values)
    assert rows.shape == (5, 32)
    for slot in range(32):
        np.testing.assert_array_equal(rows[:, slot], values[slot % 8 % 3, slot // 8])
    np.testing.assert_array_equal(layout.unpack(rows), values)
    for tokens, inputs in ((3, 1), (4, 9)):
        with pytest.raises(MismatchError, match="tokens must be a power of two"):
            Layout(tokens, inputs, 32)


def test_approximations_are_near_on_their_ranges():
    ranges = Ranges(4.0, 2.0, 6.0, 5.0, (9.0, 90.0), ((0.5, 3.0), (0.7, 4.0)))
    functions = Approximations(ranges, 16)
    t = np.linspace(-1, 1, 1001)
    np.testing.assert_allclose(
        functions.softmax.exponential(t) ** 2 * 90, np.exp(4 * t), rtol=1e-3, atol=1e-5 * math.exp(4)
    )
    x = np.linspace(-6, 6, 1001)
    np.testing.assert_allclose(functions.gelu(2 * (x / 6) ** 2 - 1) + x / 2, gelu(x), atol=2**-14)

    def mapped(function, s):
        return function.polynomial(s * function.factor + function.shift)

    sums = np.linspace(9, 90, 1001)
    assert isinstance(functions.softmax, DividedExponentials)
    inverse = functions.softmax.inverse
    np.testing.assert_allclose(mapped(inverse, 2 * sums / 90) / 90, 1 / sums, rtol=2**-15)
    ends = [end * inverse.factor + inverse.shift for end in (2 * 9 / 90, 2)]
    np.testing.assert_allclose(ends, [-1, 1])  # no wider than needed
    for step, unit in ((0, 16.0), (1, 16 * (2 / 5) ** 2)):
        variance = np.linspace(*ranges.variances[step], 1001)
        mapped_root = functions.inverse_roots[step]
        assert isinstance(mapped_root, MappedPolynomial)
        root = mapped(mapped_root, unit * variance) * functions.largest_roots[step]
        np.testing.assert_allclose(root, variance**-0.5, atol=functions.largest_roots[step] * 2**-15)
    with pytest.raises(ParameterError, match="no polynomial of degree 127"):
        MappedPolynomial.near(lambda s: 1 / s, 1e-6, 1, 20)


def encrypted_run(settings):
    """The prepared block, a secret key, an evaluator, and the block's inputs in the clear."""
    prepared = PreparedBlock(settings)
    context = hm.Context(prepared.params, "cpu")
    secret_key = context.generate_secret_key()
    keys = context.generate_keys(secret_key, relinearization=False, plan=prepared.cost()[0])
    x = random_inputs(settings.shape, prepared.layout.inputs, 77)
    return prepared, secret_key, context.bind(keys), x


@pytest.mark.parametrize(
    ("shape", "inputs"),
    [
        (Shape(8, 16, 2, 32), None),  # as many inputs as there is room for
        (Shape(4, 9, 3, 20), 5),  # odd numbers of features and heads; a last chunk that is shorter
        (Shape(16, 4, 1, 6), 64),  # four giant steps, which are not their own opposites
        (Shape(2, 8, 1, 8), 1),  # one giant step
    ],
    ids=str,
)
def test_encrypted_block_is_the_clear_one(shape, inputs):
    settings = dataclasses.replace(SMALL, shape=shape, inputs=inputs, calibration=512)
    prepared, secret_key, evaluator, x = encrypted_run(settings)
    trace = clear_block(prepared.weights, shape, x)
    stages = Stages(evaluator, lambda _: None, prepared.layout, trace, secret_key)
    block = prepared.block(stages)
    output = block(prepared.encrypt(x, evaluator, block.levels.fresh))
    assert output.level == block.levels.fresh
    found = prepared.decrypt(output, secret_key)
    assert agreement(found, trace["output"]) > 15
    assert list(stages.bits) == [
        *("scores", "sums", "mixed", "centred1", "scaled1", "hidden", "centred2", "output")
    ]
    assert min(stages.bits.values()) > 16
    pairs = (shape.features + 1) // 2
    assert sum(row["bootstraps"] for row in stages.rows) == 2 * pairs + (shape.heads + 1) // 2 + 2


def test_planned_bits_are_those_of_polynomials():
    """Few features have layer norms of a wide range, whose polynomial costs the most."""
    settings = dataclasses.replace(SMALL, shape=Shape(8, 4, 1, 4), calibration=512)
    prepared, secret_key, evaluator, x = encrypted_run(settings)
    exact = clear_block(prepared.weights, settings.shape, x)
    require_in_ranges(exact, prepared.ranges)
    expected = approximate_block(prepared.weights, settings.shape, prepared.functions, x)
    block = prepared.block()
    found = prepared.decrypt(block(prepared.encrypt(x, evaluator, block.levels.fresh)), secret_key)
    assert agreement(found, expected) > 16
    assert agreement(found, exact["output"]) > least_bits(agreement(expected, exact["output"]))


def test_values_outside_of_ranges_are_noticed():
    prepared = PreparedBlock(SMALL)
    trace = clear_block(prepared.weights, SMALL.shape, 2 * random_inputs(SMALL.shape, 64, 5))
    with pytest.raises(RangeError, match=r"outside of the ranges of score, mixed, .*variance 1"):
        require_in_ranges(trace, prepared.ranges)


def test_the_page_has_programs():
    """They run, and their errors are small."""
    page = Path(__file__).parents[3] / "docs" / "transformers.md"
    _, *programs = page.read_text(encoding="utf-8").split("```python\n")
    assert len(programs) == 4
    names = {"hm": hm, "np": np}
    for program in programs[:3]:
        exec(compile(program.partition("```")[0], "transformers.md", "exec"), names)
        assert names.pop("error") < 2**-13
    exec(compile(programs[3].partition("```")[0], "transformers.md", "exec"), names)
    assert [type(each.softmax) for each in names["wide"]] == [NormalizedSquares] * 2
    assert names["found"].bits > 13


def test_too_few_levels_are_refused():
    prepared = PreparedBlock(SMALL)
    params = hm.ckks.Parameters.for_bootstrapping("test-40", levels=8, security=None)
    with pytest.raises(ParameterError, match="needs bootstraps that leave 11 levels, and these leave 8"):
        EncryptedBlock(
            prepared.weights,
            SMALL.shape,
            prepared.layout,
            prepared.functions,
            params,
            hm.circuits.Bootstrap(params),
        )


def test_inputs_of_too_low_a_level_are_refused(refuse):
    prepared, _, evaluator, x = encrypted_run(SMALL)
    block = prepared.block()
    refuse((lambda: block(prepared.encrypt(x, evaluator, block.levels.fresh - 1)), LevelError, None))


def test_full_size_fits_a_device():
    """BERT-base by a run that counts. Its ranges are those of one input."""
    prepared = PreparedBlock(Settings(Shape(), calibration=1))
    assert (prepared.params.degree, prepared.params.security) == (65536, ">=128")
    assert prepared.layout.inputs == 256
    cost, stages = prepared.cost("nvidia-h200")
    assert sum(each["seconds"] for each in stages) == pytest.approx(cost.seconds, rel=0.01)
    assert cost.seconds is not None
    assert cost.seconds < 30
    assert cost.key_bytes + cost.plaintext_bytes + cost.workspace_bytes < 60e9
    assert cost.result_level == cost.level
