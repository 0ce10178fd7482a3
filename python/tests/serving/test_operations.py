"""Each operation of a program, encrypted, against the same in the clear; levels and keys are exact."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera import serving
from hemera.serving.interface import Interface
from hemera.serving.operations import Bootstraps, Encoded, Place, Running
from hemera.serving.operations.slots import Take
from hemera.serving.values import Form

from ..conftest import Party

SLOTS = 32
RNG = np.random.default_rng(5)
MATRIX = RNG.uniform(-1, 1, (SLOTS, SLOTS)) / 8
WIDE = RNG.uniform(-1, 1, SLOTS)
TANH = hm.circuits.tanh((-2, 2), bits=8)
GATE = hm.circuits.function(lambda x, y: TANH(x - y) * y + 0.5 * x, [(-1, 1), (-1, 1)])
CKKS: dict[str, Callable[..., Any]] = {
    "sum of two": lambda x, y: x + y,
    "difference": lambda x, y: x - y,
    "negative": lambda x, _: -x,
    "product": lambda x, y: x * y,
    "square": lambda x, _: x.square(),
    "product with itself": lambda x, _: x * x,
    "power": lambda x, _: x**3,
    "plus number": lambda x, _: 0.25 + x + 1,
    "number minus": lambda x, _: 1 - x,
    "array minus": lambda x, _: WIDE - x,
    "times integer": lambda x, _: 3 * x,
    "times number": lambda x, _: x * 0.3,
    "divided": lambda x, _: x / 4,
    "divided by array": lambda x, _: x / (2 + WIDE),
    "plus array": lambda x, _: x + WIDE,
    "minus one value": lambda x, _: x - WIDE[:1],
    "times array": lambda x, _: WIDE * x,
    "times one value": lambda x, _: x * WIDE[:1],
    "times complex array": lambda x, _: (x * (WIDE * 1j)) * (np.ones(SLOTS) * -1j),
    "rotated": lambda x, _: x.rotate(3) + x.rotate(-1),
    "rotated product": lambda x, y: (x * y).rotate(2) + x,
    "conjugate": lambda x, _: x.conjugate(),
    "sum of slots": lambda x, y: (x * y).sum(),
    "inner sum": lambda x, _: x.inner_sum(8, stride=2),
    "matrix": lambda x, _: x @ MATRIX,
    "matrix of a product": lambda x, y: (x * y) @ MATRIX[:, :5],
    "matrix beside rotations of other levels": lambda x, y: x.sum() * 0.01 + (x * y).rotate(3) @ MATRIX,
    "matrices of several levels": lambda x, _: ((x @ np.eye(SLOTS, k=1)) @ MATRIX) @ np.eye(SLOTS, k=5),
    "matrix with few keys": lambda x, _: x.matmul(MATRIX, fewest_keys=True),
    "matrix from the left": lambda x, _: MATRIX[:3] @ x,
    "polynomial": lambda x, _: x.polyval([0.5, 0.25, 0, -0.1]),
    "polynomial for each slot": lambda x, _: x.polyval(RNG.uniform(size=(3, SLOTS)), per_slot=True),
    "chebyshev": lambda x, _: hm.approximate(np.tanh, (-1, 1), 7)(x),
    "sigmoid": lambda x, _: hm.circuits.sigmoid((-1, 1), bits=12)(x),
    "two intervals": lambda x, _: hm.circuits.exp((-1, 1), bits=10)(x),
    "larger": lambda x, y: hm.circuits.maximum(bits=3)(x, y),
    "compared": lambda x, y: hm.circuits.compare(gap=0.5, bits=3)(x, y),
    "rectified": lambda x, _: hm.circuits.relu(bits=5)(x),
    "absolute": lambda x, _: hm.circuits.abs(bits=4)(x),
    "leaky": lambda x, _: hm.circuits.leaky_relu(0.1, (-2, 2), bits=4)(x),
    "silu": lambda x, _: hm.circuits.silu((-1, 1), bits=10)(x),
    "softplus": lambda x, _: hm.circuits.softplus((-1, 1), bits=10)(x),
    "quotient": lambda x, y: hm.circuits.divide((-1, 1), (1, 3), bits=8)(x, y + 2),
    "composed": lambda x, y: GATE(x, y),
    "softmax": lambda x, _: hm.circuits.softmax(SLOTS, (-1, 1), bits=6)(x),
    "argmax": lambda x, _: hm.circuits.argmax(SLOTS, gap=0.5, bits=1)(x),
    "dot": lambda x, y: serving.dot([x, y], [y, x]),
    "dot with arrays": lambda x, y: serving.dot([x, y], [WIDE, MATRIX[0]]),
    "several steps": lambda x, y: ((x * y + 0.5) * WIDE).rotate(1) * x + y * 0.5,
}
INTEGERS: dict[str, Callable[..., Any]] = {
    "product and sum": lambda x, y: (x * y - x) * 3 + 1,
    "power": lambda x, _: x**3,
    "arrays": lambda x, _: x * np.arange(1024) + np.arange(1024)[::-1],
    "rotated": lambda x, y: x.rotate(1) + y.rotate(-3),
    "rows": lambda x, _: x.swap_rows(),
    "sum of slots": lambda x, y: x.sum() - y,
    "dot": lambda x, y: serving.dot([x, y], [y, y]) + serving.dot([x, y], [np.arange(1024), np.full(1, 4)]),
}


class Client:
    """Keys for exactly one package, which it knows by what a server tells of it."""

    def __init__(self, package: serving.Package) -> None:
        self.package = serving.Package.load(bytes(package))
        self.interface = serving.Interface.from_dict(self.package.describe())
        self.ctx = hm.Context(self.interface.params, "cpu")
        self.sk = self.ctx.generate_secret_key()
        self.keys = self.interface.generate_keys(self.ctx, self.sk)
        self.package.check(self.ctx, self.keys)
        self.prepared = self.package.prepare(self.ctx)

    def encrypt(self, rows: Any) -> list[hm.Ciphertext]:
        return [self.ctx.encrypt(values, self.sk) for values in self.interface.encode(rows)]

    def decrypt(self, results: list[hm.Ciphertext], rows: int | None = None) -> Any:
        return self.interface.decode([self.ctx.decrypt(y, self.sk) for y in results], rows)

    def run(self, rows: Any) -> Any:
        return self.decrypt(self.prepared.run(self.keys, self.encrypt(rows)))


@pytest.mark.parametrize("name", CKKS)
def test_ckks(name: str) -> None:
    package = serving.export(
        CKKS[name], inputs=[SLOTS, SLOTS], name=name, security=None, outputs={"output": SLOTS}
    )
    client = Client(package)
    rows = RNG.uniform(-0.8, 0.8, (2, 3, SLOTS))  # two inputs of three requests
    np.testing.assert_allclose(
        client.run(list(rows)), np.real(package.evaluate_clear(list(rows))), atol=2**-20
    )


WIDTH = 20  # of SLOTS
VECTOR = RNG.uniform(-1, 1, WIDTH)
PARTIAL: dict[str, Callable[..., Any]] = {
    "sum after a number": lambda x, _: (x + 1).sum(),
    "sum after an array": lambda x, _: (x - VECTOR).sum(),
    "sum after one value": lambda x, _: (x + VECTOR[:1]).sum(),
    "mean of a sum": lambda x, _: x.sum().mean(),
    "a number minus": lambda x, _: (1 - x).sum(),
    "sum of a sum": lambda x, _: (x + x.sum()).sum(),
    "twice summed": lambda x, _: x.sum().sum() if isinstance(x, serving.Symbol) else x.sum() * WIDTH,
    "variance": lambda x, _: ((x - x.mean()) * (x - x.mean())).mean(),
    "variance by sums": lambda x, _: ((x - x.sum() / WIDTH) * (x - x.sum() / WIDTH)).sum() / WIDTH,
    "covariance": lambda x, y: ((x - x.mean()) * (y - y.mean())).mean(),
    "dot": lambda x, y: (x + 1).dot(y + 1),
    "vector": lambda x, _: (x + 1) @ VECTOR,
    "matrix": lambda x, _: (((x + 1) @ MATRIX[:WIDTH, :7]) + 1).sum(),
    "function": lambda x, _: (x.polyval([2, 1]) if isinstance(x, serving.Symbol) else x + 2).sum(),
    "mean of a function": lambda x, _: (x.polyval([2, 1]) if isinstance(x, serving.Symbol) else x + 2).mean(),
    "dots": lambda x, y: (
        serving.dot([x + 1, y], [y, y + 2]) if isinstance(x, serving.Symbol) else (x + 1) * y + y * (y + 2)
    ).sum(),
}


@pytest.mark.parametrize("name", PARTIAL)
def test_slots_that_fill_up_do_not_count(name: str) -> None:
    specs = [serving.InputSpec(each, WIDTH, slots=SLOTS) for each in "xy"]
    package = serving.export(PARTIAL[name], inputs=specs, name=name, security=None)
    rows = RNG.uniform(-0.8, 0.8, (2, 3, WIDTH))
    expected = [PARTIAL[name](x, y) for x, y in zip(*rows, strict=True)]
    for found in (package.evaluate_clear(list(rows)), Client(package).run(list(rows))):
        np.testing.assert_allclose(np.real(found)[:, 0], expected, atol=2**-18)


def test_integers_that_fill_up_do_not_count() -> None:
    params = hm.bfv.Parameters.for_circuit(2, slots=1024, security=None)

    def circuit(x: Any) -> Any:
        return ((x + 1) * x + x.sum()).sum()

    package = serving.export(circuit, inputs=WIDTH, name="integers", params=params)
    row = RNG.integers(-20, 20, (1, WIDTH))
    for found in (package.evaluate_clear(row), Client(package).run(row)):
        assert found[0, 0] == circuit(row[0])


@pytest.mark.parametrize("shape", [(5, 3), (3, 8), (8, 8 + 1), (9, 3), (16, 3)])
def test_matrices_of_other_rows_do_not_fit(shape: tuple[int, int]) -> None:
    matrix = RNG.uniform(-1, 1, shape)
    if shape[0] == 8:
        serving.export(
            lambda x: x @ matrix, inputs=[serving.InputSpec("x", 8, slots=16)], name="a", security=None
        )
        return
    spec = serving.InputSpec("x", 8, slots=16)
    for call in (
        lambda x: x @ matrix,
        lambda x: matrix.T @ x,
        lambda x: x.dot(matrix),
        lambda x: x.matmul(matrix),
    ):
        with pytest.raises(hm.errors.MismatchError, match="a value of 8 and a matrix of shape"):
            serving.export(call, inputs=[spec], name="a", security=None)
    package = serving.export(lambda x: x.matmul(matrix, slots=16), inputs=[spec], name="a", security=None)
    row = RNG.uniform(-1, 1, (1, 8))
    padded = np.pad(row, ((0, 0), (0, 8)))[:, : shape[0]]
    np.testing.assert_allclose(np.real(package.evaluate_clear(row))[:, : shape[1]], padded @ matrix)


@pytest.mark.parametrize("count", [3, WIDTH - 1, WIDTH + 1])
def test_arrays_of_other_lengths_do_not_fit(count: int) -> None:
    array = np.ones(count)
    spec = serving.InputSpec("x", WIDTH, slots=SLOTS)
    for call in (
        lambda x: x + array,
        lambda x: array - x,
        lambda x: x * array,
        lambda x: x @ array,
        lambda x: serving.dot([x], [array]),
    ):
        with pytest.raises(hm.errors.MismatchError, match="do not fit"):
            serving.export(call, inputs=[spec], name="a", security=None)


def random_circuit(seed: int) -> Callable[..., Any]:
    """Some operations on each other's results."""
    random = np.random.default_rng(seed)
    steps = [(int(random.integers(12)), *map(int, random.integers(0, 100, 2))) for _ in range(7)]
    array = random.uniform(-1, 1, SLOTS)

    def circuit(*inputs: Any) -> Any:
        values = list(inputs)
        for kind, first, second in steps:
            a, b = values[first % len(values)], values[second % len(values)]
            made: list[Callable[[], Any]] = [
                lambda a=a, b=b: a + b,
                lambda a=a, b=b: a - b,
                lambda a=a, b=b: a * b,
                lambda a=a: a * array,
                lambda a=a: array - a,
                lambda a=a, by=second: a.rotate(by % 7 - 3),
                lambda a=a: a * 0.7,
                lambda a=a, b=b: serving.dot([a, b], [b, a]) * 0.5,
                lambda a=a, b=b: serving.dot([a, b], [array, array[::-1]]),
                lambda a=a: a @ MATRIX,
                lambda a=a: a.polyval([0.1, 0.5, -0.3, 0.2]),
                lambda a=a: a.sum() * (1 / SLOTS),
            ]
            values.append(made[kind]())
        return [values[-1], values[-2]]

    return circuit


