"""NVFlare's filters of homomorphic encryption, with three clients that train: the averages are NumPy's."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(
    importlib.util.find_spec("nvflare") is None,
    reason="NVFlare is not installed: tools/setup frameworks makes an environment with it",
)
def test_three_clients_train_and_the_server_adds_ciphertexts(tmp_path: Path) -> None:
    program = Path(__file__).with_name("nvflare_rounds.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [turn for turn, *_ in lines] == ["0", "1"]
    for _, error, all_encrypted, fits in lines:
        assert float(error) < 2**-24  # of weights of some units at a scale of 2^40
        assert (all_encrypted, fits) == ("True", "True")
