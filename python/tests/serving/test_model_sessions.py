"""Requests of several inputs, before and after they are loaded."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera import errors
from hemera.client.problems import Refused
from hemera.objects.devices import DeviceOptions
from hemera.package.local_model import LocalModel
from hemera.serving import InputSpec, Package, export
from hemera.serving.sessions import Inputs, Loader, ModelSession, form_of, memory_of

PARAMS = hm.bfv.Parameters.from_bits(
    degree=1024, plain_modulus=12289, prime_bits=[45, 45], special_bits=[49], security=None
)
SLOTS = 1024


@pytest.fixture(scope="module")
def package() -> Package:
    """Two inputs, of which the second one is a batch of two."""
    inputs = [InputSpec("x", 4), InputSpec("y", 4, shape=(2,))]
    return export(lambda x, y: x + y[0] * y[1], inputs=inputs, name="both", params=PARAMS)


@pytest.fixture(scope="module")
def own(package: Package) -> LocalModel:
    return LocalModel(package.interface, security=None)


@pytest.fixture(scope="module")
def session(package: Package, own: LocalModel, tmp_path_factory: pytest.TempPathFactory) -> ModelSession:
    path = tmp_path_factory.mktemp("keys") / "keys"
    path.write_bytes(own.generate_keys())
    return Loader(DeviceOptions("cpu", 1)).load(package, "Hemera", {"keys": path})


def files_of(own: LocalModel, *shapes: tuple[int, ...]) -> dict[str, bytes]:
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
def test_an_answer_has_an_axis_where_an_input_has_one(
    package: Package, own: LocalModel, session: ModelSession, shapes: Any, shape: tuple[int, ...]
) -> None:
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
def test_shapes_that_do_not_fit(
    package: Package, own: LocalModel, session: ModelSession, shapes: Any, error: type, told: str
) -> None:
    files = files_of(own, *shapes)
    with pytest.raises(error, match=told):
        session.load(files)
    if "for" not in told:
        with pytest.raises(error, match=told):
            memory_of(package, files, 32)


def test_requests_that_are_refused_before_they_are_loaded(package: Package, own: LocalModel) -> None:
    files = files_of(own, (3,), (3, 2))
    assert memory_of(package, files, 3) > 0
    with pytest.raises(Refused, match="2 evaluations at most"):
        memory_of(package, files, 2)
    for wrong in ({"x": files["x"]}, {**files, "z": b""}, {"x": files["x"], "z": files["y"]}):
        with pytest.raises(errors.MismatchError, match="takes the inputs x, y; the request has x"):
            memory_of(package, wrong, 32)
    with pytest.raises(Refused) as refused:
        memory_of(package, {**files, "y": bytes(own.secret_key)}, 32)
    assert refused.value.code == "secret_key"


def test_what_runs_as_one_batch(own: LocalModel, session: ModelSession) -> None:
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
def test_inputs_that_differ_in_one_field(
    at: int, field: str, value: Any, fits: bool, is_one_form: bool
) -> None:
    """Whether they run as one batch, and by one graph."""
    same, other = SimpleNamespace(**FORM), SimpleNamespace(**{**FORM, field: value})
    one = Inputs([same, same], 4, False)  # type: ignore[list-item]
    two = Inputs([other, same] if at == 0 else [same, other], 4, False)  # type: ignore[list-item]
    assert one.fit(two) == two.fit(one) == fits
    assert (form_of(same) == form_of(other)) == is_one_form  # type: ignore[arg-type]