@pytest.mark.parametrize("seed", range(40))
def test_any_circuit(seed: int) -> None:
    package = serving.export(random_circuit(seed), inputs=[SLOTS, SLOTS], name="any", security=None)
    client = Client(package)
    rows = RNG.uniform(-0.5, 0.5, (2, 2, SLOTS))
    found, expected = client.run(list(rows)), package.evaluate_clear(list(rows))
    for name in expected:
        scale = max(1, np.abs(expected[name]).max())
        np.testing.assert_allclose(found[name] / scale, expected[name] / scale, atol=2**-18)


@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str, scheme: str) -> None:
    kind = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}[scheme]
    params = kind.for_circuit(3, slots=1024, security=None)
    package = serving.export(INTEGERS[name], inputs=[params.max_slots] * 2, name=name, params=params)
    client = Client(package)
    rows = list(RNG.integers(-20, 20, (2, 2, params.max_slots)))
    found, expected = client.run(rows), package.evaluate_clear(rows)
    np.testing.assert_array_equal(found, expected)
    assert found.any()


def test_the_clear_evaluation_is_numpy() -> None:
    x, y = RNG.uniform(-1, 1, (2, 4, SLOTS))
    package = serving.export(CKKS["several steps"], inputs=[SLOTS] * 2, name="steps", security=None)
    expected = np.roll((x * y + 0.5) * WIDE, -1, axis=-1) * x + y * 0.5
    np.testing.assert_allclose(package.evaluate_clear([x, y]), expected)


