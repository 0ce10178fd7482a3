"""The CUDA library: found by its name, checked, loaded at the first question about GPUs.

Most tests load the emulated library, the CUDA backend compiled as C++ (docs/decisions/cuda-emulation.md).
`make test-emulation` names its folder, HEMERA_EMULATED_CUDA. What a process has found stays, so each
question has a process of its own, of the compiled module alone where that is enough.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hemera as hm
from hemera import _core

VERSION = hm.__version__
NAME = f"libhemera_cuda-{VERSION}.so"
WHEEL = f"pip install hemera_cuda-{VERSION}-py3-none-"
DEFAULT = Path(__file__).resolve().parents[2] / "build" / "release" / "tests"

NOT_LOADED = "Hemera's CUDA library can not be loaded"

MODULE = f"import sys; sys.path.insert(0, {str(Path(_core.__file__).parent)!r}); import _core; "
PROBLEM = MODULE + "print(_core.find_cuda_devices().problem)"
DEVICES = "import hemera as hm; print(hm.devices())"


@pytest.fixture(scope="module")
def emulated():
    """The emulated library."""
    named = os.environ.get("HEMERA_EMULATED_CUDA")
    file = Path(named or DEFAULT) / NAME
    if named is None and not file.exists():
        pytest.skip(f"the emulation is not built: there is no {file} (make test-emulation builds it)")
    assert file.exists()
    return file


def answer(program, folder, **environment):
    """What a program prints in a process that looks for the library in a folder; None: where users do."""
    others = {name: value for name, value in os.environ.items() if name != "HEMERA_CUDA_FOLDER"}
    given = {} if folder is None else {"HEMERA_CUDA_FOLDER": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=others | given | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


COMPUTES = """
import numpy as np
import hemera as hm

def circuit(x, y):
    return (x * y + 0.5).rotate(1)

values = np.random.default_rng(7).uniform(-1, 1, (2, 8))
params = hm.ckks.Parameters.for_circuit(depth=1, scale_bits=40, slots=8)
cpu, gpu = hm.Context(params, "cpu"), hm.Context(params, device="cuda")
assert gpu.device == "cuda:0" and cpu.device == "cpu"
sk = cpu.generate_secret_key()
keys = cpu.generate_keys(sk, rotations=[1])
here, there = cpu.bind(keys), gpu.bind(gpu.load(bytes(keys)))
x, y = (here.encrypt(row) for row in values)
result = circuit(*(gpu.load(bytes(each)).to(there) for each in (x, y)))
assert bytes(result) == bytes(circuit(x, y))
decrypted = gpu.decrypt(result, gpu.load(bytes(sk)))
np.testing.assert_allclose(decrypted, np.roll(values[0] * values[1] + 0.5, -1), atol=1e-6)
print("same bits")
"""


def test_contexts_on_the_loaded_library_have_the_bits_of_the_cpu(emulated):
    assert answer(COMPUTES, emulated.parent) == "same bits"


CAPTURES = """
import numpy as np
import hemera as hm

params = hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=8)
ctx = hm.Context(params, "cuda")
ev = ctx.bind(ctx.generate_keys(ctx.generate_secret_key()))
rows = np.random.default_rng(7).uniform(-1, 1, (2, 8))
x, y = ev.encrypt(rows[0]), ev.encrypt(rows[1])

def circuit(a):
    return (a * rows[0] + rows[1]) * rows[0]

graph = ev.capture(circuit, x)
assert graph.is_recorded
expected = bytes(circuit(y))
assert bytes(graph(y)) == expected
rows += 1  # constants of the graph
assert bytes(graph(y)) == expected
runs = []

def changing(a):
    runs.append(0)
    return a * (rows[0] + len(runs))

for refused in (changing, lambda a: a * ev.encode(rows[0]), lambda a: ev.encrypt(rows[0])):
    try:
        ev.capture(refused, x)
    except hm.errors.DeviceError as error:
        print(error)
"""


def test_arrays_in_graphs_are_constants(emulated):
    """Arrays of the first run; another one at the second is refused."""
    refusals = answer(CAPTURES, emulated.parent).splitlines()
    assert len(refusals) == 3


CAPTURES_INTEGERS = """
import numpy as np
import hemera as hm

ints = hm.integers.Context(8, preset="test-exact", device="cuda")
a, b = np.array([3, 250, 17, 0], np.uint8), np.array([9, 250, 4, 255], np.uint8)

def exactly(x, y):  # no clear operands, so that every run has the same bits
    return x + y, np.where(x[::-1] < y, x, ~y)

def clear(x, y):
    return x + 7, y >> 3

