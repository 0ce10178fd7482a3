"""tools/check_functions.py, check_stub.py and check_words.py: what each of them reports."""

import itertools

import pytest

import check_functions as check
import check_stub
import check_words


@pytest.mark.parametrize(
    ("before", "signature"),
    [
        ("", "int f(int x) {"),
        ("int a = 0;", "static void f(\n    int x, int y)\n    noexcept {"),
        ("", "template <class A, Limits<(sizeof(A) > 4), B<int>> = 0>\nA Class<A>::f() const {"),
        ("struct S final : Base<int> {\n  int x = 0;", "  void f() {"),
        ("class S {\n  S() : x_(0) {\n  }", " public:\n  explicit S(int x)\n      : x_(x) {"),
        ('const char* quoted = "{ ( }";  // {\n#define A(x) \\\n  {\n/* { */', "void f() {"),
        ("auto f = [](char c) { return c == '{'; };", "void g() {"),
    ],
)
def test_a_function_counts_from_its_signature(tmp_path, before, signature):
    file = tmp_path / "src" / "poly" / "a.cpp"
    file.parent.mkdir(parents=True)
    own = signature.count("\n") + 2
    for more in (0, 1):
        body = "  if (g()) {\n  }\n" + "  g();\n" * (check.MOST - own - 2 + more)
        file.write_text(f"namespace a {{\n{before}\n{signature}\n{body}}}\n")
        first = before.count("\n") + 3
        expected = [f"src/poly/a.cpp:{first}: a function of {check.MOST + 1} lines; {check.MOST} at most"]
        assert check.too_long(tmp_path)[0] == expected[:more]


def test_nothing_to_check(tmp_path):
    assert check.main([str(tmp_path)]) == 2


def test_leaves_out_what_every_nanobind_module_gives():
    report = """
hemera._core.save is not a function
hemera._core.Context is inconsistent, metaclass differs
hemera._core.Context is a disjoint base at runtime, but isn't marked with @disjoint_base in the stub
hemera._core.Context.__init__ is inconsistent, stub does not have *args parameter "args"
hemera._core.Scheme.__nb_enum__ is not present in stub
"""
    assert check_stub.differences(report) == []


def test_keeps_missing_and_superfluous_names_and_failures():
    lines = [
        "hemera._core.save is not present in stub",
        "hemera._core.nothing is not present at runtime",
        'hemera._core.Scheme.bfv is inconsistent, stub parameter "x" differs',
        "ModuleNotFoundError: No module named 'hemera'",
    ]
    assert check_stub.differences("\n".join(["hemera._core.load is not a function", *lines])) == lines


def test_words_without_a_noun(tmp_path, capsys):
    assert check_words.main([str(tmp_path)]) == 2
    begins, names = ("// ", "  /// ", '"""', "    # "), ("src/poly/a.cpp", "python/apps/a.py", "tests/a.h")
    for begin, name, word in itertools.product(begins, names, ("Of", "By", "That", "Those", "Whose")):
        allowed = (
            f"{begin}Sums. {word} a row.\n{begin}{word}f rows.\n{begin}{word.lower()} rows.\nx = {word}\n"
        )
        for more, status in (("", 0), (f"{begin}{word} a row.\n", 1)):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(allowed + more)
            assert check_words.main([str(tmp_path)]) == status
            assert (f'{name}:5: begins with "{word}"' in capsys.readouterr().out) == bool(more)
        (tmp_path / name).unlink()
