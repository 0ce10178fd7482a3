"""Programs on top of Hemera: the demo, applications on encrypted data, and benchmarks.

docs/applications.md and docs/command-line.md describe them.
"""