x, y = ints.encrypt(a), ints.encrypt(b)
graph = ints.capture(exactly, x, y)
assert graph.is_recorded and graph.memory_bytes > 0
for found, expected in zip(graph(y, x), exactly(y, x), strict=True):
    assert bytes(found._stored.value) == bytes(expected._stored.value)
    assert abs(found.failure_log2 - expected.failure_log2) < 1e-9 and found.error == expected.error
    assert not found._stored.risk.events & expected._stored.risk.events
graph = ints.capture(clear, x, y)
assert graph.is_recorded
for _ in range(2):
    for found, expected in zip(graph(y, x), clear(b, a), strict=True):
        assert ints.decrypt(found).tolist() == expected.tolist()
try:
    ints.capture(lambda z: ints.encrypt(np.random.default_rng().integers(0, 9, 4).astype(np.uint8)) + z, x)
except hm.errors.DeviceError as error:
    print("refused")
"""


def test_functions_of_encrypted_integers_are_recorded(emulated):
    assert answer(CAPTURES_INTEGERS, emulated.parent) == "refused"


ERRORS = """
import hemera as hm
params = hm.ckks.Parameters.for_circuit(depth=1, scale_bits=40, slots=8)
ctx = hm.Context(params, "cuda", memory_limit=100_000)
for call in (
    lambda: hm.Context(params, "cuda:5"),
    lambda: ctx.generate_keys(ctx.generate_secret_key()),
    lambda: hm.Context(params, "cuda", storage="three-byte"),
):
    try:
        call()
    except (hm.errors.DeviceError, hm.errors.OutOfMemoryError, hm.errors.ParameterError) as error:
        print(type(error) is getattr(hm.errors, type(error).__name__), type(error).__name__, error)
"""


def test_errors_of_the_library_are_those_of_hemera(emulated):
    device, memory, storage = answer(ERRORS, emulated.parent).splitlines()
    assert device.startswith("True DeviceError device 'cuda:5' is not available: this machine has one CUDA")
    assert memory.startswith("True OutOfMemoryError out of memory of device cuda:0")
    assert storage.startswith("True ParameterError storage must be")


LAZY = """
from pathlib import Path
import threading
import hemera as hm

def is_loaded():
    return "libhemera_cuda" in Path("/proc/self/maps").read_text()

assert not is_loaded(), "by the import"
hm.Context(hm.ckks.Parameters.for_circuit(depth=1, scale_bits=40, slots=8), "cpu")
assert not is_loaded(), "by a context on the CPU"
answers, begin = [], threading.Barrier(8)

def ask():
    begin.wait()
    answers.append(hm.devices())

threads = [threading.Thread(target=ask) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
assert answers == [["cuda:0", "cpu"]] * 8, answers
assert is_loaded()
print("when asked")
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not say what is loaded")
def test_the_first_question_loads_it_once(emulated):
    assert answer(LAZY, emulated.parent) == "when asked"


# It calls Python (the search for the package) without the interpreter's lock.
def test_it_is_found_in_the_package(emulated, tmp_path):
    beside = list(Path(_core.__file__).parent.glob("libhemera_cuda-*.so"))
    if beside:
        pytest.skip(f"{beside[0]} is beside the module, where it is found first")
    package = tmp_path / "hemera_cuda"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('this is found, not imported')\n")
    (package / NAME).symlink_to(emulated)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    assert answer(DEVICES, None, PYTHONPATH=path) == "['cuda:0', 'cpu']"


def test_it_is_found_beside_the_module(emulated, tmp_path):
    """As an installation from source has it. The package's own library comes second."""
    shutil.copytree(
        Path(hm.__file__).parent,
        tmp_path / "hemera",
        ignore=shutil.ignore_patterns("__pycache__", "libhemera_cuda-*"),
    )
    module = Path(_core.__file__)
    shutil.copy(module, tmp_path / "hemera" / module.name)
    (tmp_path / "hemera" / NAME).symlink_to(emulated)
    package = tmp_path / "hemera_cuda"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / NAME).write_text("damaged")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    assert answer(DEVICES, None, PYTHONPATH=path) == "['cuda:0', 'cpu']"


