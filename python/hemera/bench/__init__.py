"""Benchmarks from Python. A suite is a module with `add_arguments(parser)` and `run(options) -> exit status`;
its docstring's first line is its summary on the command line."""

from hemera.bench import against_seal, bootstraps, multiply, operations, requests

SUITES = (operations, against_seal, bootstraps, multiply, requests)
