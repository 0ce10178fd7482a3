"""Search by encrypted queries, in clear and in encrypted databases: docs/search.md."""

from hemera.search.answers import Threshold, Top
from hemera.search.client import Client
from hemera.search.index import Index
from hemera.search.messages import Matches
from hemera.search.scores.tickets import Tickets
from hemera.search.settings import Settings

__all__ = ["Client", "Index", "Matches", "Settings", "Threshold", "Tickets", "Top"]
