"""Trained networks of files as encrypted programs. The package onnx is imported by `compile_onnx` alone."""

from hemera.compiler.networks.graph import Graph, Node
from hemera.compiler.networks.reader import compile_onnx

__all__ = ["Graph", "Node", "compile_onnx"]
