"""Each operation of a program, encrypted, against the same in the clear, and its keys."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hemera as hm
from hemera import _core, serving
from hemera.package.interface import Interface
from hemera.program.keys import KeyList, OwnKey
from hemera.program.operations import Bootstraps, Encoded, Place, Running
from hemera.program.operations.slots import Take
from hemera.program.values import Form

from ..refusals import raises
from .operation_cases import CKKS, MATRIX, RNG, SLOTS, Client

INTEGERS = {
    "product and sum": lambda x, y: (x * y - x) * 3 + 1,
    "power": lambda x, _: x**3,
    "arrays": lambda x, _: x * np.arange(1024) + np.arange(1024)[::-1],
    "rotated": lambda x, y: x.rotate(1) + y.rotate(-3),
    "rows": lambda x, _: x.swap_rows(),
    "sum of slots": lambda x, y: x.sum() - y,
    "dot": lambda x, y: serving.dot([x, y], [y, y]) + serving.dot([x, y], [np.arange(1024), np.full(1, 4)]),
}


@pytest.mark.parametrize("name", CKKS)
def test_ckks(name):
    package = serving.export(
        CKKS[name], inputs=[SLOTS, SLOTS], name=name, security=None, outputs={"output": SLOTS}
    )
    client = Client(package)
    rows = RNG.uniform(-0.8, 0.8, (2, 3, SLOTS))  # two inputs of three requests
    np.testing.assert_allclose(
        client.run(list(rows)), np.real(package.evaluate_clear(list(rows))), atol=2**-20
    )


@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name, scheme):
    kind = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}[scheme]
    params = kind.for_circuit(3, slots=1024, security=None)
    package = serving.export(INTEGERS[name], inputs=[params.max_slots] * 2, name=name, params=params)
    client = Client(package)
    rows = list(RNG.integers(-20, 20, (2, 2, params.max_slots)))
    found, expected = client.run(rows), package.evaluate_clear(rows)
    np.testing.assert_array_equal(found, expected)
    assert found.any()


def test_bootstrap():
    params = hm.ckks.Parameters.for_bootstrapping("test-40")

    def circuit(x):
        for _ in range(9):
            x = x * x
        return (x.bootstrap(real=True) * x).rotate(1)

    package = serving.export(circuit, inputs=16, name="deep", params=params)
    assert package.describe()["keys"]["bootstraps"] == [
        {"slots": 16, "real": True, "iterations": 1, "merge_parts": False}
    ]
    client = Client(package)
    rows = RNG.uniform(0.99, 1, (2, 16))
    np.testing.assert_allclose(client.run(rows), package.evaluate_clear(rows), atol=2**-10)
    with pytest.raises(hm.errors.MissingKeyError, match="bootstrap of 16 slots"):
        package.check(client.ctx, client.ctx.generate_keys(client.sk, rotations=[1]))
    for slots in (3, 2 * params.max_slots):
        told = package.interface.describe()
        told["keys"]["bootstraps"][0] = {**told["keys"]["bootstraps"][0], "slots": slots}
        raises(hm.errors.FormatError, f"a bootstrap of {slots} slots", Interface.from_dict, told)
    flat = hm.Context(hm.ckks.Parameters.for_circuit(depth=20, slots=16, security=None), "cpu")
    with pytest.raises(hm.errors.MismatchError, match="takes its own parameters"):
        package.check(flat, flat.generate_keys(flat.generate_secret_key()))


def test_requests_of_one_batch_are_bootstrapped_at_once():
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    package = serving.export(
        lambda x: x.bootstrap(real=True, together=4) * 0.5, inputs=16, name="together", params=params
    )
    assert package.describe()["keys"]["bootstraps"] == [
        {"slots": 16, "real": True, "iterations": 1, "merge_parts": False, "together": 4}
    ]
    loaded = serving.Package.load(bytes(package))
    client = Client(loaded)
    rows = RNG.uniform(-1, 1, (6, 16))
    np.testing.assert_allclose(client.run(rows), rows / 2, atol=2**-17)
    (node,) = [node for node in loaded.program.nodes if isinstance(node.operation, Bootstraps)]
    place = Place(params, 0, loaded.program.inputs[0])
    assert node.operation.plan(place).together == 4
    one_by_one = Bootstraps(real=True).settings(loaded.program.inputs[0])
    assert "together" not in one_by_one  # as in files from before it
    with pytest.raises(hm.errors.ParameterError, match="at once"):
        serving.export(lambda x: x.bootstrap(together=2048), inputs=16, name="many", params=params)


def test_a_bootstrap_of_values_whose_magnitude_is_known():
    """Bounds that operations declare are wider than what samples show: whoever made the program knows."""
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    ctx = hm.Context(params, "cpu", threads=1)
    secret = ctx.generate_secret_key()
    known, unknown = (Bootstraps(real=True, magnitude=8, known=each) for each in (True, False))
    plan = known.plan(Place(params, 0, Form(16)))
    ev = ctx.bind(ctx.generate_keys(secret, plan=plan))
    values = RNG.uniform(-8, 8, 16)
    x = ctx.encrypt(ctx.encode(values, level=plan.input_level, largest=8.4), secret)
    np.testing.assert_allclose(ctx.decrypt(known.run(Running(ev, plan), x), secret), values, atol=2**-6)
    raises(hm.errors.RangeError, r"8\.4", unknown.run, Running(ev, plan), x)


def test_a_bootstrap_begins_above_its_own_levels():
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    lowest = hm.circuits.Bootstrap(params, slots=16).input_level
    levels = hm.circuits.Polynomial([0, 1]).plan(params).level - lowest

    def deep(squares):
        return lambda x: (x ** (1 << squares)).bootstrap()

    assert serving.export(deep(levels), inputs=16, name="deep", params=params).interface.depth == levels
    with pytest.raises(hm.errors.LevelError, match=f"takes {levels + 1} levels, and {levels} are left"):
        serving.export(deep(levels + 1), inputs=16, name="deep", params=params)


def test_few_encodings_are_kept(ckks):
    encoded = Encoded(np.ones(16), product=True)
    ciphertexts = [
        ckks.ctx.encrypt(ckks.ctx.encode(np.ones(16), scale=2.0**bits), ckks.sk) for bits in range(30, 40)
    ]
    for ciphertext in ciphertexts:
        plain = encoded.for_operand(ckks.ev, ciphertext)
        assert plain is encoded.for_operand(ckks.ev, ciphertext)
        assert len(encoded._found) <= 4


def test_a_batch_of_a_request_and_many_requests():
    weights = RNG.uniform(-1, 1, (3, SLOTS))

    def circuit(x, y):
        assert x.shape == (3,)
        assert len(list(x)) == 3
        return {"all": x * weights * y, "one": x[0] * y + x[-1]}

    package = serving.export(
        circuit,
        inputs=[serving.InputSpec("x", SLOTS, shape=(3,)), serving.InputSpec("y", SLOTS)],
        name="batch",
        security=None,
    )
    client = Client(package)
    for requests in ((), (2,), (2, 2)):
        rows = {"x": RNG.uniform(-1, 1, (*requests, 3, SLOTS)), "y": RNG.uniform(-1, 1, (*requests, SLOTS))}
        found, expected = client.run(rows), package.evaluate_clear(rows)
        assert found["all"].shape == (*requests, 3, SLOTS)
        one = rows["x"][..., 0, :] * rows["y"] + rows["x"][..., 2, :]
        np.testing.assert_allclose(found["one"], one, atol=2**-20)
        for name in found:
            np.testing.assert_allclose(found[name], expected[name], atol=2**-20)


def test_captured():
    package = serving.export(CKKS["several steps"], inputs=[SLOTS] * 2, name="steps", security=None)
    client = Client(package)
    evaluator = client.prepared.bind(client.keys)
    rows = list(RNG.uniform(-1, 1, (2, 3, SLOTS)))
    graph = client.prepared.capture(evaluator, client.encrypt(rows))
    for _ in range(2):
        rows = list(RNG.uniform(-1, 1, (2, 3, SLOTS)))
        found = client.decrypt(list(graph(*client.encrypt(rows))))
        np.testing.assert_allclose(found, package.evaluate_clear(rows), atol=2**-20)


GPUS = [name for name in hm.devices() if name != "cpu"]


@pytest.mark.skipif(not GPUS, reason="there is no GPU")
@pytest.mark.parametrize("name", ["several steps", "matrix of a product", "sigmoid", "sum of slots"])
def test_on_a_gpu(name):
    package = serving.export(
        CKKS[name], inputs=[SLOTS] * 2, name=name, security=None, outputs={"output": SLOTS}
    )
    client = Client(package)
    home = hm.Context(package.params, GPUS[0])
    prepared = package.prepare(home)
    evaluator = prepared.bind(home.load(bytes(client.keys)))
    graph = None
    for _ in range(2):
        rows = list(RNG.uniform(-0.8, 0.8, (2, 3, SLOTS)))
        inputs = [home.load(bytes(x)) for x in client.encrypt(rows)]
        graph = graph or prepared.capture(evaluator, inputs)
        for results in (prepared.run(evaluator, inputs), list(graph(*inputs))):
            found = client.decrypt([client.ctx.load(bytes(y)) for y in results])
            np.testing.assert_allclose(found, np.real(package.evaluate_clear(rows)), atol=2**-20)


def test_many_threads_run_one_model():
    package = serving.export(CKKS["several steps"], inputs=[SLOTS] * 2, name="steps", security=None)
    client = Client(package)
    other = client.ctx.generate_secret_key()
    evaluators = [
        (sk, client.prepared.bind(client.interface.generate_keys(client.ctx, sk)))
        for sk in (client.sk, other)
    ]

    def answered(seed):
        sk, evaluator = evaluators[seed % 2]
        rows = list(np.random.default_rng(seed).uniform(-1, 1, (2, SLOTS)))
        xs = [client.ctx.encrypt(values, sk) for values in client.interface.encode(rows)]
        (y,) = client.prepared.run(evaluator, xs)
        found = client.interface.decode([client.ctx.decrypt(y, sk)])
        np.testing.assert_allclose(found, package.evaluate_clear(rows), atol=2**-20)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(answered, range(16)))


def test_run_refuses_other_inputs():
    package = serving.export(lambda x: x * 0.5, inputs=8, name="half", security=None)
    client = Client(package)
    prepared, keys = client.prepared, client.keys
    (x,) = client.encrypt(np.ones(8))
    raises(hm.errors.MismatchError, "has 1 inputs, and 2 came", prepared.run, keys, [x, x])
    narrow = client.ctx.encrypt(np.ones(4), client.sk)
    raises(hm.errors.MismatchError, r"has shape .* and 8 slots", prepared.run, keys, [narrow])
    with pytest.raises(hm.errors.LevelError, match="is needed at level 1, and came at 0"):
        prepared.run(keys, [client.ctx.bind(keys).at_level(x, 0)])
    other = Client(serving.export(lambda x: x**4, inputs=8, name="other", security=None))
    raises(hm.errors.MismatchError, "belong to", prepared.run, other.keys, [x])
    raises(hm.errors.MismatchError, "", prepared.run, keys, other.encrypt(np.ones(8)))
    scaled = client.ctx.encrypt(client.ctx.encode(np.ones(8), scale=2.0**30), client.sk)
    raises(hm.errors.ScaleError, r"scale of 2\^30.00, and 2\^40.00 is needed", prepared.run, keys, [scaled])
    raises(hm.errors.MismatchError, r"take 1 of values of shape \(2, 4\)", Take(1).clear, np.zeros((2, 4)))
    ciphertext = prepared.run(prepared.bind(keys), [x])
    np.testing.assert_allclose(client.decrypt(ciphertext), 0.5, atol=2**-20)


def test_coefficients_are_refused():
    params = hm.bfv.Parameters.for_circuit(1, slots=1024, security=None)
    client = Client(serving.export(lambda x: x + 1, inputs=params.max_slots, name="one", params=params))
    x = client.ctx.encrypt(np.ones(params.max_slots, int), client.sk, encoding="coefficients")
    raises(hm.errors.MismatchError, "coefficients", client.prepared.run, client.keys, [x])


def test_spent_noise_is_an_error():
    params = hm.bfv.Parameters.for_circuit(1, slots=1024, security=None)
    package = serving.export(lambda x: x**64, inputs=params.max_slots, name="deep", params=params)
    client = Client(package)
    with (
        pytest.warns(hm.errors.NoiseWarning),
        pytest.raises(hm.errors.NoiseError, match="export it with larger ones"),
    ):
        client.run(np.ones(params.max_slots, int))


def test_a_matrix_with_few_keys():
    few, many = (
        serving.export(
            lambda x, few=few: x.matmul(MATRIX, fewest_keys=few), inputs=SLOTS, name="matrix", security=None
        ).describe()["keys"]["rotations"]
        for few in (True, False)
    )
    assert len(few) <= 3 < len(many)


def test_what_no_output_takes_is_left_out():
    def circuit(x, y):
        _ = (x**8).rotate(5) * y
        return x.rotate(1) - y

    package = serving.export(circuit, inputs=[4, 4], name="lazy", security=None)
    assert package.program.operations == {"rotate": 1, "subtract": 1}
    assert package.describe()["keys"]["rotations"] == [[1, 1]]
    np.testing.assert_array_equal(package.evaluate_clear([np.arange(4), np.ones(4)]), [0, 1, 2, -1])


def test_check_names_every_missing_key():
    package = serving.export(
        lambda x: (x * x).rotate(5) + x.conjugate() + x @ np.eye(SLOTS, k=3),
        inputs=SLOTS,
        name="many",
        security=None,
    )
    ctx = hm.Context(package.params, "cpu")
    sk = ctx.generate_secret_key()
    few = ctx.generate_keys(sk, relinearization=False)
    with pytest.raises(hm.errors.MissingKeyError, match=r"relinearization; rotations by .*5.*; conjugation"):
        package.check(ctx, few)
    # A rotation may be made up of powers of two; those of a matrix may not.
    steps = [steps for steps, _ in package.describe()["keys"]["rotations"] if steps != 5]
    package.check(ctx, ctx.generate_keys(sk, rotations=[1, 4, *steps], conjugation=True))
    with pytest.raises(hm.errors.MissingKeyError):
        package.check(ctx, ctx.generate_keys(sk, rotations=[1, 2, 4, 8, 16], conjugation=True))
    low = ctx.generate_keys(sk, rotations=[5, *steps], conjugation=True, galois_level=0)
    package.check(ctx, low)
    with pytest.raises(hm.errors.LevelError, match="limited to level 0"):
        package.prepare(ctx).run(low, [ctx.encrypt(np.zeros(SLOTS), sk)])


class OpenFheContext(hm.Context):
    """With OpenFHE's rotations of BFV: from N/2 on they exchange the rows, too."""

    _rotates_as_openfhe = True


