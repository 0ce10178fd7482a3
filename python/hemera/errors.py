"""The exceptions that Hemera raises. Each message says what clashed and the way out.

All derive from `Error`, and from the builtin exception that comes nearest, so that `except ValueError` or
`except OSError` works where it is expected. The names are those of the C++ classes.
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

_ERRORS = (
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
    "RangeError",
    "RangeWarning",
    "ScaleError",
    "SecurityError",
    "SecurityWarning",
]

# Tracebacks name the public module.
for _error in _ERRORS:
    _error.__module__ = __name__


class HemeraWarning(UserWarning):
    """Base of every warning of Hemera."""


class NoiseWarning(HemeraWarning):
    """The guaranteed noise budget of a BFV or BGV circuit is spent: results may be wrong."""


class RangeWarning(HemeraWarning):
    """CKKS: nothing is declared of values that keeps them in the interval of a function or a bootstrap, and
    outside of it results are wrong. `largest=` of `for_circuit` or `encode` declares a bound."""


class SecurityWarning(HemeraWarning):
    """Parameters that came from elsewhere have less than 128 bits of security by the tables of 2024."""
