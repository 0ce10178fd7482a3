"""Benchmarks from Python. A suite is a module with `add_arguments(parser)` and `run(options) -> exit status`.
The first line of its docstring is its summary on the command line. `suites` imports all."""
