"""Programs that are made with Hemera: the demo, finished applications on encrypted data, and benchmarks.

docs/applications.md and docs/command-line.md describe them.
"""
