"""The namespace that the array API standard's conformance suite tests: plain arrays, whose functions are
computed by encrypted ones in the clear.

    ARRAY_API_TESTS_MODULE=array_api_suite ARRAY_API_TESTS_VERSION=2024.12 \\
    ARRAY_API_TESTS_SKIP_DTYPES=uint8,uint16,uint32,uint64,int8,int16,int32,float32,complex64 \\
    PYTHONPATH=python/tests/arrays pytest --disable-dds --disable-extension fft linalg array_api_tests

runs it, in a clone of github.com/data-apis/array-api-tests. Examples that Hemera refuses
are left out; tests of which none is left fail as `Unsatisfiable`.
"""

import numpy as np
from hypothesis import HealthCheck, reject, settings
from judged import encrypted, is_refusal, leaves, with_leaves

from hemera.arrays.array import Array
from hemera.arrays.namespace import NAMESPACE
from hemera.compiler.eager import _Replay

settings.register_profile("refusing", suppress_health_check=list(HealthCheck))
settings.load_profile("refusing")
PLAIN = {"asarray": np.asarray, "result_type": np.result_type}
"""Functions that have no encrypted array."""


def decrypted(value):
    """A result's values, of its type."""
    if isinstance(value, (list, tuple)) and any(isinstance(each, Array) for each in value):
        return type(value)([decrypted(each) for each in value])
    if not isinstance(value, Array):
        return value
    replay = _Replay((value,))
    (found,) = replay._plain(replay.given)
    return np.asarray(np.round(found) if value.dtype.kind in "bi" else found).astype(value.dtype)


def __getattr__(name):
    own = PLAIN.get(name) or getattr(NAMESPACE, name)
    if isinstance(own, type) or not callable(own) or name in PLAIN:
        return own

    def call(*arguments, **options):
        if not any(isinstance(each, np.ndarray) for each in leaves([*arguments, *options.values()])):
            return own(*arguments, **options)
        try:
            given = [with_leaves(each, encrypted) for each in arguments]
            named = {at: with_leaves(each, encrypted) for at, each in options.items()}
            if not any(isinstance(each, Array) for each in leaves([*given, *named.values()])):
                reject()  # not finite, complex, or empty
            return decrypted(own(*given, **named))
        except Exception as error:
            if is_refusal(error):
                reject()
            raise

    call.__name__ = name
    return call