def test_bootstrap() -> None:
    params = hm.ckks.Parameters.for_bootstrapping("test-40")

    def circuit(x: Any) -> Any:
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
        with pytest.raises(hm.errors.FormatError, match=f"a bootstrap of {slots} slots"):
            Interface.from_dict(told)
    flat = hm.Context(hm.ckks.Parameters.for_circuit(depth=20, slots=16, security=None), "cpu")
    with pytest.raises(hm.errors.MismatchError, match="takes its own parameters"):
        package.check(flat, flat.generate_keys(flat.generate_secret_key()))


def test_requests_of_one_batch_are_bootstrapped_at_once() -> None:
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


def test_a_bootstrap_of_values_whose_magnitude_is_known() -> None:
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
    with pytest.raises(hm.errors.RangeError, match=r"8\.4"):
        unknown.run(Running(ev, plan), x)


def test_a_bootstrap_begins_above_its_own_levels() -> None:
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    lowest = hm.circuits.Bootstrap(params, slots=16).input_level
    levels = hm.circuits.Polynomial([0, 1]).plan(params).level - lowest

    def deep(squares: int) -> Callable[[Any], Any]:
        return lambda x: (x ** (1 << squares)).bootstrap()

    assert serving.export(deep(levels), inputs=16, name="deep", params=params).interface.depth == levels
    with pytest.raises(hm.errors.LevelError, match=f"takes {levels + 1} levels, and {levels} are left"):
        serving.export(deep(levels + 1), inputs=16, name="deep", params=params)


