"""Bootstrapping, as a user meets it."""

from __future__ import annotations

import numpy as np
import pytest

import hemera as hm

SLOTS = 16


@pytest.fixture(scope="module")
def params() -> hm.ckks.Parameters:
    return hm.ckks.Parameters.for_bootstrapping("test-40", levels=4)


@pytest.fixture(scope="module")
def boot(params: hm.ckks.Parameters) -> hm.circuits.Bootstrap:
    return hm.circuits.Bootstrap(params, SLOTS)


@pytest.fixture(scope="module")
def client(
    params: hm.ckks.Parameters, boot: hm.circuits.Bootstrap
) -> tuple[hm.Context, hm.SecretKey, hm.Keys]:
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    return ctx, sk, ctx.generate_keys(sk, plan=boot, rotations=[1])


def values(count: int = SLOTS) -> np.ndarray:
    return np.random.default_rng(3).uniform(-1, 1, count)


def test_a_ciphertext_without_levels_gets_them_back(client, boot):
    ctx, sk, keys = client
    ev = ctx.bind(keys, bootstrap=boot)
    x = ev.encrypt(values())
    low = ev.at_level(x, boot.input_level)
    y = low.bootstrap()
    assert y.level == boot.result_level == boot.input_level + 4
    np.testing.assert_allclose(ctx.decrypt(y, sk).real, values(), atol=2**-19)
    np.testing.assert_array_equal(ctx.decrypt(boot(low), sk), ctx.decrypt(y, sk))


def test_products_have_no_end_with_automatic(client, boot):
    ctx, sk, keys = client
    ev = ctx.bind(keys, bootstrap=boot, automatic=True)
    x = ev.encrypt(values())
    expected = values()
    y = x
    for step in range(9):  # more than twice the levels that are left
        y = (y * x, y * values(), y * 0.5)[step % 3]
        expected = expected * (values(), values(), 0.5)[step % 3]
    np.testing.assert_allclose(ctx.decrypt(y, sk).real, expected, atol=2**-16)
    power = x**64
    np.testing.assert_allclose(ctx.decrypt(power, sk).real, values() ** 64, atol=2**-13)


def test_grids_of_transforms_bootstrap_by_themselves(client, boot):
    ctx, sk, _ = client
    grid = hm.circuits.TransformGrid(
        [[{0: 0.5}, {1: 0.25}]], ctx.params, slots=SLOTS, level=boot.result_level
    )
    ev = ctx.bind(ctx.generate_keys(sk, plan=[boot, grid]), bootstrap=boot, automatic=True)
    x = ev.encrypt(values())
    (y,) = grid(ev.at_level(x, boot.input_level), x)
    expected = 0.5 * values() + 0.25 * np.roll(values(), -1)
    np.testing.assert_allclose(ctx.decrypt(y, sk).real, expected, atol=2**-16)


@pytest.fixture(scope="module")
def automatic(client, boot) -> hm.Evaluator:
    """With keys for all rotations, too."""
    ctx, sk, _ = client
    turns = ctx.generate_keys(sk, plan=boot, rotations=range(1, SLOTS))
    return ctx.bind(turns, bootstrap=boot, automatic=True)


def low_of(ev: hm.Evaluator, boot: hm.circuits.Bootstrap, left: int = 0, scale: float = 1) -> hm.Ciphertext:
    """The values with so many levels left."""
    return ev.at_level(ev.encrypt(scale * values()), boot.input_level + left)


@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_functions_bootstrap_their_inputs(client, automatic, boot, left):
    ctx, sk, _ = client
    coefficients = [0.1, 0.5, 0, 0.25, 0.125]
    expected = np.polynomial.polynomial.polyval(values(), coefficients)
    x = low_of(automatic, boot, left)
    y = x.polyval(coefficients)  # of depth 3
    assert y.level == (boot.result_level - 3 if left < 3 else boot.input_level)
    np.testing.assert_allclose(ctx.decrypt(y, sk).real, expected, atol=2**-17)
    plan = hm.circuits.Polynomial(coefficients).plan(ctx.params, level=boot.input_level + 3)
    np.testing.assert_allclose(ctx.decrypt(plan(x), sk).real, expected, atol=2**-17)


