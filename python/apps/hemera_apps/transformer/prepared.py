"""A block that is ready to run: ranges, parameters, plans and keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera.objects.cost import Cost, DryRun, FreshInput
from hemera.times.table import DeviceTimes
from hemera_apps.transformer.approximations import Approximations
from hemera_apps.transformer.block import EncryptedBlock
from hemera_apps.transformer.clear import Ranges, Shape, Weights, clear_block, random_inputs
from hemera_apps.transformer.layers import chunks
from hemera_apps.transformer.layout import Layout
from hemera_apps.transformer.single.block import SingleBlock
from hemera_apps.transformer.single.layers import Norm
from hemera_apps.transformer.single.layout import SingleLayout
from hemera_apps.transformer.single.levels import SingleLevels
from hemera_apps.transformer.single.shared import SharedPlans
from hemera_apps.transformer.stages import PlannedStages
from hemera_apps.transformer.watch import Watch

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """The settings of a run."""

    shape: Shape
    inputs: int | None = None
    """None: as many as there is room for."""
    preset: str = "n16-40"
    fields: dict[str, Any] | None = None
    """Fields of `for_bootstrapping`, but for the levels."""
    sharpness: float = 1
    """The deviation of scores."""
    calibration: int = 64
    """Inputs from which the ranges are taken."""
    margin: float = 0.2
    size: int = 64
    together: int = 4
    """See `EncryptedBlock`."""
    seed: int = 23
    single: bool = False
    """Whether there is one input, whose features share ciphertexts: see `hemera_apps.transformer.single`."""
    kept: bool = True
    """See `SingleBlock`; for one input alone."""


class PreparedBlock:
    """Weights, ranges of other inputs than those that are encrypted, and parameters with the levels that the
    block's polynomials take.

    Args:
        settings: of the run.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings, shape = settings, settings.shape
        self.weights = Weights.random(shape, settings.seed, sharpness=settings.sharpness)
        seen = random_inputs(shape, settings.calibration, settings.seed + 1)
        self.ranges = Ranges.seen(clear_block(self.weights, shape, seen), settings.margin)
        self.functions = Approximations(self.ranges, shape.features)
        levels = SingleLevels.of(self.functions, 0) if settings.single else self.functions.levels(0)
        self.params = hm.ckks.Parameters.for_bootstrapping(
            settings.preset, levels=levels.top, **(settings.fields or {})
        )
        self.bootstrap = hm.circuits.Bootstrap(self.params)
        slots = self.params.max_slots
        self.layout: Layout | SingleLayout
        if settings.single:
            self.layout = SingleLayout(shape, slots)
        else:
            self.layout = Layout(shape.tokens, settings.inputs or slots // shape.tokens, slots)

    def block(self, watch: Watch | None = None) -> EncryptedBlock | SingleBlock:
        """The encrypted block."""
        if isinstance(self.layout, SingleLayout):
            levels = SingleLevels.of(self.functions, self.bootstrap.input_level)
            plans = SharedPlans(
                self.layout, self.params, levels, self.bootstrap, together=self.settings.together
            )
            return SingleBlock(self.weights, self.functions, plans, kept=self.settings.kept, watch=watch)
        return EncryptedBlock(
            self.weights,
            self.settings.shape,
            self.layout,
            self.functions,
            self.params,
            self.bootstrap,
            size=self.settings.size,
            together=self.settings.together,
            watch=watch,
        )

    def cost(self, device: str | None = None) -> tuple[Cost, list[dict[str, Any]]]:
        """The keys, operations and bytes of the block, by a run that computes nothing; and its stages, with
        the seconds on a device by its table of times, like "nvidia-h200". None: no stages and no seconds."""
        context = hm.Context(self.params, "ledger")
        times = None if device is None else DeviceTimes.find(device)
        stages = None if times is None else PlannedStages(context, times)
        block = self.block(stages)

        def prepare(_: hm.Evaluator) -> EncryptedBlock | SingleBlock:
            if stages is not None:
                stages.begin()
            return block

        single = isinstance(self.layout, SingleLayout)
        rows = (
            self.layout.ciphertexts if isinstance(self.layout, SingleLayout) else self.settings.shape.features
        )
        fresh = FreshInput((rows, self.params.max_slots), block.levels.fresh)
        cost = DryRun(context).cost(prepare, [fresh], own_products=True, own_rotations=single, times=times)
        return cost, [] if stages is None else stages.rows

    def encrypt(self, x: Array, evaluator: hm.Evaluator, level: int) -> hm.Ciphertext:
        """Inputs of shape (inputs, tokens, features), in the layout's ciphertexts."""
        rows = self.layout.pack(x)
        parts = [
            evaluator.encrypt(rows[part]).at_level(level) for part in chunks(len(rows), self.settings.size)
        ]
        return hm.concatenate(parts)

    def decrypt(self, rows: hm.Ciphertext, secret_key: hm.SecretKey) -> Array:
        """The features of a block's output, of shape (inputs, tokens, features), with the gains of the last
        norm."""
        parts = [
            rows.context.decrypt(rows[part], secret_key).real
            for part in chunks(len(rows), self.settings.size)
        ]
        found = self.layout.unpack(np.concatenate(parts))
        return Norm.behind(self.weights, self.functions)(found) if self.settings.single else found
