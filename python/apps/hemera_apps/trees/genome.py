"""A made-up table of tumours: mutations and copy numbers of genes, sparse, with eleven kinds of tumours.

It takes the place of the paper's data (the secure genome analysis competition of 2020), which are not public.
It has eleven classes, and two columns for each gene: the effect of its mutations, and the change of its copy
number. Values are 0, 1 or 2, as the paper's comparisons take them. For each class:

- genes mutate at a background rate that differs from tumour to tumour (log-normal: few samples have many
  mutations), and with effect 2 in a third of the cases;
- `DRIVERS` driver genes mutate with a probability of 4 to 30 percent; a third of them are shared with another
  class;
- copy numbers change in whole segments of neighbouring genes. Each sample has some at random places. Each
  class has `SEGMENTS` of its own, with a probability of 10 to 40 percent each. A segment gains or loses one
  copy (1) or more (2).
"""

from __future__ import annotations

import numpy as np

from hemera.errors import ParameterError
from hemera.trees.ensemble import Integers

CLASSES = 11
LEVELS = 3
DRIVERS = 12
SEGMENTS = 4
_SEGMENT_GENES = 16
_BACKGROUND = 0.004


def generate(samples: int, genes: int, seed: int) -> tuple[Integers, Integers]:
    """A table and its labels.

    Args:
        samples: the number of rows.
        genes: at least 64; columns are 2 * genes, mutations first.
        seed: of the world (which genes drive which tumour) and of the samples.

    Returns:
        Values 0, 1 and 2 of shape (samples, 2 * genes), and classes 0 to 10 of shape (samples,).

    Raises:
        ParameterError: if there are fewer genes or samples.
    """
    if genes < 64 or samples < 1:
        raise ParameterError(
            f"the generator makes 1 sample or more of 64 genes or more, not {samples} of {genes}"
        )
    random = np.random.default_rng(seed)
    drivers = [random.choice(genes, DRIVERS, replace=False) for _ in range(CLASSES)]
    for kind in range(CLASSES):
        drivers[kind][: DRIVERS // 3] = drivers[(kind + 1) % CLASSES][-(DRIVERS // 3) :]
    driven = random.uniform(0.04, 0.30, (CLASSES, DRIVERS))
    starts = random.integers(0, genes - _SEGMENT_GENES + 1, (CLASSES, SEGMENTS))
    present = random.uniform(0.10, 0.40, (CLASSES, SEGMENTS))
    changes = random.integers(1, LEVELS, (CLASSES, SEGMENTS))

    labels = random.integers(0, CLASSES, samples)
    table = np.zeros((samples, 2 * genes), np.int64)
    rates = _BACKGROUND * random.lognormal(0, 1, samples)
    for row, kind in enumerate(labels):
        mutated = random.random(genes) < rates[row]
        mutated[drivers[kind][random.random(DRIVERS) < driven[kind]]] = True
        effects = np.where(random.random(genes) < 1 / 3, 2, 1)
        table[row, :genes] = np.where(mutated, effects, 0)
        numbers = table[row, genes:]
        for start in random.integers(0, genes - _SEGMENT_GENES + 1, random.poisson(genes / 128)):
            numbers[start : start + _SEGMENT_GENES] = random.integers(1, LEVELS)
        for segment in np.flatnonzero(random.random(SEGMENTS) < present[kind]):
            start = starts[kind, segment]
            numbers[start : start + _SEGMENT_GENES] = changes[kind, segment]
    return table, labels
