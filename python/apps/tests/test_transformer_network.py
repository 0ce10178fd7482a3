"""BERT that classifies one encrypted input, compared with NumPy."""

import dataclasses
import json
import math

import numpy as np
import pytest

import hemera as hm
from hemera.errors import FormatError, ParameterError, RangeError
from hemera_apps.transformer.approximations import Approximations, Degrees
from hemera_apps.transformer.clear import Shape
from hemera_apps.transformer.network.calibration import Calibration
from hemera_apps.transformer.network.circuit import NetworkCircuit
from hemera_apps.transformer.network.config import NetworkConfig
from hemera_apps.transformer.network.model import Embeddings, Network, random_state
from hemera_apps.transformer.planned import approximate_block
from hemera_apps.transformer.single.block import SingleBlock
from hemera_apps.transformer.stages import agreement

SMALL = NetworkConfig(
    Shape(8, 16, 2, 32), blocks=2, classes=3, vocabulary=40, preset="test-40", fields={"security": None}
)


def some_words(config, count, seed):
    """Numbers of words, types, and how many count."""
    random, shape = np.random.default_rng(seed), (count, config.shape.tokens)
    words, types = random.integers(0, config.vocabulary, shape), random.integers(0, 2, shape)
    return words, types, random.integers(3, config.shape.tokens + 1, count)


def norm(x, state, name):
    deviation = np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    return np.asarray(
        (x - x.mean(-1, keepdims=True)) / deviation * state[f"{name}.weight"] + state[f"{name}.bias"]
    )


def judge(config, state, words, types, real):
    """The logits of one input, of the words that count alone, head by head, as the paper has it."""

    def linear(x, name):
        return np.asarray(x @ state[f"{name}.weight"].T.astype(float) + state[f"{name}.bias"])

    table = {
        kind: state[f"bert.embeddings.{kind}_embeddings.weight"].astype(float)
        for kind in ("word", "position", "token_type")
    }
    x = table["word"][words[:real]] + table["token_type"][types[:real]] + table["position"][:real]
    x = norm(x, state, "bert.embeddings.LayerNorm")
    width = config.shape.width
    for number in range(config.blocks):
        name = f"bert.encoder.layer.{number}"
        query, key, value = (linear(x, f"{name}.attention.self.{each}") for each in ("query", "key", "value"))
        heads = []
        for head in range(config.shape.heads):
            own = slice(head * width, (head + 1) * width)
            weights = np.exp(query[:, own] @ key[:, own].T / math.sqrt(width))
            heads.append(weights / weights.sum(1, keepdims=True) @ value[:, own])
        x = x + linear(np.concatenate(heads, 1), f"{name}.attention.output.dense")
        x = norm(x, state, f"{name}.attention.output.LayerNorm")
        hidden = linear(x, f"{name}.intermediate.dense")
        hidden = hidden * (1 + np.vectorize(math.erf)(hidden / math.sqrt(2))) / 2
        x = norm(x + linear(hidden, f"{name}.output.dense"), state, f"{name}.output.LayerNorm")
    return np.asarray(linear(np.tanh(linear(x[0], "bert.pooler.dense")), "classifier"))


def test_network_in_the_clear_is_bert():
    state = random_state(SMALL, 5)
    words, types, real = some_words(SMALL, 3, 1)
    x = Embeddings(SMALL, state)(words, types)
    found = Network(SMALL, state).logits(x, real)
    for number in range(3):
        expected = judge(SMALL, state, words[number], types[number], real[number])
        np.testing.assert_allclose(found[number], expected, atol=1e-12)


def test_encrypted_network_is_the_clear_one_and_needs_no_weights_for_keys(refuse):
    circuit = NetworkCircuit(SMALL)
    context = hm.Context(circuit.params, "cpu")
    secret_key = context.generate_secret_key()
    evaluator = context.bind(circuit.generate_keys(context, secret_key))
    for seed, sizes in ((3, (5, 8)), (4, (6, 6))):  # other weights, ranges and tokens: the same keys
        state = random_state(SMALL, seed)
        embeddings, network = Embeddings(SMALL, state), Network(SMALL, state)
        words, types, real = some_words(SMALL, 128, seed)
        calibration = Calibration.of(network, embeddings(words, types), real, margin=0.3)
        assert calibration.bits > 14
        assert len(calibration.ranges) == SMALL.blocks
        encrypted = circuit.network(network, calibration)
        encrypted.prepare(context)
        words, types, _ = some_words(SMALL, len(sizes), seed + 7)
        for number, count in enumerate(sizes):
            x = embeddings(words[number : number + 1], types[number : number + 1])
            assert (encrypted.padding(count) is None) == (count == 8)
            fresh = circuit.encrypt(x, context, secret_key)
            before = context.memory_used
            assert (len(fresh), fresh.level) == (1, circuit.levels.fresh)
            found = encrypted(evaluator.bind(fresh), count)
            assert (len(found), found.level) == (1, 0)
            expected = judge(SMALL, state, words[number], types[number], count)
            np.testing.assert_allclose(circuit.logits(found, secret_key), expected, atol=2e-4)
            del found
            # The first input makes the context's constants, and those of its padding, which the next one has.
            assert (seed, number) != (4, 1) or context.memory_used == before
    refuse((lambda: encrypted(evaluator.bind(fresh), 9), RangeError, "9 tokens count, of 8"))


