"""Packages of functions on encrypted rows, linear models and trees; `hemera.compile` is the general way."""
