"""The ciphertexts of a program's arrays, as its packaged model describes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hemera.arrays.layout import Layout
from hemera.arrays.splitting import SplitProgram
from hemera.arrays.tiling import Tiling
from hemera.compiler.lowering import Lowered
from hemera.compiler.specs import ArraySpec
from hemera.errors import ParameterError
from hemera.package.specs import InputSpec, OutputSpec

__all__ = ["Known", "input_specs", "output_specs", "require_samples", "require_tiles", "tiled_layouts"]

Layouts = tuple[Layout, ...]


class Known(NamedTuple):
    """What is known of an output: see `OutputSpec`."""

    watched: str = ""
    low: float | None = None
    high: float | None = None
    ends: tuple[float, float] | None = None
    """The least and the largest number that inputs can lead to, as it is decrypted."""

    @property
    def reach(self) -> float | None:
        """The largest magnitude of these."""
        return None if self.ends is None else max(map(abs, self.ends))


def require_samples(samples: int, slots: int) -> None:
    """ParameterError unless a ciphertext of `slots` slots can hold the samples."""
    if not 1 <= samples <= slots or samples & (samples - 1):
        raise ParameterError(
            f"samples={samples}: a ciphertext of {slots} slots holds a power of two of samples, up to {slots}"
        )


def require_tiles(specs: Iterable[ArraySpec], slots: int) -> None:
    """ParameterError for inputs of too many ciphertexts: before anything of their size is made."""
    for spec in specs:
        Tiling.of(spec.shape, slots)


def input_specs(parts: SplitProgram, layouts: Layouts, slots: int) -> list[InputSpec]:
    """What is encrypted: each tile of each input, or its batch."""
    batches = [layout.batch for layout in layouts for _ in range(layout.count)]
    return [
        InputSpec(own.name, slots, slots, batch, None, own.low, own.high)
        for own, batch in zip(parts.program.declared.values(), batches, strict=True)
    ]


def output_specs(
    parts: SplitProgram, layouts: Layouts, slots: int, known: Mapping[str, Known]
) -> list[OutputSpec]:
    """What is decrypted: each tile of each output, or its batch.

    Args:
        known: of outputs by their names.
    """
    named = [
        (known.get(name, Known()), layout.batch)
        for (name, _), layout in zip(parts.whole.outputs, layouts, strict=True)
        for _ in range(layout.count)
    ]
    return [
        OutputSpec(name, slots, batch, watched=own.watched, low=own.low, high=own.high, reach=own.reach)
        for (name, _), (own, batch) in zip(parts.program.outputs, named, strict=True)
    ]


def tiled_layouts(parts: SplitProgram, steps: Lowered, samples: int) -> tuple[Layouts, Layouts]:
    """The layouts of the inputs and of the outputs; `samples` are in a ciphertext."""

    def of(at: int) -> Layout:
        layouts = (steps.steps[tile].layout for tile in parts.tiles[at])
        known = tuple(layout for layout in layouts if layout is not None)
        return Layout.of_tiles(parts.tilings[at], known).with_samples(samples)

    whole = parts.whole
    return tuple(map(of, whole.inputs)), tuple(of(at) for _, at in whole.outputs)