def test_inputs_that_a_function_takes_to_be_large_are_bootstrapped_as_small_ones(client, automatic, boot):
    ctx, sk, _ = client
    wide = hm.circuits.Polynomial([0, 1 / 16, 0, 0, 1 / 16**4], interval=(-16, 16))
    found = ctx.decrypt(wide(low_of(automatic, boot, 1, scale=16)), sk).real
    # 16 of scale 1 would be worse than 2^-7 (docs/bootstrapping.md).
    np.testing.assert_allclose(found, values() + values() ** 4, atol=2**-14)


def test_functions_deeper_than_a_bootstrap_are_bootstrapped_in_their_middle(client, automatic, boot):
    ctx, sk, _ = client
    sign = hm.circuits.sign(gap=2**-3, bits=10)
    assert sign.depth > boot.levels_left
    clear = np.where(np.abs(values()) < 2**-3, 0.5, values())
    # The levels that are left are used, where that saves a bootstrap: 3 for a polynomial, then 4.
    for left in (0, 2, 3, 4):
        x = automatic.at_level(automatic.encrypt(clear), boot.input_level + left)
        y = sign(x)
        assert y.level == boot.input_level
        np.testing.assert_allclose(ctx.decrypt(y, sk).real, np.sign(clear), atol=2**-9)
    larger = hm.circuits.maximum(bits=6)
    a, b = (automatic.at_level(automatic.encrypt(each), boot.input_level + 1) for each in (clear, -clear / 2))
    expected = np.maximum(clear, -clear / 2)
    np.testing.assert_allclose(ctx.decrypt(larger(a, b), sk).real, expected, atol=2**-5)
    # A single polynomial can not be cut.
    with pytest.raises(hm.errors.LevelError, match=r"depth 5, and a bootstrap leaves 4 levels.*up to 15 fit"):
        x.polyval(np.ones(32))


def test_a_bootstrap_is_saved_where_the_levels_that_are_left_do(automatic, boot):
    sign = hm.circuits.sign(gap=2**-3, bits=10)
    for left, expected in ((0, 2), (2, 2), (3, 1)):
        before = automatic.bootstraps
        sign(low_of(automatic, boot, left))
        assert automatic.bootstraps - before == expected


def test_products_with_plain_operands_bootstrap_their_ciphertexts(client, automatic, boot):
    ctx, sk, _ = client
    x = low_of(automatic, boot)
    matrix = np.random.default_rng(4).uniform(-1, 1, (SLOTS, SLOTS)) / SLOTS
    y = x @ matrix
    assert y.level == boot.result_level - 1
    np.testing.assert_allclose(ctx.decrypt(y, sk).real, values() @ matrix, atol=2**-17)
    y = automatic.dot([x, x], [values(), -0.5 * values()])
    assert y.level == boot.result_level
    np.testing.assert_allclose(ctx.decrypt(y, sk).real, 0.5 * values() ** 2, atol=2**-17)
    transform = hm.circuits.LinearTransform(matrix, ctx.params, level=boot.input_level + 2)
    keys = ctx.generate_keys(sk, plan=[boot, transform])
    ev = ctx.bind(keys, bootstrap=boot, automatic=True)
    for left in (0, 1, 3):
        y = transform(low_of(ev, boot, left))
        assert y.level == boot.input_level + 1
        np.testing.assert_allclose(ctx.decrypt(y, sk).real, matrix @ values(), atol=2**-17)


def test_masks_bootstrap_and_sums_do_not(client, automatic, boot):
    ctx, sk, _ = client
    x = low_of(automatic, boot)
    total = hm.circuits.InnerSum(ctx.params, SLOTS, 4)(x)
    assert total.level == boot.input_level
    mask = hm.circuits.Mask(np.arange(SLOTS) < 4, ctx.params)
    y = mask(x)
    assert y.level == boot.result_level - 1
    np.testing.assert_allclose(ctx.decrypt(y, sk).real, values() * (np.arange(SLOTS) < 4), atol=2**-17)


def test_products_of_encrypted_matrices_bootstrap_their_factors(client, boot):
    ctx, sk, _ = client
    product = hm.circuits.MatrixVectorProduct(ctx.params, 4, SLOTS, level=boot.input_level + 2)
    packed = np.random.default_rng(5).uniform(-0.25, 0.25, (4, SLOTS))
    ev = ctx.bind(ctx.generate_keys(sk, plan=[boot, product]), bootstrap=boot, automatic=True)
    matrix = ev.at_level(ev.encrypt(product.pack(packed)), boot.input_level + 1)
    y = product(matrix, low_of(ev, boot))
    assert y.level == boot.input_level + 1
    np.testing.assert_allclose(ctx.decrypt(y, sk).real, packed @ values(), atol=2**-16)


