"""Hemera: computing on encrypted numbers with BGV, BFV and CKKS.

Examples:
    >>> import hemera as hm
    >>> params = hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=4)
    >>> ctx = hm.Context(params)
    >>> sk = ctx.generate_secret_key()
    >>> ev = ctx.bind(ctx.generate_keys(sk, rotations=[1]))
    >>> x = ev.encrypt([1.0, 2.0, 3.0, 4.0])
    >>> y = (x * x + 0.5).rotate(1)
    >>> ctx.decrypt(y, sk).round(3).tolist()
    [4.5, 9.5, 16.5, 1.5]
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from hemera import bfv, bgv, circuits, ckks, errors, multiply
from hemera.circuits import approximate
from hemera.errors import Error
from hemera.inputs.device import DeviceArray
from hemera.objects.batches import add_many, bootstrap_many, concatenate, multiply_many, stack
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.devices import devices
from hemera.objects.evaluator import Evaluator
from hemera.objects.graph import Graph
from hemera.objects.keys import Keys, SecretKey, SwitchingKey, rotations_needed
from hemera.parameters import Parameters, load_parameters

if TYPE_CHECKING:
    from hemera import integers, multiparty, search, serving
    from hemera import ray as ray  # not in __all__
    from hemera._inspect import inspect
    from hemera._machine import show_versions
    from hemera.arrays.functions import erf, gelu, logsumexp, relu, sigmoid, silu, softmax, softplus
    from hemera.client.client import Client
    from hemera.compiler import ArraySpec, Table, TableSpec, array, compile, compute  # noqa: A004
    from hemera.objects.cost import Cost, cost
    from hemera.objects.encrypted_matrix import EncryptedMatrix
    from hemera.pool.pool import Pool

    __version__: str

__all__ = [
    "ArraySpec",
    "Ciphertext",
    "Client",
    "Context",
    "Cost",
    "DeviceArray",
    "EncryptedMatrix",
    "Error",
    "Evaluator",
    "Graph",
    "Keys",
    "Parameters",
    "Plaintext",
    "Pool",
    "SecretKey",
    "SwitchingKey",
    "Table",
    "TableSpec",
    "__version__",
    "add_many",
    "approximate",
    "array",
    "bfv",
    "bgv",
    "bootstrap_many",
    "circuits",
    "ckks",
    "compile",
    "compute",
    "concatenate",
    "cost",
    "devices",
    "erf",
    "errors",
    "gelu",
    "inspect",
    "integers",
    "load_parameters",
    "logsumexp",
    "multiparty",
    "multiply",
    "multiply_many",
    "relu",
    "rotations_needed",
    "search",
    "serving",
    "show_versions",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "stack",
]

_WHEN_ASKED_FOR = {
    "ArraySpec": "hemera.compiler",
    "Client": "hemera.client.client",
    "Cost": "hemera.objects.cost",
    "EncryptedMatrix": "hemera.objects.encrypted_matrix",
    "Pool": "hemera.pool.pool",
    "Table": "hemera.compiler",
    "TableSpec": "hemera.compiler",
    "array": "hemera.compiler",
    "compile": "hemera.compiler",
    "compute": "hemera.compiler",
    "cost": "hemera.objects.cost",
    "erf": "hemera.arrays.functions",
    "gelu": "hemera.arrays.functions",
    "inspect": "hemera._inspect",
    "integers": "hemera.integers",
    "logsumexp": "hemera.arrays.functions",
    "multiparty": "hemera.multiparty",
    "ray": "hemera.ray",  # not in __all__: `from hemera import *` would hide Ray itself
    "relu": "hemera.arrays.functions",
    "search": "hemera.search",
    "serving": "hemera.serving",
    "show_versions": "hemera._machine",
    "sigmoid": "hemera.arrays.functions",
    "silu": "hemera.arrays.functions",
    "softmax": "hemera.arrays.functions",
    "softplus": "hemera.arrays.functions",
}
"""Names that are imported when they are first used, with their modules."""


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "__version__":  # read at its first use: this takes 60 modules of the standard library
            found = importlib.import_module("importlib.metadata").version("hemera")
            globals()[name] = found
            return found
        if name == "rotations_for_sum":
            warnings = importlib.import_module("warnings")
            way_out = "ctx.generate_keys(sk, sum_slots=slots) makes the keys of sums"
            warnings.warn(f"hemera.{name} is deprecated: {way_out}", DeprecationWarning, stacklevel=2)
            return importlib.import_module("hemera.objects.keys").rotations_for_sum
        if name not in _WHEN_ASKED_FOR:
            # With the name and the module Python itself suggests the nearest one.
            raise AttributeError(
                f"module 'hemera' has no attribute {name!r}", name=name, obj=sys.modules[__name__]
            )
        module = importlib.import_module(_WHEN_ASKED_FOR[name])
        found = globals()[name] = getattr(module, name, module)
        return found
