"""The public part of a packaged model: what its clients must know. No weights are in it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import hemera
from hemera._process import cached_property
from hemera.errors import FormatError, MismatchError
from hemera.inputs.arguments import Progress
from hemera.inputs.fields import as_base64, damaged
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.objects.keys import Keys, SecretKey
from hemera.package.encodings import Encoding, Vectors, encoding_from_data
from hemera.package.sharing import Sharing, Shown
from hemera.package.specs import READINGS, InputSpec, Labels, OutputSpec
from hemera.parameters import Parameters
from hemera.program.keys import KeyList
from hemera.program.values import MAX_ELEMENTS, MAX_SLOTS, integer, real

_MAX_TEXT = 10_000


@dataclass(frozen=True)
class Interface:
    """The facts of a model that a client needs; `hemera.serving.Package.interface` and servers give it."""

    name: str
    description: str
    params: Parameters
    inputs: tuple[InputSpec, ...]
    outputs: tuple[OutputSpec, ...]
    keys: KeyList
    depth: int
    """Multiplications one after the other."""
    encoding: Encoding = field(default_factory=Vectors)
    """How a client's rows become the inputs, and the outputs results."""
    sharing: Sharing | None = None
    """How results are decrypted, where others will see them."""

    @property
    def scheme(self) -> str:
        """ "ckks", "bfv" or "bgv"."""
        return self.params.scheme

    def input_levels(self, params: Parameters) -> list[int | None]:
        """The levels of the inputs with some parameters; None: the highest."""
        if params != self.params:
            return [None] * len(self.inputs)
        return [spec.level for spec in self.inputs]

    def generate_keys(self, ctx: Context, secret_key: SecretKey, progress: Progress = None) -> Keys:
        """The evaluation keys that the model needs, and no others; they can not encrypt or decrypt.
        `progress` is that of `Context.generate_keys`.

        Raises:
            MismatchError: for a context of other parameters.
        """
        if ctx.params != self.params:
            raise MismatchError(
                f"generate_keys: the model is for {self.params!r}, and the context has {ctx.params!r}; make "
                "a Context of the model's params"
            )
        return self.keys.generate(ctx, secret_key, progress)

    def of_call(self, arguments: Sequence[Any]) -> Any:
        """What `encode` takes, of the arguments of a call. MismatchError for another number of them."""
        return self.encoding.of_call(arguments, self.inputs)

    def encode(self, rows: Any) -> list[NDArray[Any]]:
        """The values to encrypt: for each input an array of shape (requests, *shape, slots), or (*shape,
        slots) for a single request.

        Args:
            rows: what the model's encoding takes: a table of shape (rows, features) for models of tables;
                else one array a input, of shape (..., *shape, width), in a list, a tuple or a dict by name.

        Raises:
            MismatchError: for arrays of other shapes, and another number of them.
            TypeError: for `np.matrix`.
            ParameterError: for values that the model is not for.
        """
        return self.encoding.encode(rows, self.inputs)

    def decrypt(
        self, ctx: Context, outputs: Sequence[Ciphertext], secret_key: SecretKey, shown: Shown
    ) -> list[NDArray[Any]]:
        """The values of the outputs, with the noise of `sharing` where others will see them. Where outputs
        show which rows leave their ranges, results that can not be decrypted for it are NaN.

        Args:
            ctx: of the model's params.
            shown: counts the results of this secret key that are shown.

        Raises:
            SecurityError: where more would be shown than the noise is for.
            NoiseError: when a result can not be decrypted.
        """
        if self.sharing is not None:
            return self.sharing.decrypt(ctx, outputs, secret_key, shown)
        if any(spec.watched for spec in self.outputs):
            found = [np.asarray(ctx.decrypt(each, secret_key, errors="mask")) for each in outputs]
            # What is watched first has room for all that inputs lead to: another key is refused by it.
            if not all(np.isnan(each).all() for each in found):
                return found
        return [ctx.decrypt(each, secret_key) for each in outputs]

    def count(self, rows: Any) -> int | None:
        """How many results `decode` is to give for these rows; None: as many as there is room for."""
        return self.encoding.count(rows, self.inputs)

    def decode(self, values: Sequence[ArrayLike], rows: int | None = None) -> Any:
        """Results from the decrypted outputs, an array for each: see `OutputSpec.read`.

        Args:
            values: decrypted arrays of shape (..., *shape, slots or fewer).
            rows: how many rows were encoded; None: as many as there is room for.
        """
        arrays = [np.asarray(each) for each in values]
        if len(arrays) != len(self.outputs):
            raise MismatchError(f"{len(arrays)} results, and the model has {len(self.outputs)} outputs")
        for array, spec in zip(arrays, self.outputs, strict=True):
            if array.ndim == 0 or array.shape[-1] < spec.width:
                raise MismatchError(f"{spec.name}: decrypted values of {spec.width} slots, not {array.shape}")
        return self.encoding.decode(arrays, self.outputs, rows)

    def describe(self) -> dict[str, Any]:
        """All of it as JSON takes it."""
        params = self.params
        return {
            "name": self.name,
            "description": self.description,
            "scheme": self.scheme,
            "fingerprint": params.fingerprint,
            "degree": params.degree,
            "log_modulus": params.log_modulus,
            "levels": params.levels,
            "security": params.security,
            "depth": self.depth,
            "keys": self.keys.to_data(),
            "key_bytes_at_most": self.key_bytes_at_most,
            "inputs": [{**asdict(spec), "shape": list(spec.shape)} for spec in self.inputs],
            "outputs": [_described(spec) for spec in self.outputs],
            "encoding": self.encoding.to_data(),
            "parameters": as_base64(params),
            # Models whose results nobody else sees are files as before there was sharing.
            **({} if self.sharing is None else {"sharing": self.sharing.to_data()}),
        }

    @cached_property
    def key_bytes_at_most(self) -> int:
        """Bytes in memory of all keys, as if each were for the highest level."""
        plans = self.keys.plans(self.params)
        return self.keys.count * self.params.switching_key_bytes + sum(plan.key_bytes for plan in plans)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Interface:
        """The interface of `describe`, from a server or a file. FormatError for anything else."""
        with damaged("the description of a model"):
            params = hemera.load_parameters(base64.b64decode(data["parameters"], validate=True))
            inputs = tuple(_input(each) for each in data["inputs"])
            outputs = tuple(_output(each) for each in data["outputs"])
            if not inputs or not outputs:
                raise FormatError("a model has inputs and outputs")
            interface = cls(
                _text(data["name"]),
                _text(data["description"]),
                params,
                inputs,
                outputs,
                KeyList.from_data(data["keys"], params),
                integer(data["depth"], "depth", 0, 1 << 20),
                encoding_from_data(data["encoding"], inputs, outputs),
                None if "sharing" not in data else Sharing.from_data(data["sharing"], len(outputs)),
            )
            interface.encoding.require_fit(len(inputs), len(outputs))
            if interface.sharing is not None and interface.scheme != "ckks":
                raise FormatError("noise bounds are of CKKS")
            if interface.keys.bootstraps or interface.keys.pairs or interface.keys.integers:
                _ = interface.key_bytes_at_most  # raises where the parameters have no such plan
        return interface


