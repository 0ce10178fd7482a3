"""Parameters from files, without a context."""

from __future__ import annotations

from hemera import _core, bfv, bgv, ckks
from hemera.inputs.source import Source, read
from hemera.parameters import Parameters, warn_if_weak

_CLASSES: dict[str, type[Parameters]] = {
    "bfv": bfv.Parameters,
    "bgv": bgv.Parameters,
    "ckks": ckks.Parameters,
}


def load_parameters(source: Source) -> Parameters:
    """Parameters of any scheme from their bytes or a file's path. Weak parameters load too, with a
    SecurityWarning.

    Raises:
        FormatError: if the bytes are damaged or not Hemera's.
        MismatchError: if the bytes hold something else.
        FileError: if the file can not be read.

    Examples:
        >>> params = hm.ckks.Parameters.for_circuit(depth=1)
        >>> hm.load_parameters(bytes(params)) == params
        True
    """
    return parameters_of(read(source, _core.load_parameters, _core.load_parameters_file))


def parameters_of(core: _core.Parameters) -> Parameters:
    """The core's parameters as the class of their scheme, with a SecurityWarning if they are weak."""
    loaded = _CLASSES[core.scheme.name]._wrap(core)
    warn_if_weak(loaded)
    return loaded
