"""Turns callers' arrays, numbers, files and arguments of any type into the core's types."""
