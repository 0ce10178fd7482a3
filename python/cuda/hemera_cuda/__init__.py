"""The CUDA backend of the package hemera: a library that hemera finds in this folder by its name.

Nothing here is imported or called; `hemera.devices()` lists the GPUs that it serves.
"""
