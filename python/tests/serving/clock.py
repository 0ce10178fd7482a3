"""A clock of tests."""

from __future__ import annotations

import asyncio


class Clock:
    """Goes forward when a test says so. `now`: seconds."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    async def forward(self, seconds: float) -> None:
        self.now += seconds
        for _ in range(3):  # what is due by now runs
            await asyncio.sleep(0)
