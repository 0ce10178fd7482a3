"""Search that tells which rows are near, not their scores: docs/search.md."""

from hemera.search.thresholds.base import BaseThresholdIndex
from hemera.search.thresholds.client import Matches, ThresholdClient
from hemera.search.thresholds.encrypted_index import EncryptedThresholdIndex
from hemera.search.thresholds.index import ThresholdIndex
from hemera.search.thresholds.settings import ThresholdSettings

__all__ = [
    "BaseThresholdIndex",
    "EncryptedThresholdIndex",
    "Matches",
    "ThresholdClient",
    "ThresholdIndex",
    "ThresholdSettings",
]
