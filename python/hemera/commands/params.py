"""Parameters for the needs of a circuit, with the reasons, and the sizes of ciphertexts and keys."""

from __future__ import annotations

import argparse
import math
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

import hemera
from hemera import _options
from hemera.integer_parameters import IntegerParameters
from hemera.parameters import Parameters, max_log_modulus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scheme", choices=("ckks", "bfv", "bgv"))
    parser.add_argument(
        "--depth", type=int, default=1, help="multiplications one after the other (default: 1)"
    )
    parser.add_argument("--scale-bits", type=int, help="CKKS: log2 of the scale (default: 40)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--range-bits", type=int, help="CKKS: bits of a result before the point (default: 20)")
    size.add_argument("--largest", type=float, help="CKKS: the largest magnitude of your values instead")
    parser.add_argument(
        "--sharing-bits", type=int, help="CKKS: statistical bits of results that others will see (default: 0)"
    )
    parser.add_argument(
        "--shares", type=_options.positive, help="CKKS: the number of results that will be shown (default: 1)"
    )
    plain = parser.add_mutually_exclusive_group()
    plain.add_argument("--plain-bits", type=int, help="BFV, BGV: bits of the plaintext modulus (default: 20)")
    plain.add_argument("--plain-modulus", type=int, help="BFV, BGV: the plaintext modulus itself")
    parser.add_argument("--terms", type=int, help="BFV, BGV: products added up after each multiplication")
    parser.add_argument("--slots", type=_options.positive, default=1, help="slots needed in one ciphertext")
    parser.add_argument("--degree", type=_options.positive, default=0, help="least degree N (default: any)")
    parser.add_argument("--digits", type=_options.positive, default=0, help="digits of key-switching")
    parser.add_argument(
        "--rotations", type=_options.integers, default=[], help="rotations that need keys, like 1,2,4"
    )
    parser.add_argument(
        "--security",
        choices=("128", "192", "256", "none"),
        default="128",
        help='the least bits of security (default: 128); "none" accepts weaker parameters',
    )
    parser.add_argument("--save", metavar="FILE", help="save the parameters to FILE")
    _options.add_json(parser, instead=True)


