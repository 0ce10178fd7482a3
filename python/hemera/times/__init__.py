"""The times of computations on a device: tables of measurements, shipped and of this machine."""

from hemera.times.table import DeviceTimes, cache_folder, device_name, known_devices

__all__ = ["DeviceTimes", "cache_folder", "device_name", "known_devices"]
