"""The C interface, called from another language: files go both ways, and NumPy judges the numbers."""

import ctypes
import os
from pathlib import Path

import numpy as np
import pytest

import hemera as hm

LIBRARY = "libhemera_c.so.1"
DEFAULT = Path(__file__).resolve().parents[2] / "build" / "release" / "src"
HIGHEST = 2**32 - 1

Handle = ctypes.c_void_p


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class Need(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint32), ("steps", ctypes.c_int32), ("level", ctypes.c_uint32)]


@pytest.fixture(scope="module")
def library():
    """The library that `make test` builds."""
    named = os.environ.get("HEMERA_C_FOLDER")
    file = Path(named or DEFAULT) / LIBRARY
    if named is None and not file.exists():
        pytest.skip(f"the C interface is not built: there is no {file} (make test builds it)")
    found = ctypes.CDLL(str(file))
    found.hemera_error.restype = ctypes.c_char_p
    return found


class Client:
    """The calls of one client, by a context of its own."""

    def __init__(self, library, parameters):
        self.library = library
        self.handles = []
        self.context = self.new("context", "hemera_context_open", parameters, len(parameters), 128, 1)

    def check(self, name, *arguments):
        status = getattr(self.library, name)(
            *[ctypes.c_size_t(value) if isinstance(value, int) else value for value in arguments]
        )
        assert status == 0, f"{name}: {self.library.hemera_error().decode()}"

    def new(self, kind, name, *arguments):
        made = Handle()
        self.check(name, *arguments, ctypes.byref(made))
        self.handles.append((kind, made))
        return made

    def taken(self, name, *arguments):
        buffer = Buffer()
        self.check(name, *arguments, ctypes.byref(buffer))
        data = ctypes.string_at(buffer.data, buffer.bytes)
        self.library.hemera_buffer_free(ctypes.byref(buffer))
        return data

    def close(self):
        for kind, made in reversed(self.handles):
            getattr(self.library, f"hemera_{kind}_free")(made)


@pytest.fixture(params=["ckks", "bfv", "bgv"])
def parameters(request):
    if request.param == "ckks":
        return hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=512)
    scheme = hm.bfv if request.param == "bfv" else hm.bgv
    return scheme.Parameters.for_circuit(depth=1, plain_bits=20, slots=512)


@pytest.fixture
def client(library, parameters):
    made = Client(library, bytes(parameters))
    yield made
    made.close()


def numbers(params):
    """Two rows of numbers, and the name of their calls."""
    whole = np.arange(-512, 512).reshape(2, 512)
    if isinstance(params, hm.ckks.Parameters):
        return "doubles", np.sin(whole)
    return "integers", whole


def test_python_computes_on_what_the_c_client_encrypts(client, parameters):
    ctx = hm.Context(parameters, device="cpu")
    kind, values = numbers(parameters)
    secret = client.new("secret_key", "hemera_secret_key_generate", client.context)

    needs = (Need * 3)((2, 1, HIGHEST), (0, 0, 0), (1, 0, HIGHEST))
    pieces = []
    write = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(
        lambda _, data, count: pieces.append(ctypes.string_at(data, count)) or 0
    )
    client.check("hemera_keys_generate", secret, needs, 3, write, None)
    keys = ctx.load(b"".join(pieces))
    # What a set of Python's with these keys has: the same bytes but for the random ones.
    own = ctx.generate_keys(ctx.generate_secret_key(), rotations=[1])
    assert len(b"".join(pieces)) == len(bytes(own))

    data = np.ascontiguousarray(values)
    x = client.new("ciphertext", f"hemera_encrypt_{kind}", secret, None, data.ctypes.data_as(ctypes.c_void_p),
                   2, 512, ctypes.c_uint32(HIGHEST))  # fmt: skip
    y = ctx.load(client.taken("hemera_ciphertext_save", x))
    assert y.shape == (2,)
    evaluator = ctx.bind(keys)
    answer = bytes(evaluator.rotate(evaluator.multiply(y, y), 1))
    back = client.new("ciphertext", "hemera_ciphertext_load", client.context, answer, len(answer))
    found = np.frombuffer(client.taken(f"hemera_decrypt_{kind}", secret, back), data.dtype).reshape(2, -1)
    if kind == "doubles":
        np.testing.assert_allclose(found, np.roll(values**2, -1, axis=1), atol=1e-7)
    else:
        # Rotations turn rows of half of the slots, which a shorter array fills up with zeros behind it.
        t = parameters.plain_modulus
        wanted = values[:, 1:] ** 2
        assert np.array_equal((found[:, :511] - wanted) % t, np.zeros_like(wanted))


def test_files_go_both_ways(client, parameters):
    ctx = hm.Context(parameters, device="cpu")
    kind, values = numbers(parameters)
    mine = ctx.generate_secret_key()
    file = bytes(mine)
    secret = client.new("secret_key", "hemera_secret_key_load", client.context, file, len(file))
    assert client.taken("hemera_secret_key_save", secret) == file

    keys = bytes(ctx.generate_keys(mine))
    theirs = client.new("keys", "hemera_keys_load", client.context, keys, len(keys))
    data = np.ascontiguousarray(values[0])
    x = client.new("ciphertext", f"hemera_encrypt_{kind}", None, theirs, data.ctypes.data_as(ctypes.c_void_p),
                   0, 512, ctypes.c_uint32(HIGHEST))  # fmt: skip
    decrypted = ctx.decrypt(ctx.load(client.taken("hemera_ciphertext_save", x)), mine)
    np.testing.assert_allclose(np.real(decrypted)[:512], values[0], atol=1e-7 if kind == "doubles" else 0)


def test_parameters_of_less_security_are_refused(library):
    weak = hm.ckks.Parameters.from_bits(
        degree=2**11, prime_bits=[40, 40], special_bits=[40], scale_bits=30, security=None
    )
    made = Handle()
    file = bytes(weak)
    assert library.hemera_context_open(file, ctypes.c_size_t(len(file)), 128, 1, ctypes.byref(made)) == 2
    assert b"128" in library.hemera_error()
    assert made.value is None
    assert library.hemera_context_open(file, ctypes.c_size_t(len(file)), 0, 1, ctypes.byref(made)) == 0
    library.hemera_context_free(made)
