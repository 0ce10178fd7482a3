"""Several devices of one host as one context: see `hemera.Pool`."""

from hemera.pool.circuits import PoolBootstrap, PoolCircuit, PoolGrid, PoolTransform
from hemera.pool.cuts import Cut, LinkTimes, Step, best_cut
from hemera.pool.evaluator import PoolEvaluator, PoolGraph
from hemera.pool.parts import PoolCiphertext, PoolPlaintext
from hemera.pool.pool import Pool

__all__ = [
    "Cut",
    "LinkTimes",
    "Pool",
    "PoolBootstrap",
    "PoolCiphertext",
    "PoolCircuit",
    "PoolEvaluator",
    "PoolGraph",
    "PoolGrid",
    "PoolPlaintext",
    "PoolTransform",
    "Step",
    "best_cut",
]
