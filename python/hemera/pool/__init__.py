"""Several devices of one host as one context: see `hemera.Pool`."""

from hemera.pool.cuts import Cut, LinkTimes, Step, best_cut
from hemera.pool.pool import Pool

__all__ = ["Cut", "LinkTimes", "Pool", "Step", "best_cut"]
