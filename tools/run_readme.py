"""Runs the README's Python programs with the installed hemera: python tools/run_readme.py README.md"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy

import hemera

programs = re.findall(r"^```python\n(.*?)^```", Path(sys.argv[1]).read_text(encoding="utf-8"), re.M | re.S)
if not programs:
    sys.exit(f"{sys.argv[1]} has no programs")
names: dict[str, Any] = {}
for program in programs:
    exec(program, names)
print(f"hemera {hemera.__version__} of {Path(hemera.__file__).parent}, with NumPy {numpy.__version__}")
