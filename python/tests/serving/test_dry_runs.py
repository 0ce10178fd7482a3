"""Keys and costs of packaged models, counted without values, compared with runs that compute."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera import _core, serving
from hemera.objects.calibration import TimedContext
from hemera.objects.cost import DryRun, FreshInput
from hemera.package.dry_run import keys_of_a_run
from hemera.times import DeviceTimes

from ..refusals import raises, refuse_each
from .operation_cases import CKKS, SLOTS

VECTORS = Path(__file__).parents[3] / "tests" / "vectors" / "models"
RNG = np.random.default_rng(29)
MATRIX = RNG.uniform(-1, 1, (16, 16)) / 4
ROWS = RNG.uniform(0, 4, (60, 6))
KINDS = np.digitize(ROWS @ RNG.uniform(-1, 1, 6), [-1, 1])


def linear(classes, *scalers):
    """A logistic regression of scikit-learn."""
    regression = pytest.importorskip("sklearn.linear_model").LogisticRegression
    make_pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline
    fitted = make_pipeline(*scalers, regression()).fit(ROWS, KINDS if classes > 2 else KINDS > 0)
    return hm.compile(fitted, calibrate=ROWS).package


def scaled():
    return linear(3, pytest.importorskip("sklearn.preprocessing").StandardScaler())


def boosted():
    """Boosted trees in BFV."""
    boosting = pytest.importorskip("sklearn.ensemble").GradientBoostingClassifier
    fitted = boosting(n_estimators=4, max_depth=2, random_state=0).fit(ROWS, KINDS > 0)
    return hm.compile(fitted, name="t", samples=8).package


def recorded(x):
    y = hm.circuits.sigmoid((-8, 8), bits=8)(x @ MATRIX + 0.5)
    return {"one": y.rotate(3) @ MATRIX[:, :5], "other": (x * x).conjugate() + x.rotate(-1)}


def refreshed(x):
    return ((x * x).bootstrap(real=True) * x).rotate(1)


def sums(params):
    """Integers: products, rotations and a sum, of two inputs of which one is a batch."""
    slots = params.max_slots
    return serving.export(
        lambda x, y: (x[0] * y + x[1].rotate(-3)).sum() - 3 * y.swap_rows(),
        inputs=[serving.InputSpec("x", slots, shape=(2,)), serving.InputSpec("y", slots)],
        name="sums",
        params=params,
    )


MODELS = {
    "logistic": lambda: linear(2),
    "of several classes": lambda: linear(3),
    "after a scaler": scaled,
    "recorded": lambda: serving.export(recorded, inputs=16, name="m", security=None),
    "boosted trees": boosted,
    "integers, BGV": lambda: sums(hm.bgv.Parameters.for_circuit(2, slots=1024, security=None)),
    "at a lower level": lambda: serving.export(
        lambda x: (x * x).rotate(1),
        inputs=serving.InputSpec("x", 16, level=2),
        name="m",
        params=hm.ckks.Parameters.for_circuit(4, slots=16, security=None),
    ),
    "bootstrap": lambda: serving.export(
        refreshed, inputs=16, name="m", params=hm.ckks.Parameters.for_bootstrapping("test-40")
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def package(request):
    return MODELS[request.param]()


class Run:
    """A client and a server of a model on the CPU, where operations are counted while they run."""

    def __init__(self, package, needs=None):
        self.ctx = TimedContext(package.params, "cpu", threads=1)
        self.sk = self.ctx.generate_secret_key()
        if needs is None:
            self.keys = package.generate_keys(self.ctx, self.sk)
        else:
            self.keys = hm.Keys(_core.generate_needed_keys(self.sk._native, needs), self.ctx)
        self.plaintext_bytes = -self.ctx.memory_used
        self.prepared = package.prepare(self.ctx)
        self.plaintext_bytes += self.ctx.memory_used
        self.package = package

    def inputs(self, requests=()):
        kind = float if self.package.scheme == "ckks" else int
        return [
            self.ctx.encrypt(
                self.ctx.encode(np.ones((*requests, *spec.shape, spec.slots), kind), level=spec.level),
                self.sk,
            )
            for spec in self.package.inputs
        ]

    def counted(self, requests=()):
        """The operations of a run, and the peak of its memory."""
        inputs = self.inputs(requests)
        native = self.ctx._native
        before = native.memory_used
        self.prepared.run(self.keys, inputs)  # weights are encoded, and constants made, at the first run
        self.plaintext_bytes += native.memory_used - before
        _core.clear_ledger(native)
        native.reset_memory_peak()
        before = native.memory_used
        results = self.prepared.run(self.keys, inputs)
        peak = native.memory_peak - before
        assert len(results) == len(self.package.outputs)
        return _core.counted_cost(native), peak


@pytest.mark.parametrize("requests", [None, 3])
@pytest.mark.fact_of_the_cpu("bytes of the CPU's keys and workspaces")
def test_operations_and_memory_are_those_of_a_run(package, requests):
    counted = package.cost(requests)
    run = Run(package)
    found, peak = run.counted(() if requests is None else (requests,))
    assert counted._cost.calls == found.calls
    assert counted._cost.calls
    assert counted.operations == {kind: getattr(found, kind) for kind in counted.operations}
    assert counted.workspace_bytes == peak
    assert counted.plaintext_bytes == run.plaintext_bytes


def test_keys_are_those_of_clients_and_none_is_spare(package):
    assert package.interface.keys == keys_of_a_run(package.interface, package.program)
    counted = package.cost()
    needs = counted.needed_keys
    run = Run(package)
    assert run.keys.memory_bytes == counted.key_bytes
    switches = counted.operations["key_products"]
    # The first ones alone of a bootstrap's keys, which its own tests take one by one.
    for left_out in range(min(len(needs), 20)):
        if needs[left_out].kind.endswith("ephemeral"):
            continue
        few = [*needs[:left_out], *needs[left_out + 1 :]]
        try:
            found, _ = Run(package, few).counted()
        except (hm.errors.MissingKeyError, hm.errors.LevelError):
            continue
        # A rotation may be made up of others, which takes more of them.
        assert found.key_products > switches


def levels_of(package):
    """The highest level of each key, by what it is for."""
    keys = package.interface.keys
    others = {"relinearization": keys.relinearization, "conjugation": keys.conjugation}
    return {**keys.rotations, **{name: level for name, level in others.items() if level is not None}}


def test_keys_are_for_the_levels_where_they_are_used():
    """Each multiplication takes a level, and those of a matrix share one."""
    package = MODELS["recorded"]()
    top = package.params.levels - 1
    levels = levels_of(package)
    sigmoid = hm.circuits.sigmoid((-8, 8), bits=8).depth
    assert levels.pop("conjugation") == top - 1  # of the square
    assert levels.pop("relinearization") == top  # of the square, too
    assert levels.pop(15) == top  # by -1, of 16 slots
    # The second matrix stands below, with the rotations of the first one.
    assert set(levels.values()) == {top}
    assert package.params.levels - 1 == sigmoid + 2

    def deep(x):
        return ((x * 0.5) @ MATRIX).rotate(9) * x

    deeper = serving.export(deep, inputs=16, name="m", security=None)
    lower = levels_of(deeper)
    # Clients learn all of them.
    assert serving.Interface.from_dict(deeper.describe()).keys == deeper.interface.keys
    assert serving.Package.load(bytes(deeper)).interface.keys == deeper.interface.keys
    assert lower.pop("relinearization") == 1  # the last product
    assert lower.pop(9) == 1  # no rotation of the matrix
    assert set(lower.values()) == {2}


@pytest.mark.parametrize("preset", ["test-40", "n16-40", "n16-59", "n16-80"])
def test_keys_of_functions_are_for_levels_of_the_user(preset):
    """Levels of these chains are quotients: a key has the primes of all levels up to its own."""
    params = hm.ckks.Parameters.for_bootstrapping(preset)
    top = params._native.highest_user_level
    sigmoid = hm.circuits.sigmoid((-8, 8), bits=8)
    product = serving.export(lambda x: sigmoid(x), inputs=16, name="m", params=params)
    assert product.inputs[0].level == top
    told = product.interface.keys
    asked = keys_of_a_run(product.interface, product.program)
    assert told.relinearization is not None
    assert told.relinearization <= top
    ledger = hm.Context(params, "ledger")
    (need,), (other,) = told.needs(ledger), asked.needs(ledger)
    assert need.primes == other.primes
    assert need.special_primes == other.special_primes
    # A client makes them: none has a modulus beyond that of the parameters' security.
    primes = [*need.primes, *need.special_primes]
    assert sum(map(math.log2, primes)) <= {32768: 868, 65536: 1747}.get(params.degree, math.inf)


@pytest.mark.parametrize("name", CKKS)
def test_levels_of_programs_are_those_of_ciphertexts(name):
    """What a program says of its depth and keys, and is planned for, compared with a run."""
    package = serving.export(CKKS[name], inputs=[SLOTS, SLOTS], name=name, security=None)
    assert package.interface.keys == keys_of_a_run(package.interface, package.program)
    context = hm.Context(package.params, "ledger")
    model = package.prepare(context)
    model._last_use = dict.fromkeys(range(len(package.program.forms)), len(package.program.nodes))
    dry = DryRun(context, symmetric=True)
    evaluator = dry.bind(dry.asking())
    inputs = dry.encrypted([FreshInput(SLOTS), FreshInput(SLOTS)], evaluator)
    values = model._evaluated(model._taken(evaluator, inputs), [evaluator] * len(package.program.nodes))
    # Products that wait to be rescaled are at the level that they then have.
    assert [_core.finished(value._native)[0] for value in values if value is not None] == model._levels


def test_a_key_of_a_lower_level_is_too_low():
    package = serving.export(
        lambda x: ((x * x).rotate(5) * x).conjugate() * 0.5 + x, inputs=8, name="m", security=None
    )
    needs = package.cost().needed_keys
    assert len(needs) == 3
    for at, need in enumerate(needs):
        level = [len(base) for base in package.params.primes].index(len(need.primes))
        lower = _core.key_need(package.params._native, need.power, need.galois_element, level - 1)
        with pytest.raises((hm.errors.LevelError, hm.errors.MissingKeyError)):
            Run(package, [*needs[:at], lower, *needs[at + 1 :]]).counted()


def test_seconds_are_those_of_the_table(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    package = serving.export(lambda x, y: x + y, inputs=[8, 8], name="m", security=None)
    limbs = len(package.params.primes[package.inputs[0].level or 0])
    DeviceTimes("made-up", [("add", package.params.degree, 50, 2 * limbs, 0.25)]).save()
    assert package.cost(device="made-up").seconds == pytest.approx(0.25)
    assert package.cost(8, device="made-up").seconds == pytest.approx(2)
    raises(hm.errors.DeviceError, "hemera calibrate", package.cost, device="none")
    refuse_each(package.cost, (0, -1), hm.errors.Error)


def test_exporting_warns_of_no_budget(recwarn):
    """Nothing is encrypted yet; a run has its own error."""
    params = hm.bfv.Parameters.from_bits(
        degree=1024, plain_modulus=12289, prime_bits=[30, 30], special_bits=[30], security=None
    )
    before = len(recwarn)
    package = serving.export(lambda x: ((x * x) ** 2) ** 2, inputs=1024, name="noisy", params=params)
    assert len(recwarn) == before
    with pytest.warns(hm.errors.NoiseWarning), pytest.raises(hm.errors.NoiseError):
        package.cost()


def test_large_batches_take_no_memory():
    """2^17 ciphertexts of 2^15 slots: their values alone would be 32 GiB."""
    params = hm.ckks.Parameters.for_circuit(1, slots=1 << 15, security=None)
    inputs = serving.InputSpec("x", 1 << 15, shape=(1 << 17,))
    package = serving.export(lambda x: x[7] * x[9], inputs=inputs, name="large", params=params)
    assert package.cost().operations["products"] == 1


@pytest.mark.parametrize("name", ["ckks", "bfv", "bootstrap"])
def test_models_and_descriptions_of_earlier_versions(name):
    package = serving.Package.load(VECTORS / f"{name}.hemera-model")
    told = json.loads(json.dumps(package.describe()))
    # As servers of earlier versions describe it.
    assert told["keys"].pop("relinearization_level") == package.interface.keys.relinearization is not None
    interface = serving.Interface.from_dict(told)
    assert interface.keys == package.interface.keys
    ctx = hm.Context(interface.params, "cpu")
    sk = ctx.generate_secret_key()
    keys = interface.generate_keys(ctx, sk)
    package.check(ctx, keys)
    shapes = [(2, spec.width) for spec in package.inputs]
    rows = [
        RNG.uniform(0, 1, shape) if package.scheme == "ckks" else RNG.integers(-5, 5, shape)
        for shape in shapes
    ]
    inputs = [
        ctx.encrypt(ctx.encode(values, level=spec.level), sk)
        for values, spec in zip(interface.encode(rows), interface.inputs, strict=True)
    ]
    results = [ctx.decrypt(y, sk) for y in package.prepare(ctx).run(keys, inputs)]
    np.testing.assert_allclose(interface.decode(results), package.evaluate_clear(rows), atol=1e-5)
    # Written again, with the keys of a dry run, it asks for no more.
    assert package.cost().key_bytes == keys.memory_bytes
