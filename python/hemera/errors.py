"""The exceptions that Hemera raises. Each message has the clash and the way out.

All derive from `Error`, and from the builtin exception that comes nearest, so `except ValueError` and
`except OSError` work as well. The names are those of the C++ classes.
"""

from hemera._core import (
    DeviceError,
    Error,
    FileError,
    FormatError,
    LevelError,
    MismatchError,
    MissingKeyError,
    NoiseError,
    OutOfMemoryError,
    ParameterError,
    RangeError,
    ScaleError,
    SecurityError,
)

__all__ = [
    "DeviceError",
    "Error",
    "FileError",
    "FormatError",
    "HemeraWarning",
    "LevelError",
    "MismatchError",
    "MissingKeyError",
    "NoiseError",
    "NoiseWarning",
    "OutOfMemoryError",
    "ParameterError",
    "PrecisionError",
    "PrecisionWarning",
    "RangeError",
    "RangeWarning",
    "ScaleError",
    "SecurityError",
    "SecurityWarning",
]

# Tracebacks name the public module.
for _error in [own for own in vars().values() if isinstance(own, type) and issubclass(own, Error)]:
    _error.__module__ = __name__


class HemeraWarning(UserWarning):
    """Base of every warning of Hemera."""


class NoiseWarning(HemeraWarning):
    """The guaranteed noise budget of a BFV or BGV circuit is spent: results may be wrong."""


class PrecisionWarning(HemeraWarning):
    """Errors of results are as large as the differences that matter: a search finds other rows than the
    nearest."""


class PrecisionError(ParameterError):
    """A result of a compiled program can not have the bits that were asked for."""


class RangeWarning(HemeraWarning):
    """CKKS: no declared bound keeps values in the interval of a function or a bootstrap. Results of values
    outside the interval are wrong. `largest=` of `for_circuit` or `encode` declares a bound."""


class SecurityWarning(HemeraWarning):
    """Loaded parameters have less than 128 bits of security by the tables of 2024."""
