"""A packaged model with both parties in one process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from numpy.typing import NDArray

from hemera._noise_warning import ranges_are_known
from hemera.inputs.arguments import Progress
from hemera.objects.context import Context
from hemera.package.package import Package
from hemera.package.sharing import Shown

__all__ = ["Local"]


class Local:
    """Encrypts arrays under a fresh secret key, runs the model, and decrypts: for trials.

    The secret key and the evaluation keys are made at once and kept.

    Args:
        progress: is called while keys are made ("keys") and the model runs ("run").
        watch: warns of rows that leave the ranges of samples, where the model's outputs do not show them;
            None: they do.
    """

    def __init__(
        self,
        package: Package,
        *,
        device: str = "cpu",
        threads: int | None = None,
        progress: Progress = None,
        watch: Callable[[Any, int | None], None] | None = None,
    ) -> None:
        self._package = package
        self._watch = watch
        self._context = Context(package.params, device=device, threads=threads)
        self._secret_key = self._context.generate_secret_key()
        self._shown = Shown()
        self._prepared = package.prepare(self._context)
        keys = package.generate_keys(self._context, self._secret_key, progress)
        self._evaluator = self._prepared.bind(keys)
        self._progress = progress

    @property
    def context(self) -> Context:
        """Where it runs."""
        return self._context

    def __call__(self, *arrays: Any) -> Any:
        """The results of arrays of shape (..., *shape), an argument each.

        Raises:
            MismatchError: for arrays of other shapes.
            ParameterError: for values outside of the inputs' ranges.
            SecurityError: where more results would be shown to others than the noise is for.

        Warns:
            RangeWarning: for rows outside of the inputs' ranges, where they are brought into them, and for
                rows whose values in between leave the ranges of samples: by their numbers.
        """
        interface = self._package.interface
        given = arrays[0] if len(arrays) == 1 else list(arrays)
        told = self.tell_outside(given)
        values = self.decrypted(given)
        with told:
            return interface.decode(values, interface.count(given))

    def tell_outside(self, given: Any, count: int | None = None) -> AbstractContextManager[None]:
        """Warns of rows that leave the ranges of samples, where the model's outputs do not show them; nothing
        in the context warns of them again.

        Args:
            count: of the rows of a table, after which others only fill up; None: as many as there are.
        """
        if self._watch is None:
            return nullcontext()
        self._watch(given, count)
        return ranges_are_known()

    def decrypted(self, given: Any) -> list[NDArray[Any]]:
        """What a client decrypts of one array, or of a list of them, before it is read."""
        interface = self._package.interface
        encoded = interface.encode(given)
        encrypted = [
            self._context.encrypt(self._context.encode(values, level=spec.level), self._secret_key)
            for values, spec in zip(encoded, interface.inputs, strict=True)
        ]
        results = self._prepared.run(self._evaluator, encrypted, self._progress)
        return interface.decrypt(self._context, results, self._secret_key, self._shown)
