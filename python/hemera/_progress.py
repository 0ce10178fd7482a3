"""Progress of a command that goes through stages."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class StageProgress:
    """Tells the stage that begins: by a bar on a terminal, by a line elsewhere."""

    def __init__(self, stages: int) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=stages)
        self._done = -1

    def __call__(self, stage: str) -> None:
        self._done += 1
        if self._bar.disable:
            print(stage, file=sys.stderr, flush=True)
        self._bar.update(self._task, completed=self._done, description=stage)

    def __enter__(self) -> StageProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
