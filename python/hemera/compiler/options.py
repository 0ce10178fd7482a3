"""The options of `compile` for functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hemera.parameters import Parameters

LayoutName = Literal["auto", "ciphertexts", "pairs", "sequences", "slots"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user says of a program, besides the function and its inputs."""

    calibrate: Any = None
    """Samples of the inputs, of shape (samples, *shape): an array, or one for each input. They give ranges,
    to inputs without one and to all values in between. Clients bring what is outside of an input's range into
    it, with a `RangeWarning` (`ArraySpec.clip`)."""
    scheme: str = "ckks"
    """"ckks"; or "bfv" or "bgv" for exact programs on whole numbers, whose inputs are specs with a range.
    `calibrate`, `precision_bits`, `margin`, `layout`, `device`, `share` and `shares` are of "ckks"."""
    precision_bits: float = 16
    """Bits that each result has, relative to its own largest value on the samples, or on draws from the
    ranges."""
    margin: float = 0.5
    """The part by which the ranges of `calibrate` are widened to both sides."""
    samples: int = 1
    """The samples that each ciphertext holds, a power of two: slots that one leaves free are those of others,
    and the operations are as many. Inputs are then of shape (n, *shape), for any number n."""
    layout: LayoutName = "auto"
    """Where elements lie:

    - "ciphertexts": each element of a sample has a ciphertext of its own, whose slots are samples, and linear
      layers are products of plain matrices with batches of ciphertexts, without keys. That is for samples
      that fill the slots: those of `samples=`, or along an axis of the arrays where the function does nothing
      but the same with each.
    - "pairs": such samples are encrypted matrices, and the function is x @ y or x @ (y @ z)
      (`hemera.circuits.MatrixBatchProduct`).
    - "sequences": slots are samples and the first axis of each, that of tokens, which meet by sums and
      products that are the same for each token (docs/compile.md#sequences).
    - "slots": elements lie in slots.
    - "auto": what takes the least time, by the table of `device`; `report` has the times."""
    params: Parameters | None = None
    """Parameters of the scheme; None: those of the depth that is found, or, where no ring holds it, those of
    `for_bootstrapping`. With these, bootstraps are placed where the program needs them."""
    openings: Any = None
    """The openings of a group (`Group.openings`) that opens the results, of "bfv" and "bgv": parameters that
    are found are for its pieces, and results keep the noise budget that openings take."""
    security: int | None = 128
    """In bits, for parameters that are found; None: not checked."""
    device: str = "cpu-avx512-16"
    """The name of a table of times (`hemera calibrate --list`), by which bootstraps are placed, and layouts
    chosen."""
    share: bool = False
    """Whether others will see the results. The scale has room for the noise that hides their errors
    (docs/security.md), which leaves `precision_bits`, and the plan decrypts with it."""
    shares: int = 1024
    """With `share`: how many results, a ciphertext each, may be shown under one secret key."""
    watch: bool = True
    """Whether values that inputs could take out of a function's interval go to the client as further
    encrypted outputs, by which it names rows that leave the ranges of `calibrate`. False: clients see results
    alone, and are warned only in general that rows may leave; `local` and `check` name them."""
    scales: bool = True
    """Whether clients may scale inputs that are far from 0, and inputs and results that are small, where
    noise would hide them."""
    upload_limit: int | None = None
    """The most bytes of keys that each client uploads; None: no limit. Rotations of linear maps are then
    taken as rotations of rotations: of the plans whose keys fit, the fastest one that is found, by the table
    of `device` (docs/compile.md#fewer-keys)."""
    name: str = ""
    """The model's name; "": the function's."""
    description: str = ""
    """A description of the model, for people."""