def test_calibration_follows_the_polynomials(tmp_path):
    state = random_state(SMALL, 3)
    network = Network(SMALL, state)
    words, types, real = some_words(SMALL, 64, 2)
    x = Embeddings(SMALL, state)(words, types)
    calibration = Calibration.of(network, x, real)
    traces = network.traces(x, real)
    for ranges, trace in zip(calibration.ranges, traces, strict=True):
        assert ranges.hidden == pytest.approx(1.2 * np.abs(trace["hidden"]).max(), rel=1e-3)
    sums = network.head.before_tanh(traces[-1]["output"])
    assert calibration.pooled == pytest.approx(1.2 * np.abs(sums).max(), rel=1e-3)
    y = x
    for ranges, weights in zip(calibration.ranges, network.blocks, strict=True):
        y = approximate_block(weights, SMALL.shape, SMALL.functions(ranges), y, real)
    near = network.head.logits(np.tanh(network.head.before_tanh(y)[:, 0]))
    assert calibration.bits == pytest.approx(agreement(near[:4], network.logits(x, real)[:4]), abs=0.5)
    rough = dataclasses.replace(SMALL, degrees=Degrees(tanh=15))
    assert 12 < Calibration.of(Network(rough, state), x, real).bits < calibration.bits - 2
    calibration.save(tmp_path / "calibration.json")
    assert Calibration.load(tmp_path / "calibration.json") == calibration
    low = dataclasses.replace(SMALL, degrees=Degrees(tanh=3))
    with pytest.raises(
        ParameterError, match=r"the pooler's tanh .* no polynomial of degree 7 is within 2\^-12"
    ):
        Calibration.of(Network(low, state), x, real)


def test_sizes_and_weights_that_do_not_fit_are_refused(tmp_path, refuse):
    file = tmp_path / "config.json"
    SMALL.save(file)
    assert NetworkConfig.load(file) == SMALL
    for text in ("{", "[]", json.dumps({"shape": {"tokens": 8}})):
        file.write_text(text)
        refuse((lambda: NetworkConfig.load(file), FormatError, "has no sizes of a network"))
    state = random_state(SMALL, 3)
    Network.save_state(state, tmp_path)
    with np.load(tmp_path / "embeddings.npz") as client, np.load(tmp_path / "weights.npz") as server:
        assert sorted([*client, *server]) == sorted(state)
        assert len(Network(SMALL, dict(server)).blocks) == 2
        with pytest.raises(
            FormatError, match=r"word_embeddings.weight are not there; their shape is \(40, 16\)"
        ):
            Embeddings(SMALL, dict(server))
    wider = dataclasses.replace(SMALL, classes=4)
    with pytest.raises(
        FormatError, match=r"classifier.weight are of shape \(3, 16\); their shape is \(4, 16\)"
    ):
        Network(wider, state)
    longer = state | {"bert.embeddings.position_embeddings.weight": np.ones((20, 16), np.float32)}
    assert Embeddings(SMALL, longer)([[1] * 8], [[0] * 8]).shape == (1, 8, 16)


def test_blocks_of_other_degrees_share_no_plans():
    circuit = NetworkCircuit(SMALL)
    network = Network(SMALL, random_state(SMALL, 3))
    words, types, real = some_words(SMALL, 8, 2)
    ranges = Calibration.of(network, Embeddings(SMALL, random_state(SMALL, 3))(words, types), real).ranges[0]
    functions = Approximations(ranges, 16, degrees=Degrees(inverse_roots=(63, 63)))
    with pytest.raises(ParameterError, match="blocks that share plans have polynomials of the same degrees"):
        SingleBlock(network.blocks[0], functions, circuit.plans())


def test_full_size_fits_a_device():
    circuit = NetworkCircuit(NetworkConfig())
    assert (circuit.params.degree, circuit.params.security) == (65536, ">=128")
    cost, stages = circuit.cost("nvidia-h200")
    assert cost.seconds is not None
    assert sum(each["seconds"] for each in stages) == pytest.approx(cost.seconds, rel=0.01)
    assert cost.seconds < 0.5
    assert stages[-1]["stage"] == "pooler and classifier"
    both, _ = circuit.cost(wide=1)  # the keys
    assert cost.key_bytes < 21e9
    assert cost.key_bytes < both.key_bytes < 22e9
    assert both.key_bytes + both.plaintext_bytes + both.workspace_bytes < 40e9
    assert both.seconds is None
