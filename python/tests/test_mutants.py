"""tools/mutants.py: which generated changes are bugs, which tests belong to a file, what a bug does."""

import pytest

import mutants

SOURCE = '"""What it is."""\n\n\ndef add(a, b):\n    """The sum."""\n    return a + b  # of two\n'


@pytest.mark.parametrize(
    ("change", "is_bug"),
    [
        (("a + b", "a - b"), True),
        (("The sum", "The mus"), False),
        (("# of two", "# of one"), False),
        (("return a", "return (a"), False),
        (("    return a + b  # of two\n", ""), True),
    ],
)
def test_changes_of_the_meaning_alone_are_bugs_of_python(change, is_bug):
    assert mutants.is_bug("python/hemera/a.py", SOURCE, SOURCE.replace(*change)) is is_bug


@pytest.mark.parametrize(("after", "is_bug"), [("a - b;  // sum", True), ("a + b;\n// mus", False)])
def test_comments_are_no_bugs_of_cpp(after, is_bug):
    before = "a + b;  // sum" if is_bug else "a + b;\n// sum"
    assert mutants.is_bug("src/arith/a.cpp", before, after) is is_bug


def test_lines_of_a_difference():
    difference = "@@ -3 +3,2 @@ f\n-a\n+b\n+c\n@@ -9,2 +10,0 @@\n-d\n-e\n@@ -20 +19 @@\n-f\n+g\n"
    assert mutants.changed_lines(difference) == {3, 4, 19}


@pytest.mark.parametrize(
    ("name", "is_mutated"),
    [
        ("python/hemera/arrays/kinds.py", True),
        ("python/tests/test_mutants.py", False),
        ("src/rlwe/keys.cpp", True),
        ("src/poly/cuda/transform.cpp", False),
        ("src/poly/cpu/kernel.hpp", True),
        ("docs/gpu.md", False),
    ],
)
def test_the_product_is_mutated_where_it_is_tested_without_a_gpu(name, is_mutated):
    assert mutants.is_mutated(name) is is_mutated


def test_tests_that_name_a_module_or_else_its_room(tmp_path):
    room = tmp_path / "arrays"
    room.mkdir()
    (room / "test_named.py").write_text("from hemera.arrays import order, kinds\n")
    (room / "test_other.py").write_text("from hemera.arrays.kinds_of import x\n")
    named = [str(room / "test_named.py")]
    assert mutants.tests_of("python/hemera/arrays/kinds.py", tmp_path) == named
    assert mutants.tests_of("python/hemera/arrays/masks.py", tmp_path) == [str(room)]
    assert mutants.tests_of("src/rlwe/keys.cpp", tmp_path) == ["hemera_rlwe_tests"]
    with pytest.raises(mutants.MutantError, match="give --tests"):
        mutants.tests_of("python/hemera/search/rows.py", tmp_path)


class Sources(mutants.Copy):
    """A copy that is there already."""

    def __init__(self, folder):
        super().__init__(folder)
        self.source.mkdir()


def test_a_bug_that_tests_find_and_one_that_they_leave(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # four runs of pytest load none
    copy, told = Sources(tmp_path), list[str]()
    (copy.source / "own.py").write_text("def f(a):\n    return a > 0\n")
    test = copy.source / "test_own.py"
    test.write_text("from own import f\n\n\ndef test_f():\n    assert f(1) and not f(-1)\n")
    bugs = [f"def f(a):\n    return a {sign} 0\n" for sign in ("<", ">=")]
    assert mutants.lived(copy, "own.py", bugs, [str(test)], told.append) == (1, 2)
    assert told[0] == "found  own.py"
    assert told[1].startswith("LIVED")
    assert "+    return a >= 0" in told[1]
    assert (copy.source / "own.py").read_text() == "def f(a):\n    return a > 0\n"
    test.write_text("def test_f():\n    assert False\n")
    with pytest.raises(mutants.MutantError, match="fail without a bug"):
        mutants.lived(copy, "own.py", bugs, [str(test)], told.append)
