"""Search for the first k rows of few, by comparisons of all pairs: docs/search.md."""

from hemera.search.ranks.client import TopClient
from hemera.search.ranks.index import TopIndex
from hemera.search.ranks.settings import TopSettings

__all__ = ["TopClient", "TopIndex", "TopSettings"]
