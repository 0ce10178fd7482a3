"""The suites of `hemera bench`, in the order of its help."""

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
    serve,
    times,
)
