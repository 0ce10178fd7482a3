"""What the package asks of the machine, the terminal and the folders of files, against the system's words."""

import functools
import os
import re
import stat
import threading
from pathlib import Path
from types import ModuleType

import pytest

from hemera import _files, _machine
from hemera.cli import main
from hemera.errors import FileError

from .beside import together
from .refusals import raises, refuse


def test_memory_is_all_that_the_machine_has():
    """Not what is free now; or that of the control group."""
    total = re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    assert total is not None
    group = Path("/sys/fs/cgroup/memory.max")
    given = group.read_text().strip() if group.exists() else "max"
    wanted = min(1024 * int(total[1]), int(given) if given != "max" else 1 << 62)
    assert _machine.memory_bytes() == pytest.approx(wanted, rel=0.01)


@pytest.mark.parametrize(
    ("limit", "wanted"), [("max", 4096 * 1000), ("4000000", 4000000), ("5000000", 4096 * 1000)]
)
def test_memory_of_a_control_group(limit, wanted, monkeypatch):
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}.__getitem__)
    files = {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": limit}
    monkeypatch.setattr(Path, "read_text", lambda path, **_: files[str(path)])
    assert _machine.memory_bytes() == wanted


@pytest.mark.parametrize(
    ("end", "status", "told"),
    [
        (0, 0, ""),
        (7, 7, ""),
        (FileError("no file: give one"), 1, "hemera: no file: give one\n"),
        (OSError(28, "No space left", "/a/b"), 1, "hemera: cannot use /a/b: No space left\n"),
        (BrokenPipeError(32, "Broken pipe"), 1, "hemera: Broken pipe\n"),
        (KeyboardInterrupt(), 130, "hemera: interrupted\n"),
    ],
    ids=repr,
)
def test_exits_of_commands(end, status, told, capsys):
    def run(options):
        assert options.of == "it"
        if isinstance(end, int):
            return end
        raise end

    command = ModuleType("command", "What it does.\n\nMore.")
    command.run, command.add_arguments = run, lambda parser: parser.add_argument("of")
    assert main(["own", "it"], commands={"own": command}) == status
    assert capsys.readouterr() == ("", told)


def modes(folder):
    return {str(each.relative_to(folder)): stat.S_IMODE(each.stat().st_mode) for each in folder.rglob("*")}


def test_files_and_folders_are_for_their_owner_alone(tmp_path):
    """Whatever the mask of the process."""
    mask = os.umask(0)
    try:
        _files.write_atomically(tmp_path / "a" / "one", b"1")
        _files.write_atomically(tmp_path / "a" / "two", b"2", replace=False)
        _files.write_files(tmp_path / "b", {"x": b"3", "y": b"4"})
        _files.write_files(tmp_path / "c", {"x": b"5"})
        with _files.locked(tmp_path / "d" / "lock", wait=True):
            pass
    finally:
        os.umask(mask)
    whole, folder = 0o600, 0o700
    assert modes(tmp_path) == {
        **dict.fromkeys(("a", "b", "d"), folder),
        **dict.fromkeys(("a/one", "a/two", "b/x.hemera", "b/y.hemera", "c", "d/lock"), whole),
    }
    assert _files.read_files(tmp_path / "b", ["z"]) == {"x": b"3", "y": b"4"}
    assert _files.read_files(tmp_path / "c", ["z"]) == {"z": b"5"}


@pytest.mark.parametrize(
    "names",
    [["x", "y"], ["x.0", "x.1"], ["x", "x.0", "x.0.1"], ["x.hemera", "x"], [".x", ".y"], ["é.", "b c.d"]],
    ids=" ".join,
)
def test_files_of_a_request_keep_their_names(names, tmp_path):
    """Names of the parts of large arrays have points; only what follows the last one of a file is no name."""
    files = {name: name.encode() for name in names}
    _files.write_files(tmp_path / "all", files)
    written = list((tmp_path / "all").iterdir())
    assert {each.name for each in written} == {f"{name}.hemera" for name in names}
    others = [".DS_Store", "._x.hemera", ".x.hemera.swp", ".directory.hemera", ".0123456789abcdef"]
    for other in others:
        (tmp_path / "all" / other).write_bytes(b"another program's")
    (tmp_path / "all" / ".git").mkdir()
    assert _files.read_files(tmp_path / "all", names) == files
    for each in written:
        each.rename(each.with_suffix(".bin"))
    assert _files.read_files(tmp_path / "all", names) == files
    written[0].with_suffix(".hemera~").write_bytes(b"an older one")
    raises(FileError, r"\.bin and .*\.hemera~ are both ", lambda: _files.read_files(tmp_path / "all", names))
    for name, data in files.items():
        _files.write_files(tmp_path / name, {name: data})
        assert _files.read_files(tmp_path / name, ["single"]) == {"single": data}


@pytest.mark.parametrize("length", [240, 248, 249])
def test_names_are_as_long_as_files_can_have_them(length, tmp_path):
    """255 bytes, of which ".hemera" has 7."""
    files = {"x" * length: b"1", "é" * 124: b"2"}
    if length > 248:
        with pytest.raises(FileError, match=r"name too long, of 256 bytes; .* take 255"):
            _files.write_files(tmp_path / "all", files)
        assert not [each for each in tmp_path.rglob("*") if each.is_file()]
        return
    _files.write_files(tmp_path / "all", files)
    assert _files.read_files(tmp_path / "all", []) == files


@pytest.mark.parametrize("name", ["../x", "{}/x", "a/b", "x/", "", "x\0", "x" * 256])
def test_no_name_leaves_the_folder(name, tmp_path):
    """Names are those of a model's description, which a stranger may have written."""
    name = name.format(tmp_path)
    with pytest.raises(FileError, match="cannot write "):
        _files.write_files(tmp_path / "in" / "all", {name: b"1", "y": b"2"})
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]
    _files.write_files(tmp_path / "one", {name: b"1"})  # a single file has the path's name
    assert _files.read_files(tmp_path / "one", [name]) == {name: b"1"}


def test_a_file_is_replaced_or_kept(tmp_path):
    path = tmp_path / "file"
    assert _files.which_file(path) is None
    seen = []
    for data in (b"one", b"two"):
        _files.write_atomically(path, data)
        assert path.read_bytes() == data
        seen.append(_files.which_file(path))
    assert seen[0] != seen[1] == _files.which_file(path)
    with pytest.raises(FileExistsError, match=r"there is a file .*file already"):
        _files.write_atomically(path, b"three", replace=False)
    assert path.read_bytes() == b"two"
    refuse((lambda: _files.write_atomically(path / "below", b""), FileError, r"cannot write .*below: "))
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_of_several_who_keep_a_file_one_writes_it(tmp_path):
    won, barrier = [], threading.Barrier(4, timeout=30)

    def write(own):
        barrier.wait()
        try:
            _files.write_atomically(tmp_path / "file", own, replace=False)
        except FileExistsError:
            return
        won.append(own)

    together(*(functools.partial(write, bytes([i])) for i in range(4)))
    assert ([(tmp_path / "file").read_bytes()], len(list(tmp_path.iterdir()))) == (won, 1)


def test_a_lock_is_one_ones_until_its_block_ends(tmp_path):
    path = tmp_path / "lock"
    for _ in range(2):
        with _files.locked(path, wait=False), pytest.raises(BlockingIOError), _files.locked(path, wait=False):
            raise AssertionError("two have it")
    with pytest.raises(KeyError), _files.locked(path, wait=False):
        raise KeyError
    with _files.locked(path, wait=False):
        pass
