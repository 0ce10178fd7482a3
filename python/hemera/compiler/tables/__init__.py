"""Programs on tables: columns, filters, groups and statistics."""

from hemera.compiler.tables.compiled import CompiledTable, compile_table
from hemera.compiler.tables.spec import ColumnSpec, TableSpec
from hemera.compiler.tables.table import Table

__all__ = ["ColumnSpec", "CompiledTable", "Table", "TableSpec", "compile_table"]
