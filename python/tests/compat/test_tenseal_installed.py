"""Programs that `import tenseal` run on Hemera, unchanged, after `install()`."""

import subprocess
import sys
from pathlib import Path

import pytest

from ..beside import printed

PROGRAMS = Path(__file__).parents[3] / "examples" / "tenseal"
TUTORIAL = """
import numpy as np
import tenseal as ts
from tenseal.enc_context import SCHEME_TYPE
from tenseal.tensors import CKKSTensor
from tenseal.tensors.ckksvector import CKKSVector

context = ts.context(SCHEME_TYPE.CKKS, poly_modulus_degree=8192, coeff_mod_bit_sizes=[60, 40, 40, 60])
context.generate_galois_keys()
context.global_scale = 2**40
plain = ts.plain_tensor([0.5, -1.5, 2.0])
vector = ts.ckks_vector(context, plain)
assert isinstance(vector, CKKSVector) and isinstance(ts.ckks_tensor(context, plain), CKKSTensor)
matrix = np.arange(6).reshape(3, 2) / 4
found = (vector.mm(matrix.tolist()) + [1, -1]).decrypt()
np.testing.assert_allclose(found, np.array([0.5, -1.5, 2.0]) @ matrix + [1, -1], atol=2**-20)
shared = ts.context_from(context.serialize(save_secret_key=False))
squared = ts.ckks_vector_from(shared, vector.serialize()) ** 2
squared.link_context(context)
np.testing.assert_allclose(squared.decrypt(), [0.25, 2.25, 4.0], atol=2**-20)
integers = ts.bfv_vector(ts.context(ts.SCHEME_TYPE.BFV, 4096, plain_modulus=1032193), [60, 66, 73])
assert (integers * [20, -2, 3] + [1, 1, 1]).decrypt() == [1201, -131, 220]
assert type(vector).__module__.startswith("hemera.") and tenseal_is_absent()
"""
INSTALLED = """
import importlib, importlib.util, sys
from hemera.compat.tenseal import install
install()
install()

def tenseal_is_absent():
    return not [name for name in sys.modules if "tenseal_cpp" in name] and importlib.util.find_spec("tenseal")
"""


def error_of(program):
    words = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.run(words, capture_output=True, text=True, check=False).stderr


def test_a_tutorial_runs_unchanged():
    printed(INSTALLED + TUTORIAL)


@pytest.mark.parametrize("name", ["getting_started", "client_and_server"])
def test_programs_of_the_examples_run_with_the_import_of_tenseal(name):
    source = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")
    program = source.replace("import hemera.compat.tenseal as ts", "import tenseal as ts")
    assert program != source
    printed(INSTALLED + program + "\nassert np.abs(run(values) - expected).max() < 2**-10\n")


def test_what_is_not_there_is_not_found():
    for name in ("sealapi", "vectors"):  # of TenSEAL; of Hemera's package, which would be loaded twice
        assert f"No module named 'tenseal.{name}'" in error_of(f"{INSTALLED}\nimport tenseal.{name}")


def test_tenseal_itself_is_not_replaced_once_a_program_has_it(tmp_path):
    (tmp_path / "tenseal.py").write_text("context = dict\n", encoding="utf-8")
    begun = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport tenseal\n"
    assert "TenSEAL is imported already" in error_of(begun + INSTALLED)
