"""Several devices of one host as one context: see `hemera.Pool`."""

from hemera.pool.evaluator import PoolEvaluator, PoolGraph
from hemera.pool.parts import PoolCiphertext, PoolPlaintext
from hemera.pool.pool import Pool

__all__ = ["Pool", "PoolCiphertext", "PoolEvaluator", "PoolGraph", "PoolPlaintext"]