def test_check_knows_the_rotations_of_other_libraries():
    params = hm.bfv.Parameters.from_bits(
        degree=1024, plain_modulus=12289, prime_bits=[36] * 3, special_bits=[36], security=None
    )
    package = serving.export(lambda x: x.rotate(600), inputs=1024, name="m", params=params)
    for kind, step, other in ((hm.Context, 88, 87), (OpenFheContext, 600, 88)):
        ctx = kind(params, "cpu")
        sk = ctx.generate_secret_key()
        keys = ctx.generate_keys(sk, rotations=[step])
        package.check(ctx, keys)
        package.prepare(ctx).run(keys, [ctx.encrypt(np.arange(1024), sk)])
        with pytest.raises(hm.errors.MissingKeyError, match="rotations by"):
            package.check(ctx, ctx.generate_keys(sk, rotations=[other]))


def test_check_tells_what_else_does_not_fit():
    package = serving.export(lambda x: x**8, inputs=512, name="deep", security=None)
    own = hm.Context(package.params, "cpu")
    package.check(own, package.generate_keys(own, own.generate_secret_key()))  # which stands for no other
    flat = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=512, security=None), "cpu")
    keys = flat.generate_keys(flat.generate_secret_key())
    raises(hm.errors.LevelError, "depth of 3", package.check, flat, keys)
    exact = hm.Context(hm.bfv.Parameters.for_circuit(2, slots=1024, security=None), "cpu")
    other = exact.generate_keys(exact.generate_secret_key())
    raises(hm.errors.MismatchError, "is of CKKS, and the keys are of BFV", package.check, exact, other)
    raises(hm.errors.MismatchError, "the keys belong to", package.check, flat, other)
    small, large = (
        hm.bfv.Parameters.from_bits(
            degree=degree, plain_modulus=12289, prime_bits=[40, 40], special_bits=[40], security=None
        )
        for degree in (1024, 2048)
    )
    integers = serving.export(lambda x: x + 1, inputs=1024, name="small", params=small)
    home = hm.Context(large, "cpu")
    with pytest.raises(
        hm.errors.MismatchError, match="for 1024 slots modulo 12289, and the parameters have 2048"
    ):
        integers.check(home, home.generate_keys(home.generate_secret_key()))
    wide = serving.export(lambda x: x + 1, inputs=4096, name="wide", security=None)
    raises(hm.errors.MismatchError, "needs 4096 slots", wide.check, flat, keys)


