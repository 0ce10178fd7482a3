"""A packaged model with both parties in one process."""

from __future__ import annotations

from typing import Any

from hemera.inputs.arguments import Progress
from hemera.objects.context import Context
from hemera.serving.package import Package
from hemera.serving.sharing import Shown

__all__ = ["Local"]


class Local:
    """Encrypts arrays under a fresh secret key, runs the model, and decrypts: for trials.

    The secret key and the evaluation keys are made at once and kept. `progress` is called while keys are made
    ("keys") and the model runs ("run").
    """

    def __init__(
        self, package: Package, *, device: str = "cpu", threads: int | None = None, progress: Progress = None
    ) -> None:
        self._package = package
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
        """
        interface = self._package.interface
        given = arrays[0] if len(arrays) == 1 else list(arrays)
        encoded = interface.encode(given)
        encrypted = [
            self._context.encrypt(self._context.encode(values, level=spec.level), self._secret_key)
            for values, spec in zip(encoded, interface.inputs, strict=True)
        ]
        results = self._prepared.run(self._evaluator, encrypted, self._progress)
        values = interface.decrypt(self._context, results, self._secret_key, self._shown)
        return interface.decode(values, interface.count(given))
