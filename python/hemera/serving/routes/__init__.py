"""The routes of a server's HTTP interface, a module for each thing that clients ask for."""

from hemera.serving.routes import evaluate, federations, health, indexes, served

ROUTERS = (health.router, served.router, indexes.router, evaluate.router, federations.router)
"""The routes in the order of the OpenAPI description."""
