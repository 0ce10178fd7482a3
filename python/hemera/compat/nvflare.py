"""NVFlare's filters of homomorphic encryption on Hemera, under their own names (docs/multiparty.md).

Jobs name `hemera.compat.nvflare.HEModelEncryptor` in the place of
`nvflare.app_opt.he.model_encryptor.HEModelEncryptor`, and need no TenSEAL. Each client has the one secret
key, as with TenSEAL; `hemera.multiparty` is for those who want nobody to have it.
"""

from __future__ import annotations

from hemera.compat.tenseal import install

install()  # before NVFlare's modules import it

from nvflare.app_opt.he import intime_accumulate_model_aggregator as sums  # noqa: E402
from nvflare.app_opt.he import (  # noqa: E402
    model_decryptor,
    model_encryptor,
    model_serialize_filter,
    model_shareable_generator,
)
from nvflare.fuel.utils.fobs import add_type_name_whitelist  # noqa: E402
from nvflare.lighter.impl import he  # noqa: E402

from hemera.compat.tenseal import CKKSVector  # noqa: E402

__all__ = [
    "HEBuilder",
    "HEInTimeAccumulateWeightedAggregator",
    "HEModelDecryptor",
    "HEModelEncryptor",
    "HEModelSerializeFilter",
    "HEModelShareableGenerator",
]

add_type_name_whitelist(f"{CKKSVector.__module__}.{CKKSVector.__qualname__}")


# Classes of their own: a job says by the names of modules what its processes import.
class HEBuilder(he.HEBuilder):  # type: ignore[misc]
    """Writes the contexts of clients and of the server into their startup kits."""


class HEModelEncryptor(model_encryptor.HEModelEncryptor):  # type: ignore[misc]
    """A client's filter: encrypts its weights, times its steps."""


class HEModelDecryptor(model_decryptor.HEModelDecryptor):  # type: ignore[misc]
    """A client's filter: decrypts the global model."""


class HEInTimeAccumulateWeightedAggregator(sums.HEInTimeAccumulateWeightedAggregator):  # type: ignore[misc]
    """The server's sums of encrypted weights."""


class HEModelShareableGenerator(model_shareable_generator.HEModelShareableGenerator):  # type: ignore[misc]
    """The server's encrypted model, and messages of it."""


class HEModelSerializeFilter(model_serialize_filter.HEModelSerializeFilter):  # type: ignore[misc]
    """Files of the server's encrypted model."""