def test_few_encodings_are_kept(ckks: Party) -> None:
    encoded = Encoded(np.ones(16), product=True)
    ciphertexts = [
        ckks.ctx.encrypt(ckks.ctx.encode(np.ones(16), scale=2.0**bits), ckks.sk) for bits in range(30, 40)
    ]
    for ciphertext in ciphertexts:
        plain = encoded.for_operand(ckks.ev, ciphertext)
        assert plain is encoded.for_operand(ckks.ev, ciphertext)
        assert len(encoded._found) <= 4


def test_a_batch_of_a_request_and_many_requests() -> None:
    weights = RNG.uniform(-1, 1, (3, SLOTS))

    def circuit(x: Any, y: Any) -> Any:
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
        rows = {
            "x": RNG.uniform(-1, 1, (*requests, 3, SLOTS)),
            "y": RNG.uniform(-1, 1, (*requests, SLOTS)),
        }
        found, expected = client.run(rows), package.evaluate_clear(rows)
        assert found["all"].shape == (*requests, 3, SLOTS)
        one = rows["x"][..., 0, :] * rows["y"] + rows["x"][..., 2, :]
        np.testing.assert_allclose(found["one"], one, atol=2**-20)
        for name in found:
            np.testing.assert_allclose(found[name], expected[name], atol=2**-20)


