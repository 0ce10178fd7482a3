"""The progress of a command through its stages."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class StageProgress:
    """Shows the stage that begins: in a bar on a terminal, in a line elsewhere."""

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
        self._stage = ""

    def __call__(self, stage: str, done: int | None = None) -> None:
        """Begin a stage. `done`: the number of stages before it; None: one more than at the last call."""
        self._done = self._done + 1 if done is None else done
        if self._bar.disable and (done is None or stage != self._stage):
            print(stage, file=sys.stderr, flush=True)
        self._stage = stage
        self._bar.update(self._task, completed=self._done, description=stage)

    def describe(self, text: str) -> None:
        """Show a step within the stage, on a terminal alone."""
        self._bar.update(self._task, description=text)

    def __enter__(self) -> StageProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
