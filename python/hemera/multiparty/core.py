"""The core, for its classes of groups: type checkers know them by the stub of a core that has them."""

from __future__ import annotations

from typing import Any

from hemera import _core

core: Any = _core