def test_every_key_is_used_and_none_is_missing() -> None:
    package = serving.export(CKKS["several steps"], inputs=[SLOTS] * 2, name="steps", security=None)
    client = Client(package)
    told = package.describe()["keys"]
    assert told["relinearization"]
    assert told["rotations"] == [[1, package.params.levels - 3]]  # after two products
    assert not client.keys.has_public_key
    assert len(client.keys.galois_elements) == 1
    linear = Client(serving.export(lambda x: x * 0.5, inputs=4, name="linear", security=None))
    assert not linear.keys.has_relinearization
    assert not linear.keys.galois_elements


def test_a_matrix_with_few_keys() -> None:
    few, many = (
        serving.export(
            lambda x, few=few: x.matmul(MATRIX, fewest_keys=few), inputs=SLOTS, name="matrix", security=None
        ).describe()["keys"]["rotations"]
        for few in (True, False)
    )
    assert len(few) <= 3 < len(many)


def test_keys_of_a_matrix_are_for_one_level() -> None:
    package = serving.export(
        lambda x: ((x * x) @ MATRIX).rotate(9) + x.rotate(4) * 0.5, inputs=SLOTS, name="levels", security=None
    )
    rotations = dict(package.describe()["keys"]["rotations"])
    top = package.params.levels - 1
    assert rotations.pop(9) == top - 2
    assert set(rotations.values()) == {
        top
    }  # that by 4 is done before the product, and is one of the matrix's


def test_what_no_output_takes_is_left_out() -> None:
    def circuit(x: Any, y: Any) -> Any:
        _ = (x**8).rotate(5) * y
        return x.rotate(1) - y

    package = serving.export(circuit, inputs=[4, 4], name="lazy", security=None)
    assert package.program.operations == {"rotate": 1, "subtract": 1}
    assert package.describe()["keys"]["rotations"] == [[1, 1]]
    np.testing.assert_array_equal(package.evaluate_clear([np.arange(4), np.ones(4)]), [0, 1, 2, -1])


def test_check_names_every_missing_key() -> None:
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


def test_check_is_of_each_context() -> None:
    """What was asked for in one stands for no other."""
    package = serving.export(lambda x: (x**4).rotate(1), inputs=16, name="m", security=None)
    own = hm.Context(package.params, "cpu")
    package.check(own, package.generate_keys(own, own.generate_secret_key()))
    flat = hm.Context(hm.ckks.Parameters.for_circuit(1, slots=16, security=None), "cpu")
    with pytest.raises(hm.errors.LevelError, match="depth of 2"):
        package.check(flat, flat.generate_keys(flat.generate_secret_key(), rotations=[1]))


class OpenFheContext(hm.Context):
    """With OpenFHE's rotations of BFV: from N/2 on they exchange the rows, too."""

    _rotates_as_openfhe = True


def test_check_knows_the_rotations_of_other_libraries() -> None:
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


def test_check_tells_what_else_does_not_fit() -> None:
    package = serving.export(lambda x: x**8, inputs=512, name="deep", security=None)
    flat = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=512, security=None), "cpu")
    keys = flat.generate_keys(flat.generate_secret_key())
    with pytest.raises(hm.errors.LevelError, match="depth of 3"):
        package.check(flat, keys)
    exact = hm.Context(hm.bfv.Parameters.for_circuit(2, slots=1024, security=None), "cpu")
    other = exact.generate_keys(exact.generate_secret_key())
    with pytest.raises(hm.errors.MismatchError, match="is of CKKS, and the keys are of BFV"):
        package.check(exact, other)
    with pytest.raises(hm.errors.MismatchError, match="the keys belong to"):
        package.check(flat, other)
    small, large = (
        hm.bfv.Parameters.from_bits(
            degree=degree, plain_modulus=12289, prime_bits=[40, 40], special_bits=[40], security=None
        )
        for degree in (1024, 2048)
    )
    own = serving.export(lambda x: x + 1, inputs=1024, name="small", params=small)
    home = hm.Context(large, "cpu")
    with pytest.raises(
        hm.errors.MismatchError, match="for 1024 slots modulo 12289, and the parameters have 2048"
    ):
        own.check(home, home.generate_keys(home.generate_secret_key()))
    wide = serving.export(lambda x: x + 1, inputs=4096, name="wide", security=None)
    with pytest.raises(hm.errors.MismatchError, match="needs 4096 slots"):
        wide.check(flat, keys)


