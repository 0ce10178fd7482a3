"""Search by encrypted queries, in clear and in encrypted databases: docs/search.md."""

from hemera.search.client import Client
from hemera.search.encrypted_index import EncryptedIndex
from hemera.search.index import Index
from hemera.search.settings import Errors, Settings
from hemera.search.tickets import Tickets

__all__ = ["Client", "EncryptedIndex", "Errors", "Index", "Settings", "Tickets"]
