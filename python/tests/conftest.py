"""Small parameters of each scheme, made once: tests check behaviour, not security."""

import contextlib
import ctypes
import gc
import resource
import ssl
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.times.table import DeviceTimes, device_name

PLAIN_MODULUS = 12289  # prime, 1 modulo 2 N
DEGREE = 1024


def make_params(scheme):
    """Three levels and more at N = 1024."""
    if scheme == "ckks":
        return hm.ckks.Parameters.from_bits(
            degree=DEGREE, prime_bits=[50, 40, 40, 40], special_bits=[49, 49], scale_bits=40, security=None
        )
    helper = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}[scheme]
    return helper.from_bits(
        degree=DEGREE,
        plain_modulus=PLAIN_MODULUS,
        prime_bits=[45, 45, 45, 44],
        special_bits=[49, 49],
        security=None,
    )


@dataclass
class Party:
    """A context with all keys, and random values of its scheme."""

    scheme: str
    ctx: hm.Context
    sk: hm.SecretKey
    ev: hm.Evaluator

    @property
    def exact(self):
        return self.scheme != "ckks"

    def values(self, *shape, seed=1):
        """Random values of a shape (..., slots): small integers, or reals in [-1, 1]."""
        random = np.random.default_rng(seed)
        if self.exact:
            return random.integers(-20, 20, shape)
        return random.uniform(-1, 1, shape)

    def decrypt(self, ciphertext):
        return self.ctx.decrypt(ciphertext, self.sk)

    def check(self, ciphertext, expected, *, tolerance=2**-18):
        """The decrypted values, exactly or within the tolerance."""
        found = self.decrypt(ciphertext)
        assert found.shape == expected.shape
        if self.exact:
            half = PLAIN_MODULUS // 2
            np.testing.assert_array_equal(found, (expected + half) % PLAIN_MODULUS - half)
        else:
            np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def make_party(scheme):
    ctx = hm.Context(make_params(scheme), "cpu")
    sk = ctx.generate_secret_key()
    own = {"conjugation": True} if scheme == "ckks" else {"swap_rows": True}
    keys = ctx.generate_keys(sk, rotations=[1, 2, 4, -1, 7], sum_slots=True, **own)
    return Party(scheme, ctx, sk, ctx.bind(keys))


@pytest.fixture(scope="module", autouse=True)
def _memory_goes_back(request):
    """What a module's cached functions made, and what glibc keeps of its rings, goes back to the system where
    it is much: several processes share a machine's memory, and these left each of them with 13 GB."""
    yield
    for each in vars(request.module).values():
        if hasattr(type(each), "cache_clear") and each.__module__ == request.module.__name__:
            each.cache_clear()
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        if pages * resource.getpagesize() < 1 << 30:
            return  # a search for garbage takes 50 ms
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


@pytest.fixture(scope="session", autouse=True)
def _one_authority(tmp_path_factory):
    """Clients of HTTP read the machine's authorities, some 140, which takes each of them 40 ms: here one."""
    known = ssl.create_default_context().get_ca_certs(binary_form=True)
    with pytest.MonkeyPatch.context() as patch:
        if known:
            file = tmp_path_factory.mktemp("authority") / "one.pem"
            file.write_text(ssl.DER_cert_to_PEM_cert(known[0]))
            patch.setenv("SSL_CERT_FILE", str(file))
            with contextlib.suppress(ImportError):  # what clients read that look at no environment
                patch.setattr("certifi.where", lambda: str(file))
        yield


@pytest.fixture(scope="session")
def parties():
    """The party of a scheme; made when first asked for."""
    made = {}

    def get(scheme):
        if scheme not in made:
            made[scheme] = make_party(scheme)
        return made[scheme]

    return get


@pytest.fixture(params=["ckks", "bfv", "bgv"])
def party(request, parties):
    """Each scheme in turn."""
    return parties(request.param)


@pytest.fixture
def ckks(parties):
    return parties("ckks")


@pytest.fixture(params=["bfv", "bgv"])
def integers(request, parties):
    """BFV and BGV in turn."""
    return parties(request.param)


CIRCUIT_SLOTS = 32


@pytest.fixture(scope="session")
def params():
    """Parameters of the tests of circuits: six levels."""
    return hm.ckks.Parameters.for_circuit(
        depth=6, scale_bits=40, slots=CIRCUIT_SLOTS, security=None, degree=DEGREE
    )


@pytest.fixture(scope="session")
def client(params):
    ctx = hm.Context(params, device="cpu")
    return ctx, ctx.generate_secret_key()


@pytest.fixture(scope="session")
def ev(client):
    """With the usual keys alone."""
    ctx, sk = client
    return ctx.bind(ctx.generate_keys(sk))


def pytest_collection_finish():
    """All tests and modules stay: no search for garbage looks at them again, which took 5 % of the time."""
    gc.collect()
    gc.freeze()


def pytest_configure(config):
    """The small parameters are weak, and loading them says so: no news here."""
    config.addinivalue_line("filterwarnings", "ignore::hemera.errors.SecurityWarning")


@pytest.fixture
def calibrated(tmp_path, monkeypatch):
    """Makes a table of times for a context's device, in a cache folder of the test: some operations take a
    microsecond for each unit of their work, others nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def write(context):
        operations = ("switch_keys", "hoisted_products", "mod_up", "key_inner_product", "divide_and_round")
        rows = [(operation, context.params.degree, 50, 1.0, 1e-6) for operation in operations]
        DeviceTimes(device_name(context.description), rows).save()

    return write


@pytest.fixture(scope="session")
def with_changed_bytes():
    """One to three bytes, or runs of up to eight of them, are replaced by others; lengths may change."""

    def changed(content, rng):
        found = bytearray(content)
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(found)))
            if rng.random() < 0.5:
                found[at] = int(rng.integers(256))
            else:
                found[at : at + int(rng.integers(1, 9))] = rng.bytes(int(rng.integers(0, 9)))
        return found

    return changed
