#!/usr/bin/env python3
"""Emits HEIR's examples as programs for Hemera: into a folder, of which tests/programs has six.

With a HEIR that has the patches:

    emit_examples.py --heir SOURCE_OF_HEIR --heir-opt heir-opt --heir-translate heir-translate --out FOLDER

With programs of heir_py, and a build of the patches' passes and emitter alone in place of a whole HEIR:

    emit_examples.py --heir SOURCE_OF_HEIR --heir-opt heir-opt --hemera-opt OPT --heir-translate TRANSLATE \
        --out FOLDER
"""

from __future__ import annotations

import argparse
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Example:
    """One of HEIR's examples: its source and the flags of its BUILD file, for this back end."""

    name: str
    source: str
    scheme: str
    flags: tuple[str, ...] = ()  # from the source to the scheme; empty: the source is in the hemera dialect
    configure: tuple[str, ...] = ()  # options of the context
    debug: tuple[str, ...] = ()


def common(name: str, file: str, scheme: str, flags: str, **other: tuple[str, ...]) -> Example:
    """An example whose source is shared by HEIR's back ends."""
    return Example(name, f"tests/Examples/common/{file}.mlir", scheme, (flags,), **other)


def ckks(name: str, flags: str, *before: str, **other: tuple[str, ...]) -> Example:
    """An example whose source stands with those of OpenFHE's back end."""
    file = name.split("/")[-1]
    return Example(file, f"tests/Examples/openfhe/ckks/{name}/{file}.mlir", "ckks", (*before, flags), **other)


def own(name: str, scheme: str) -> Example:
    """An example in a back end's own dialect, which the patch has in Hemera's."""
    folder = "ckks" if scheme == "ckks" else "bgv"
    return Example(name, f"tests/Examples/hemera/{folder}/{name}.mlir", scheme)


after_every_op = ("--lwe-add-debug-port=insert-debug-after-every-op=true",)

# Slots are 1024 where OpenFHE's examples have 8192: masks, which are constants, are shorter then.
EXAMPLES = [
    common("bfv_dot_product_8", "dot_product_8", "bfv", "--mlir-to-bfv=min-slot-count=1024"),
    common(
        "bfv_dot_product_8_debug",
        "dot_product_8",
        "bfv",
        "--mlir-to-bfv=min-slot-count=1024",
        debug=after_every_op,
    ),
    own("binops", "bgv"),
    common(
        "box_blur",
        "box_blur_16x16",
        "bgv",
        "--mlir-to-bgv=plaintext-modulus=786433 unroll-fhe-kernel-loops=true",
    ),
    own("ciphertext_plaintext_ops", "bgv"),
    common("cmux", "cmux", "bgv", "--mlir-to-bgv"),
    common("bgv_dot_product_8", "dot_product_8", "bgv", "--mlir-to-bgv=min-slot-count=1024"),
    common(
        "bgv_dot_product_8_debug",
        "dot_product_8",
        "bgv",
        "--mlir-to-bgv=min-slot-count=1024",
        debug=after_every_op,
    ),
    common(
        "bgv_dot_product_8_sk",
        "dot_product_8",
        "bgv",
        "--mlir-to-bgv=min-slot-count=1024 use-public-key=false",
    ),
    common(
        "roberts_cross",
        "roberts_cross_16x16",
        "bgv",
        "--mlir-to-bgv=min-slot-count=4096 plaintext-modulus=536903681 unroll-fhe-kernel-loops=true",
    ),
    common(
        "simple_sum", "simple_sum", "bgv", "--mlir-to-bgv=min-slot-count=1024 unroll-fhe-kernel-loops=true"
    ),
    common(
        "batch_matmul",
        "batch_matmul",
        "ckks",
        "--mlir-to-ckks=min-slot-count=4096 greedy-level-budget=10 first-mod-bits=60 scaling-mod-bits=50",
    ),
    ckks("batchnorm_sigmoid", "--mlir-to-ckks=min-slot-count=1024", "--activation-canonicalizations"),
    common("bicyclic_matmul", "bicyclic_matmul", "ckks", "--mlir-to-ckks=min-slot-count=2048"),
    common("bicyclic_matmul_pt", "bicyclic_matmul_pt", "ckks", "--mlir-to-ckks=min-slot-count=2048"),
    ckks("conv_1d", "--mlir-to-ckks=min-slot-count=32"),
    ckks("conv_2d", "--mlir-to-ckks=min-slot-count=32"),
    ckks("convolution", "--torch-linalg-to-ckks=min-slot-count=1024"),
    ckks("custom_arithmetization", "--mlir-to-ckks=min-slot-count=16 enable-arithmetization=false"),
    Example(
        "validate_lower",
        "tests/Examples/openfhe/ckks/debug_validate/validate_lower.mlir",
        "ckks",
        ("--mlir-to-ckks=min-slot-count=8",),
        debug=("--lwe-add-debug-port",),
    ),
    common("dot_product_8f", "dot_product_8f", "ckks", "--mlir-to-ckks=min-slot-count=1024"),
    common(
        "dot_product_8f_debug",
        "dot_product_8f",
        "ckks",
        "--mlir-to-ckks=min-slot-count=8",
        debug=after_every_op,
    ),
    common("matvec", "matvec", "ckks", "--torch-linalg-to-ckks=min-slot-count=1024"),
    common(
        "loop",
        "loop",
        "ckks",
        "--mlir-to-ckks=min-slot-count=8 scaling-mod-bits=40 first-mod-bits=60 greedy-level-budget=3 "
        "greedy-modulus-switch-after-mul=true",
        configure=("bootstrap=test-40", "insecure=true", "bootstrap-magnitude=8"),
        debug=after_every_op,
    ),
    # Their 24 bits of scale are what a network bears; here it has 40.
    common(
        "mnist",
        "mnist/mnist",
        "ckks",
        "--torch-linalg-to-ckks=min-slot-count=4096 greedy-level-budget=8 "
        "greedy-modulus-switch-after-mul=true "
        "first-mod-bits=30 scaling-mod-bits=24",
        configure=("scaling-mod-size=40", "first-mod-size=60"),
    ),
    own("rotations", "ckks"),
    own("parallel_rotations", "ckks"),
    own("simple_ckks_bootstrapping", "ckks"),
    Example(
        "chained_matmul",
        "tests/Examples/openfhe/ckks/rotom/chained_matmul/chained_matmul.mlir",
        "ckks",
        ("--mlir-to-ckks=min-slot-count=4096 enable-arithmetization=false scaling-mod-bits=45",),
    ),
    Example("ext_const", "tests/Examples/openfhe/ext_const/ext_const.mlir", "bgv"),
]


