"""tools/check_includes.py: each rule with an include that keeps it and one that breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest

import check_includes as check

REPOSITORY = Path(__file__).resolve().parents[2]


def write(root: Path, file: str, *includes: str) -> None:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#pragma once\n" + "".join(f'#include "{name}"\n' for name in includes))


def clashes(root: Path, file: str, include: str, target: str) -> list[str]:
    """What is reported when `file` includes `include`, which stands in `target`."""
    write(root, target)
    write(root, file, include)
    return [str(clash) for clash in check.find_clashes(root)]


@pytest.mark.parametrize(
    ("file", "include", "target"),
    [
        ("src/poly/ring.cpp", "hemera/poly/ring.hpp", "include/hemera/poly/ring.hpp"),
        ("src/poly/cpu/ntt.cpp", "poly/shapes.hpp", "src/poly/shapes.hpp"),
        ("src/poly/cpu/avx2/ntt.cpp", "poly/cpu/kernels.hpp", "src/poly/cpu/kernels.hpp"),
        ("src/poly/cpu/ntt.cpp", "kernels.hpp", "src/poly/cpu/kernels.hpp"),
        ("include/hemera/rlwe/keys.hpp", "hemera/poly/backend.hpp", "include/hemera/poly/backend.hpp"),
        ("include/hemera/rlwe/keys.hpp", "hemera/poly/ledger.hpp", "include/hemera/poly/ledger.hpp"),
        ("include/hemera/schemes/bfv.hpp", "hemera/rlwe/context.hpp", "include/hemera/rlwe/context.hpp"),
        ("src/schemes/bfv/encoder.cpp", "hemera/schemes/bfv.hpp", "include/hemera/schemes/bfv.hpp"),
        ("src/schemes/bfv/encoder.cpp", "schemes/shared.hpp", "src/schemes/shared.hpp"),
        ("src/schemes/bgv/rules.cpp", "schemes/integer/rules.hpp", "src/schemes/integer/rules.hpp"),
        ("src/schemes/integer/a.cpp", "schemes/shared.hpp", "src/schemes/shared.hpp"),
        ("src/schemes/any_scheme.cpp", "hemera/schemes/bfv.hpp", "include/hemera/schemes/bfv.hpp"),
        ("src/circuits/sign.cpp", "schemes/ckks/encoder.hpp", "src/schemes/ckks/encoder.hpp"),
        ("src/circuits/linear/a.cpp", "circuits/plan.hpp", "src/circuits/plan.hpp"),
        ("src/circuits/bootstrap/a.cpp", "circuits/linear/b.hpp", "src/circuits/linear/b.hpp"),
        ("src/circuits/bootstrap/a.cpp", "circuits/functions/b.hpp", "src/circuits/functions/b.hpp"),
        ("src/io/save.cpp", "circuits/sign.hpp", "src/circuits/sign.hpp"),
        ("src/interop/seal/read.cpp", "io/save.hpp", "src/io/save.hpp"),
        ("src/multiply/engine.cpp", "poly/shapes.hpp", "src/poly/shapes.hpp"),
        ("src/multiply/engine.cpp", "poly/cpu/kernels.hpp", "src/poly/cpu/kernels.hpp"),
    ],
)
def test_accepts_includes_that_point_down(tmp_path: Path, file: str, include: str, target: str) -> None:
    assert clashes(tmp_path, file, include, target) == []


@pytest.mark.parametrize(
    ("file", "include", "target", "reason"),
    [
        ("src/arith/a.cpp", "runtime/b.hpp", "src/runtime/b.hpp", "arith may not include runtime"),
        ("src/arith/a.cuh", "runtime/b.hpp", "src/runtime/b.hpp", "arith may not include runtime"),
        ("src/arith/a.cu", "runtime/b.cuh", "src/runtime/b.cuh", "arith may not include runtime"),
        ("src/arith/a.hpp", "runtime/b.hpp", "src/runtime/b.hpp", "arith may not include runtime"),
        ("src/arith/a.h", "runtime/b.hpp", "src/runtime/b.hpp", "arith may not include runtime"),
        ("src/arith/a.inl", "runtime/b.hpp", "src/runtime/b.hpp", "arith may not include runtime"),
        ("src/poly/a.cpp", "hemera/rlwe/b.hpp", "include/hemera/rlwe/b.hpp", "poly may not include rlwe"),
        ("src/schemes/ckks/a.cpp", "io/b.hpp", "src/io/b.hpp", "schemes/ckks may not include io"),
        ("src/io/a.cpp", "interop/seal/b.hpp", "src/interop/seal/b.hpp", "io may not include interop/seal"),
        ("src/rlwe/a.cpp", "multiply/b.hpp", "src/multiply/b.hpp", "neighbours"),
        ("src/multiply/a.cpp", "rlwe/b.hpp", "src/rlwe/b.hpp", "neighbours"),
        ("src/multiply/a.cpp", "poly/cuda/b.hpp", "src/poly/cuda/b.hpp", "only through its public header"),
        ("src/schemes/bgv/a.cpp", "schemes/bfv/b.hpp", "src/schemes/bfv/b.hpp", "neighbours"),
        ("src/schemes/ckks/a.cpp", "schemes/integer/b.hpp", "src/schemes/integer/b.hpp", "neighbours"),
        ("src/schemes/integer/a.cpp", "schemes/bfv/b.hpp", "src/schemes/bfv/b.hpp", "neighbours"),
        ("src/schemes/shared.cpp", "schemes/integer/b.hpp", "src/schemes/integer/b.hpp", "one of them"),
        ("src/schemes/bgv.cpp", "schemes/ckks.hpp", "src/schemes/ckks.hpp", "neighbours"),
        ("src/schemes/bgv/a.cpp", "schemes/any_scheme.hpp", "src/schemes/any_scheme.hpp", "neighbours"),
        ("src/schemes/shared.cpp", "schemes/bfv.hpp", "src/schemes/bfv.hpp", "depend on one of them"),
        (
            "src/circuits/linear/a.cpp",
            "circuits/bootstrap/b.hpp",
            "src/circuits/bootstrap/b.hpp",
            "neighbours",
        ),
        ("src/circuits/functions/a.cpp", "circuits/linear/b.hpp", "src/circuits/linear/b.hpp", "neighbours"),
        (
            "src/circuits/plan.cpp",
            "circuits/linear/b.hpp",
            "src/circuits/linear/b.hpp",
            "depend on one of them",
        ),
        ("src/poly/cuda/a.cu", "poly/cpu/b.hpp", "src/poly/cpu/b.hpp", "neighbours"),
        ("src/poly/cuda/a.cuh", "poly/cpu/b.hpp", "src/poly/cpu/b.hpp", "neighbours"),
        ("src/poly/a.cpp", "poly/cpu/b.hpp", "src/poly/cpu/b.hpp", "depend on one of them"),
        ("src/rlwe/a.cpp", "poly/cpu/b.hpp", "src/poly/cpu/b.hpp", "only through its public header"),
        ("src/rlwe/a.cpp", "poly/ledger/b.hpp", "src/poly/ledger/b.hpp", "only through its public header"),
        ("src/rlwe/a.cpp", "poly/cuda/b.cuh", "src/poly/cuda/b.cuh", "only through its public header"),
        ("include/hemera/poly/a.hpp", "poly/b.hpp", "src/poly/b.hpp", "may not include a private one"),
        ("src/rlwe/a.cpp", "helpers/b.hpp", "src/helpers/b.hpp", "in no layer"),
    ],
)
def test_reports_file_line_clash_and_rule(
    tmp_path: Path, file: str, include: str, target: str, reason: str
) -> None:
    (report,) = clashes(tmp_path, file, include, target)
    assert report.startswith(f'{file}:2: #include "{include}": ')
    assert reason in report


@pytest.mark.parametrize("include", ["zstd.h", "../arith/modulus.hpp"])
def test_reports_includes_that_it_can_not_place(tmp_path: Path, include: str) -> None:
    write(tmp_path, "src/arith/modulus.hpp")
    write(tmp_path, "src/io/a.cpp", include)
    (clash,) = check.find_clashes(tmp_path)
    assert "no such file" in clash.reason


def test_reports_every_clash_and_ignores_what_is_no_include(tmp_path: Path) -> None:
    write(tmp_path, "src/io/b.hpp")
    (tmp_path / "src/arith").mkdir()
    (tmp_path / "src/arith/a.cpp").write_text(
        '// #include "io/b.hpp"\n#include <vector>\n  #  include "io/b.hpp"\n\n#include "io/b.hpp"  // why\n'
    )
    assert [clash.line for clash in check.find_clashes(tmp_path)] == [3, 5]


def test_exit_status_and_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([str(tmp_path)]) == 2
    write(tmp_path, "src/io/b.hpp")
    assert check.main([str(tmp_path)]) == 0
    write(tmp_path, "src/arith/a.hpp", "io/b.hpp")
    assert check.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.endswith("check_includes: 2 files, 1 clashes\n")


def test_this_repository_is_clean() -> None:
    assert [str(clash) for clash in check.find_clashes(REPOSITORY)] == []