def run(options: argparse.Namespace) -> int:
    params = choose(options)
    if options.save:
        params.save(options.save)
    rotations = sorted({step for step in options.rotations if step % (params.degree // 2) != 0})
    reasons = explain(params, options)
    rows = weights(params, len(rotations))
    if options.json:
        _options.write_json(options.json, to_json(params, rotations, reasons, rows))
        return 0
    console = Console()
    console.print(params.describe(), markup=False, highlight=False)
    console.print("why", style="bold")
    lines = Table.grid(padding=(0, 1))
    for reason in reasons:
        lines.add_row(" -", Text(reason))
    console.print(lines)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("weights")
    table.add_column("in memory", justify="right")
    table.add_column("in a file", justify="right")
    for name, (memory, file) in rows.items():
        table.add_row(name, _options.size_text(memory), _options.size_text(file))
    console.print()
    console.print(table)
    if options.save:
        console.print(f"saved to {options.save}", markup=False, highlight=False)
    return 0


def choose(options: argparse.Namespace) -> Parameters:
    """The parameters for these options; ParameterError or SecurityError if there are none."""
    security = None if options.security == "none" else int(options.security)
    shared: dict[str, Any] = {
        "slots": options.slots,
        "degree": options.degree,
        "digits": options.digits,
        "security": security,
    }
    own = {
        "ckks": ("scale_bits", "range_bits", "largest", "sharing_bits", "shares"),
        "bfv": ("plain_bits", "plain_modulus", "terms"),
        "bgv": ("plain_bits", "plain_modulus", "terms"),
    }
    for name in (*own["ckks"], *own["bfv"]):
        value = getattr(options, name)
        if value is None:
            continue
        if name not in own[options.scheme]:
            option = "--" + name.replace("_", "-")
            raise hemera.errors.ParameterError(f"{option} is no option of {options.scheme.upper()}")
        shared[name] = value
    classes: dict[str, Any] = {
        "ckks": hemera.ckks.Parameters,
        "bfv": hemera.bfv.Parameters,
        "bgv": hemera.bgv.Parameters,
    }
    found: Parameters = classes[options.scheme].for_circuit(options.depth, **shared)
    return found


def explain(params: Parameters, options: argparse.Namespace) -> list[str]:
    """The reasons for these parameters, in sentences with numbers."""
    reasons = []
    if isinstance(params, hemera.ckks.Parameters):
        spare = ", and two to spare" if params.checks_range else ""
        reasons.append(
            f"The last level holds the scale and {params.range_bits} bits before the point{spare}: "
            f"{params.level_bits(0):.0f} bits. "
            + (
                f"Levels above it: {params.levels - 1}; each adds about "
                f"{math.log2(params.scale):.0f} bits for one multiplication."
                if params.levels > 1
                else "There is no level above it, and no multiplication."
            )
        )
        if options.sharing_bits:
            reasons.append(
                f"Results that others see need a scale of {math.log2(params.scale):.0f} bits in place of "
                f"{options.scale_bits or 40}: the noise that hides their errors takes the difference."
            )
    elif isinstance(params, IntegerParameters):
        reasons.append(
            f"Values are integers modulo t = {params.plain_modulus}, of {params.plain_modulus.bit_length()} "
            f"bits. With the noise bound of depth {options.depth} that takes "
            f"{params.level_bits(params.levels - 1):.0f} bits of ciphertext modulus."
        )
    digits = "1 digit" if len(params.digits) == 1 else f"{len(params.digits)} digits"
    special = sum(math.log2(prime) for prime in params.special_primes)
    reasons.append(
        f"Key-switching in {digits} takes special primes of {special:.0f} bits, at least the largest digit. "
        f"All primes together: {params.log_modulus:.1f} bits."
    )
    reasons.append(_why_degree(params, options))
    largest = max([*params.primes[-1], *params.special_primes])
    if largest < 1 << 50:
        reasons.append(
            "Every prime is below 2^50: such primes run fastest on AVX-512 IFMA and on GPUs with fast FP64."
        )
    else:
        reasons.append(
            f"Primes of up to {largest.bit_length()} bits were needed; only primes below 2^50 run fastest."
        )
    return reasons


def _why_degree(params: Parameters, options: argparse.Namespace) -> str:
    degree, bits = params.degree, 128 if options.security == "none" else int(options.security)
    limit, below = max_log_modulus(degree, bits), max_log_modulus(degree // 2, bits)
    found = f"N = {degree} allows {limit} bits at {bits}-bit security" if limit else f"N = {degree}"
    if options.security == "none" and (limit is None or params.log_modulus > limit):
        return f"{found}; these parameters exceed that, which --security none accepts."
    if below is None:
        return f"{found}; smaller degrees have no entry in the table."
    if params.log_modulus > below:
        return f"{found}, N = {degree // 2} only {below}."
    return f"{found}. So would N = {degree // 2}, but the required slots or degree need more."


def weights(params: Parameters, rotations: int) -> dict[str, tuple[int, int]]:
    """The bytes of each object in memory, and in a file (residues packed, uniform halves as seeds)."""
    top = set(params.primes[-1])
    public = top | set(params.special_primes[:1])
    every = {prime for base in params.primes for prime in base} | set(params.special_primes)
    # A key in memory is two polynomials a digit (or window of one) in words of 8 bytes.
    digits = params.switching_key_bytes // (16 * params.degree * len(every))
    half = params.degree * _bits(top) // 8
    key = digits * params.degree * _bits(every) // 8
    memory = params.switching_key_bytes
    rows = {
        "ciphertext, by the public key": (params.ciphertext_bytes, 2 * half),
        "ciphertext, by the secret key": (params.ciphertext_bytes, half),
        "public key": (16 * params.degree * len(public), params.degree * _bits(public) // 8),
        "relinearization key": (memory, key),
    }
    if rotations:
        rows[f"{rotations} rotation key{'s' if rotations > 1 else ''}"] = (
            rotations * memory,
            rotations * key,
        )
    return rows


def _bits(primes: set[int]) -> int:
    """The bits of one packed coefficient."""
    return sum(prime.bit_length() for prime in primes)


def to_json(
    params: Parameters, rotations: list[int], reasons: list[str], rows: dict[str, tuple[int, int]]
) -> dict[str, Any]:
    """Everything that the command prints, for programs."""
    return {
        "scheme": params.scheme,
        "degree": params.degree,
        "levels": params.primes,
        "special_primes": params.special_primes,
        "digits": params.digits,
        "plain_modulus": params.plain_modulus if isinstance(params, IntegerParameters) else None,
        "scale": params.scale if isinstance(params, hemera.ckks.Parameters) else None,
        "max_slots": params.max_slots,
        "log_modulus": params.log_modulus,
        "security": params.security,
        "security_bits": params.security_bits,
        "fingerprint": params.fingerprint,
        "rotations": rotations,
        "rotations_by_powers_of_two": hemera.rotations_needed(params, rotations),
        "why": reasons,
        "bytes": {name: {"memory": memory, "file": file} for name, (memory, file) in rows.items()},
    }
