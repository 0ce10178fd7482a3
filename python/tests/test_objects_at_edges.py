"""Users' objects at their edges: what is taken last and refused first, and what two operands' types make."""

import operator
import re

import numpy as np
import pytest

import hemera as hm
from hemera.circuits.needs import size_text
from hemera.errors import LevelError, MismatchError, ParameterError
from hemera.objects.cost import DryRun, FreshInput
from hemera.objects.keys import rotations_for_sum

from .conftest import PLAIN_MODULUS
from .refusals import raises, refuse

SLOTS = 8


@pytest.mark.parametrize("name", ["iadd", "isub", "imul"])
@pytest.mark.parametrize("kind", ["ciphertext", "plaintext", "array"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((1,), (3,)), ((), (2,)), ((2, 1), (2, 3)), ((2, 1), (1, 2)), ((3,), (1,)), ((2, 3), (3,)), ((1,), ())],
    ids=str,
)
def test_in_place_only_the_shape_that_stays(party, name, kind, left, right):
    """Taken where NumPy takes it, with NumPy's values; else the operand is as it was."""
    a, b = party.values(*left, SLOTS), party.values(*right, SLOTS, seed=2)
    x = party.ev.encrypt(a)
    y = {"ciphertext": party.ev.encrypt, "plaintext": party.ctx.encode, "array": lambda b: b}[kind](b)
    if np.broadcast_shapes(left, right) == left:
        party.check(getattr(operator, name)(x, y), getattr(operator, name)(a.copy(), b))
        return
    refuse((lambda: getattr(operator, name)(x, y), MismatchError, r"can not replace an operand of shape"))
    party.check(x, a)


@pytest.mark.parametrize(
    ("option", "last", "refused"),
    [
        ("threads", [1, np.int32(2), None], [0, -1, 1 << 31, 1.0, True, "2"]),
        pytest.param(
            "memory_limit",
            [1, np.int64(1 << 40), None],
            [0, -1, 1.5, True, "2"],
            marks=pytest.mark.fact_of_the_cpu("contexts that take no memory"),
        ),
        ("storage", ["auto", "eight-byte"], ["", "nine-byte", None]),
        ("keys", ["device", "host"], ["", "cpu", None]),
    ],
)
def test_options_of_contexts(ckks, option, last, refused):
    for value in last:
        hm.Context(ckks.ctx.params, "cpu", **{option: value})
    for value in refused:
        raises(ParameterError, option, hm.Context, ckks.ctx.params, "cpu", **{option: value})


def test_encrypted_matrices_of_other_shapes_do_not_fit(ckks):
    shapes = [(3, 4), (3, 1), (1, 4), (2, 4), (3, 5)]
    encrypted = [hm.EncryptedMatrix.encrypt(ckks.values(*shape), ckks.ev) for shape in shapes]
    for x in encrypted[1:]:
        for operation in (operator.add, operator.sub, operator.mul):
            for left, right in ((encrypted[0], x), (x, encrypted[0])):
                with pytest.raises(
                    MismatchError, match=re.escape(f"{left.shape} and {right.shape} do not fit")
                ):
                    operation(left, right)
    with pytest.raises(TypeError, match=r"np\.equal takes no EncryptedMatrix"):
        assert encrypted[0] == encrypted[0]


def test_texts_of_keys_count_in_the_unit_that_they_name(party):
    keys = party.ctx.generate_keys(party.sk, rotations=[1, 2])
    for own in (keys, keys.public_only(), keys.without_galois_keys()):
        names = ["public"] * own.has_public_key + ["relinearization"] * own.has_relinearization
        count, size = len(own.galois_elements), own.memory_bytes / 1024**2
        assert repr(own) == f"<Keys: {', '.join([*names, f'{count} Galois'])}; {size:.1f} MiB>"


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
@pytest.mark.parametrize("count", [5, SLOTS])
def test_integers_of_any_size_are_taken_modulo_t_or_refused(party, name, count):
    of, huge, a = getattr(operator, name), 10**400, party.values(count)
    x = party.ev.encrypt(a)
    for number in (huge, -huge) if party.exact else ():
        party.check(of(x, number), np.array(of(a.astype(object), number) % PLAIN_MODULUS, np.int64))
        party.check(of(number, x), np.array(of(number, a.astype(object)) % PLAIN_MODULUS, np.int64))
    for number in () if party.exact else (huge, -huge, np.inf, -np.inf, np.nan):
        for call in (lambda n=number: of(x, n), lambda n=number: of(n, x)):
            refuse((call, ParameterError, "must be finite"))


@pytest.mark.parametrize("turn", range(4))
def test_captured_operands_of_the_same_bytes_are_not_the_same(party, turn):
    """As terms and as factors, at two levels, of two types, one value and as many: in any order."""
    a, b = party.values(SLOTS), party.values(SLOTS, seed=2)
    x, y = party.ev.encrypt(a), party.ev.encrypt(b)
    other = b.astype(np.complex128) if party.scheme == "ckks" else b.astype(np.int8)
    one, two = np.full(1, 2, b.dtype), np.full((2, 1), 2, b.dtype)
    calls = [
        (lambda x: x + b, a + b),
        (lambda x: x * b, a * b),
        (lambda x: x - b, a - b),
        (lambda x: x.at_level(1) + b, a + b),
        (lambda x: x.at_level(1) * b, a * b),
        (lambda x: x + other, a + other),
        (lambda x: x * one, a * one),
        (lambda x: x * two, a * two),
        (lambda x: x + y, a + b),
    ]
    calls = [*calls[turn:], *calls[:turn]][:: -1 if turn % 2 else 1]
    graph = party.ev.capture(lambda x: [call(x) for call, _ in calls], x)
    for _ in range(2):
        for found, (_, expected) in zip(graph(x), calls, strict=True):
            party.check(found, expected)
            assert found.dtype == (expected.dtype if party.scheme == "ckks" else np.int64)


