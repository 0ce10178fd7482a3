"""Bootstrapping, as a user meets it."""

import re

import numpy as np
import pytest

import hemera as hm
from hemera.circuits.needs import size_text
from hemera.errors import MismatchError, MissingKeyError, ParameterError

from .refusals import raises, refuse

SLOTS = 16


@pytest.fixture(scope="module")
def params():
    return hm.ckks.Parameters.for_bootstrapping("test-40", levels=4)


@pytest.fixture(scope="module")
def boot(params):
    return hm.circuits.Bootstrap(params, SLOTS)


@pytest.fixture(scope="module")
def client(params, boot):
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    return ctx, sk, ctx.generate_keys(sk, plan=boot, rotations=[1])


def values(count=SLOTS):
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


def test_the_plan_tells_its_price(boot):
    report = boot.report()
    assert "4 levels left" in report
    assert "at once" not in report
    assert repr(boot) == f"<Bootstrap of 16 slots, level {boot.input_level} to {boot.result_level}>"
    assert "probability of 2^-14" in report
    assert report.count("CoeffToSlot") == 3
    assert boot.key_bytes > 0
    assert boot.plaintext_bytes > 0
    mean, worst = boot.expected_precision()
    assert 20 < worst < mean < 26
    assert isinstance(boot, hm.circuits.Plan)
    assert (boot.level, boot.depth) == (boot.input_level, -4)
    # Real and imaginary parts have ten each, in eight sums.
    assert boot.operations["products"] == 20
    assert 2**-24 < boot.expected_error(0)[0] < 2**-20
    told = boot.as_dict()
    assert (told["levels_left"], told["expected_precision"]) == (4, {"mean": mean, "worst": worst})
    kinds = [key["kind"] for key in told["keys"]]
    assert kinds.count("conjugation") == kinds.count("to ephemeral") == kinds.count("from ephemeral") == 1
    assert kinds.count("relinearization") == 8
    assert sum(key["bytes"] for key in told["keys"]) == boot.key_bytes
    # The trace gathers the repetitions of 16 slots.
    assert {16, 32, 64, 128, 256, 512} <= {key["rotation"] for key in told["keys"]}