def test_captured() -> None:
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
def test_on_a_gpu(name: str) -> None:
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


def test_many_threads_run_one_model() -> None:
    package = serving.export(CKKS["several steps"], inputs=[SLOTS] * 2, name="steps", security=None)
    client = Client(package)
    other = client.ctx.generate_secret_key()
    evaluators = [
        (sk, client.prepared.bind(client.interface.generate_keys(client.ctx, sk)))
        for sk in (client.sk, other)
    ]

    def answered(seed: int) -> None:
        sk, evaluator = evaluators[seed % 2]
        rows = list(np.random.default_rng(seed).uniform(-1, 1, (2, SLOTS)))
        xs = [client.ctx.encrypt(values, sk) for values in client.interface.encode(rows)]
        (y,) = client.prepared.run(evaluator, xs)
        found = client.interface.decode([client.ctx.decrypt(y, sk)])
        np.testing.assert_allclose(found, package.evaluate_clear(rows), atol=2**-20)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(answered, range(16)))


def test_run_refuses_other_inputs() -> None:
    package = serving.export(lambda x: x * 0.5, inputs=8, name="half", security=None)
    client = Client(package)
    prepared, keys = client.prepared, client.keys
    (x,) = client.encrypt(np.ones(8))
    with pytest.raises(hm.errors.MismatchError, match="has 1 inputs, and 2 came"):
        prepared.run(keys, [x, x])
    narrow = client.ctx.encrypt(np.ones(4), client.sk)
    with pytest.raises(hm.errors.MismatchError, match=r"has shape .* and 8 slots"):
        prepared.run(keys, [narrow])
    with pytest.raises(hm.errors.LevelError, match="is needed at level 1, and came at 0"):
        prepared.run(keys, [client.ctx.bind(keys).at_level(x, 0)])
    other = Client(serving.export(lambda x: x**4, inputs=8, name="other", security=None))
    with pytest.raises(hm.errors.MismatchError, match="belong to"):
        prepared.run(other.keys, [x])
    with pytest.raises(hm.errors.MismatchError):
        prepared.run(keys, other.encrypt(np.ones(8)))
    scaled = client.ctx.encrypt(client.ctx.encode(np.ones(8), scale=2.0**30), client.sk)
    with pytest.raises(hm.errors.ScaleError, match=r"scale of 2\^30.00, and 2\^40.00 is needed"):
        prepared.run(keys, [scaled])
    ciphertext = prepared.run(prepared.bind(keys), [x])
    np.testing.assert_allclose(client.decrypt(ciphertext), 0.5, atol=2**-20)


def test_coefficients_are_refused() -> None:
    params = hm.bfv.Parameters.for_circuit(1, slots=1024, security=None)
    client = Client(serving.export(lambda x: x + 1, inputs=params.max_slots, name="one", params=params))
    x = client.ctx.encrypt(np.ones(params.max_slots, int), client.sk, encoding="coefficients")
    with pytest.raises(hm.errors.MismatchError, match="coefficients"):
        client.prepared.run(client.keys, [x])


def test_spent_noise_is_an_error() -> None:
    params = hm.bfv.Parameters.for_circuit(1, slots=1024, security=None)
    package = serving.export(lambda x: x**64, inputs=params.max_slots, name="deep", params=params)
    client = Client(package)
    with (
        pytest.warns(hm.errors.NoiseWarning),
        pytest.raises(hm.errors.NoiseError, match="export it with larger ones"),
    ):
        client.run(np.ones(params.max_slots, int))


def test_an_index_of_values_in_the_clear_needs_the_program() -> None:
    with pytest.raises(hm.errors.MismatchError, match=r"take 1 of values of shape \(2, 4\)"):
        Take(1).clear(np.zeros((2, 4)))