def test_absent(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        told = answer(PROBLEM, folder)
        assert told.startswith("Hemera's CUDA library is not installed; use 'cpu', or install it: ")
        assert WHEEL in told
        assert answer(DEVICES, folder) == "['cpu']"


@pytest.mark.parametrize(
    ("program", "begin"),
    [
        ("hm.Context(hm.bfv.Parameters.for_circuit(depth=1), 'cuda:1')", "device 'cuda:1' is not available"),
        ("_core.cuda_device_of(256)", "an array in the memory of a GPU needs the CUDA backend"),
    ],
)
def test_what_needs_it_tells_the_same(program, begin, tmp_path):
    told = answer(
        f"import hemera as hm\nfrom hemera import _core\ntry:\n    {program}\n"
        "except hm.errors.DeviceError as error:\n    print(error)",
        tmp_path,
    )
    assert told.startswith(begin + ": Hemera's CUDA library is not installed; use 'cpu', or install it: ")


def test_hemera_info_tells_the_same(tmp_path):
    told = answer("from hemera.cli import main\nmain(['info'])", tmp_path, COLUMNS="500")
    assert "Hemera's CUDA library is not installed" in told


@pytest.mark.parametrize("other", ["0.1.9", "10.0.0"])
def test_another_version(other, emulated, tmp_path):
    file = tmp_path / f"libhemera_cuda-{other}.so"
    file.symlink_to(emulated)
    told = answer(PROBLEM, tmp_path)
    assert told.startswith(
        f"Hemera's CUDA library {file} is of version {other}, and hemera is of version {VERSION}; use 'cpu', "
    )
    assert WHEEL in told
    # The library of this version is taken, whatever is beside it.
    (tmp_path / NAME).symlink_to(emulated)
    assert answer(PROBLEM, tmp_path) == ""


def changed(file, pattern, other, folder):
    """A copy of a library in which one string of its data is another one."""
    data, count = re.subn(rb"(?<=\0)" + pattern + rb"(?=\0)", other, file.read_bytes())
    assert count == 1
    copy = folder / NAME
    copy.write_bytes(data)
    return copy


def test_another_version_under_the_right_name(emulated, tmp_path):
    other = "9" + VERSION[1:]
    file = changed(emulated, re.escape(VERSION.encode()), other.encode(), tmp_path)
    assert answer(PROBLEM, tmp_path).startswith(
        f"Hemera's CUDA library {file} is of version {other}, and hemera is of version {VERSION}; "
    )


def test_another_interface(emulated, tmp_path):
    file = changed(emulated, rb"[0-9a-f]{16}", b"0123456789abcdef", tmp_path)
    assert re.fullmatch(
        rf"Hemera's CUDA library {file} was built of other sources, or by another compiler, than hemera "
        r"\(interface 0123456789abcdef, and hemera has [0-9a-f]{16}\); use 'cpu', or install both of one "
        "release, or build both of one checkout",
        answer(PROBLEM, tmp_path),
    )
    assert answer(MODULE + "print(_core.devices())", tmp_path) == "['cpu']"


@pytest.mark.parametrize("kept", [10, 1000, 100_000, -1])
def test_a_file_that_is_cut_off(kept, emulated, tmp_path):
    (tmp_path / NAME).write_bytes(emulated.read_bytes()[:kept])
    told = answer(PROBLEM, tmp_path)
    assert told.startswith(
        f"{NOT_LOADED} ({tmp_path / NAME}: the file is cut off, or can not be read); use 'cpu', or install it"
    )
    assert WHEEL in told


def test_a_damaged_file(tmp_path):
    (tmp_path / NAME).write_bytes(b"damaged" * 100)
    told = answer(PROBLEM, tmp_path)
    assert re.match(rf"{NOT_LOADED} \({tmp_path / NAME}: .+\); use 'cpu', or", told)
    assert WHEEL in told


def test_a_library_that_asks_for_what_hemera_has_not(emulated, tmp_path):
    """One name of its table of symbols is another one."""
    data = emulated.read_bytes()
    name = b"\0_ZN6hemera7runtime9Workspace4takeEm\0"
    assert data.count(name) >= 1
    (tmp_path / NAME).write_bytes(data.replace(name, name.replace(b"take", b"give")))
    told = answer(PROBLEM, tmp_path)
    assert re.match(rf"{NOT_LOADED} \(.*undefined symbol: .*Workspace4giveEm\); ", told)


def test_another_library_of_that_name(tmp_path):
    """It loads, and has no entry."""
    (tmp_path / NAME).symlink_to(_core.__file__)
    told = answer(PROBLEM, tmp_path)
    assert re.match(rf"{NOT_LOADED} \(.*undefined symbol: hemera_cuda_library\); ", told)


def test_the_plugin_for_gpus_moves_contexts_and_leaves_out_facts_of_the_cpu(emulated, tmp_path):
    (tmp_path / "test_it.py").write_text(
        """\
import pytest
import hemera as hm

@pytest.mark.parametrize("device", ["cpu", "auto", "cuda:0"])
def test_device(device):
    params = hm.ckks.Parameters.from_bits(
        degree=1024, prime_bits=[50, 40], special_bits=[50], scale_bits=40, security=None
    )
    assert hm.Context(params, device).device == "cuda:0"

@pytest.mark.fact_of_the_cpu("names of devices")
def test_name():
    raise AssertionError("left out")
"""
    )
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "gpu_contexts", "-p", "no:cacheprovider", "test_it.py"],
        cwd=tmp_path,
        env=os.environ
        | {"HEMERA_CUDA_FOLDER": str(emulated.parent), "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout
    assert "3 passed, 1 skipped" in found.stdout
    assert "on a GPU: names of devices" in found.stdout
