"""Writes trees/idash_2020/table.npz of the package from a clone of
https://github.com/SU-CISEC/MLwithHE (MIT licence: idash_2020/LICENSE):

    python python/apps/tests/make_idash_2020.py CLONE

The clone has the model of arXiv 2110.11446 as the numbers of its circuit, and 99 samples as bits of that
circuit's input: for each node of each tree whether the feature is 0 and whether it is 2. The file has

- `values`: 0, 1 or 2, shape (99, 3 * 1408): the feature that each node compares; root, left and right node of
  one tree after the other;
- `labels`: shape (99,);
- `trees`: shape (1408, 7), as in the clone: for root, left and right node 1 for x < 1 and 0 for x < 2, and
  four leaves.
"""

import sys
from pathlib import Path

import numpy as np


def main():
    data = Path(sys.argv[1]) / "Data_XGB"
    zero, two = (np.loadtxt(data / f"demoTestData_x{value}.txt", dtype=np.int64) for value in (0, 2))
    out = Path(__file__).parents[1] / "hemera_apps" / "trees" / "idash_2020" / "table.npz"
    np.savez_compressed(
        out,
        values=np.where(zero == 1, 0, np.where(two == 1, 2, 1)).astype(np.uint8),
        labels=np.loadtxt(data / "labels.txt", dtype=np.int64).astype(np.uint8),
        trees=np.loadtxt(data / "encodedTree_BFV.txt", dtype=np.int64).reshape(-1, 7).astype(np.int32),
    )


if __name__ == "__main__":
    main()
