"""A plugin of pytest for a machine with a GPU, `-p gpu_contexts`: contexts on "cpu" or "auto" are on the GPU.
Tests that are marked as stating facts of the CPU are left out. `make gpu-test` uses it."""

import functools

import pytest


def pytest_configure():
    from hemera.objects.context import Context

    make = Context.__init__

    @functools.wraps(make)
    def make_on_gpu(self, params, device="auto", *rest, **options):
        # Other multipliers are of the CPU alone.
        if device in ("cpu", "auto") and options.get("multiplier", "ntt") == "ntt":
            device = "cuda"
        make(self, params, device, *rest, **options)

    Context.__init__ = make_on_gpu


def pytest_collection_modifyitems(items):
    for item in items:
        mark = item.get_closest_marker("fact_of_the_cpu")
        if mark is not None:
            item.add_marker(pytest.mark.skip(reason=f"on a GPU: {mark.args[0]}"))