def test_what_takes_no_level_bootstraps_nothing(automatic, boot):
    x = low_of(automatic, boot)
    for y in (x * 3, x + x, -x, x.rotate(1), x * -2.0):
        assert y.level == boot.input_level
    assert (x * 0.5).level == boot.result_level


def test_operands_that_stand_twice_are_bootstrapped_once(automatic, boot):
    x, other = low_of(automatic, boot), low_of(automatic, boot)
    compare = hm.circuits.compare(gap=0.5, bits=1)
    for operation in (
        lambda x, y: x * y,
        lambda x, y: automatic.dot([x, x], [y, y]),
        lambda x, y: automatic.multiply_many([x, y, x]),
        lambda x, y: compare(x, y),
    ):
        counts = []
        for y in (x, other):
            before = automatic.bootstraps
            operation(x, y)
            counts.append(automatic.bootstraps - before)
        assert counts[1] == counts[0] + 1


def test_without_automatic_the_levels_end(client, boot):
    ctx, _, keys = client
    with pytest.raises(hm.errors.LevelError):
        _ = ctx.bind(keys, bootstrap=boot).encrypt(values()) ** 512


def test_the_plan_tells_its_price(boot):
    report = boot.report()
    assert "4 levels left" in report
    assert "probability of 2^-14" in report
    assert report.count("CoeffToSlot") == 3
    assert boot.key_bytes > 0
    assert boot.plaintext_bytes > 0
    mean, worst = boot.expected_precision()
    assert 20 < worst < mean < 26
    assert isinstance(boot, hm.circuits.Plan)
    assert boot.level == boot.input_level
    assert boot.depth == -4
    # Real and imaginary parts have ten each, in eight sums.
    assert boot.operations["products"] == 20
    assert 2**-24 < boot.expected_error(0)[0] < 2**-20
    told = boot.as_dict()
    assert told["levels_left"] == 4
    assert told["expected_precision"] == {"mean": mean, "worst": worst}
    kinds = [key["kind"] for key in told["keys"]]
    assert kinds.count("conjugation") == kinds.count("to ephemeral") == kinds.count("from ephemeral") == 1
    assert kinds.count("relinearization") == 8
    assert sum(key["bytes"] for key in told["keys"]) == boot.key_bytes
    # The trace gathers the repetitions of 16 slots.
    assert {16, 32, 64, 128, 256, 512} <= {key["rotation"] for key in told["keys"]}


def test_keys_fit_a_limit_in_memory(params, boot):
    few = hm.circuits.Bootstrap(params, SLOTS, key_memory_limit=boot.key_bytes - 1)
    assert few.key_bytes < boot.key_bytes
    assert "one after the other" in few.report()
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    keys = ctx.generate_keys(sk, public_key=False, relinearization=False, plan=few)
    assert keys.memory_bytes == few.key_bytes
    ev = ctx.bind(ctx.generate_keys(sk, plan=few), bootstrap=few)
    y = ev.at_level(ev.encrypt(values()), few.input_level).bootstrap()
    np.testing.assert_allclose(ctx.decrypt(y, sk).real, values(), atol=2**-19)
    with pytest.raises(hm.errors.OutOfMemoryError, match="at least"):
        hm.circuits.Bootstrap(params, SLOTS, key_memory_limit=1)
    with pytest.raises(hm.errors.ParameterError, match="key_memory_limit"):
        hm.circuits.Bootstrap(params, SLOTS, key_memory_limit=0)


