"""What a model runs before there is a request, and requests of several inputs."""

from types import SimpleNamespace

import numpy as np
import pytest

import hemera as hm
from hemera import errors
from hemera.client.problems import Refused
from hemera.errors import MismatchError, MissingKeyError
from hemera.objects.devices import DeviceOptions
from hemera.objects.evaluator import Evaluator
from hemera.package.local_model import LocalModel
from hemera.serving import InputSpec, export
from hemera.serving.sessions import Inputs, Loader, form_of, memory_of

from ..refusals import raises

RNG = np.random.default_rng(61)
WEIGHTS, BIAS = RNG.normal(size=(12, 8)) / 4, RNG.normal(size=8)
VALUES = {name: RNG.uniform(-1, 1, shape) for name, shape in (("x", (12,)), ("y", (8,)))}


def two_inputs(x, y):
    return (x @ WEIGHTS + BIAS) ** 2 * y


def model_of(scheme):
    if scheme == "bfv":
        specs = [hm.ArraySpec((12,), range=(0, 9)), hm.ArraySpec((8,), range=(0, 9))]
        whole = np.rint(WEIGHTS)
        return hm.compile(lambda x, y: (x @ whole + 1) ** 2 * y, *specs, scheme="bfv", security=None).package
    specs = [hm.ArraySpec((12,), range=(-1, 1)), hm.ArraySpec((8,), range=(-1, 1))]
    return hm.compile(two_inputs, *specs, precision_bits=10, security=None).package


class Parties:
    """A client and a server of a model."""

    def __init__(self, scheme):
        self.package = model_of(scheme)
        self.client, self.server = (hm.Context(self.package.params, threads=1) for _ in range(2))
        self.secret_key = self.client.generate_secret_key()
        keys = self.package.generate_keys(self.client, self.secret_key)
        self.model = self.package.prepare(self.server)
        self.ev = self.model.bind(self.server.load(bytes(keys)))

    def sent(self, values):
        encoded = self.package.interface.encode(values)
        levels = self.package.interface.input_levels(self.client.params)
        own = [self.client.encode(x, level=level) for x, level in zip(encoded, levels, strict=True)]
        return [self.ev.load(bytes(self.client.encrypt(x, self.secret_key))) for x in own]


@pytest.fixture(scope="module", params=["ckks", "bfv"])
def parties(request):
    return Parties(request.param)


def values_of(parties, *requests):
    if parties.package.scheme == "bfv":
        return [RNG.integers(0, 10, (*requests, extent)) for extent in (12, 8)]
    return [RNG.uniform(-1, 1, (*requests, extent)) for extent in (12, 8)]


@pytest.mark.parametrize("requests", [(), (3,)])
def test_examples_are_as_clients_inputs(parties, requests):
    sent = parties.sent(values_of(parties, *requests))
    examples = parties.model.examples(requests)
    assert [form_of(x) for x in examples] == [form_of(x) for x in sent]
    # A graph of the examples takes what clients send, and refuses other shapes and noise.
    graph = parties.model.capture(parties.ev, examples)
    (found,) = graph(*sent)
    (wanted,) = parties.model.run(parties.ev, sent)
    assert bytes(found) == bytes(wanted)


def test_examples_of_samples_in_imaginary_parts_are_complex():
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    spec = hm.ArraySpec((params.max_slots,), (-1, 1))
    package = hm.compile(lambda x: (x + 0.75 * np.roll(x, 3)) ** 2, spec, samples=2, params=params).package
    ctx = hm.Context(params, threads=1)
    secret_key = ctx.generate_secret_key()
    model = package.prepare(ctx)
    (encoded,) = package.interface.encode(RNG.uniform(-1, 1, (2, params.max_slots)))
    assert np.iscomplexobj(encoded)
    sent = ctx.encrypt(ctx.encode(encoded, level=package.interface.input_levels(params)[0]), secret_key)
    (example,) = model.examples(encoded.shape[:-1])
    assert form_of(example) == form_of(sent)
    keys = model.bind(package.generate_keys(ctx, secret_key))
    (found,) = model.capture(keys, [example])(sent)
    (wanted,) = model.run(keys, [sent])
    assert bytes(found) == bytes(wanted)


