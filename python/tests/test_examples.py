"""Every example runs. tools/check has mypy on them."""

import ast
import re
import runpy
from pathlib import Path

import pytest

import hemera
from hemera import _core

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
EXPECTED = {
    "01_first_steps": ["BFV:  [  5  35  85 155]"],
    "02_statistics_on_a_table": ["correlation of height and weight"],
    "03_client_and_server": ["totals: [325 250 980]"],
    "04_choosing_parameters": ["refused:", "accepted:", "[-2, -1, 1, 2, 4, 8]"],
    "05_showing_results": ["shown:", "refused:"],
    "07_function": ["sigmoid: depth", "relinearizations", "alarms:"],
    "08_bootstrapping": ["security below 128", "13 levels left", "\n         7        92  2^-"],
    "09_encrypted_matrices": ["encrypted matrix of 5 x 12", "16 products", "scores:", "variance"],
    "10_train_logistic_regression": ["an iteration takes 4 levels", "3 bootstraps", "accuracy"],
    "11_score_trees": ["1 products, 12 products with plaintexts", "accuracy: "],
    "12_package_a_model": ["<Package 'network'", "refused: its value is encrypted", "largest error of a"],
    "13_serve_a_model": [
        "models: ['tumours']",
        "refused: 422 secret_key",
        'status="200"} 2.0',
        "stopped with 0",
    ],
    "14_compile": ["linear map", "largest difference", "10 samples, 0 of them encrypted"],
    "15_tables": ["by ward", "largest difference by ward", "north"],
    "16_exact_bootstrapping": ["security below 128", "needs 8.5 bits", "all 2048 slots are exact"],
    "17_encrypted_ledger": [
        "values in a ciphertext",
        "refused payments: ",
        "wrong with a probability of 2^-1",
    ],
    "19_linear_layers": ["0 keys", "largest error:", "totals are exact"],
    "18_encrypted_aes": ["1 round(s) of 4 blocks", "7 refreshes", "a49c7ff2689f352b6b5bea43026a5049"],
    "21_transformer_block": [
        "security below 128",
        "an element in each ciphertext",
        "tokens and samples in slots",
        "sequences: ",
        "equal to the clear block within",
    ],
    "23_bert_base_block": [
        "128 inputs of 8 tokens",
        "19 bootstraps",
        "equal to the clear block within",
        "s on an H200 by its table of times",
    ],
    "20_encrypted_search": ["a query of 940 bytes", "topic  7", "and one added: [1000000, "],
    "24_search_by_thresholds": ["the payload of document", "rows above thresholds: [", "the nearest 3"],
    "25_studies_over_sites": [
        "moments    [ 59.7083 502.7545]",
        "histogram  [71. 60. 86. 79. 89. 74. 73. 68.]",
    ],
    "26_keys_that_nobody_has": [
        "3000 rows of 3 hospitals, opened by two of them",
        "mean 58.6120, variance 565.9108; of pooled rows 58.6120, 565.9108",
    ],
    "27_decoder_step": ["security below 128", "bootstraps, placed", "token 4: within"],
    "22_serve_an_index": [
        "indexes: ['documents', 'vault']",
        "2 queries are prepared",
        "two tenants: True",
        "stopped with 0",
    ],
}


def test_examples_are_numbered():
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
    assert set(EXPECTED) <= {path.stem for path in EXAMPLES}


def test_applications_tell_what_is_hidden_from_whom():
    """Before anything else, in their first comment."""
    for path in EXAMPLES[9:15]:
        before = path.read_text().partition("\nimport ")[0]
        assert re.search("^# (Hidden from|In the file)", before, re.MULTILINE), path
        assert "client" in before or "server" in before, path


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    text = capsys.readouterr().out
    assert text
    for part in EXPECTED.get(path.stem, []):
        assert part in text


def test_stub_names_what_the_compiled_module_has():
    stub = Path(hemera.__file__).parent / "_core.pyi"
    names = set()
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add(node.name)
    found = {name for name in dir(_core) if not name.startswith("_")}
    assert names == found
