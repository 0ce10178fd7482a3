"""An index with thresholds in several blocks, its client, and NumPy's copy of the rows."""

from contextlib import contextmanager

import numpy as np
import pytest

from hemera.search import Client, Index, Threshold
from hemera.search.comparisons import slots

MARGIN = 2.0**-3
DIMS = 6


@contextmanager
def in_small_rings():
    """Within it comparisons take rings that hide nothing, and have the circuits of large ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slots, "RING", slots.Ring(1 << 11, None))
        yield


def floats(rows, dims=DIMS, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, dims))


def payloads_of(rows, width=3, seed=7):
    return np.random.default_rng(seed).integers(-500, 501, (rows, width))


def cosines(vectors, x):
    rows = vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return np.asarray(rows @ x / np.sqrt((x**2).sum()))


def require_right(found, ids, relative, margin=MARGIN):
    """All rows above the threshold by the margin, and none below by it; doubtful ones within it."""
    got = np.isin(ids, found.ids)
    assert len(np.unique(found.ids)) == len(found.ids)
    assert got[relative > margin].all()
    assert not got[relative < -margin].any()
    assert (np.abs(relative[np.isin(ids, found.doubtful)]) < margin).all()
    # Beyond the rows that are told to be doubtful the sign decides.
    sure = ~np.isin(ids, found.doubtful)
    assert np.array_equal(got[sure], relative[sure] > 0)


class World:
    """An index in several blocks, a client, and NumPy's copy of the rows."""

    def __init__(self, encrypted):
        first, self.x = floats(20, seed=1), floats(1, seed=2)[0] * 3
        numbers = payloads_of(50)
        self.vectors, self.payloads = np.concatenate([first, floats(30, seed=3)]), numbers
        if encrypted:
            self.client = Client.owning(
                first, answers=Threshold(margin=MARGIN, payload_bound=500), payloads=numbers[:20]
            )
            self.index = Index(self.client.encrypt(first, payloads=numbers[:20]))
            self.index.add(self.client.encrypt(self.vectors[20:], payloads=numbers[20:]))
        else:
            self.index = Index(
                first, answers=Threshold(margin=MARGIN, payload_bound=500), payloads=numbers[:20]
            )
            self.index.add(self.vectors[20:], payloads=numbers[20:])
            self.client = Client(bytes(self.index.settings))
        self.keys = self.index.load_keys(self.client.keys)
        self.scores = cosines(self.vectors, self.x)

    def ask(self, query):
        return self.index.query(query, self.keys)