def test_examples_are_encryptions(parties):
    """Encryptions under a key that nobody has: the client's opens nothing, and two are different."""
    first, second = (parties.model.examples()[0] for _ in range(2))
    assert bytes(first) != bytes(second)
    opened = []
    for x in (first, second):
        try:
            opened.append(np.abs(parties.client.decrypt(parties.client.load(bytes(x)), parties.secret_key)))
        except hm.errors.NoiseError:
            opened.append(np.full(1, np.inf))
    assert all(each.max() > 1 for each in opened)


def test_nothing_is_encoded_after_a_warm_up(monkeypatch):
    parties = Parties("ckks")
    made = []
    encode = Evaluator._plain_operand

    def counted(self, x, given, **options):
        if isinstance(given, np.ndarray):  # plaintexts are encoded already
            made.append(given)
        return encode(self, x, given, **options)

    monkeypatch.setattr(Evaluator, "_plain_operand", counted)
    parties.model.warm_up(parties.ev)
    assert made
    before = len(made)
    sent = parties.sent(list(VALUES.values()))
    values = [
        parties.client.decrypt(parties.client.load(bytes(y)), parties.secret_key)
        for y in parties.model.run(parties.ev, sent)
    ]
    assert len(made) == before
    found = parties.package.interface.decode(values, None)
    assert np.abs(found - two_inputs(**VALUES)).max() < 2.0**-9


def test_keys_of_others_are_refused(parties):
    other = hm.Context(hm.ckks.Parameters.for_circuit(1, security=None), threads=1)
    raises(MismatchError, "", parties.model.warm_up, other.generate_keys(other.generate_secret_key()))
    none = parties.server.generate_keys(parties.server.generate_secret_key(), relinearization=False)
    raises(MissingKeyError, "", parties.model.warm_up, none)
    raises(ValueError, "requests", parties.model.examples, (-1,))


def test_examples_of_a_lower_level():
    params = hm.ckks.Parameters.for_circuit(3, slots=8, security=None)
    specs = [hm.serving.InputSpec("x", 8, level=1), hm.serving.InputSpec("y", 8, shape=(2,))]
    package = hm.serving.export(lambda x, y: (x * x, y), inputs=specs, name="levels", params=params)
    x, y = package.prepare(hm.Context(params, threads=1)).examples((4,))
    assert [(each.level, each.shape, each.slots) for each in (x, y)] == [(1, (4,), 8), (3, (4, 2), 8)]


PARAMS = hm.bfv.Parameters.from_bits(
    degree=1024, plain_modulus=12289, prime_bits=[45, 45], special_bits=[49], security=None
)
SLOTS = 1024


@pytest.fixture(scope="module")
def package():
    """Two inputs, of which the second one is a batch of two."""
    inputs = [InputSpec("x", 4), InputSpec("y", 4, shape=(2,))]
    return export(lambda x, y: x + y[0] * y[1], inputs=inputs, name="both", params=PARAMS)


@pytest.fixture(scope="module")
def own(package):
    return LocalModel(package.interface, security=None)


