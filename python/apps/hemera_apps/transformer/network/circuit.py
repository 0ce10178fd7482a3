"""A network's circuit without its weights: parameters, layout, levels and keys."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera.objects.cost import Cost, DryRun, FreshInput
from hemera.times.table import DeviceTimes
from hemera_apps.transformer.approximations import Approximations
from hemera_apps.transformer.clear import Ranges, Weights
from hemera_apps.transformer.network.config import NetworkConfig
from hemera_apps.transformer.network.encrypted import EncryptedNetwork
from hemera_apps.transformer.network.head import EncryptedHead, HeadFunctions
from hemera_apps.transformer.network.model import HeadWeights
from hemera_apps.transformer.single.block import SingleBlock
from hemera_apps.transformer.single.layers import Norm
from hemera_apps.transformer.single.layout import SingleLayout
from hemera_apps.transformer.single.levels import SingleLevels
from hemera_apps.transformer.single.shared import SharedPlans
from hemera_apps.transformer.stages import PlannedStages

if TYPE_CHECKING:
    from hemera_apps.transformer.network.calibration import Calibration
    from hemera_apps.transformer.network.model import Network
    from hemera_apps.transformer.watch import Watch

Array = NDArray[np.float64]

_STAND_IN = Ranges(score=4, mixed=2, hidden=5, centred=8, sums=(64, 256), variances=((0.5, 2), (0.5, 2)))
"""Ranges where only levels are asked for: polynomials of the same degrees have the same levels."""
_POOLED = 5.0
_WIDE = Ranges(
    score=70, mixed=2, hidden=64, centred=60, sums=(1, 2.0**22), variances=((0.15, 10), (0.75, 2500))
)
"""The constants of the reference implementation of the official workload, but for `mixed` and `centred`. Its
sums are those of roots of exponentials, from 1 to 2^11."""
_WIDE_POOLED = 40.0


class NetworkCircuit:
    """The facts that client and server derive from a `NetworkConfig`: neither weights nor ranges change it.

    Attributes:
        config, params, layout, levels: the sizes, parameters, places in slots, and levels of each block.

    Args:
        config: of the network.

    Raises:
        MismatchError: if the shape does not fit the slots.
    """

    def __init__(self, config: NetworkConfig) -> None:
        self.config = config
        functions = self._stand_in()
        levels = SingleLevels.of(functions, 0).top
        self.params = hm.ckks.Parameters.for_bootstrapping(config.preset, levels=levels, **config.fields)
        self._bootstrap = hm.circuits.Bootstrap(self.params)
        self.layout = SingleLayout(config.shape, self.params.max_slots)
        self.levels = SingleLevels.of(functions, self._bootstrap.input_level)

    def _stand_in(self, *, lower: bool = False) -> Approximations:
        degrees, features = self.config.degrees, self.config.shape.features
        return Approximations(_STAND_IN, features, degrees=degrees, bits=0, lower=lower)

    def plans(self) -> SharedPlans:
        """The plans that all blocks share."""
        return SharedPlans(self.layout, self.params, self.levels, self._bootstrap)

    def network(
        self, network: Network, calibration: Calibration, *, kept: bool = False, watch: Watch | None = None
    ) -> EncryptedNetwork:
        """The encrypted network.

        Args:
            network: its weights.
            calibration: its ranges.
            kept: whether encoded weights stay in memory. If not, each call encodes them.
            watch: gets the steps of the blocks.
        """
        plans = self.plans()
        blocks: list[SingleBlock] = []
        before: Norm | None = None
        for weights, ranges in zip(network.blocks, calibration.ranges, strict=True):
            functions = self.config.functions(ranges)
            blocks.append(SingleBlock(weights, functions, plans, before=before, kept=kept, watch=watch))
            before = blocks[-1].norm
        return EncryptedNetwork(plans, blocks, self._head(network.head, calibration.pooled, before, kept))

    def _head(self, weights: HeadWeights, pooled: float, before: Norm | None, kept: bool) -> EncryptedHead:
        functions = HeadFunctions(pooled, self.config.degrees)
        level = self.levels.fresh
        return EncryptedHead(weights, functions, self.layout, self.params, level, before=before, kept=kept)

    def cost(
        self,
        device: str | None = None,
        *,
        blocks: int = 1,
        wide: int = 0,
        kept: bool = False,
        lower: bool = False,
    ) -> tuple[Cost, list[dict[str, Any]]]:
        """The keys, operations and bytes, by a run that computes nothing, on random weights; and the stages.
        All blocks on narrow ranges need the keys of one, and so do those on wide ranges.

        Args:
            device: one with a table of times, like "nvidia-h200", of which the stages have seconds; None: no
                stages.
            blocks: of a network on narrow ranges.
            wide: of another one, whose functions are all those on wide ranges.
            kept: whether encoded weights stay in memory.
            lower: whether polynomials have the degrees that ranges like those of random weights need, and not
                the highest, for which keys are.
        """
        context = hm.Context(self.params, "ledger")
        times = None if device is None else DeviceTimes.find(device)
        stages = None if times is None else PlannedStages(context, times)
        networks = [
            self._random(count, functions(), pooled, stages, kept)
            for count, functions, pooled in (
                (blocks, functools.partial(self._stand_in, lower=lower), _POOLED),
                (wide, functools.partial(self.config.functions, _WIDE), _WIDE_POOLED),
            )
            if count > 0
        ]

        def prepare(_: hm.Evaluator) -> Any:
            if stages is not None:
                stages.begin()

            def run(x: hm.Ciphertext) -> hm.Ciphertext:
                for network in networks:
                    found = network(x, self.config.shape.tokens - 1)  # with padding
                    if stages is not None:
                        stages.stage("pooler and classifier")
                return found

            return run

        fresh = FreshInput((self.layout.ciphertexts, self.params.max_slots), self.levels.fresh)
        cost = DryRun(context).cost(prepare, [fresh], own_products=True, own_rotations=True, times=times)
        return cost, [] if stages is None else stages.rows

    def _random(
        self, count: int, functions: Approximations, pooled: float, watch: Watch | None, kept: bool
    ) -> EncryptedNetwork:
        """The same random block over and over; if weights are kept, as many blocks of these weights."""
        shape, plans = self.config.shape, self.plans()
        weights = Weights.random(shape, 1)
        before = Norm.behind(weights, functions)
        blocks = [
            SingleBlock(weights, functions, plans, before=before, kept=kept, watch=watch)
            for _ in range(count if kept else 1)
        ]
        rng = np.random.default_rng(1)
        square, few = (
            rng.normal(size=(rows, shape.features)) for rows in (shape.features, self.config.classes)
        )
        of_head = HeadWeights(square, square[0], few, few[:, 0])
        return EncryptedNetwork(
            plans, blocks if kept else blocks * count, self._head(of_head, pooled, before, kept)
        )

    def generate_keys(self, context: hm.Context, secret_key: hm.SecretKey) -> hm.Keys:
        """The keys of the network, of any weights."""
        return context.generate_keys(secret_key, relinearization=False, plan=self.cost(wide=1)[0])

    def encrypt(self, x: Array, context: hm.Context, key: hm.SecretKey) -> hm.Ciphertext:
        """The features of one input's words, of shape (1, tokens, features)."""
        return context.encrypt(context.encode(self.layout.pack(x), level=self.levels.fresh), key)

    def logits(self, found: hm.Ciphertext, secret_key: hm.SecretKey) -> Array:
        """The decrypted logits, of shape (classes,)."""
        first = found.context.decrypt(found, secret_key).real[0]
        return np.asarray(first[: self.config.classes])