KEYS = {
    "none": {},
    "relinearization": {"relinearization": 0},
    "rotations": {"rotations": {1: 2, -3: 0}},
    "conjugation": {"conjugation": 1},
    "of one level": {"own": (OwnKey("rotation", 5, 2, 1), OwnKey("conjugation", 0, 1, 1))},
    "of one level, for products": {"own": (OwnKey("relinearization", 0, 2, 1),)},
}


@pytest.mark.parametrize("name", KEYS)
def test_the_told_number_of_keys_is_that_of_those_made(name):
    """Each kind of keys alone, and beside all others; by those that the core makes."""
    params = hm.ckks.Parameters.for_circuit(3, slots=32, degree=1024, security=None)
    ctx = hm.Context(params, "cpu")
    sk = ctx.generate_secret_key()
    merged = {}
    for own in KEYS.values():
        merged |= own
    for fields in (KEYS[name], merged | KEYS[name]):
        listed = KeyList(**fields)
        needs = listed.needs(ctx)
        made = _core.generate_needed_keys(sk._native, needs)
        assert listed.count == len({repr(need) for need in needs}) == len(needs)
        limbs = sum(need.digits * (len(need.primes) + len(need.special_primes)) for need in needs)
        assert hm.Keys(made, ctx).memory_bytes == 16 * limbs * params.degree
        assert KeyList.from_data(listed.to_data(), params) == listed


def test_one_key_serves_all_levels_of_a_rotation():
    """Up to the highest, in whichever order they come."""
    for steps in ((1, 2), (2, 1)):
        package = serving.export(
            lambda x, s=steps: (x.rotate(s[0]) * 0.5).rotate(s[1]) * 0.5 + (x * 0.5).rotate(s[0]) * 0.25,
            inputs=SLOTS,
            name="m",
            security=None,
        )
        assert package.describe()["keys"]["rotations"] == [[k, [2, 1][steps.index(k)]] for k in (1, 2)]
        row = RNG.uniform(-1, 1, (1, SLOTS))
        expected = np.real(package.evaluate_clear(row))
        np.testing.assert_allclose(Client(package).run(row), expected, atol=2**-20)