def test_keys_fit_a_limit_of_what_is_uploaded(params):
    slots = SLOTS
    whole = hm.circuits.Bootstrap(params, slots)
    with pytest.raises(ParameterError, match=r"at least \d+ bytes to upload") as refused:
        hm.circuits.Bootstrap(params, slots, upload_limit=1)
    least = int(re.search(r"at least (\d+) bytes", str(refused.value))[1])
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    before = 0
    for limit in (least, (least + whole.upload_bytes) // 2, whole.upload_bytes):
        plan = hm.circuits.Bootstrap(params, slots, upload_limit=limit)
        assert before < plan.upload_bytes <= limit
        before = plan.upload_bytes
        assert plan.as_dict()["bytes"]["upload"] == plan.upload_bytes
        assert f"{size_text(plan.upload_bytes)} to upload" in plan.report()
        keys = ctx.generate_keys(sk, public_key=False, relinearization=False, plan=plan)
        assert abs(len(bytes(keys)) / plan.upload_bytes - 1) < 0.01
        ev = ctx.bind(ctx.generate_keys(sk, plan=plan), bootstrap=plan)
        given = np.resize(values(), plan.slots)
        y = ev.at_level(ev.encrypt(given), plan.input_level).bootstrap()
        np.testing.assert_allclose(ctx.decrypt(y, sk).real, given, atol=2**-19)
        if limit == least:
            other = ctx.bind(ctx.generate_keys(sk, plan=whole), bootstrap=plan)
            low = other.at_level(other.encrypt(given), plan.input_level)
            raises(MissingKeyError, f"upload_limit of {limit} bytes", low.bootstrap)
    assert plan.operations == whole.operations
    refuse((lambda: hm.circuits.Bootstrap(params, slots, upload_limit=0), ParameterError, "upload_limit"))


def test_too_little_memory_is_said_before_anything_runs(params, boot):
    assert boot.memory_bytes(2) == boot.key_bytes + boot.plaintext_bytes + 2 * boot.workspace_bytes
    narrow = hm.Context(params, "cpu", memory_limit=boot.key_bytes // 2)
    refuse((lambda: boot.require_memory(narrow), hm.errors.OutOfMemoryError, "left"))
    sk = narrow.generate_secret_key()
    with pytest.raises(hm.errors.OutOfMemoryError, match="keys of a plan"):
        narrow.generate_keys(sk, public_key=False, relinearization=False, plan=boot)
    wide = hm.Context(params, "cpu", memory_limit=2 * boot.memory_bytes())
    boot.require_memory(wide)
    raises(hm.errors.OutOfMemoryError, "", boot.require_memory, wide, batch=100)
    raises(MismatchError, "", lambda: boot.require_memory(hm.Context(hm.ckks.Parameters.for_circuit(1))))


def test_what_does_not_fit_is_refused(client, params, boot):
    ctx, sk, keys = client
    refuse(
        (lambda: hm.ckks.Parameters.for_bootstrapping("n16"), ParameterError, "n16-40"),
        (lambda: hm.ckks.Parameters.for_bootstrapping("test-40", level=3), ParameterError, "its fields are"),
        (lambda: hm.circuits.Bootstrap(params, 3), ParameterError, "power of two"),
        (lambda: ctx.bind(keys, automatic=True), ParameterError, "plan"),
        (lambda: ctx.bind(keys).encrypt(values()).bootstrap(), MissingKeyError, "no plan"),
        (lambda: ctx.bind(keys, bootstrap=boot).encrypt(values(8)).bootstrap(), MismatchError, "8"),
    )
    raises(TypeError, "levels is 'many'", hm.ckks.Parameters.for_bootstrapping, "test-40", levels="many")
    with pytest.raises(ParameterError, match="for_bootstrapping"):
        hm.circuits.Bootstrap(hm.ckks.Parameters.for_circuit(2))
    plain_keys = ctx.generate_keys(sk)
    with pytest.raises(MissingKeyError, match="plan="):
        ctx.bind(plain_keys, bootstrap=boot).encrypt(values()).bootstrap()


CALLS = {
    # the call of two ciphertexts and the plans, the bootstraps of the two at the lowest level, and its value
    "product": (lambda x, y, _: x * y, 2, lambda x, y: x * y),
    "number": (lambda x, *_: x * 0.5, 1, lambda x, _: x * 0.5),
    "integer": (lambda x, *_: x * 3, 0, lambda x, _: x * 3),
    "sum": (lambda x, y, _: x + y, 0, lambda x, y: x + y),
    "array": (lambda x, *_: x * values(), 1, lambda x, _: x * values()),
    "matrix": (lambda x, *_: x @ MATRIX, 1, lambda x, _: x @ MATRIX),
    "dot": (lambda x, y, _: x.evaluator.dot([x, x], [y, x]), 2, lambda x, y: x * y + x * x),
    "dot of arrays": (
        lambda x, *_: x.evaluator.dot([x, x], [values(), np.full(SLOTS, -0.5)]),
        1,
        lambda x, _: x * x - x / 2,
    ),
    "many": (lambda x, y, _: hm.multiply_many([x, y, x]), 2, lambda x, y: x * x * y),
    "polynomial": (lambda x, *_: x.polyval([0.1, 0.5, 0, 0.25]), 1, lambda x, _: 0.1 + x / 2 + x**3 / 4),
    "in stages": (lambda x, y, _: LARGER(x, y), 2 + 2, np.maximum),
    "transform": (lambda x, _, plans: plans[0](x), 1, lambda x, _: MATRIX @ x),
    "grid": (lambda x, y, plans: plans[1](x, y)[0], 2, lambda x, y: x / 2 + np.roll(y, -1) / 4),
    "mask": (lambda x, _, plans: plans[2](x), 1, lambda x, _: x * (np.arange(SLOTS) < 4)),
}
MATRIX = np.random.default_rng(4).uniform(-1, 1, (SLOTS, SLOTS)) / SLOTS
LARGER = hm.circuits.maximum(bits=4)


def test_each_call_bootstraps_its_operands(client, boot):
    """With the plan and keys of its evaluator; circuits/automatic_test.cpp has which operands, and when."""
    ctx, sk, _ = client
    level, make = boot.input_level + 2, hm.circuits
    plans = [
        make.LinearTransform(MATRIX, ctx.params, level=level),
        make.TransformGrid([[{0: 0.5}, {1: 0.25}]], ctx.params, slots=SLOTS, level=level),
        make.Mask(np.arange(SLOTS) < 4, ctx.params),
    ]
    keys = ctx.generate_keys(sk, plan=[boot, *plans], rotations=range(1, SLOTS))
    ev = ctx.bind(keys, bootstrap=boot, automatic=True)
    a, b = values(), values()[::-1]
    x, y = (ev.at_level(ev.encrypt(each), boot.input_level) for each in (a, b))
    for name, (call, bootstraps, expected) in CALLS.items():
        before = ev.bootstraps
        found = ctx.decrypt(call(x, y, plans), sk)
        np.testing.assert_allclose(
            found, expected(a, b), atol=2**-4 if name == "in stages" else 2**-15, err_msg=name
        )
        assert ev.bootstraps - before == bootstraps, name
    with pytest.raises(hm.errors.LevelError, match=r"depth 5, and a bootstrap leaves 4 levels.*up to 15 fit"):
        x.polyval(np.ones(32))


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"iterations": 2}, {"iterations": 2, "levels_left": 3}),
        ({"merge_parts": True}, {"merge_parts": True, "levels_left": 3}),
        ({"merge_parts": True, "join_parts": False}, {"join_parts": False, "result_slots": 2 * SLOTS}),
        ({"real": True}, {"real": True}),
        ({"together": 3}, {"together": 3, "levels_left": 3}),
    ],
    ids=lambda each: "-".join(each),
)
def test_options_reach_the_plan(params, options, facts):
    boot = hm.circuits.Bootstrap(params, SLOTS, **options)
    assert {name: getattr(boot, name) for name in facts} == facts
    assert ("3 ciphertexts at once" in boot.report()) == (boot.together == 3)
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    ev = ctx.bind(ctx.generate_keys(sk, plan=boot))
    x = values() if boot.real or boot.together > 1 else values() * (1 - 0.5j)
    found = ctx.decrypt(boot(ev.at_level(ev.encrypt(x), boot.input_level)), sk)
    expected = x if boot.join_parts else np.concatenate([x.real, x.imag])
    np.testing.assert_allclose(found, expected, atol=2**-18)
    noisy = boot.simulate(np.stack([x, -x]), seed=5)
    assert 2**-36 < np.abs(noisy - np.stack([expected, -expected])).max() < 2**-19
    np.testing.assert_array_equal(boot.simulate(np.stack([x, -x]), seed=5), noisy)


