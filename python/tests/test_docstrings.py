"""The `>>>` examples of docstrings run, and the names that most programs use have some."""

import doctest
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import hemera as hm

PACKAGE = Path(hm.__file__).parent
NAMED = [
    "hemera",
    "hemera.multiply",
    *("ArraySpec", "Ciphertext", "Context", "array", "compile", "compute", "cost", "inspect"),
    *("approximate", "load_parameters", "multiply_many", "rotations_needed", "stack"),
    *("Ciphertext.polyval", "Ciphertext.rotate", "Ciphertext.sum"),
    *("Context.decrypt", "Context.encode", "Context.encrypt", "Context.generate_keys", "Context.load"),
    *("bfv.Parameters.for_circuit", "ckks.Parameters.for_circuit", "ckks.Parameters.from_bits"),
    *("circuits.LinearTransform", "circuits.compare", "circuits.sigmoid", "ckks.precision"),
    *("multiply.RingMultiplier.multiply", "multiply.kronecker_exponent", "serving.export"),
]
"""Modules of `hemera` whose docstrings have examples."""


def modules():
    """The package's modules that can be imported here, but those that run as programs."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        if ">>> " in path.read_text(encoding="utf-8") and path.stem != "__main__":
            yield importlib.import_module(name)


def examples():
    """All docstrings with examples, by name. `hm` and `np` are there, as the pages have them."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = {}
    for module in modules():
        for each in finder.find(module, globs={"hm": hm, "np": np}):
            if each.examples:
                found[each.name] = each
    return found


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_give_what_stands_beside_them(name):
    shown = []
    doctest.DocTestRunner(verbose=False).run(EXAMPLES[name], out=shown.append)
    assert not shown, "".join(shown)


@pytest.mark.parametrize("name", NAMED)
def test_names_that_most_programs_use_have_examples(name):
    found = hm
    for part in name.removeprefix("hemera").strip(".").split("."):
        found = getattr(found, part) if part else found
    text = inspect.getdoc(found)
    assert text is not None
    assert ">>> " in text


def test_there_are_many():
    assert len(EXAMPLES) >= len(NAMED)
