"""A client's secret key is rotated: answers and requests under the old key are read, and computed, under the
new one. NumPy judges."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera._files import read_files, write_files
from hemera.errors import MismatchError, SecurityError
from hemera.package.local_model import LocalModel
from hemera.package.rotation import reencrypted
from hemera.package.sharing import Sharing
from hemera.serving import Package, export

from ..refusals import raises
from .conftest import expected
from .test_named_files import ANY, ROWS, Files, run


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def secret_of(files: Files) -> bytes:
    (path,) = files.own.glob("secret-*")
    return path.read_bytes()


def rotate(files: Files, told: Path, to: Path) -> int:
    return run("client", "rotate", told, to, "--folder", files.own, *ANY)


def test_answers_and_requests_of_the_old_key_are_of_the_new_one(package: Package, files: Files) -> None:
    model, told = files.describe(package, "scores")
    files.encrypt(told, ROWS)
    assert files.compute(model) == 0
    kept, asked, secrets = files.answer.read_bytes(), files.request.read_bytes(), {secret_of(files)}
    for number in (1, 2):  # the second turns what the first has turned
        assert rotate(files, told, switching := files.switching.with_suffix(f".{number}")) == 0
        secrets.add(secret_of(files))
        assert len(secrets) == number + 1
        files.answer.write_bytes(kept)
        assert files.decrypt(told, len(ROWS)) == 1, "the old key is gone"
        assert run("client", "reencrypt", told, switching, files.answer, files.answer) == 0
        assert files.decrypt(told, len(ROWS)) == 0
        np.testing.assert_allclose(np.loadtxt(files.results, delimiter=","), expected(ROWS), atol=1e-4)
        kept = files.answer.read_bytes()
        files.request.write_bytes(asked)
        assert run("client", "reencrypt", told, switching, files.request, files.request) == 0
        asked = files.request.read_bytes()
    assert run("client", "keys", told, files.keys, "--folder", files.own, *ANY) == 0
    assert files.compute(model) == 0
    assert files.decrypt(told, len(ROWS)) == 0
    np.testing.assert_allclose(np.loadtxt(files.results, delimiter=","), expected(ROWS), atol=1e-4)


def test_rotation_with_128_bits_of_security(files: Files) -> None:
    weights, rows = np.linspace(-1, 1, 24).reshape(8, 3), np.random.default_rng(2).uniform(-1, 1, (5, 8))
    made = hm.compile(lambda x: x @ weights, hm.ArraySpec(8, range=(-1, 1)), samples=8, name="scores")
    model, told = files.describe(made.package, "scores")
    np.savetxt(files.rows, rows, delimiter=",")
    for words in (("keys", files.keys), ("encrypt", files.rows, files.request), ("rotate", files.switching)):
        assert run("client", words[0], told, *words[1:], "--folder", files.own) == 0
        assert words[0] != "encrypt" or files.compute(model) == 0
    assert run("client", "reencrypt", told, files.switching, files.answer, files.answer) == 0
    assert files.decrypt(told, len(rows)) == 0
    np.testing.assert_allclose(np.loadtxt(files.results, delimiter=","), rows @ weights, atol=1e-4)


def test_all_files_of_an_exact_answer_are_turned(files: Files) -> None:
    params = hm.bfv.Parameters.from_bits(
        degree=1024, plain_modulus=12289, prime_bits=[45, 45], special_bits=[49], security=None
    )
    package = export(lambda x, y: {"product": x * y, "sum": x + y}, inputs=[4, 4], name="both", params=params)
    model, told = files.describe(package, "both")
    x, y = np.random.default_rng(1).integers(0, 70, (2, 4))
    assert run("client", "keys", told, files.keys, "--folder", files.own, *ANY) == 0
    local = LocalModel(package.interface, folder=files.own, security=None)
    arrays, _ = local.encode([x, y])
    write_files(files.request, local.encrypt(arrays))
    assert files.compute(model) == 0
    assert rotate(files, told, files.switching) == 0
    assert run("client", "reencrypt", told, files.switching, files.answer, files.turned) == 0
    local = LocalModel(package.interface, folder=files.own, security=None)
    found = local.decrypt(read_files(files.turned, ["product", "sum"]))
    for values, wanted in zip(found, (x * y, x + y), strict=True):
        np.testing.assert_array_equal(values[0][:4], wanted)


def test_a_rotation_that_fails_leaves_the_secret_key(
    package: Package, files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    _, told = files.describe(package, "scores")
    files.encrypt(told, ROWS)
    before = secret_of(files)
    files.switching.write_bytes(b"another")
    assert rotate(files, told, files.switching) == 1
    assert "name a new one" in capsys.readouterr().err
    assert rotate(files, told, files.switching / "below") == 1
    assert run("client", "rotate", told, files.other, "--folder", files.own) == 1
    assert "security" in capsys.readouterr().err
    assert secret_of(files) == before
    assert files.switching.read_bytes() == b"another"
    assert not files.other.exists()


def test_what_can_not_be_turned_is_refused(package: Package, files: Files) -> None:
    _, told = files.describe(package, "scores")
    files.encrypt(told, ROWS)
    assert rotate(files, told, files.switching) == 0
    interface, request = package.interface, {"x": files.request.read_bytes()}
    raises(MismatchError, "switching key is needed", reencrypted, interface, files.keys, request)
    with pytest.raises(MismatchError, match="no ciphertext"):
        reencrypted(interface, files.switching, {"x": files.keys.read_bytes()})
    shared: Any = dataclasses.replace(interface, sharing=Sharing((0.1,), 1))
    raises(SecurityError, "shown to others", reencrypted, shared, files.switching, request)