def run(command: list[str], text: str | None = None) -> str:
    """The standard output of a program."""
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def numbered(program: str) -> str:
    """A program whose layout functions have numbers in the place of hashes, which differ from run to run."""
    names = list(dict.fromkeys(re.findall(r"_assign_layout_\d+", program)))
    return re.sub(r"_assign_layout_\d+", lambda match: f"_assign_layout_{names.index(match[0])}", program)


def emit(example: Example, options: argparse.Namespace) -> None:
    """Writes one program: its source and its header."""
    to_scheme: list[str] = []
    if example.flags:
        # An unpatched HEIR plans for a library that manages levels itself by this name.
        backend = "openfhe" if options.hemera_opt else "hemera"
        to_scheme = [f"--annotate-module=backend={backend} scheme={example.scheme}"]
        if example.name == "loop":
            to_scheme.append("--apply-config-override=config=bootstrapLevelsConsumed=0")
        to_scheme += [*example.flags, "--canonicalize", "--bgv-to-lwe", "--ckks-to-lwe", *example.debug]
    to_hemera = ["--lwe-to-hemera", "--preprocessing-to-hemera", "--canonicalize", "--cse"]
    if example.flags:
        to_hemera.append(f"--hemera-configure-crypto-context={' '.join(example.configure)}")
    to_hemera += ["--hemera-hoist-rotations", "--canonicalize", "--cse", "--symbol-dce"]
    source = str(options.heir / example.source)
    if options.hemera_opt:
        if to_scheme:
            # The generic form is the one that two versions of MLIR share.
            program = run([options.heir_opt, *to_scheme, "--mlir-print-op-generic", source])
            source = "-"
        else:
            program = None
        program = run([options.hemera_opt, "--allow-unregistered-dialect", *to_hemera, source], program)
    else:
        program = run([options.heir_opt, *to_scheme, *to_hemera, source])
    translate = [options.heir_translate, "--allow-unregistered-dialect", "-"]
    for flag, suffix in (("--emit-hemera", ".cpp"), ("--emit-hemera-header", ".hpp")):
        text = run([*translate, flag], numbered(program))
        (options.out / (example.name + suffix)).write_text(re.sub(r"[ \t]+\n", "\n", text))


def main() -> None:
    """Emits the named examples, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="examples; none: all")
    parser.add_argument("--heir", type=Path, required=True, help="a checkout of HEIR with the patch")
    parser.add_argument("--heir-opt", required=True)
    parser.add_argument("--heir-translate", required=True)
    parser.add_argument("--hemera-opt", help="the patch's passes, where heir-opt lacks them")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the programs")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for example in EXAMPLES:
        if not options.names or example.name in options.names:
            print(example.name, flush=True)
            emit(example, options)


if __name__ == "__main__":
    main()
