"""Encrypted integers of NumPy's types, exact, over CKKS: docs/integers.md."""

from hemera.integers.array import Booleans, Integers
from hemera.integers.context import Context
from hemera.integers.functions import Table, from_bits, from_bytes, overflowing_add, overflowing_sub, where
from hemera.integers.graph import Graph
from hemera.integers.needs import Needs

__all__ = [
    "Booleans",
    "Context",
    "Graph",
    "Integers",
    "Needs",
    "Table",
    "from_bits",
    "from_bytes",
    "overflowing_add",
    "overflowing_sub",
    "where",
]
