"""Many parties, one result: sums of many contributors' values that nobody can read alone.

Not reviewed by a cryptographer from outside: docs/multiparty.md has the claim, and what is not claimed.
"""

from hemera.multiparty.federation import Federation
from hemera.multiparty.waiting import WaitingError

__all__ = ["Federation", "WaitingError"]