def _described(spec: OutputSpec) -> dict[str, Any]:
    labels = None if spec.labels is None else spec.labels.to_data()
    told = {**asdict(spec), "shape": list(spec.shape), "labels": labels}
    # Models whose ranges are all declared are files as before there were others.
    for name, nothing in (("watched", ""), ("low", None), ("high", None), ("reach", None)):
        if told[name] == nothing:
            del told[name]
    return told


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise FormatError("names and descriptions of a model are short texts")
    return value


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(integer(extent, "an extent", 1, MAX_ELEMENTS) for extent in value)


def _input(data: Mapping[str, Any]) -> InputSpec:
    slots = integer(data["slots"], "slots", 1, MAX_SLOTS)
    spec = InputSpec(
        _text(data["name"]),
        integer(data["width"], "a width", 1, slots),
        slots,
        _shape(data["shape"]),
        None if data["level"] is None else integer(data["level"], "a level", 0, 1 << 10),
        None if data["low"] is None else real(data["low"], "low"),
        None if data["high"] is None else real(data["high"], "high"),
    )
    _ = spec.form  # raises
    return spec


def _output(data: Mapping[str, Any]) -> OutputSpec:
    if data["read"] not in READINGS:
        raise FormatError(f"an output is read as one of {', '.join(READINGS)}, not {data['read']!r}")
    return OutputSpec(
        _text(data["name"]),
        integer(data["width"], "a width", 1, MAX_SLOTS),
        _shape(data["shape"]),
        data["read"],
        # Packages from before there were labels and columns are without them.
        None if data.get("labels") is None else Labels.from_data(data["labels"]),
        bool(data.get("column", False)),
        _text(data.get("watched", "")),
        *(None if data.get(name) is None else real(data[name], name) for name in ("low", "high", "reach")),
    )
