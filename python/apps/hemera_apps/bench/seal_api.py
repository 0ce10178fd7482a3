"""SEAL from the tenseal wheel."""

from __future__ import annotations

from typing import Any

from hemera.errors import Error
from hemera_apps._extras import how_to_install

# The wheel's SCHEME_TYPE names BFV and CKKS only; SEAL 4 numbers its schemes 1, 2 and 3.
SCHEMES = {"bfv": 1, "ckks": 2, "bgv": 3}


def seal_api(purpose: str = "comparing with SEAL") -> Any:
    """The module with SEAL's own names.

    Raises:
        Error: if the tenseal package, which `purpose` needs, is not installed.
    """
    try:
        import tenseal.sealapi
    except ImportError as error:
        raise Error(f"{purpose} needs the tenseal package: {how_to_install('bench')}") from error
    return tenseal.sealapi


def accepted(context: Any) -> Any:
    """A context of SEAL, which must have accepted its parameters.

    Raises:
        Error: if SEAL refuses the parameters.
    """
    if not context.parameters_set():
        raise Error(f"SEAL refuses its parameters: {context.parameters_error_message()}")
    return context
