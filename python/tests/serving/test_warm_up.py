"""What a model runs before there is a request: inputs like those of clients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.errors import MismatchError, MissingKeyError
from hemera.objects.evaluator import Evaluator
from hemera.serving import Package
from hemera.serving.sessions import form_of

RNG = np.random.default_rng(61)
WEIGHTS, BIAS = RNG.normal(size=(12, 8)) / 4, RNG.normal(size=8)
VALUES = {name: RNG.uniform(-1, 1, shape) for name, shape in (("x", (12,)), ("y", (8,)))}


def two_inputs(x: Any, y: Any) -> Any:
    return (x @ WEIGHTS + BIAS) ** 2 * y


def model_of(scheme: str) -> Package:
    if scheme == "bfv":
        specs = [hm.ArraySpec((12,), range=(0, 9)), hm.ArraySpec((8,), range=(0, 9))]
        whole = np.rint(WEIGHTS)
        return hm.compile(lambda x, y: (x @ whole + 1) ** 2 * y, *specs, scheme="bfv", security=None).package
    specs = [hm.ArraySpec((12,), range=(-1, 1)), hm.ArraySpec((8,), range=(-1, 1))]
    return hm.compile(two_inputs, *specs, precision_bits=10, security=None).package


class Parties:
    """A client and a server of a model."""

    def __init__(self, scheme: str) -> None:
        self.package = model_of(scheme)
        self.client, self.server = (hm.Context(self.package.params, threads=1) for _ in range(2))
        self.secret_key = self.client.generate_secret_key()
        keys = self.package.generate_keys(self.client, self.secret_key)
        self.model = self.package.prepare(self.server)
        self.ev = self.model.bind(self.server.load(bytes(keys)))

    def sent(self, values: list[Any]) -> list[hm.Ciphertext]:
        encoded = self.package.interface.encode(values)
        levels = self.package.interface.input_levels(self.client.params)
        own = [self.client.encode(x, level=level) for x, level in zip(encoded, levels, strict=True)]
        return [self.ev.load(bytes(self.client.encrypt(x, self.secret_key))) for x in own]


@pytest.fixture(scope="module", params=["ckks", "bfv"])
def parties(request: pytest.FixtureRequest) -> Parties:
    return Parties(request.param)


def values_of(parties: Parties, *requests: int) -> list[Any]:
    if parties.package.scheme == "bfv":
        return [RNG.integers(0, 10, (*requests, extent)) for extent in (12, 8)]
    return [RNG.uniform(-1, 1, (*requests, extent)) for extent in (12, 8)]


@pytest.mark.parametrize("requests", [(), (3,)])
def test_examples_are_as_clients_inputs(parties: Parties, requests: tuple[int, ...]) -> None:
    sent = parties.sent(values_of(parties, *requests))
    examples = parties.model.examples(requests)
    assert [form_of(x) for x in examples] == [form_of(x) for x in sent]
    # A graph of the examples takes what clients send, and refuses other shapes and noise.
    graph = parties.model.capture(parties.ev, examples)
    (found,) = graph(*sent)  # type: ignore[misc]
    (wanted,) = parties.model.run(parties.ev, sent)
    assert bytes(found) == bytes(wanted)


def test_examples_of_samples_in_imaginary_parts_are_complex() -> None:
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
    (found,) = model.capture(keys, [example])(sent)  # type: ignore[misc]
    (wanted,) = model.run(keys, [sent])
    assert bytes(found) == bytes(wanted)


def test_examples_are_encryptions(parties: Parties) -> None:
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


def test_nothing_is_encoded_after_a_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    parties = Parties("ckks")
    made: list[object] = []
    encode = Evaluator._plain_operand

    def counted(self: Evaluator, x: Any, given: Any, **options: Any) -> Any:
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


def test_keys_of_others_are_refused(parties: Parties) -> None:
    other = hm.Context(hm.ckks.Parameters.for_circuit(1, security=None), threads=1)
    with pytest.raises(MismatchError):
        parties.model.warm_up(other.generate_keys(other.generate_secret_key()))
    none = parties.server.generate_keys(parties.server.generate_secret_key(), relinearization=False)
    with pytest.raises(MissingKeyError):
        parties.model.warm_up(none)
    with pytest.raises(ValueError, match="requests"):
        parties.model.examples((-1,))


def test_examples_of_a_lower_level() -> None:
    params = hm.ckks.Parameters.for_circuit(3, slots=8, security=None)
    specs = [hm.serving.InputSpec("x", 8, level=1), hm.serving.InputSpec("y", 8, shape=(2,))]
    package = hm.serving.export(lambda x, y: (x * x, y), inputs=specs, name="levels", params=params)
    x, y = package.prepare(hm.Context(params, threads=1)).examples((4,))
    assert [(each.level, each.shape, each.slots) for each in (x, y)] == [(1, (4,), 8), (3, (4, 2), 8)]
