"""Search by encrypted queries, in clear and in encrypted databases: docs/search.md."""

from hemera.search.any_client import AnyClient
from hemera.search.any_index import AnyIndex
from hemera.search.any_settings import AnySettings
from hemera.search.base import BaseIndex
from hemera.search.client import Client
from hemera.search.encrypted_index import EncryptedIndex
from hemera.search.files import load
from hemera.search.index import Index
from hemera.search.ranks import TopClient, TopIndex, TopSettings
from hemera.search.settings import Errors, Settings
from hemera.search.thresholds import (
    EncryptedThresholdIndex,
    Matches,
    ThresholdClient,
    ThresholdIndex,
    ThresholdSettings,
)
from hemera.search.tickets import Tickets

__all__ = [
    "AnyClient",
    "AnyIndex",
    "AnySettings",
    "BaseIndex",
    "Client",
    "EncryptedIndex",
    "EncryptedThresholdIndex",
    "Errors",
    "Index",
    "Matches",
    "Settings",
    "ThresholdClient",
    "ThresholdIndex",
    "ThresholdSettings",
    "Tickets",
    "TopClient",
    "TopIndex",
    "TopSettings",
    "load",
]
