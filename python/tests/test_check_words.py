"""tools/check_words.py: each word at each beginning of a comment or docstring, and elsewhere."""

import itertools

import check_words as check


def test_words_without_a_noun(tmp_path, capsys):
    assert check.main([str(tmp_path)]) == 2
    begins, names = ("// ", "  /// ", '"""', "    # "), ("src/poly/a.cpp", "python/apps/a.py", "tests/a.h")
    for begin, name, word in itertools.product(begins, names, ("Of", "By", "That", "Those", "Whose")):
        allowed = (
            f"{begin}Sums. {word} a row.\n{begin}{word}f rows.\n{begin}{word.lower()} rows.\nx = {word}\n"
        )
        for more, status in (("", 0), (f"{begin}{word} a row.\n", 1)):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(allowed + more)
            assert check.main([str(tmp_path)]) == status
            assert (f'{name}:5: begins with "{word}"' in capsys.readouterr().out) == bool(more)
        (tmp_path / name).unlink()
