"""tools/check_floors.py: each rule with an include or an import that keeps it and one that breaks it."""

from pathlib import Path

import pytest

import check_floors as check


def write_source(root, file, *includes):
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#pragma once\n" + "".join(f'#include "{name}"\n' for name in includes))


def include_clashes(root, file, include, target):
    """What is reported when `file` includes `include`, which stands in `target`."""
    write_source(root, target)
    write_source(root, file, include)
    return [str(clash) for clash in check.include_clashes(root)]


@pytest.mark.parametrize(
    ("file", "include", "target"),
    [
        ("src/poly/ring.cpp", "hemera/poly/ring.hpp", "include/hemera/poly/ring.hpp"),
        ("src/poly/cpu/avx2/ntt.cpp", "poly/cpu/kernels.hpp", "src/poly/cpu/kernels.hpp"),
        ("src/poly/cpu/ntt.cpp", "kernels.hpp", "src/poly/cpu/kernels.hpp"),
        ("include/hemera/schemes/bfv.hpp", "hemera/rlwe/context.hpp", "include/hemera/rlwe/context.hpp"),
        ("src/schemes/bgv/rules.cpp", "schemes/integer/rules.hpp", "src/schemes/integer/rules.hpp"),
        ("src/schemes/integer/a.cpp", "schemes/shared.hpp", "src/schemes/shared.hpp"),
        ("src/schemes/any_scheme.cpp", "hemera/schemes/bfv.hpp", "include/hemera/schemes/bfv.hpp"),
        ("src/circuits/sign.cpp", "schemes/ckks/encoder.hpp", "src/schemes/ckks/encoder.hpp"),
        ("src/circuits/bootstrap/a.cpp", "circuits/linear/b.hpp", "src/circuits/linear/b.hpp"),
        ("src/interop/seal/read.cpp", "io/save.hpp", "src/io/save.hpp"),
        ("src/multiply/engine.cpp", "poly/cpu/kernels.hpp", "src/poly/cpu/kernels.hpp"),
    ],
)
def test_accepts_includes_that_point_down(tmp_path, file, include, target):
    assert include_clashes(tmp_path, file, include, target) == []


@pytest.mark.parametrize(
    ("file", "include", "target", "reason"),
    [
        ("src/arith/a.cpp", "runtime/b.hpp", "src/runtime/b.hpp", "arith may not include runtime"),
        ("src/arith/a.cu", "runtime/b.cuh", "src/runtime/b.cuh", "arith may not include runtime"),
        ("src/arith/a.inl", "runtime/b.hpp", "src/runtime/b.hpp", "arith may not include runtime"),
        ("src/poly/a.cpp", "hemera/rlwe/b.hpp", "include/hemera/rlwe/b.hpp", "poly may not include rlwe"),
        ("src/schemes/ckks/a.cpp", "io/b.hpp", "src/io/b.hpp", "schemes/ckks may not include io"),
        ("src/rlwe/a.cpp", "multiply/b.hpp", "src/multiply/b.hpp", "neighbours"),
        ("src/multiply/a.cpp", "poly/cuda/b.hpp", "src/poly/cuda/b.hpp", "only through its public header"),
        ("src/schemes/bgv/a.cpp", "schemes/bfv/b.hpp", "src/schemes/bfv/b.hpp", "neighbours"),
        ("src/schemes/ckks/a.cpp", "schemes/integer/b.hpp", "src/schemes/integer/b.hpp", "neighbours"),
        ("src/schemes/shared.cpp", "schemes/integer/b.hpp", "src/schemes/integer/b.hpp", "one of them"),
        ("src/schemes/bgv/a.cpp", "schemes/any_scheme.hpp", "src/schemes/any_scheme.hpp", "neighbours"),
        ("src/circuits/functions/a.cpp", "circuits/linear/b.hpp", "src/circuits/linear/b.hpp", "neighbours"),
        ("src/poly/cuda/a.cu", "poly/cpu/b.hpp", "src/poly/cpu/b.hpp", "neighbours"),
        ("src/poly/a.cpp", "poly/cpu/b.hpp", "src/poly/cpu/b.hpp", "depend on one of them"),
        ("src/rlwe/a.cpp", "poly/cuda/b.cuh", "src/poly/cuda/b.cuh", "only through its public header"),
        ("include/hemera/poly/a.hpp", "poly/b.hpp", "src/poly/b.hpp", "may not include a private one"),
        ("src/rlwe/a.cpp", "helpers/b.hpp", "src/helpers/b.hpp", "in no layer"),
    ],
)
def test_reports_file_line_clash_and_rule(tmp_path, file, include, target, reason):
    (report,) = include_clashes(tmp_path, file, include, target)
    assert report.startswith(f'{file}:2: #include "{include}": ')
    assert reason in report


def test_reports_every_clash_and_ignores_what_is_no_include(tmp_path):
    write_source(tmp_path, "src/io/b.hpp")
    (tmp_path / "src/arith").mkdir()
    (tmp_path / "src/arith/a.cpp").write_text(
        '// #include "io/b.hpp"\n#include <vector>\n  #  include "io/b.hpp"\n\n#include "io/b.hpp"  // why\n'
    )
    assert [clash.line for clash in check.include_clashes(tmp_path)] == [3, 5]


