"""Gradient-boosted trees on encrypted samples, with BFV: the command `hemera score-trees`.

`hemera.compile(model)` packages a model for servers and clients. docs/applications.md describes the circuit,
and what is hidden from whom.
"""
