"""Interfaces of other libraries on Hemera: programs written for them run with one changed import."""
