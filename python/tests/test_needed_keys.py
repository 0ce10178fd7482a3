"""Lists of needed keys as files: C and WebAssembly make the keys that Python makes, and refuse weak ones."""

import ctypes
import json
import shutil
import struct
import subprocess

import numpy as np
import pytest

import hemera as hm
from hemera import _core
from hemera.program.keys import KeyList, OwnKey
from hemera.serving.home import Home

from .beside import printed, told_by_node
from .compiler.compile_cases import compiled, deep
from .multiparty.group_files import assembled, sections
from .serving.conftest import serving
from .test_c_interface import Buffer, Handle, library
from .test_wasm_client import ROOT, module

__all__ = ["library", "module"]

RANDOM = np.random.default_rng(3)
CHAIN = RANDOM.normal(size=(9, 16, 16)) / 16
SECURE = hm.ckks.Parameters.for_circuit(3, slots=512)
ENTROPY = """
#include <stddef.h>
#include <sys/types.h>
static unsigned place;
void begin_anew(void) { place = 0; }
ssize_t getrandom(void* out, size_t count, unsigned flags) {
  (void)flags;
  for (size_t i = 0; i < count; ++i) ((unsigned char*)out)[i] = (unsigned char)(place++ * 0x9e3779b1u >> 24);
  return (ssize_t)count;
}
"""
PROGRAM = """
import ctypes, hashlib, json, sys
from pathlib import Path
import hemera as hm
from hemera import _core
folder, anew = Path(sys.argv[1]), ctypes.CDLL(None).begin_anew
found = []
for asked in json.loads((folder / "asked.json").read_text()):
    ctx = hm.Context(hm.load_parameters(folder / asked["parameters"]), device="cpu", threads=1)
    needs, public_key = _core.load_needed_keys(ctx._native, (folder / asked["needed"]).read_bytes())
    anew()
    secret = ctx.generate_secret_key()
    pieces = []
    least = asked["security"]
    _core.write_needed_keys(secret._native, needs, public_key, least, pieces.append, lambda count: None)
    digests = [hashlib.sha256(each).hexdigest() for each in (bytes(secret), b"".join(pieces))]
    found.append(dict(zip(["secret", "keys"], digests)))
print(json.dumps(found))
"""


def listed(params, *plans):
    needs = [need for plan in plans for need in plan.needed_keys]
    return _core.save_needed_keys(params._native, needs, public_key=False)


def of_kinds():
    """Parameters, the list and the bits of security of keys of every kind."""
    few, sparse = map(hm.ckks.Parameters.for_bootstrapping, ("test-few", "test-40"))
    exact = hm.bfv.Parameters.for_bootstrapping("bfv11-test", plain_modulus=65537)
    flat = hm.ckks.Parameters.for_circuit(5, slots=512, degree=1024, security=None)
    rows = hm.circuits.PackedRowsProduct([[0.5, -1.0]], flat, 32)
    own = KeyList(1, {1: 3, -2: 1}, 2, own=(OwnKey("rotation", 5, 2, 1), OwnKey("relinearization", 0, 2, 1)))
    return {
        "one level": (SECURE, own.file(SECURE), 128),
        "a sparse secret": (sparse, listed(sparse, hm.circuits.Bootstrap(sparse, 8)), 0),
        "a secret in blocks": (few, listed(few, hm.circuits.Bootstrap(few, 8, real=True)), 0),
        "exact bootstraps": (exact, listed(exact, hm.circuits.IntegerBootstrap(exact)), 0),
        "parts and products": (flat, listed(flat, rows, hm.circuits.MatrixBatchProduct(flat, 4)), 0),
    }


def asked(folder, cases):
    """Files of parameters and lists in a folder."""
    told = []
    for at, (params, needed, security) in enumerate(cases):
        (folder / f"{at}.parameters").write_bytes(bytes(params))
        (folder / f"{at}.needed").write_bytes(needed)
        told.append({"parameters": f"{at}.parameters", "needed": f"{at}.needed", "security": security})
    (folder / "asked.json").write_text(json.dumps(told))


def test_keys_of_the_same_random_bytes_are_those_of_python(module, tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler on this machine, which fixed random bytes need (package gcc)")
    kinds = of_kinds() | {"a public key": (SECURE, _core.save_needed_keys(SECURE._native, [], True), 128)}
    asked(tmp_path, list(kinds.values()))
    (tmp_path / "entropy.c").write_text(ENTROPY)
    fixed = tmp_path / "entropy.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", fixed, tmp_path / "entropy.c"], check=True)
    native = json.loads(printed(PROGRAM, tmp_path, LD_PRELOAD=str(fixed)))
    found = told_by_node("needed.mjs", module, tmp_path)
    for name, one, other in zip(kinds, native, found, strict=True):
        assert "error" not in other, (name, other)
        assert one == {key: other[key] for key in one}, name
        assert other["pieces"] > 5  # of which one key is in the module's memory