def test_texts_of_costs_have_each_number_in_its_place(ckks):
    """Three sizes that differ, as words, as data for programs and in the report."""
    params = ckks.ctx.params
    matrix = hm.circuits.LinearTransform(np.eye(SLOTS) + 1, params, slots=SLOTS)
    counted = hm.cost(lambda x, y: [matrix(x), x * y], SLOTS, (3, SLOTS), params=params)
    sizes = {
        "keys": counted.key_bytes,
        "upload": counted.upload_bytes,
        "plaintexts": counted.plaintext_bytes,
        "workspace": counted.workspace_bytes,
    }
    assert len({0, *sizes.values()}) == 5
    texts = {name: size_text(size) for name, size in sizes.items()}
    told = [f"{text} to {name}" if name == "upload" else f"{name} of {text}" for name, text in texts.items()]
    count = len(counted.needed_keys)
    assert counted.report().splitlines()[:2] == [
        f"level {counted.level} to {counted.result_level}",
        f"{count} {', '.join(told)}",
    ]
    data = counted.as_dict()
    assert data["bytes"] == sizes
    assert (data["level"], data["result_level"], data["depth"]) == (params.levels - 1, params.levels - 2, 1)
    assert (data["device"], data["seconds"], len(data["keys"])) == (None, None, count)
    assert data["operations"] == counted.operations


def test_plaintexts_that_a_function_prepares_stay():
    """Counted with those of its first call: N words for each prime of the level."""
    params = hm.ckks.Parameters.for_circuit(2, slots=SLOTS)
    dry = DryRun(hm.Context(params, "ledger"))

    def prepare(evaluator):
        plain = evaluator.encode(np.ones(SLOTS), level=1)
        return lambda x: x.at_level(1) * plain

    counted = dry.cost(prepare, [FreshInput(SLOTS)])
    assert counted.plaintext_bytes == 8 * params.degree * len(params.primes[1])
    counted = dry.cost(lambda _: lambda x, y: x.at_level(0) + y, [FreshInput(SLOTS, 1), FreshInput(SLOTS, 0)])
    assert (counted.level, counted.result_level, counted.plaintext_bytes) == (1, 0, 0)


@pytest.mark.fact_of_the_cpu("graphs there keep their inputs alone")
def test_graphs_keep_the_memory_of_all_inputs(party):
    x, y = (party.ev.encrypt(party.values(*shape, SLOTS)) for shape in ((), (3,)))
    graph = party.ev.capture(lambda a, b: a + b, x, y)
    assert graph.memory_bytes == x.memory_bytes + y.memory_bytes


def test_switching_keys_are_of_each_level_and_their_results_of_no_keys(party):
    ctx, top = party.ctx, party.ctx.params.levels - 1
    target, a = ctx.generate_secret_key(), party.values(SLOTS)
    x = party.ev.encrypt(a)
    for level, own in ((None, top), (0, 0), (1, 1), (top, top)):
        key = ctx.generate_switching_key(party.sk, target, level=level)
        assert key.level == own
        y = party.ev.reencrypt(x.at_level(own), key)
        assert not y.evaluator.has_keys
        np.testing.assert_allclose(ctx.decrypt(y, target), a, atol=2**-18)
        if own < top:
            raises(LevelError, "", party.ev.reencrypt, x, key)
    for level in (-1, top + 1):
        with pytest.raises(LevelError, match=f"level {level} is not in 0 to {top}"):
            ctx.generate_switching_key(party.sk, target, level=level)


def test_of_two_keys_for_the_same_the_left_one_stays(party):
    ctx = party.ctx
    one, other = (ctx.generate_keys(party.sk, rotations=[1, 2]) for _ in range(2))
    more = ctx.generate_keys(party.sk, public_key=False, rotations=[2, 4])
    assert bytes(one | other) == bytes(one) != bytes(other) == bytes(other | one)
    both = one | more
    assert [both.has_rotation(step) for step in (1, 2, 4, -1, -2)] == [True, True, True, False, False]
    assert (bytes(both.public_only()), bytes(both | one)) == (bytes(one.public_only()), bytes(both))


def test_sums_are_over_as_many_slots_as_there_may_be(party):
    params = party.ctx.params
    row = params.max_slots // (1 if party.scheme == "ckks" else 2)
    steps = [1 << k for k in range(row.bit_length() - 1)]
    for slots in (1, 2, params.max_slots, None):
        of = row if slots is None or party.exact else slots
        assert rotations_for_sum(params, slots) == [step for step in steps if step < of]
    for slots in (0, -1, params.max_slots + 1):
        with pytest.raises(ParameterError, match=f"1 to {params.max_slots} slots here, not {slots}"):
            rotations_for_sum(params, slots)
    for slots in (-1, 2 * params.max_slots):
        raises(ParameterError, "slots here", party.ctx.generate_keys, party.sk, sum_slots=slots)