def test_too_little_memory_is_said_before_anything_runs(params, boot):
    assert boot.memory_bytes(2) == boot.key_bytes + boot.plaintext_bytes + 2 * boot.workspace_bytes
    narrow = hm.Context(params, "cpu", memory_limit=boot.key_bytes // 2)
    with pytest.raises(hm.errors.OutOfMemoryError, match="left"):
        boot.require_memory(narrow)
    sk = narrow.generate_secret_key()
    with pytest.raises(hm.errors.OutOfMemoryError, match="keys of a plan"):
        narrow.generate_keys(sk, public_key=False, relinearization=False, plan=boot)
    wide = hm.Context(params, "cpu", memory_limit=2 * boot.memory_bytes())
    boot.require_memory(wide)
    with pytest.raises(hm.errors.OutOfMemoryError):
        boot.require_memory(wide, batch=100)
    with pytest.raises(hm.errors.MismatchError):
        boot.require_memory(hm.Context(hm.ckks.Parameters.for_circuit(1)))


def test_estimated_times_grow_with_the_work(client, params, boot, calibrated):
    ctx, _, _ = client
    calibrated(ctx)
    all_slots = hm.circuits.Bootstrap(params)
    assert boot.estimate_time(ctx) > 0
    # At the same rates a matrix of a diagonal is a small part of a bootstrap.
    one = hm.circuits.LinearTransform(np.eye(SLOTS), params)
    assert 0 < one.estimate_time(ctx) < all_slots.estimate_time(ctx) / 4


def test_the_model_makes_an_error_of_that_size(boot):
    clear = np.stack([values(), -values()]).astype(complex)
    noisy = boot.simulate(clear, seed=5)
    assert noisy.shape == clear.shape
    error = np.abs(noisy - clear)
    assert 2**-30 < error.max() < 2**-20
    np.testing.assert_array_equal(boot.simulate(clear, seed=5), noisy)
    with pytest.raises(hm.errors.ParameterError, match="16 slots"):
        boot.simulate(values(8))


def test_iterations_add_up_precision(client, params, boot):
    ctx, sk, keys = client
    twice = hm.circuits.Bootstrap(params, SLOTS, iterations=2)
    assert (boot.iterations, twice.iterations) == (1, 2)
    assert twice.input_level == boot.input_level
    assert twice.levels_left == boot.levels_left - 1
    assert twice.expected_precision()[1] > boot.expected_precision()[1] + 4
    assert "times 2^2" in twice.report()
    assert twice.failure_log2 == pytest.approx(boot.failure_log2 + 1)
    ev = ctx.bind(keys, bootstrap=twice)  # with the same keys
    y = ev.at_level(ev.encrypt(values()), twice.input_level).bootstrap()
    assert y.level == twice.result_level
    x = ev.at_level(ev.encrypt(values()), y.level)
    np.testing.assert_allclose(ctx.decrypt(y - x, sk).real, 0, atol=2**-24)
    for iterations in (0, 3, 5):
        with pytest.raises(hm.errors.ParameterError, match="iterations"):
            hm.circuits.Bootstrap(params, SLOTS, iterations=iterations)


def test_parts_of_few_slots_are_merged_for_a_level(client, params, boot):
    ctx, sk, _ = client
    merged = hm.circuits.Bootstrap(params, SLOTS, merge_parts=True)
    assert (boot.merge_parts, merged.merge_parts) == (False, True)
    assert merged.levels_left == boot.levels_left - 1
    ev = ctx.bind(ctx.generate_keys(sk, plan=merged), bootstrap=merged)
    z = values() * (1 - 0.5j)
    y = ev.at_level(ev.encrypt(z), merged.input_level).bootstrap()
    assert (y.level, y.slots) == (merged.result_level, SLOTS)
    np.testing.assert_allclose(ctx.decrypt(y, sk, dtype=complex)[:SLOTS], z, atol=2**-18)
    with pytest.raises(hm.errors.ParameterError, match="merge"):
        hm.circuits.Bootstrap(params, SLOTS, real=True, merge_parts=True)


def test_what_does_not_fit_is_refused(client, params, boot):
    ctx, sk, keys = client
    with pytest.raises(hm.errors.ParameterError, match="n16-40"):
        hm.ckks.Parameters.for_bootstrapping("n16")
    with pytest.raises(hm.errors.ParameterError, match="its fields are"):
        hm.ckks.Parameters.for_bootstrapping("test-40", level=3)
    with pytest.raises(TypeError, match="levels is 'many'"):
        hm.ckks.Parameters.for_bootstrapping("test-40", levels="many")
    with pytest.raises(hm.errors.ParameterError, match="power of two"):
        hm.circuits.Bootstrap(params, 3)
    with pytest.raises(hm.errors.ParameterError, match="for_bootstrapping"):
        hm.circuits.Bootstrap(hm.ckks.Parameters.for_circuit(2))
    with pytest.raises(hm.errors.ParameterError, match="plan"):
        ctx.bind(keys, automatic=True)
    with pytest.raises(hm.errors.MissingKeyError, match="no plan"):
        ctx.bind(keys).encrypt(values()).bootstrap()
    with pytest.raises(hm.errors.MismatchError, match="8"):
        ctx.bind(keys, bootstrap=boot).encrypt(values(8)).bootstrap()
    plain_keys = ctx.generate_keys(sk)
    with pytest.raises(hm.errors.MissingKeyError, match="plan="):
        ctx.bind(plain_keys, bootstrap=boot).encrypt(values()).bootstrap()


def test_keys_of_a_plan_are_saved_and_loaded(client, boot):
    ctx, sk, keys = client
    ev = ctx.bind(ctx.load(bytes(keys)), bootstrap=boot)
    y = ev.at_level(ev.encrypt(values()), boot.input_level).bootstrap()
    np.testing.assert_allclose(ctx.decrypt(y, sk).real, values(), atol=2**-19)


@pytest.mark.parametrize(("range_", "degree", "doublings"), [(12, 31, 2), (16, 7, 5), (14, 40, 1)])
def test_sines_of_any_range_degree_and_doublings(range_: int, degree: int, doublings: int) -> None:
    params = hm.ckks.Parameters.for_bootstrapping(
        "test-40", levels=2, sine_range=range_, sine_degree=degree, doublings=doublings
    )
    boot = hm.circuits.Bootstrap(params, SLOTS, sine_range=range_, sine_degree=degree)
    assert (boot.sine_range, boot.sine_degree, boot.doublings) == (range_, degree, doublings)
    # Degrees up to the next 2^k - 1 have as many levels: the largest is the usual one.
    assert hm.circuits.Bootstrap(params, SLOTS).sine_degree == 2 ** degree.bit_length() - 1
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, plan=boot), bootstrap=boot)
    x = ctx.encrypt(ctx.encode(values(), level=boot.input_level, largest=1), sk)
    np.testing.assert_allclose(ctx.decrypt(ev.bootstrap(x), sk).real, values(), atol=2**-19)