def test_lists_of_all_kinds_are_made_by_c(library):
    """The loaded keys have the roles and gadgets that the list has."""
    for name, (params, needed, security) in of_kinds().items():
        status, text, file = by_c(library, params, needed, security)
        assert status == 0, (name, text)
        ctx = hm.Context(params, device="cpu", threads=1)
        loaded = ctx.load(file)
        needs, _ = _core.load_needed_keys(ctx._native, needed)
        assert all(_core.has_key(loaded._native, need) for need in needs), name
        assert loaded.memory_bytes <= sum(16 * limbs(need) * params.degree for need in needs)


def test_a_list_of_version_8_loads_for_ever():
    folder = ROOT / "tests" / "vectors" / "format-v8" / "CKKS"
    params = hm.load_parameters(folder / "parameters.hemera")
    data = (folder / "needed-keys.hemera").read_bytes()
    needs, public_key = _core.load_needed_keys(hm.Context(params, device="cpu")._native, data)
    assert _core.save_needed_keys(params._native, needs, public_key) == data
    assert [need.kind for need in needs] == ["relinearization"] * 2 + ["galois"] * 4
    told = hm.inspect(data)
    assert (told.kind, told.version) == ("needed keys", 8)


def limbs(need):
    return int(need.digits * (len(need.primes) + len(need.special_primes)))


def by_c(library, params, needed, security):
    """The status, the text of its error, and the file."""
    file, context, secret = bytes(params), Handle(), Handle()
    size = ctypes.c_size_t
    out = Buffer()
    opened = library.hemera_context_open(file, size(len(file)), security, 1, ctypes.byref(context))
    status = opened or library.hemera_secret_key_generate(context, ctypes.byref(secret))
    status = status or library.hemera_needed_keys_file(secret, needed, size(len(needed)), ctypes.byref(out))
    text = library.hemera_error().decode() if status else ""
    data = ctypes.string_at(out.data, out.bytes) if out.data else b""
    library.hemera_buffer_free(ctypes.byref(out))
    library.hemera_secret_key_free(secret)
    library.hemera_context_free(context)
    return status, text, data


def powers(x):
    """x^64 modulo t."""
    for squares in range(6):
        x = x.square() if squares % 2 or not squares else x.bootstrap().square()
    return x


def test_it_makes_the_keys_of_bootstraps(module, tmp_path):
    """Sparse secrets, keys of single levels and circuits, in rings that hide nothing: NumPy and Python's
    integers judge what a server computes."""

    def chain(x):
        for matrix in CHAIN:
            x = matrix @ x
            x = 3 * x + x * x
        return x

    samples = RANDOM.uniform(-4, 4, (20, 16))
    exact = hm.bfv.Parameters.for_bootstrapping("bfv11-test", plain_modulus=65537)
    packages = {
        "chain": compiled(chain, samples, params=deep(), name="chain").package,
        "powers": hm.serving.export(powers, inputs=2048, name="powers", params=exact),
    }
    assert packages["chain"].interface.keys.own
    assert packages["powers"].program.operations["exact bootstrap"] == 2
    whole = RANDOM.integers(0, 65537, 2048)
    home = Home(tmp_path / "home")
    for package in packages.values():
        home.add_model(package)
    file, told = tmp_path / "asked.json", {"token": home.clients.add("page"), "security": 0}
    arrays = {"chain": samples[0].tolist(), "powers": whole.tolist()}
    told["asked"] = [{"model": name, "arrays": given} for name, given in arrays.items()]
    with serving(home) as server:
        file.write_text(json.dumps({**told, "url": server.url}))
        first, second = told_by_node("predict.mjs", module, file)["answers"]
    assert "error" not in first, first
    (numbers,) = first["results"].values()
    np.testing.assert_allclose(
        numbers["values"], chain(samples[0]), atol=2.0**-10 * np.abs(chain(samples[0])).max()
    )
    assert "error" not in second, second
    (powered,) = second["results"].values()
    assert [value % 65537 for value in powered["values"]] == [pow(int(value), 64, 65537) for value in whole]


# --- Lists that another party wrote. ---

ROLES = 5
"""Where roles begin: behind the public key and their number."""


def role(at, *, power=1, element=1, start=0, end=0):
    """The list with another role at a place."""

    def changed(parts):
        tag, content = parts[0]
        begin = ROLES + 20 * at
        new = struct.pack("<IQII", power, element, start, end)
        return [(tag, content[:begin] + new + content[begin + 20 :]), *parts[1:]]

    return changed


