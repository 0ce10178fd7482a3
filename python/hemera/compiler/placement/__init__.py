"""Placement: the level of each operation of a straight-line program and the bootstraps between them.

`place` finds the placement of least time. A value may be dropped to any lower level for free. A bootstrap
takes a value at any level and gives it at one level, `result_level`. Both the value and its bootstrap may be
used. So the levels of the operations decide everything: a value is bootstrapped if and only if one of its
users takes it at a level above the value's own.

Three methods, of which the result names the one that found it:

- Dynamic programming over the frontier. The operations are taken one after the other. A state has the level
  of each value that is still needed. A state with higher or the same levels and less or the same time
  makes another one useless. Chains and residual blocks have few states that are left, so that they
  need no rule of their own (Orion, arXiv 2311.03470v3, solves them by shortest paths, innermost blocks
  first). As in A* (Hart, Nilsson, Raphael 1968), each state has a lower bound of its remaining time. A state
  that can not beat the best placement known is dropped.
- An integer program, solved by `scipy.optimize.milp` (HiGHS) where SciPy is installed and the states are too
  many: as a whole, or window by window.
- The best of a beam: the same dynamic programming, which keeps the most promising states of each step.
"""

from hemera.compiler.placement.choosing import place
from hemera.compiler.placement.problem import Input, Placement, Step

__all__ = ["Input", "Placement", "Step", "place"]
