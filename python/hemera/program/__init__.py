"""One program: its values, its operations with their keys and errors, and how a function becomes one.

It knows no layout of arrays, no file and no network.
"""