def test_a_sine_of_nested_products_has_the_same_precision_for_less_work() -> None:
    make, plan = hm.ckks.Parameters.for_bootstrapping, hm.circuits.Bootstrap
    params = make("test-40", levels=2, nested_sine=True)
    boot, usual = plan(params, SLOTS), plan(make("test-40", levels=2, nested_sine=False), SLOTS)
    # Products of two parts, without T_3 and the series' halves.
    assert boot._native.cost.key_products == usual._native.cost.key_products - 6
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, plan=boot), bootstrap=boot)
    x = ctx.encrypt(ctx.encode(values(), level=boot.input_level, largest=1), sk)
    np.testing.assert_allclose(ctx.decrypt(ev.bootstrap(x), sk).real, values(), atol=2**-19)
    with pytest.raises(hm.errors.ParameterError, match="degree 15 and 3 doublings alone"):
        make("test-40", nested_sine=True, sine_range=15)


def test_sines_that_do_not_fit_are_refused(params: hm.ckks.Parameters) -> None:
    make = hm.ckks.Parameters.for_bootstrapping
    with pytest.raises(hm.errors.ParameterError, match=r"degree 7 and 1 doublings.*larger degree"):
        make("test-40", sine_degree=7, doublings=1)
    with pytest.raises(hm.errors.ParameterError, match="larger integer with a probability"):
        make("test-40", sine_range=8)
    with pytest.raises(hm.errors.ParameterError, match="degree 31; these parameters' levels take"):
        hm.circuits.Bootstrap(params, SLOTS, sine_degree=31)
    with pytest.raises(hm.errors.ParameterError, match="sine_degree of 0"):
        hm.circuits.Bootstrap(params, SLOTS, sine_degree=0)
    with pytest.raises(hm.errors.ParameterError, match="the range must be from 2"):
        hm.circuits.Bootstrap(params, SLOTS, sine_range=0)
    with pytest.raises(hm.errors.ParameterError, match="sine_range must be an integer"):
        hm.circuits.Bootstrap(params, SLOTS, sine_range=1.5)  # type: ignore[arg-type]