def test_the_sine_reaches_the_plan():
    fields = {"sine_range": 12, "sine_degree": 30}
    params = hm.ckks.Parameters.for_bootstrapping("test-40", levels=2, doublings=2, **fields)
    boot = hm.circuits.Bootstrap(params, SLOTS, **fields)
    assert (boot.sine_range, boot.sine_degree, boot.doublings) == (12, 30, 2)
    assert hm.circuits.Bootstrap(params, SLOTS).sine_degree == 31  # of as many levels


def test_keys_fit_a_limit_in_memory(client, params, boot):
    few = hm.circuits.Bootstrap(params, SLOTS, key_memory_limit=boot.key_bytes - 1)
    ctx, sk, _ = client
    keys = ctx.generate_keys(sk, public_key=False, relinearization=False, plan=few)
    assert keys.memory_bytes == few.key_bytes < boot.key_bytes
    assert "one after the other" in few.report()


def test_magnitudes_reach_the_model(boot):
    """Errors are as many times as large, and a little of SlotToCoeff's own precision is lost."""
    lost = boot.expected_precision()[0] - boot.expected_precision(magnitude=100)[0]
    assert np.log2(100) - 0.3 < lost < np.log2(100) + 1
    own, large = (np.abs(boot.simulate(values(), magnitude=each) - values()).max() for each in (0.5, 100))
    assert 10 < large / own < 500
    for magnitude in (0, -1, np.inf, np.nan):
        raises(ParameterError, "finite and positive", boot.expected_precision, magnitude=magnitude)
    refuse((lambda: boot.simulate(values(), magnitude=1e6), hm.errors.RangeError, "divide by up to 32768"))
    refuse((lambda: boot.simulate(values(8)), ParameterError, "16 slots"))


REFUSED = [
    ({"slots": 3}, ParameterError, "power of two"),
    ({"slots": 0}, ParameterError, "0 slots"),
    ({"iterations": 0}, ParameterError, "iterations"),
    ({"iterations": 5}, ParameterError, "iterations"),
    ({"real": True, "merge_parts": True}, ParameterError, "merge"),
    ({"join_parts": False}, ParameterError, "leaves parts side by side that it merges"),
    ({"together": 0}, ParameterError, "at once"),
    ({"together": 65}, ParameterError, "at once"),
    ({"key_memory_limit": 0}, ParameterError, "key_memory_limit"),
    ({"key_memory_limit": 1}, hm.errors.OutOfMemoryError, "at least"),
    ({"sine_degree": 31}, ParameterError, "degree 31; these parameters' levels take"),
    ({"sine_degree": 0}, ParameterError, "sine_degree of 0"),
    ({"sine_range": 0}, ParameterError, "the range must be from 2"),
    ({"sine_range": 1.5}, ParameterError, "sine_range must be an integer"),
]


@pytest.mark.parametrize(("options", "error", "words"), REFUSED)
def test_options_that_do_not_fit_are_refused(params, options, error, words):
    refuse((lambda: hm.circuits.Bootstrap(params, **({"slots": SLOTS} | options)), error, words))
