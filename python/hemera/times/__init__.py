"""The times of computations on a device: tables of measurements, shipped and of this machine."""

from hemera.times.table import DeviceTimes

__all__ = ["DeviceTimes"]
