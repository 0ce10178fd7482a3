"""The routes of a server's HTTP interface, a module for each thing that clients ask for."""

from hemera.serving.routes import evaluate, federations, health, served

ROUTERS = (health.router, served.router, evaluate.queries, evaluate.router, federations.router)
"""The routes in the order of the OpenAPI description."""
