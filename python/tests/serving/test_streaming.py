"""Models whose encoded matrices do not fit into memory: those beyond are encoded at each run."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.errors import HemeraWarning, MismatchError, ParameterError
from hemera.serving import PreparedModel

RNG = np.random.default_rng(12)
SIZE = 128
MATRICES = RNG.uniform(-1, 1, (3, SIZE, SIZE)) / SIZE
X = RNG.uniform(-1, 1, SIZE)


def network(x: Any) -> Any:
    for matrix in MATRICES:
        x = (matrix @ x + 0.5) ** 2
    return x


@pytest.fixture(scope="module")
def plan() -> Any:
    params = hm.ckks.Parameters.for_circuit(6, scale_bits=40, range_bits=8, degree=2048, security=None)
    return hm.compile(network, hm.ArraySpec((SIZE,), (-1, 1)), params=params)


def results(plan: Any, model: PreparedModel, context: hm.Context, runs: int = 2) -> Any:
    secret = context.generate_secret_key()
    evaluator = model.bind(plan.generate_keys(context, secret))
    (values,) = plan.package.interface.encode(X)
    x = context.encrypt(context.encode(values), secret)
    for _ in range(runs):
        (result,) = model.run(evaluator, [x])
    return plan.package.interface.decode([context.decrypt(result, secret)])


@pytest.mark.parametrize("part", [0.0, 0.4, 0.7, 1.0])
@pytest.mark.fact_of_the_cpu("bytes that the CPU's pool hands out")
def test_given_memory_is_kept(plan: Any, part: float) -> None:
    context = hm.Context(plan.params, threads=1)
    whole = sum(context_free(plan).encoded_bytes)
    allowed = int(part * whole)
    before = context.memory_used
    model = plan.prepare(context, weights_memory=allowed)
    assert context.memory_used - before <= allowed
    assert model.streamed_bytes >= whole - allowed
    assert model.streamed_bytes == 0 or part < 1
    encoded = context.memory_used
    np.testing.assert_allclose(results(plan, model, context), network(X), atol=1e-6)
    # Numbers that are added are kept; what was streamed is not.
    assert context.memory_used - encoded < min(own for own in model.encoded_bytes if own)


def context_free(plan: Any) -> PreparedModel:
    """The model without anything encoded."""
    found: PreparedModel = plan.prepare(hm.Context(plan.params, threads=1), weights_memory=0)
    return found


def test_streamed_matrices_have_no_graph(plan: Any) -> None:
    context = hm.Context(plan.params, threads=1)
    model = plan.prepare(context, weights_memory=0)
    assert not model.captures
    secret = context.generate_secret_key()
    (values,) = plan.package.interface.encode(X)
    x = context.encrypt(context.encode(values), secret)
    with pytest.raises(MismatchError, match=r"MiB of matrices are encoded at each run"):
        model.capture(model.bind(plan.generate_keys(context, secret)), [x])


def test_a_limit_of_memory_is_kept(plan: Any) -> None:
    """With all matrices in memory, keys or runs would not fit."""
    cost = plan.cost()
    everything = cost.key_bytes + cost.workspace_bytes + cost.plaintext_bytes
    room = hm.Context(plan.params, threads=1, memory_limit=2 * everything)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plan.prepare(room).streamed_bytes == 0
    limit = everything - max(context_free(plan).encoded_bytes) // 2
    small = hm.Context(plan.params, threads=1, memory_limit=limit)
    assert small.memory_limit == limit
    with pytest.warns(HemeraWarning, match=r"'network' take .* MiB, and beside the keys there is room for"):
        model = plan.prepare(small)
    own = model.encoded_bytes
    assert 0 < model.streamed_bytes < sum(own)
    # One of those that are left out is in memory at a time.
    needed = everything - model.streamed_bytes + max(own)
    assert needed <= limit < needed + 2 * max(own)
    np.testing.assert_allclose(results(plan, model, small), network(X), atol=1e-6)


@pytest.mark.fact_of_the_cpu("bytes of its memory pool")
def test_what_a_context_holds_already_takes_from_the_room(plan: Any) -> None:
    """As other models' matrices do: fewer of this one's fit by so much."""
    cost = plan.cost()
    own = context_free(plan).encoded_bytes
    limit = cost.key_bytes + cost.workspace_bytes + cost.plaintext_bytes
    context = hm.Context(plan.params, threads=1, memory_limit=limit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plan.prepare(context).streamed_bytes == 0  # exactly what there is room for
    before = context.memory_used
    held = context.encode(np.zeros((1, SIZE)))
    taken = context.memory_used - before
    assert taken > 0
    with pytest.warns(HemeraWarning, match="there is room for"):
        model = plan.prepare(context)
    kept = sum(own) - model.streamed_bytes
    others = limit - sum(own)
    # One of those that are left out is in memory at a time.
    assert kept + max(own) + others + taken <= limit < kept + 3 * max(own) + others + taken
    del held, model
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plan.prepare(context).streamed_bytes == 0


def test_matrices_are_encoded_anew_for_other_memory(plan: Any) -> None:
    """More room than before, or less: as a model that was made with it at once."""
    context = hm.Context(plan.params, threads=1)
    model = plan.prepare(context, weights_memory=0)
    own = model.encoded_bytes
    assert model.streamed_bytes == sum(own)
    largest = max(own)
    for memory in (largest, np.inf, 0, sum(own), sum(own) - 1, largest - 1, np.inf):
        model.encode(memory)
        at_once = plan.prepare(hm.Context(plan.params, threads=1), weights_memory=min(memory, 1 << 60))
        assert model.streamed_bytes == at_once.streamed_bytes
        assert (model.streamed_bytes == 0) == (memory >= sum(own))
        assert sum(own) - model.streamed_bytes <= memory
    assert model.encoded_bytes == own
    np.testing.assert_allclose(results(plan, model, context), network(X), atol=1e-6)


@pytest.mark.fact_of_the_cpu("no limit of memory")
def test_wrong_memory(plan: Any) -> None:
    with pytest.raises(ParameterError, match="0 bytes or more"):
        plan.prepare(hm.Context(plan.params), weights_memory=-1)
    assert hm.Context(plan.params).memory_limit is None
