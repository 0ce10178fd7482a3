"""Benchmarks from Python. A suite is a module with `add_arguments(parser)` and `run(options) -> exit status`;
its docstring's first line is its summary on the command line."""

from hemera_apps.bench import against_seal, apps, bootstraps, multiply, operations, requests, serve

SUITES = (operations, against_seal, apps, bootstraps, multiply, requests, serve)
