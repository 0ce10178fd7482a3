"""The routes of a server's HTTP interface, a module for each thing that clients ask for."""

from hemera.serving.routes import evaluate, health, indexes, keys, models

ROUTERS = (health.router, models.router, indexes.router, keys.router, evaluate.router)
"""The routes in the order of the OpenAPI description."""
