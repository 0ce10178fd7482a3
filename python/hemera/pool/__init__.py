"""Several devices of one host as one context: see `hemera.Pool`."""

from hemera.pool.cuts import Cut, LinkTimes, Step, best_cut

__all__ = ["Cut", "LinkTimes", "Step", "best_cut"]
