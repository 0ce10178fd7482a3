"""Stock libraries as clients: their keys and ciphertexts in, results out.

    from hemera.interop import openfhe, seal

    s = seal.Session("parms.seal", device="cuda", scale=2.0**40)
    s.load_keys(relinearization="relin.seal", galois="galois.seal")
    x = s.load_ciphertext("x.seal")
    y = (x * x + 0.5).rotate(1)
    data = s.dump_ciphertext(y)

docs/clients.md describes them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from hemera.errors import MismatchError

if TYPE_CHECKING:
    from hemera.interop._library import Library

__all__ = ["libraries", "library_of_name", "names_of_libraries"]


@functools.cache
def libraries() -> tuple[Library, ...]:
    """The registry: every library, in the order in which files are recognised."""
    # Imported here: `import hemera` needs no library.
    from hemera.interop import openfhe, seal

    return (seal.LIBRARY, openfhe.LIBRARY)


def library_of_name(name: str) -> Library:
    """The library of this name. MismatchError if the name is not registered."""
    for library in libraries():
        if library.name == name:
            return library
    raise MismatchError(f"Hemera knows no client library {name!r}; it knows {names_of_libraries()}")


def names_of_libraries() -> str:
    """All names, for texts: "SEAL or OpenFHE"."""
    return " or ".join(library.name for library in libraries())
