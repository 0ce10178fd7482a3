"""Models as files, and their server and clients.

    import hemera as hm

    package = hm.serving.export(lambda x: x @ weights + 1, inputs=8, name="scores")
    package.save("scores.hemera-model")

docs/serving.md describes them.
"""

from hemera.client.remote_index import RemoteIndex
from hemera.exporting.function import export
from hemera.exporting.integers import export_integers
from hemera.exporting.linear import LinearModel
from hemera.package.interface import Interface
from hemera.package.package import Package
from hemera.package.prepared import PreparedModel
from hemera.package.specs import InputSpec, OutputSpec
from hemera.program.tracing import Symbol, dot
from hemera.serving.at_home import serve as serve  # not in __all__: plans have it as a method

__all__ = [
    "InputSpec",
    "Interface",
    "LinearModel",
    "OutputSpec",
    "Package",
    "PreparedModel",
    "RemoteIndex",
    "Symbol",
    "dot",
    "export",
    "export_integers",
]