def gadget(at, base, special, digits, window=0):
    """The list with another gadget."""

    def words(values):
        return struct.pack(f"<I{len(values)}Q", len(values), *values)

    def changed(parts):
        tag, content = parts[1 + at]
        new = content[:1] + words(base) + words(special) + struct.pack("<I", len(digits))
        new += b"".join(map(words, digits)) + struct.pack("<I?", window, False)
        return [*parts[: 1 + at], (tag, new), *parts[2 + at :]]

    return changed


def forged(data, *changes):
    parts = sections(data)
    for change in changes:
        parts = change(parts)
    return assembled(data, parts)


def prime(bits, place=0):
    """The largest prime below 2^bits for rings of this degree, or one after it."""
    found = (1 << bits) + 1
    for _ in range(place + 1):
        found -= 1 << 16
        while any(pow(a, found - 1, found) != 1 for a in (2, 3, 5, 7)):
            found -= 1 << 16
    return found


WIDE = hm.ckks.Parameters(
    degree=1 << 15,
    primes=[prime(60), prime(40), prime(40, 1)],
    special_primes=[prime(41), prime(60, 1)],
    scale=2.0**40,
    security=None,
)
"""Its lowest two levels have moduli of 60 and 100 bits: the most that a secret of weight 32 may have here."""
LOW, NEXT = WIDE.primes[0], WIDE.primes[1]
THREE = KeyList(0, {1: 0, -1: 0}).file(WIDE)
"""Keys of products and of two rotations, all at level 0."""
SPARSE, BLOCKS = 1 << 28, 1 << 30


def ephemeral(number, base, special=(), *, back=None):
    """In the places of the rotations the keys to a secret of a number, and from it (`back`: from another)."""
    return [
        role(1, end=number),
        gadget(1, base, list(special), [base]),
        role(2, start=number if back is None else back),
    ]


def block(degree, blocks, values):
    """The number of a secret in blocks, of logarithms of its shape."""
    return BLOCKS | (degree << 9 | blocks << 4 | values) << 16


