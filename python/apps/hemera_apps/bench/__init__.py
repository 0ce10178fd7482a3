"""Benchmarks from Python. A suite is a module with `add_arguments(parser)` and `run(options) -> exit status`.
The first line of its docstring is its summary on the command line."""

from hemera_apps.bench import (
    against_seal,
    apps,
    bert,
    bootstraps,
    exact,
    matrices,
    multiply,
    networks,
    official,
    operations,
    plans,
    pool,
    replicas,
    requests,
    scaling,
    serve,
    times,
)

SUITES = (
    operations,
    against_seal,
    apps,
    bert,
    bootstraps,
    exact,
    matrices,
    multiply,
    networks,
    official,
    plans,
    pool,
    replicas,
    requests,
    scaling,
    serve,
    times,
)
