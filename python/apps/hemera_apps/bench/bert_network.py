"""BERT with all blocks, pooler and classifier on one encrypted input, beside the network in the clear."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera.errors import NoiseError
from hemera_apps.transformer.network.calibration import Calibration
from hemera_apps.transformer.network.circuit import NetworkCircuit
from hemera_apps.transformer.network.config import NetworkConfig
from hemera_apps.transformer.network.encrypted import EncryptedNetwork
from hemera_apps.transformer.network.model import Embeddings, Network, random_state
from hemera_apps.transformer.network.widened import Widening
from hemera_apps.transformer.planned import least_bits, require_in_ranges
from hemera_apps.transformer.stages import Stages, agreement

Array = NDArray[np.float64]
Say = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True)
class NetworkRun:
    """A network of random weights on random words."""

    config: NetworkConfig
    calibration: int = 8
    """Other inputs, for ranges."""
    margin: float = 0.2
    sharpness: float = 0.5
    wide: bool = False
    """Whether ranges are as wide as those of trained weights, by `Widening` in place of `sharpness`."""
    kept: bool = True
    """Whether encoded weights stay in memory."""
    seed: int = 23

    def planned(self, device: str, say: Say) -> dict[str, Any]:
        """Counted alone, with seconds of a device's table."""
        circuit = NetworkCircuit(self.config)
        count = self.config.blocks
        cost, stages = circuit.cost(
            device,
            blocks=0 if self.wide else count,
            wide=count if self.wide else 0,
            kept=self.kept,
            lower=True,
        )
        say(cost.report())
        by_name: dict[str, float] = {}
        for row in stages:
            by_name[row["stage"]] = round(by_name.get(row["stage"], 0) + row["seconds"], 4)
        for name, seconds in by_name.items():
            say(f"{name}, of all blocks: {seconds} s")
        return {
            "device": device,
            "seconds": cost.seconds,
            "key_bytes": cost.key_bytes,
            "plaintext_bytes": cost.plaintext_bytes,
            "workspace_bytes": cost.workspace_bytes,
            "operations": cost.operations,
            "stages": by_name,
        }

    def inputs(self, embeddings: Embeddings, count: int, seed: int) -> tuple[Array, NDArray[np.int64]]:
        """Features of random words, and numbers of tokens, of a quarter of all or more."""
        rng, tokens = np.random.default_rng(seed), self.config.shape.tokens
        words = rng.integers(0, self.config.vocabulary, (count, tokens))
        real = rng.integers(tokens // 4, tokens + 1, count)
        return embeddings(words, (np.arange(tokens) > real[:, None] // 2).astype(int)), real

    def measured(self, device: str, threads: int | None, runs: int, say: Say) -> dict[str, Any]:
        """Runs on a device, with the seconds and bits of each block.

        Raises:
            RangeError: if the input has values outside of the ranges.
            NoiseError: if the logits are farther from the clear ones than planned.
        """
        began = time.perf_counter()
        state = (
            Widening().state(self.config, self.seed)
            if self.wide
            else random_state(self.config, self.seed, sharpness=self.sharpness)
        )
        embeddings, network = Embeddings(self.config, state), Network(self.config, state)
        calibration = Calibration.of(
            network, *self.inputs(embeddings, self.calibration, self.seed + 1), self.margin
        )
        (x, (real,)) = self.inputs(embeddings, 1, self.seed + 2)
        traces = network.traces(x, [real])
        for trace, ranges in zip(traces, calibration.ranges, strict=True):
            require_in_ranges(trace, ranges)
        logits = network.logits(x, [real])[0]
        say(
            f"clear network: {time.perf_counter() - began:.1f} s, {calibration.bits} bits of the logits with "
            f"polynomials; {real} tokens"
        )
        began = time.perf_counter()
        circuit = NetworkCircuit(self.config)
        context = hm.Context(circuit.params, device, threads=threads)
        secret_key = context.generate_secret_key()
        evaluator = context.bind(circuit.generate_keys(context, secret_key))
        context.synchronize()
        keys_seconds = round(time.perf_counter() - began, 2)
        began = time.perf_counter()
        stages = Stages(evaluator, lambda _: None, circuit.layout)
        encrypted = circuit.network(network, calibration, kept=self.kept, watch=stages)
        encrypted.prepare(context)
        context.synchronize()
        plan_seconds = round(time.perf_counter() - began, 2)
        fresh = evaluator.bind(circuit.encrypt(x, context, secret_key))
        say(f"keys: {keys_seconds} s, plans: {plan_seconds} s, on {context.device}")
        least = least_bits(calibration.bits) - np.log2(self.config.blocks)
        session = _Session(circuit, encrypted, stages, secret_key, [trace["output"] for trace in traces], say)
        found: list[dict[str, Any]] = []
        for _ in range(runs):
            found.append(session.run(fresh, int(real)))
            found[-1]["logits_bits"] = bits = agreement(np.array(found[-1]["logits"]), logits)
            say(f"network: {found[-1]['seconds']:.2f} s, {bits} bits of the logits {found[-1]['logits']}")
            if bits < least:
                raise NoiseError(f"the logits agree with the clear ones in {bits} bits, not in {least:.1f}")
        at_once = session.run_at_once(fresh, int(real))
        say(f"network without waits between stages: {at_once:.2f} s")
        return {
            "backend": context.description,
            "tokens_that_count": int(real),
            "planned_bits": calibration.bits,
            "keys_seconds": keys_seconds,
            "plan_seconds": plan_seconds,
            "runs": found,
            "seconds_at_once": at_once,
        }


@dataclass(frozen=True)
class _Session:
    """The parts that run on one device share."""

    circuit: NetworkCircuit
    network: EncryptedNetwork
    stages: Stages
    secret_key: hm.SecretKey
    outputs: list[Array]
    """The exact ones of all blocks."""
    say: Say

    def run(self, x: hm.Ciphertext, real: int) -> dict[str, Any]:
        """Block by block; bits are those of tokens that count."""
        rows: list[dict[str, Any]] = []
        by_name: dict[str, float] = {}
        seconds, padding = self._timed(lambda: self.network.padding(real))
        total = by_name["padding"] = round(seconds, 4)
        for number, (block, expected) in enumerate(zip(self.network.blocks, self.outputs, strict=True)):
            self.stages.begin()
            seconds, x = self._timed(functools.partial(block, x, padding))
            total += seconds
            for stage in self.stages.rows:
                by_name[stage["stage"]] = round(by_name.get(stage["stage"], 0.0) + stage["seconds"], 4)
            peak = max(stage["peak_bytes"] for stage in self.stages.rows)
            values = block.norm(self.circuit.layout.unpack(x.context.decrypt(x, self.secret_key).real))
            bits = agreement(values[:, :real], expected[:, :real])
            rows.append({"seconds": round(seconds, 4), "bits": bits, "peak_bytes": peak})
            self.say(f"block {number + 1}: {seconds:.3f} s, {bits} bits, peak {peak / 1e9:.2f} GB")
        seconds, found = self._timed(functools.partial(self.network.head, x))
        total += seconds
        by_name["pooler and classifier"] = round(seconds, 4)
        logits = self.circuit.logits(found, self.secret_key).tolist()
        return {"seconds": round(total, 4), "logits": logits, "stages": by_name, "blocks": rows}

    def run_at_once(self, x: hm.Ciphertext, real: int) -> float:
        """The seconds of a run that waits for the device at its end alone."""
        self.stages.waits = False
        seconds, _ = self._timed(functools.partial(self.network, x, real))
        self.stages.waits = True
        return round(seconds, 4)

    def _timed(self, run: Callable[[], T]) -> tuple[float, T]:
        """The seconds until the device has a result."""
        context = self.stages.context
        context.synchronize()
        began = time.perf_counter()
        found = run()
        context.synchronize()
        return time.perf_counter() - began, found
