"""Trained networks of files as encrypted programs. The packages onnx and torch are imported when
they are given one."""

from hemera.compiler.networks.graph import Graph, Node
from hemera.compiler.networks.reader import compile_module, compile_onnx

__all__ = ["Graph", "Node", "compile_module", "compile_onnx"]
