"""Models as files, and their server and clients.

    import hemera as hm

    package = hm.serving.export(lambda x: x @ weights + 1, inputs=8, name="scores")
    package.save("scores.hemera-model")

docs/serving.md describes them.
"""

from hemera.serving.exporting import export
from hemera.serving.interface import Interface
from hemera.serving.linear import LinearModel, export_linear
from hemera.serving.package import Package, PreparedModel
from hemera.serving.remote_comparisons import RemoteThresholdIndex, RemoteTopIndex
from hemera.serving.remote_index import RemoteIndex
from hemera.serving.specs import InputSpec, OutputSpec
from hemera.serving.tracing import Symbol, dot
from hemera.serving.trees import export_trees

__all__ = [
    "InputSpec",
    "Interface",
    "LinearModel",
    "OutputSpec",
    "Package",
    "PreparedModel",
    "RemoteIndex",
    "RemoteThresholdIndex",
    "RemoteTopIndex",
    "Symbol",
    "dot",
    "export",
    "export_linear",
    "export_trees",
]
