"""The base of all compiled programs: packaged models, with their cost."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from numpy.typing import NDArray

import hemera
from hemera._noise_warning import ranges_are_known
from hemera.errors import ParameterError
from hemera.inputs.arguments import Progress
from hemera.objects.context import Context
from hemera.objects.cost import Cost
from hemera.objects.keys import Keys, SecretKey
from hemera.package.package import Package
from hemera.package.prepared import PreparedModel
from hemera.package.sharing import Sharing, Shown
from hemera.parameters import Parameters


class Packaged:
    """A program as a packaged model. It encodes nothing and needs no device."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._costs: dict[str | None, Cost] = {}

    @property
    def package(self) -> Package:
        """The packaged model: what `hemera serve` takes."""
        return self._package

    @property
    def params(self) -> Parameters:
        """The parameters that were chosen, or given."""
        return self._package.params

    @property
    def sharing(self) -> Sharing:
        """How results are decrypted for others: the worst-case bound of each, and how many may be shown.

        Raises:
            ParameterError: without `share=True`.
        """
        found = self._package.interface.sharing
        if found is None and self.params.scheme != "ckks":
            raise ParameterError(
                f"the results of {self._package.name!r} are exact: they have no errors that noise would "
                "hide; show them as they are"
            )
        if found is None:
            raise ParameterError(
                f"the results of {self._package.name!r} are for the key's owner alone, since its scale has "
                "no room for noise that hides their errors; compile it with share=True"
            )
        return found

    def _repr_html_(self) -> str:
        """A table for notebooks. It counts and encodes nothing."""
        from hemera import _html

        return _html.table(f"Compiled program {self._package.name}", self._html_facts())

    def _html_facts(self) -> dict[str, object]:
        """The rows of the table for notebooks, by name."""
        return {
            "parameters": repr(self.params),
            "depth": self._package.interface.depth,
            "security": self.params.security,
        }

    def cost(self, device: str | None = None) -> Cost:
        """Keys, operations, bytes, and with a device's name the time, counted by a run without values. See
        `hemera.cost`."""
        if device not in self._costs:
            self._costs[device] = self._package.cost(device=device)
        return self._costs[device]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the packaged model. FileError if it can not be written."""
        self._package.save(path)

    def serve(
        self,
        home: str | os.PathLike[str],
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        device: str = "auto",
        **limits: Any,
    ) -> int:
        """Add the model to the folder of a server, and serve all models there until SIGINT or SIGTERM, as
        `hemera serve HOME` does (docs/server.md). It has to be called in the main thread.

        Args:
            home: the folder; made where there is none. `hemera serve HOME --add-client NAME` makes tokens.
            host, port: where to listen; port 0: any that is free.
            device: that computes; or several, as of `hemera serve --device`: "cuda:*".
            limits: of `hemera serve`, as `batch=8`.

        Returns:
            The exit status: 0.

        Raises:
            ParameterError: without the extra "serving", and for a name that can not be part of an address.
            FileError: where files can not be written, or another server has the folder.
            DeviceError: when the address can not be listened at.
        """
        return hemera.serving.serve(self._package, home, host=host, port=port, device=device, **limits)

    def describe(self) -> dict[str, Any]:
        """The description that a server shows, as JSON takes it."""
        return self._package.describe()

    def evaluate_clear(self, *inputs: Any) -> Any:
        """The results of the compiled program for arrays in the clear, of shape (..., *shape)."""
        return self._package.evaluate_clear(self._package.interface.of_call(inputs))

    def prepare(self, ctx: Context, *, weights_memory: int | None = None) -> PreparedModel:
        """The model ready to run in a context: see `hemera.serving.Package.prepare`."""
        return self._package.prepare(ctx, weights_memory=weights_memory)

    def generate_keys(self, ctx: Context, secret_key: SecretKey) -> Keys:
        """The evaluation keys that it needs."""
        return self._package.generate_keys(ctx, secret_key)


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
        given = interface.of_call(arrays)
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
