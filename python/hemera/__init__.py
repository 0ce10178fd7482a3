"""Hemera: computing on encrypted numbers with BGV, BFV and CKKS."""

from importlib.metadata import version

__version__ = version("hemera")