def write(root, module, text=""):
    """A module of hemera, or of hemera_apps where its path begins so."""
    folder = Path("apps") if module.startswith("hemera_apps") else Path("hemera")
    path = root / "python" / folder / module
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def clashes(root, module, text):
    """What is reported of a module with this text beside empty ones."""
    objects = ("context.py", "evaluator.py", "keys.py", "ciphertext.py", "graph.py")
    folders = ("trees/__init__.py", "trees/read.py", "serving/__init__.py", "commands/__init__.py")
    apps = ("hemera_apps/__init__.py", "hemera_apps/trees/__init__.py", "hemera_apps/bench/__init__.py")
    for name in ("__init__.py", *(f"objects/{name}" for name in objects), *folders, *apps):
        write(root, name)
    write(root, module, text)
    return [str(clash) for clash in check.import_clashes(check.imports(root))]


TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("objects/keys.py", "from hemera import _core\nfrom hemera._core import Error"),
        (
            "objects/context.py",
            "from hemera.objects.keys import Keys\nimport hemera.objects.evaluator\nimport numpy, os",
        ),
        ("objects/context.py", "from .keys import Keys\nfrom . import evaluator"),
        ("objects/keys.py", TYPES + "from hemera.objects.context import Context"),
        ("trees/client.py", "import hemera as hm\nfrom hemera import Context\nfrom hemera.trees import read"),
        ("commands/info.py", "from hemera.trees import read\nfrom hemera import serving"),
        ("compiler/compiled.py", "from hemera import serving\nfrom hemera.arrays.array import Array"),
        ("hemera_apps/bench/run.py", "from hemera.trees import read\nfrom hemera_apps import trees"),
    ],
)
def test_accepts_imports_that_point_down(tmp_path, module, text):
    assert clashes(tmp_path, module, text) == []


@pytest.mark.parametrize(
    ("module", "text", "report"),
    [
        ("objects/keys.py", "\nfrom hemera.objects.context import Context", "context: objects.keys may not"),
        ("objects/keys.py", "from hemera.objects import context", "above it"),
        ("objects/keys.py", "import hemera", "may not import hemera, which stands above it"),
        ("objects/keys.py", "from hemera.objects.ciphertext import Ciphertext", "of its own row"),
        ("arrays/array.py", "from hemera.objects.keys import Keys", "of its own row"),
        ("compiler/local.py", "from hemera.commands import run", "above it"),
        ("objects/keys.py", "def f():\n    from hemera.objects.context import Context", "keys.py:2: imports"),
        ("objects/keys.py", TYPES + "from hemera.objects.evaluator import Evaluator", "above it"),
        ("circuits/plans.py", TYPES + "from hemera.objects.context import Context", "above it"),
        ("trees/client.py", "from hemera.commands import info", "trees may not import commands"),
        ("hemera_apps/trees/a.py", "import hemera_apps.bench", "hemera_apps.bench, which stands above it"),
        ("new.py", "from hemera import _core", "new stands in no row"),
    ],
)
def test_reports_file_line_and_rule(tmp_path, module, text, report):
    (found,) = clashes(tmp_path, module, text)
    folder = "apps" if module.startswith("hemera_apps") else "hemera"
    assert found.startswith(f"python/{folder}/{module}:")
    assert report in found


def test_reports_circles_inside_of_a_folder(tmp_path):
    write(tmp_path, "trees/one.py", "from hemera.trees import two")
    write(tmp_path, "trees/two.py", "from hemera.trees import three")
    write(tmp_path, "trees/three.py", "from hemera.trees.one import One")
    (report,) = [str(clash) for clash in check.import_clashes(check.imports(tmp_path))]
    assert report.startswith("python/hemera/trees/three.py:1: imports hemera.trees.one: a circle")
    assert "hemera.trees.one -> hemera.trees.two -> hemera.trees.three -> hemera.trees.one" in report


def test_exit_status_and_summary(tmp_path, capsys):
    assert check.main([str(tmp_path)]) == 2
    write(tmp_path, "objects/keys.py", "from hemera import _core")
    assert check.main([str(tmp_path)]) == 0
    write(tmp_path, "errors.py", "from hemera.objects.keys import Keys")
    assert check.main([str(tmp_path)]) == 1
    write_source(tmp_path, "src/io/b.hpp")
    write_source(tmp_path, "src/arith/a.hpp", "io/b.hpp")
    assert check.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.endswith("check_floors: 4 files, 2 clashes\n")


def circle(root, count):
    """Modules whose annotations name the next one."""
    for i in range(count):
        write(root, f"trees/part{i}.py", TYPES + f"from hemera.trees.part{(i + 1) % count} import X")


def test_circles_have_at_most_so_many_files_and_arrows(tmp_path):
    circle(tmp_path, check.MOST_FILES)
    (found,) = check.knots(check.imports(tmp_path))
    assert [len(each) for each in found] == [check.MOST_FILES, check.MOST_FILES]
    assert check.main([str(tmp_path)]) == 0
    circle(tmp_path, check.MOST_FILES + 1)
    (report,) = check.beyond_limits(check.imports(tmp_path))
    assert report.startswith(
        f"a circle of {check.MOST_FILES + 1} files, more than {check.MOST_FILES}: hemera."
    )
    assert check.main([str(tmp_path)]) == 1


@pytest.mark.parametrize(
    ("back", "reports"),
    [
        ("from hemera.objects.keys import Keys", ["a circle of folders, hemera.circuits, hemera.objects"]),
        (TYPES + "from hemera.objects.keys import Keys", []),
        ("from hemera.errors import Error", []),
    ],
)
def test_folders_form_no_circle(tmp_path, back, reports):
    """Also where each import points down: a file of one folder may stand above one of another."""
    write(tmp_path, "errors.py")
    write(tmp_path, "objects/keys.py")
    write(tmp_path, "objects/context.py", "from hemera.circuits.selection import compare")
    write(tmp_path, "circuits/selection.py", back)
    assert check.folder_circles(check.imports(tmp_path)) == reports