SPECIAL, BLOCK = WIDE.special_primes, block(14, 6, 0)
OTHER = hm.ckks.Parameters.for_circuit(1, slots=8, degree=1 << 15)
FORGED = {
    "as it was": ("", forged(THREE)),
    "weight 32, 60 bits": ("", forged(THREE, *ephemeral(1, LOW))),
    "weight 32, 100 bits": ("", forged(THREE, *ephemeral(1, NEXT))),
    "weight 31": ("SecurityError", forged(THREE, *ephemeral(SPARSE + 31, LOW))),
    "weight 1024": ("", forged(THREE, *ephemeral(SPARSE + 1024, LOW))),
    "weight 1025": ("ParameterError", forged(THREE, *ephemeral(SPARSE + 1025, LOW))),
    "more bits": ("SecurityError", forged(THREE, *ephemeral(1, LOW, tuple(SPECIAL[:1])))),
    "three primes": ("ParameterError", forged(THREE, *ephemeral(SPARSE + 192, WIDE.primes[2]))),
    "no key from it": ("ParameterError", forged(THREE, role(1, end=1))),
    "no key to it": ("ParameterError", forged(THREE, role(1, start=1))),
    "from another one": ("ParameterError", forged(THREE, *ephemeral(1, LOW, back=SPARSE + 64))),
    "two keys to it": (
        "ParameterError",
        forged(THREE, role(0, end=1), gadget(0, LOW, [], [LOW]), role(1, end=1), role(2, start=1)),
    ),
    "power 3": ("ParameterError", forged(THREE, role(0, power=3))),
    "power 0": ("FormatError", forged(THREE, role(2, power=0, element=3))),
    "of nothing": ("ParameterError", forged(THREE, role(1))),
    "an even element": ("FormatError", forged(THREE, role(2, element=1 << 12))),
    "a large element": ("FormatError", forged(THREE, role(2, element=(1 << 16) + 1))),
    "of an unknown secret": ("ParameterError", forged(THREE, role(1, start=3))),
    "of a circuit": ("ParameterError", forged(THREE, role(1, start=2, end=2))),
    "of too small parts": ("ParameterError", forged(THREE, role(1, start=16 + (1 << 20)))),
    "of the last part": ("ParameterError", forged(THREE, role(1, start=SPARSE - 1))),
    "blocks without a use": ("ParameterError", forged(THREE, role(1, end=block(14, 6, 0)))),
    "blocks at the limit": ("", forged(THREE, *ephemeral(block(14, 6, 0), LOW))),
    "fewer blocks": ("SecurityError", forged(THREE, *ephemeral(block(14, 5, 0), LOW))),
    "a smaller degree": ("SecurityError", forged(THREE, *ephemeral(block(13, 6, 0), LOW))),
    "blocks of more bits": (
        "SecurityError",
        forged(THREE, *ephemeral(block(14, 6, 0), LOW, tuple(SPECIAL[:1]))),
    ),
    "a large degree": ("ParameterError", forged(THREE, *ephemeral(block(31, 6, 15), LOW))),
    "blocks of two gadgets": (
        "ParameterError",
        forged(
            THREE,
            *(role(0, end=BLOCK), gadget(0, LOW, [], [LOW]), role(1, start=BLOCK)),
            *(role(2, start=BLOCK + 1), gadget(2, NEXT, [], [NEXT])),
        ),
    ),
    "blocks with a number": ("ParameterError", forged(THREE, *ephemeral(BLOCK + 1, LOW))),
    "blocks for many values": ("ParameterError", forged(THREE, *ephemeral(block(14, 6, 9), LOW))),
    "the last number": ("ParameterError", forged(THREE, *ephemeral(2**32 - 1, LOW))),
    "roles that descend": ("FormatError", forged(THREE, role(0, element=5))),
    "one key twice": ("FormatError", forged(THREE, role(1, element=5), role(2, element=5))),
    "an unknown prime": ("FormatError", forged(THREE, gadget(1, [97], [], [[97]]))),
    "the prime 0": ("FormatError", forged(THREE, gadget(1, [0], [], [[0]]))),
    "no primes": ("FormatError", forged(THREE, gadget(1, [], [], []))),
    "a digit twice": ("FormatError", forged(THREE, gadget(1, LOW, [], [LOW, LOW]))),
    "a prime that is special": ("FormatError", forged(THREE, gadget(1, LOW, LOW, [LOW]))),
    "no level's primes": (
        "FormatError",
        forged(THREE, gadget(1, WIDE.primes[1][1:], [], [WIDE.primes[1][1:]])),
    ),
    "a wide window": ("FormatError", forged(THREE, gadget(1, LOW, [], [LOW], 62))),
    "257 primes": ("FormatError", forged(THREE, gadget(1, LOW * 257, [], [LOW]))),
    "a key less": ("FormatError", forged(THREE, lambda parts: parts[:-1])),
    "a key more": ("FormatError", forged(THREE, lambda parts: [*parts, parts[-1]])),
    "no list": ("FormatError", forged(THREE, lambda parts: parts[1:])),
    "other parameters": ("MismatchError", KeyList(0).file(OTHER)),
    "a file of parameters": ("MismatchError", bytes(WIDE)),
    "cut off": ("FormatError", THREE[:-1]),
    "nothing": ("FormatError", b""),
}
CLASSES = {0: "", 1: "ParameterError", 2: "SecurityError", 3: "MismatchError", 9: "FormatError"}


def test_forged_lists_are_refused_in_c(library):
    for name, (wanted, needed) in FORGED.items():
        status, text, file = by_c(library, WIDE, needed, 128)
        assert CLASSES.get(status) == wanted, (name, text)
        assert bool(text) == bool(wanted)
        assert bool(file) != bool(wanted)


def test_forged_lists_are_refused_in_javascript(module, tmp_path):
    asked(tmp_path, [(WIDE, needed, 128) for _, needed in FORGED.values()])
    for (name, (wanted, _)), found in zip(
        FORGED.items(), told_by_node("needed.mjs", module, tmp_path), strict=True
    ):
        assert found.get("error", "") == wanted, (name, found)


def test_damaged_lists_have_no_other_ends(library, module, tmp_path):
    """Random damage under right checksums: a typed error, or keys; the same in C and JavaScript."""
    params = hm.ckks.Parameters.for_circuit(3, slots=8, degree=1024, security=None)
    data = KeyList(1, {1: 2}, own=(OwnKey("rotation", 5, 2, 1),)).file(params)
    damaged = []
    for _ in range(150):
        parts = sections(data)
        at = int(RANDOM.integers(len(parts)))
        content = bytearray(parts[at][1])
        for _ in range(int(RANDOM.integers(1, 3))):
            content[RANDOM.integers(len(content))] ^= 1 << int(RANDOM.integers(8))
        parts[at] = parts[at][0], bytes(content)
        damaged.append((params, assembled(data, parts), 0))
    asked(tmp_path, damaged)
    found = [each.get("error", "") for each in told_by_node("needed.mjs", module, tmp_path)]
    assert found == [CLASSES[by_c(library, *each)[0]] for each in damaged]
    assert len(set(found)) >= 3
