"""Many parties, one result: sums of many contributors' values, and programs on ciphertexts of a key that
nobody has.

Not reviewed by a cryptographer from outside: docs/multiparty.md has the claim, and what is not claimed.
"""

from hemera.multiparty.federation import Federation
from hemera.multiparty.group import Group
from hemera.multiparty.receiver import Receiver
from hemera.multiparty.waiting import WaitingError

__all__ = ["Federation", "Group", "Receiver", "WaitingError"]
