"""Results that others will see: the noise that hides their errors, and how many there may be."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hemera._files import locked, write_atomically
from hemera._process import Process
from hemera.errors import FileError, FormatError, ParameterError, SecurityError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.keys import SecretKey
from hemera.program.values import integer, real

STATISTICAL_BITS = 40
MAX_SHARES = 1 << 40


@dataclass(frozen=True)
class Sharing:
    """How the results of a model are decrypted for others (`Context.decrypt_for_sharing`)."""

    noise_bounds: tuple[float, ...]
    """For each output a worst-case bound on the root mean square of its slots' errors."""
    shares: int
    """How many results, a ciphertext each, may be shown under one secret key."""
    statistical_bits: int = STATISTICAL_BITS

    def __post_init__(self) -> None:
        if not all(0 < bound < math.inf for bound in self.noise_bounds):
            raise ParameterError(f"noise bounds {self.noise_bounds} of shared results must be above 0")
        if not 1 <= self.shares <= MAX_SHARES or not 1 <= self.statistical_bits <= 64:
            raise ParameterError(
                f"{self.shares} shares with {self.statistical_bits} statistical bits; there are 1 to 2^40 "
                "shares, and 1 to 64 bits"
            )

    def deviation(self, output: int, slots: int, degree: int, scale: float) -> float:
        """The standard deviation of the noise in a slot of an output, a complex number (docs/ckks.md).

        Args:
            output: its number.
            slots: of its ciphertext.
            degree: N.
            scale: of its ciphertext.
        """
        norm = self.noise_bounds[output] + math.sqrt(degree) / (2 * scale)
        return math.sqrt(2 * slots * 12 * self.shares) * 2 ** (self.statistical_bits / 2) * norm

    def decrypt(
        self, ctx: Context, outputs: Sequence[Ciphertext], secret_key: SecretKey, shown: Shown
    ) -> list[NDArray[Any]]:
        """The values of the outputs, with noise. SecurityError where more would be shown than `shares`."""
        shown.add(sum(math.prod(each.shape) for each in outputs), self.shares)
        return [
            ctx.decrypt_for_sharing(
                each,
                secret_key,
                noise_bound=bound,
                statistical_bits=self.statistical_bits,
                shares=self.shares,
            )
            for each, bound in zip(outputs, self.noise_bounds, strict=True)
        ]

    def to_data(self) -> dict[str, Any]:
        """Data for JSON."""
        return {
            "noise_bounds": list(self.noise_bounds),
            "shares": self.shares,
            "statistical_bits": self.statistical_bits,
        }

    @classmethod
    def from_data(cls, data: Any, outputs: int) -> Sharing:
        """The sharing of `to_data`, of a model with as many outputs. FormatError for anything else."""
        bounds = tuple(real(each, "a noise bound") for each in data["noise_bounds"])
        if len(bounds) != outputs:
            raise FormatError(f"{len(bounds)} noise bounds, and the model has {outputs} outputs")
        return cls(
            bounds,
            integer(data["shares"], "shares", 1, MAX_SHARES),
            integer(data["statistical_bits"], "statistical bits", 1, 64),
        )


class Shown:
    """How many results were shown under one secret key.

    Args:
        path: the file that has the number, for all processes of its folder; None: in memory, for the process
            that made it alone.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._count, self._process = path, 0, Process()

    def add(self, count: int, most: int) -> None:
        """Count results before they are decrypted. SecurityError where there would be more than `most`, and
        in a child of `fork()`, which does not know what its parent and other children show."""
        if self._path is None:
            if not self._process.is_this:
                raise SecurityError(
                    "this secret key was made before the process was forked, and its parent counts the "
                    "results that are shown: take a new secret key in each process (local(), Client(...)), "
                    "or one folder for all of them (Client(folder=...))"
                )
            self._count = _sum(self._count, count, most)
            return
        with locked(self._path.parent / ".lock", wait=True):
            total = _sum(_read(self._path), count, most)
            write_atomically(self._path, json.dumps({"shown": total}).encode())


def _sum(before: int, count: int, most: int) -> int:
    if before + count > most:
        raise SecurityError(
            f"{before} results of this secret key were shown, and {count} more would exceed the {most} that "
            "the model's noise is for; take a new secret key (local(), or a new folder of the client), or "
            "compile with a larger shares="
        )
    return before + count


def _read(path: Path) -> int:
    try:
        return integer(json.loads(path.read_bytes())["shown"], "shown", 0, 1 << 62)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path} does not say how many results were shown: {error}") from None