@pytest.fixture(scope="module")
def session(package, own, tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "keys"
    path.write_bytes(own.generate_keys())
    return Loader(DeviceOptions("cpu", 1)).load(package, "Hemera", {"keys": path})


def files_of(own, *shapes):
    encrypted = [own.context.encrypt(np.ones((*shape, SLOTS), np.int64), own.secret_key) for shape in shapes]
    return {name: bytes(x) for name, x in zip("xy", encrypted, strict=True)}


@pytest.mark.parametrize(
    ("shapes", "shape"),
    [
        (((), (2,)), ()),
        (((1,), (1, 2)), (1,)),
        (((), (1, 2)), (1,)),  # one of them has an axis of evaluations
        (((1,), (2,)), (1,)),
        (((3,), (3, 2)), (3,)),
    ],
)
def test_an_answer_has_an_axis_where_an_input_has_one(package, own, session, shapes, shape):
    files = files_of(own, *shapes)
    inputs = session.load(files)
    assert (inputs.count, inputs.single) == (shape[0] if shape else 1, shape == ())
    loaded = sum(own.context.load(each).memory_bytes for each in files.values())
    assert memory_of(package, files, inputs.count) == loaded
    (outputs,) = session.run([inputs.values])
    answer = own.context.load(session.dump(outputs, inputs.single)["output"])
    assert answer.shape == shape
    assert (own.context.decrypt(answer, own.secret_key) == 2).all()


@pytest.mark.parametrize(
    ("shapes", "error", "told"),
    [
        (((2,), (3, 2)), errors.MismatchError, "x for 2, y for 3"),
        (((), (2, 2)), errors.MismatchError, "x for 1, y for 2"),
        (((), ()), errors.MismatchError, "input 'y' has the shape"),
        (((), (3,)), errors.MismatchError, "input 'y' has the shape"),
        (((1, 1), (2,)), errors.MismatchError, "input 'x' has the shape"),
    ],
)
def test_shapes_that_do_not_fit(package, own, session, shapes, error, told):
    files = files_of(own, *shapes)
    raises(error, told, session.load, files)
    if "for" not in told:
        raises(error, told, memory_of, package, files, 32)


def test_requests_that_are_refused_before_they_are_loaded(package, own):
    files = files_of(own, (3,), (3, 2))
    assert memory_of(package, files, 3) > 0
    raises(Refused, "2 evaluations at most", memory_of, package, files, 2)
    for wrong in ({"x": files["x"]}, {**files, "z": b""}, {"x": files["x"], "z": files["y"]}):
        with pytest.raises(errors.MismatchError, match="takes the inputs x, y; the request has x"):
            memory_of(package, wrong, 32)
    with pytest.raises(Refused) as refused:
        memory_of(package, {**files, "y": bytes(own.secret_key)}, 32)
    assert refused.value.code == "secret_key"


def test_what_runs_as_one_batch(own, session):
    """Any numbers of evaluations; each request gets its own rows back."""
    counts = (1, 3, 2)
    asked = []
    for count in counts:
        rows = np.arange(count, dtype=np.int64)[:, None] + np.full(SLOTS, 10 * count)
        x = own.context.encrypt(rows, own.secret_key)
        asked.append(session.load({**files_of(own, (count,), (count, 2)), "x": bytes(x)}))
    assert all(one.fit(other) for one in asked for other in asked)
    for count, outputs in zip(counts, session.run([each.values for each in asked]), strict=True):
        answer = own.context.load(session.dump(outputs, False)["output"])
        found = own.context.decrypt(answer, own.secret_key)
        assert found[:, 0].tolist() == [10 * count + at + 1 for at in range(count)]


FORM = {"level": 3, "scale": 2.0**40, "size": 2, "slots": 8, "encoding": "slots", "shape": (4, 2)}


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize(
    ("field", "value", "fits", "is_one_form"),
    [
        ("level", 2, False, False),
        ("scale", 2.0**41, False, False),
        ("size", 3, False, False),
        ("slots", 4, False, False),
        ("encoding", "coefficients", False, False),
        ("shape", (4, 3), False, False),
        ("shape", (5, 2), True, False),  # of other numbers of evaluations
        ("shape", (4, 2), True, True),
    ],
)
def test_inputs_that_differ_in_one_field(at, field, value, fits, is_one_form):
    """Whether they run as one batch, and by one graph."""
    same, other = SimpleNamespace(**FORM), SimpleNamespace(**{**FORM, field: value})
    one = Inputs([same, same], 4, False)
    two = Inputs([other, same] if at == 0 else [same, other], 4, False)
    assert one.fit(two) == two.fit(one) == fits
    assert (form_of(same) == form_of(other)) == is_one_form
