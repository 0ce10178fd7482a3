"""tools/mutants.py: its list applies to today's sources, and what it does with a bug."""

from __future__ import annotations

from pathlib import Path

import pytest

import mutants

REPOSITORY = Path(__file__).resolve().parents[2]

BLOCK = """\
name: a sign
file: a.py
tests: pytest tests
-     return a + b
+     return a - b
"""


@pytest.mark.parametrize(
    "mutant",
    mutants.read_all(REPOSITORY / "tests" / "mutants"),
    ids=lambda mutant: f"{mutant.layer}: {mutant.name}",
)
def test_every_mutant_applies_to_the_sources(mutant: mutants.Mutant) -> None:
    text = (REPOSITORY / mutant.file).read_text()
    assert mutant.apply(text) != text


def test_a_mutant_replaces_its_lines() -> None:
    (mutant,) = mutants.parse("layer", BLOCK)
    assert mutant.apply("def f(a, b):\n        return a + b\n") == "def f(a, b):\n        return a - b\n"
    for text in ("return a * b\n", "return a + b\nreturn a + b\n"):
        with pytest.raises(mutants.MutantError, match="times in"):
            mutant.apply(text)


@pytest.mark.parametrize(
    "block",
    [
        BLOCK.replace("name: a sign\n", ""),
        BLOCK.replace("tests: pytest tests\n", ""),
        BLOCK.replace("tests:", "equivalent: no\ntests:"),
        BLOCK.replace("file:", "what:"),
        "name: a\nfile: b\ntests: c\n",
    ],
)
def test_a_block_that_is_not_well_formed_is_refused(block: str) -> None:
    with pytest.raises(mutants.MutantError):
        mutants.parse("layer", block)


def test_what_passes_lived_and_the_sources_are_restored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Copy:
        source = tmp_path
        seen: list[str]

        def passes(self, tests: str) -> bool:
            self.seen.append((tmp_path / "a.py").read_text())
            return tests == "pytest lived"

    copy = Copy()
    copy.seen = []
    (tmp_path / "a.py").write_text("return a + b\n")
    found, lived = mutants.parse("layer", BLOCK + "\n" + BLOCK.replace("tests\n", "lived\n"))
    assert mutants.run(copy, [found, lived]) == [lived]
    assert copy.seen == ["return a - b\n"] * 2
    assert (tmp_path / "a.py").read_text() == "return a + b\n"
    assert capsys.readouterr().out.split() == ["found", "layer", "a", "sign", "LIVED", "layer", "a", "sign"]
