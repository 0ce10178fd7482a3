"""tools/check_functions.py: functions of each kind, as long as they may be and one line longer."""

import pytest

import check_functions as check


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
