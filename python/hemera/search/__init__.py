"""Search in a clear database by encrypted queries: docs/search.md."""

from hemera.search.client import Client
from hemera.search.index import Index
from hemera.search.settings import Errors, Settings
from hemera.search.tickets import Tickets

__all__ = ["Client", "Errors", "Index", "Settings", "Tickets"]
