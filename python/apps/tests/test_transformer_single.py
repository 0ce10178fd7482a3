"""The encrypted block of BERT on one input, compared with NumPy."""

import dataclasses

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError, MismatchError, ParameterError, RangeError
from hemera_apps.transformer.approximations import Approximations, Degrees
from hemera_apps.transformer.clear import Ranges, Shape, clear_block, random_inputs
from hemera_apps.transformer.planned import approximate_block
from hemera_apps.transformer.prepared import PreparedBlock, Settings
from hemera_apps.transformer.single.block import SingleBlock
from hemera_apps.transformer.single.layout import SingleLayout
from hemera_apps.transformer.single.levels import SingleLevels
from hemera_apps.transformer.single.shared import Padding, SharedPlans
from hemera_apps.transformer.stages import Stages, agreement

SMALL = Settings(
    Shape(8, 16, 2, 32),
    preset="test-40",
    fields={"security": None},
    sharpness=0.5,
    calibration=512,
    single=True,
)


def test_features_lie_side_by_side_and_inputs_repeat():
    layout = SingleLayout(Shape(8, 24, 3, 40), 128)
    assert (layout.period, layout.ciphertexts) == (8, 3)
    values = np.random.default_rng(3).normal(size=(1, 8, 24))
    rows = layout.pack(values)
    assert rows.shape == (3, 128)
    for slot in range(128):
        np.testing.assert_array_equal(rows[:, slot], values[0, slot // 8 % 8, slot % 8 :: 8])
    np.testing.assert_array_equal(layout.unpack(rows), values)
    spread = layout.spread(values[0, 0])
    np.testing.assert_array_equal(layout.unpack(spread)[0], np.tile(values[0, 0], (8, 1)))
    assert SingleLayout(Shape(8, 24, 3, 40), 32 * 8).period == 8  # room for 32
    assert SingleLayout(Shape(128, 768, 12, 3072), 32768).period == 256


@pytest.mark.parametrize(
    ("shape", "slots"),
    [
        (Shape(12, 16, 2, 32), 1024),  # tokens
        (Shape(16, 18, 3, 36), 1024),  # features of a head
        (Shape(4, 16, 2, 32), 1024),  # fewer tokens than features of a head
        (Shape(8, 16, 2, 36), 1024),  # hidden features
        (Shape(8, 16, 2, 32), 32),  # slots
        (Shape(8, 16, 16, 32), 1024),  # one feature
    ],
)
def test_what_does_not_fit_whole_periods_is_refused(shape, slots, refuse):
    refuse((lambda: SingleLayout(shape, slots), MismatchError, "does not fit"))


OTHERS = Degrees(inverse=127, inverse_roots=(63, 127))


def plans(prepared, functions=None, *, params=None, bootstrap=None):
    """The plans of a prepared block, with other functions or parameters."""
    assert isinstance(prepared.layout, SingleLayout)
    bootstrap = bootstrap or prepared.bootstrap
    levels = SingleLevels.of(functions or prepared.functions, bootstrap.input_level)
    return SharedPlans(prepared.layout, params or prepared.params, levels, bootstrap)


def encrypted_run(settings):
    """The prepared block, a secret key, an evaluator, and the block's input in the clear."""
    prepared = PreparedBlock(settings)
    context = hm.Context(prepared.params, "cpu")
    secret_key = context.generate_secret_key()
    keys = context.generate_keys(secret_key, relinearization=False, plan=prepared.cost()[0])
    return prepared, secret_key, context.bind(keys), random_inputs(settings.shape, 1, 77)


@pytest.mark.parametrize(
    ("shape", "bootstraps"),
    [
        (Shape(8, 16, 2, 32), 5),  # one ciphertext, which has two heads; as many tokens as features of a head
        (Shape(16, 12, 3, 20), 7),  # a head in each of three ciphertexts, four times as many tokens
    ],
    ids=str,
)
def test_encrypted_block_of_one_input_is_the_clear_one(shape, bootstraps):
    prepared, secret_key, evaluator, x = encrypted_run(dataclasses.replace(SMALL, shape=shape))
    x += 0.1  # as gains of a norm before: features have a mean
    trace = clear_block(prepared.weights, shape, x)
    stages = Stages(evaluator, lambda _: None, prepared.layout, trace, secret_key)
    block = prepared.block(stages)
    output = block(prepared.encrypt(x, evaluator, block.levels.fresh))
    assert output.level == block.levels.fresh
    assert agreement(prepared.decrypt(output, secret_key), trace["output"]) > 13
    assert list(stages.bits) == [
        *("scores", "sums", "mixed", "centred1", "scaled1", "hidden", "centred2", "scaled2")
    ]
    assert min(stages.bits[name] for name in ("scores", "sums", "mixed", "centred1")) > 18
    assert min(stages.bits.values()) > 13
    assert sum(row["bootstraps"] for row in stages.rows) == bootstraps


def test_blocks_of_one_input_follow_each_other(refuse):
    prepared, secret_key, evaluator, x = encrypted_run(SMALL)
    block, shape = prepared.block(), SMALL.shape
    assert isinstance(block, SingleBlock)
    once = block(prepared.encrypt(x, evaluator, block.levels.fresh))
    first = clear_block(prepared.weights, shape, x)["output"]
    # Gains that are too large for a bootstrap of the inverse roots with them.
    gain, last_gain = prepared.weights.gains
    weights = dataclasses.replace(prepared.weights, gains=(gain, 8 * last_gain))
    second = clear_block(weights, shape, first)
    functions = Approximations(Ranges.seen(second, 0.2), shape.features)
    with pytest.raises(ParameterError, match=r"the functions take .*, and the plans have"):
        SingleBlock(
            weights, Approximations(functions.ranges, shape.features, degrees=OTHERS), plans(prepared)
        )
    following = SingleBlock(weights, functions, plans(prepared, functions), before=block.norm, kept=False)
    assert following.levels.fresh <= once.level
    rows = prepared.layout.unpack(once.context.decrypt(following(once), secret_key).real)
    found = following.norm(rows)
    assert agreement(found, second["output"]) > 15
    refuse((lambda: block(once.at_level(block.levels.fresh - 1)), LevelError, None))


@pytest.mark.parametrize("real", [9, 4])  # sums are made larger by 16/9, and by an integer
def test_no_token_attends_to_padding(real):
    """The judge has no other tokens than those that count: it is the block of these."""
    shape = Shape(16, 12, 3, 20)
    prepared, secret_key, evaluator, x = encrypted_run(dataclasses.replace(SMALL, shape=shape))
    trace = clear_block(prepared.weights, shape, x, [real])
    cut = clear_block(prepared.weights, Shape(real, 12, 3, 20), x[:, :real])
    np.testing.assert_allclose(trace["output"][:, :real], cut["output"], atol=1e-12)
    np.testing.assert_allclose(trace["scores"][:, :, :real, :real], cut["scores"], atol=1e-12)
    assert not trace["scores"][..., real:].any()
    functions = Approximations(Ranges.seen(trace, 0.2), shape.features)
    shared = plans(prepared, functions)
    near = approximate_block(prepared.weights, shape, functions, x, real)
    assert agreement(near, trace["output"]) > 13
    padding = Padding(shared, real)
    for c, rows in enumerate(padding.rows):
        for slot in range(0, len(rows), 7):
            second = (slot // 4 + 4 * c + slot % 4) % 16
            assert rows[slot] == (second >= real)
    block = SingleBlock(prepared.weights, functions, shared)
    output = block(prepared.encrypt(x, evaluator, block.levels.fresh), padding)
    found = block.norm(prepared.layout.unpack(output.context.decrypt(output, secret_key).real))
    assert agreement(found[:, :real], cut["output"]) > 13
    for wrong in (0, 17):
        with pytest.raises(RangeError, match=f"{wrong} tokens count, of 16"):
            Padding(shared, wrong)


def test_too_few_levels_of_one_input_are_refused():
    prepared = PreparedBlock(SMALL)
    params = hm.ckks.Parameters.for_bootstrapping("test-40", levels=8, security=None)
    with pytest.raises(ParameterError, match="needs bootstraps that leave 11 levels, and these leave 8"):
        plans(prepared, params=params, bootstrap=hm.circuits.Bootstrap(params))
