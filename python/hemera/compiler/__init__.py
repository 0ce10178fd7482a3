"""`hemera.compile`: a Python function on arrays becomes a plan and a packaged model."""

from hemera.compiler.compiled import Compiled
from hemera.compiler.eager import EagerArray, array, compute
from hemera.compiler.specs import ArraySpec
from hemera.compiler.tables import Table, TableSpec
from hemera.compiler.verb import compile  # noqa: A004

__all__ = ["ArraySpec", "Compiled", "EagerArray", "Table", "TableSpec", "array", "compile", "compute"]
