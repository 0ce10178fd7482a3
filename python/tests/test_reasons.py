"""Reasons for which a server refuses: whoever raises one gives the facts that its message names."""

import ast
import string
from pathlib import Path

from hemera.serving import reasons


def test_reasons_get_the_facts_of_their_messages():
    found = set()
    for path in Path(reasons.__file__).parents[1].rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = ast.unparse(call.func).removesuffix(".refused") if isinstance(call, ast.Call) else ""
            if isinstance(reason := getattr(reasons, name, None), reasons.Reason):
                facts = {fact for _, fact, *_ in string.Formatter().parse(reason.code + reason.message)}
                found.add({key.arg for key in call.keywords} - {"after"} == facts - {None})
    assert found == {True}
