"""TenSEAL's interface on Hemera (docs/tenseal.md): its programs run with one changed import,

    import hemera.compat.tenseal as ts

or unchanged after `hemera.compat.tenseal.install()`. Its files are read and written.
"""

from __future__ import annotations

from typing import Any

from hemera.compat.tenseal.context import Context
from hemera.compat.tenseal.images import enc_matmul_encoding, im2col_encoding
from hemera.compat.tenseal.installed import install
from hemera.compat.tenseal.keys import ENCRYPTION_TYPE, GaloisKeys, PublicKey, RelinKeys, SecretKey
from hemera.compat.tenseal.parameters import SCHEME_TYPE
from hemera.compat.tenseal.plain_tensor import PlainTensor
from hemera.compat.tenseal.tensors import BFVTensor, CKKSTensor
from hemera.compat.tenseal.vectors import BFVVector, CKKSVector

__all__ = [
    "ENCRYPTION_TYPE",
    "SCHEME_TYPE",
    "BFVTensor",
    "BFVVector",
    "CKKSTensor",
    "CKKSVector",
    "Context",
    "GaloisKeys",
    "PlainTensor",
    "PublicKey",
    "RelinKeys",
    "SecretKey",
    "__version__",
    "bfv_tensor",
    "bfv_tensor_from",
    "bfv_vector",
    "bfv_vector_from",
    "ckks_tensor",
    "ckks_tensor_from",
    "ckks_vector",
    "ckks_vector_from",
    "context",
    "context_from",
    "enc_matmul_encoding",
    "im2col_encoding",
    "install",
    "lazy_bfv_tensor_from",
    "lazy_bfv_vector_from",
    "lazy_ckks_tensor_from",
    "lazy_ckks_vector_from",
    "plain_tensor",
    "plain_tensor_from",
]

__version__ = "0.3.18"
"""The version of TenSEAL whose interface this is."""

context = Context
plain_tensor = PlainTensor
ckks_vector, ckks_tensor = CKKSVector, CKKSTensor
bfv_vector, bfv_tensor = BFVVector, BFVTensor
ckks_vector_from, ckks_tensor_from = CKKSVector.load, CKKSTensor.load
bfv_vector_from, bfv_tensor_from = BFVVector.load, BFVTensor.load
lazy_ckks_vector_from, lazy_ckks_tensor_from = CKKSVector.lazy_load, CKKSTensor.lazy_load
lazy_bfv_vector_from, lazy_bfv_tensor_from = BFVVector.lazy_load, BFVTensor.lazy_load


def context_from(data: bytes, n_threads: int | None = None, **options: Any) -> Context:
    """A context from its bytes, or from TenSEAL's: see `Context.load`."""
    return Context.load(data, n_threads, **options)


def plain_tensor_from(data: bytes, dtype: str = "float") -> PlainTensor:
    """A plain tensor from its bytes."""
    return PlainTensor.load(data, dtype)
