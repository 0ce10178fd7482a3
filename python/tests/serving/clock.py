"""A clock of tests."""

import asyncio


class Clock:
    """Goes forward when a test says so. `now`: seconds."""

    def __init__(self, now=0.0):
        self.now = now

    def __call__(self):
        return self.now

    async def forward(self, seconds):
        self.now += seconds
        for _ in range(3):  # what is due by now runs
            await asyncio.sleep(0)
