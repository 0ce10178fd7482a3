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
    """Parameters of any scheme from their bytes or a file's path. Weak ones load too, with a SecurityWarning.

    Raises:
        FormatError: when the bytes are damaged or not Hemera's.
        MismatchError: when they hold something else.
        FileError: when the file can not be read.
    """
    return parameters_of(read(source, _core.load_parameters, _core.load_parameters_file))


def parameters_of(core: _core.Parameters) -> Parameters:
    """Parameters that were read, as the class of their scheme; a SecurityWarning where they are weak."""
    loaded = _CLASSES[core.scheme.name]._wrap(core)
    warn_if_weak(loaded)
    return loaded
