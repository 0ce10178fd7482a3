"""`tenseal` as a name of this package, for programs that import it."""

from __future__ import annotations

import importlib.machinery
import sys
from types import ModuleType

NAMES = [
    *("enc_context", "tensors", "tensors.bfvtensor", "tensors.bfvvector", "tensors.ckkstensor"),
    *("tensors.ckksvector", "tensors.plaintensor", "version"),
]


def install() -> None:
    """Let `import tenseal`, and imports from its modules, give Hemera's interface, in this process.

    Modules that this interface lacks, as `tenseal.sealapi`, are not found. It may be called again.

    Raises:
        ImportError: where the program has imported TenSEAL already.
    """
    package = sys.modules["hemera.compat.tenseal"]
    if getattr(sys.modules.get("tenseal"), "context", package.context) is not package.context:
        raise ImportError("TenSEAL is imported already: call hemera.compat.tenseal.install() before that")
    for name in ("tenseal", *(f"tenseal.{each}" for each in NAMES)):
        module = ModuleType(name, package.__doc__)
        module.__dict__.update({each: getattr(package, each) for each in package.__all__})
        # Without folders: a file of this package that another name loads would have classes of its own.
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
