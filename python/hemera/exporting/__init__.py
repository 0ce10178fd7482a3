"""Packages of functions on encrypted rows and of trees; `hemera.compile` is the general way."""
