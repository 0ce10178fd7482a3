"""Models on many replicas, by Ray: a server of several hosts, and data sets of ciphertexts.

    import hemera as hm

    answers = hm.ray.map_batches("/shared/scores.hemera-model", "/shared/requests", keys="/shared/alice.keys")

Nothing here imports Ray before it is used. docs/scaling.md describes it.
"""

from hemera.ray.data import map_batches

__all__ = ["map_batches"]