def test_the_model_knows_magnitudes(client, boot) -> None:
    ctx, sk, keys = client
    ev = ctx.bind(keys, bootstrap=boot, magnitude=100)
    large = 100 * np.random.default_rng(5).uniform(-1, 1, (64, SLOTS))
    x = ctx.encrypt(ctx.encode(large, level=boot.input_level), sk)
    found = ctx.decrypt(ev.bootstrap(x), sk).real - large
    expected = boot.simulate(large, seed=1, magnitude=100).real - large
    size = np.sqrt(np.mean(found**2)), np.sqrt(np.mean(expected**2))
    assert abs(np.log2(size[0] / size[1])) < 0.3
    # Errors are as many times as large, and a little of SlotToCoeff's own precision is lost.
    lost = boot.expected_precision()[0] - boot.expected_precision(magnitude=100)[0]
    assert np.log2(100) - 0.3 < lost < np.log2(100) + 1
    np.testing.assert_array_equal(boot.simulate(values()), boot.simulate(values(), magnitude=0.5))
    for magnitude in (0, -1, np.inf, np.nan):
        with pytest.raises(hm.errors.ParameterError, match="finite and positive"):
            boot.expected_precision(magnitude=magnitude)
    with pytest.raises(hm.errors.RangeError, match="divide by up to 32768"):
        boot.simulate(values(), magnitude=1e6)


def test_merged_parts_may_stay_side_by_side(params):
    plan = hm.circuits.Bootstrap(params, SLOTS, merge_parts=True, join_parts=False)
    joined = hm.circuits.Bootstrap(params, SLOTS, merge_parts=True)
    assert (plan.join_parts, plan.slots, plan.result_slots) == (False, SLOTS, 2 * SLOTS)
    assert (joined.join_parts, joined.result_slots) == (True, SLOTS)
    assert plan.levels_left == joined.levels_left + 1 == 4
    assert plan.operations["products"] == joined.operations["products"] == 10
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    keys = ctx.generate_keys(sk, plan=plan)
    ev = ctx.bind(keys)
    x = values() + 1j * values()[::-1]
    y = plan(ev.at_level(ev.encrypt(x), plan.input_level))
    assert (y.slots, y.level) == (2 * SLOTS, plan.result_level)
    found, expected = ctx.decrypt(y, sk), np.concatenate([x.real, x.imag])
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=2**-19)
    np.testing.assert_allclose(plan.simulate(x), expected, atol=2**-19)
    assert plan.simulate(np.stack([x, x, x])).shape == (3, 2 * SLOTS)
    # Fewer values than slots: zeros in both halves.
    few = plan(ev.at_level(ev.encrypt(x[:12]), plan.input_level))
    part = np.zeros(SLOTS)
    part[:12] = x.real[:12]
    shorter = ctx.decrypt(few, sk)
    assert shorter.shape == (2 * SLOTS,)
    np.testing.assert_allclose(shorter[:SLOTS], part, atol=2**-19)
    np.testing.assert_allclose(shorter[SLOTS : SLOTS + 12], x.imag[:12], atol=2**-19)
    mean, worst = plan.expected_precision()
    assert 22 < worst < mean < 26
    for options in ({"automatic": True}, {}):
        with pytest.raises(hm.errors.ParameterError, match="side by side"):
            ctx.bind(keys, bootstrap=plan, **options)


@pytest.mark.parametrize(
    "options",
    [{}, {"real": True}, {"merge_parts": True, "iterations": 2}],
    ids=["not merged", "real", "iterations"],
)
def test_only_merged_parts_stay_side_by_side(params, options):
    with pytest.raises(hm.errors.ParameterError, match="leaves parts side by side that it merges"):
        hm.circuits.Bootstrap(params, SLOTS, join_parts=False, **options)


def test_parts_do_not_stay_side_by_side_in_the_standard_order():
    standard = hm.ckks.Parameters.for_bootstrapping(
        "test-40", order="standard", last_bits=49, ratio_bits=9, slots_to_coefficients=[43, 43, 43]
    )
    with pytest.raises(hm.errors.ParameterError, match="with slots first"):
        hm.circuits.Bootstrap(standard, SLOTS, merge_parts=True, join_parts=False)
