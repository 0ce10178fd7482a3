"""Bits of security of learning with errors with ternary secrets of fixed weight: lines of estimates.jsonl.

    estimate.py ATTACK LOG_DEGREE WEIGHT LOG_MODULUS [--model ADPS16] [--seconds 600] [--direct] [--blocks]

prints one line of JSON for one attack. Weight 0 is a uniform ternary secret. With --blocks the secret is
binary in `weight` blocks of equal length with a single 1 in each. The estimator is that of
M. Albrecht, R. Player and S. Scott ("On the concrete hardness of learning with errors", 2015/046), which is
not part of this repository. It needs Sage, which a virtual environment may have from PyPI:

    python3.11 -m venv sage && sage/bin/pip install passagemath-standard==10.8.13
    git clone https://github.com/malb/lattice-estimator && git -C lattice-estimator checkout 27a581bb
    PYTHONPATH=lattice-estimator sage/bin/python estimate.py bdd_mitm 16 32 126

Costs come from the estimator's own functions (PrimalHybrid.cost, DualHybrid.cost). What is replaced is its
search, which is slow at these degrees and can stop early (README.md has a case): here it is a grid over the
guessed positions and the block size, then steps downhill that become finer. --direct calls the estimator's
own search instead.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import sage.all
from estimator import LWE, ND, RC
from estimator.cost import Cost
from estimator.lwe_dual import DualHybrid, dual_hybrid
from estimator.lwe_guess import MITM, exhaustive_search, mitm
from estimator.lwe_primal import PrimalHybrid
from estimator.prob import amplify, guessing_set_and_hit_probability
from estimator.reduction import delta as deltaf

VERSION = "27a581bb (2026-06-06)"
SIGMA = 3.19
# Attacks of the estimator by search: (Babai's nearest plane, meet in the middle) of the primal ones.
PRIMAL = {"bdd_hybrid": (False, False), "bdd_mitm": (True, True), "bdd_mitm_optimistic": (False, True)}
DUAL = {"dual_hybrid": exhaustive_search, "dual_mitm": partial(mitm, optimization="analytical")}
# Not attacks: a primal hybrid that searches S candidates in S^exponent steps without ever missing.
WHAT_IF = {"what_if_cube_root": 1 / 3, "what_if_fourth_root": 1 / 4}
DIRECT = {
    "usvp": partial(LWE.primal_usvp, red_shape_model="gsa"),
    "bdd_hybrid": partial(LWE.primal_hybrid, mitm=False, babai=False, red_shape_model="gsa"),
    "bdd_mitm": partial(LWE.primal_hybrid, mitm=True, babai=True, red_shape_model="gsa"),
    "dual_hybrid": dual_hybrid,
    "dual_mitm": partial(dual_hybrid, mitm_optimization=True),
}
# Guesses of more non-zero coefficients are tried until this many in a row are worse.
PATIENCE = 4


class Found(NamedTuple):
    bits: float
    at: dict[str, int]


NOTHING = Found(math.inf, {})


class Guess(NamedTuple):
    """What an attack tries for the guessed positions: log2 of the values, and how probably one is right."""

    log_space: float
    probability: float
    at: dict[str, int]


def problem(log_degree: int, weight: int, log_modulus: int, blocks: bool) -> Any:
    degree = 2**log_degree
    if blocks:
        # That each block sums to 1 takes a dimension for each: "perfect hints" (2020/292).
        degree -= weight
        secret = ND.SparseTernary(weight, 0, degree)
    else:
        secret = ND.SparseTernary(weight // 2, weight // 2, degree) if weight else ND.UniformMod(3)
    lwe = LWE.Parameters(n=degree, q=2**log_modulus, Xs=secret, Xe=ND.DiscreteGaussian(SIGMA), m=2 * degree)
    return lwe.normalize()


def log2(x: Any) -> float:
    return math.inf if x == sage.all.oo else float(sage.all.log(sage.all.RR(x), 2))


def best_of(costs: Any) -> Found:
    """The cheapest of (bits, parameters) in an order that first gets cheaper, then dearer."""
    best, worse = NOTHING, 0
    for found in costs:
        if found.bits < best.bits:
            best, worse = found, 0
        elif best.bits < math.inf:
            worse += 1
            if worse == PATIENCE:
                break
    return best


def guesses_anywhere(lwe: Any, zeta: int) -> Iterator[Guess]:
    """Guesses of `zeta` positions by their most non-zero coefficients, which may be anywhere."""
    weight = lwe.Xs.hamming_weight
    for guessed in range(max(0, zeta - lwe.n + weight), min(weight, zeta) + 1):
        space, probability = guessing_set_and_hit_probability(zeta, lwe.Xs, guessed)
        yield Guess(math.log2(int(space)), float(probability), {"guessed_weight": guessed})


def guesses_in_blocks(lwe: Any, zeta: int, whole: int) -> Iterator[Guess]:
    """The same of blocks with a 1 in each: `whole` blocks are guessed whole, which never misses, and the same
    share of each other one, where at most so many 1s are."""
    weight = lwe.Xs.hamming_weight
    length = lwe.n / weight + 1  # hints have taken a position of each
    others = weight - whole
    share = max(0.0, zeta - whole * (length - 1)) / (others * (length - 1)) if others else 0.0
    space = probability = 0.0
    for guessed in range(others + 1 if share else 1):
        ways = math.comb(others, guessed)
        space += ways * (share * length) ** guessed
        probability += ways * share**guessed * (1 - share) ** (others - guessed)
        at = {"whole_blocks": whole, "guessed_weight": guessed}
        yield Guess(whole * math.log2(length) + math.log2(space), probability, at)


def best_guess(cost: Any, lwe: Any, blocks: bool, zeta: int) -> Found:
    """The cheapest of all guesses of `zeta` positions, of which `cost` gives the bits."""

    def found(guesses: Iterator[Guess]) -> Found:
        return best_of(Found(cost(guess), guess.at) for guess in guesses)

    if not blocks:
        return found(guesses_anywhere(lwe, zeta))
    most = min(lwe.Xs.hamming_weight, int(zeta / (lwe.n / lwe.Xs.hamming_weight)))
    return best_of(found(guesses_in_blocks(lwe, zeta, whole)) for whole in range(most + 1))


def primal(lwe: Any, model: Any, attack: str, blocks: bool, zeta: int, beta: int) -> Found:
    babai, meet = PRIMAL[attack]

    def bits(guess: Guess) -> float:
        cost = PrimalHybrid.cost(
            beta, lwe, zeta=zeta, babai=babai, mitm=meet, m=lwe.m + lwe.n, red_shape_model="gsa",
            red_cost_model=model, search_space=sage.all.RR(2) ** guess.log_space,
            hit_probability=sage.all.RR(guess.probability),
        )  # fmt: skip
        return log2(cost["rop"])

    best = best_guess(bits, lwe, blocks, zeta)
    return Found(best.bits, {"beta": beta, "zeta": zeta} | best.at)


def dual(lwe: Any, model: Any, attack: str, blocks: bool, zeta: int, beta: int) -> Found:
    # What repetitions multiply; the estimator's own search says so, too.
    Cost.register_impermanent(
        rop=True, mem=False, red=True, beta=False, delta=False, m=True, d=False, zeta=False, t=False, h1=False
    )
    weight = lwe.Xs.hamming_weight

    def costs() -> Any:
        for guessed in range(max(0, weight - (lwe.n - zeta)), min(zeta, weight)):
            try:
                cost = DualHybrid.cost(
                    solver=DUAL[attack],
                    params=lwe,
                    beta=beta,
                    zeta=zeta,
                    h1=guessed,
                    red_cost_model=model,
                    log_level=5,
                )
                bits = log2(cost["rop"])
            except (ValueError, ArithmeticError):  # no solution with these
                bits = math.inf
            yield Found(bits, {"beta": beta, "zeta": zeta, "guessed_weight": guessed})

    def bits_of_blocks(guess: Guess) -> float:
        """As DualHybrid.cost and its solvers, with the candidates of this guess."""
        guessed = guess.at["whole_blocks"] + guess.at["guessed_weight"]
        if guessed == weight or not guess.log_space:
            return math.inf
        rho = model.short_vectors(beta=beta, d=2 * beta)[0]
        solved, samples = DualHybrid.dual_reduce(deltaf(beta), lwe, zeta, guessed, rho, 0, log_level=6)
        if attack == "dual_mitm":
            found, noise = MITM().X_range(solved.Xe)
            left = 2 - float(found / solved.q)
            if left <= 0 or guess.log_space < 2 * left:  # all errors are possible; nothing is guessed
                return math.inf
            log_table = guess.log_space / left
            needed = round(log_table + math.log2(log_table))
            bits, repeated = float(needed), float(amplify(0.99, 0.99 * noise**needed))
        else:
            ratio = float(solved.Xe.stddev / solved.q)
            if ratio > 4:  # beyond any number of samples, and beyond doubles
                return math.inf
            needed = 8 * math.exp((2 * math.pi * ratio) ** 2) * (guess.log_space * math.log(2) + 5.3)
            bits, repeated = guess.log_space + 1 + math.log2(needed), 1.0
        if bits > 1000:
            return math.inf
        reduction = model.short_vectors(beta, samples + lwe.n - zeta, needed)[1]
        once = math.log2(2.0**bits * repeated + float(reduction))
        return once + math.log2(float(amplify(0.99, sage.all.RR(guess.probability))))

    if not blocks:
        return best_of(costs())
    best = best_guess(bits_of_blocks, lwe, blocks, zeta)
    return Found(best.bits, {"beta": beta, "zeta": zeta} | best.at)


def what_if(lwe: Any, model: Any, attack: str, blocks: bool, zeta: int, beta: int) -> Found:
    base = PrimalHybrid.beta_params(
        beta=beta, params=lwe, zeta=zeta, babai=True, mitm=False, m=lwe.m + lwe.n, red_shape_model="gsa",
        red_cost_model=model,
    )  # fmt: skip
    if len(base) == 1 or not zeta or not float(base["babai_probability"]) > 1e-250:
        return NOTHING

    def bits(guess: Guess) -> float:
        probability = guess.probability * float(base["babai_probability"])
        if probability <= 0:
            return math.inf
        search = float(base["svp_cost"]["rop"]) * 2.0 ** (WHAT_IF[attack] * guess.log_space)
        once = math.log2(float(base["bkz_cost"]["rop"]) + search)
        return once + math.log2(max(1.0, 4.6 / probability))  # 4.6: a success in 99 of 100

    best = best_guess(bits, lwe, blocks, zeta)
    return Found(best.bits, {"beta": beta, "zeta": zeta} | best.at)


def search(cost: Any, degree: int, weight: int, deadline: float) -> tuple[Found, bool]:
    """The cheapest (zeta, beta) found, and if the search came to its end before the deadline."""
    known: dict[tuple[int, int], Found] = {}

    def at(kept: float, beta: int) -> Found:
        point = (min(degree, round(kept)), beta)
        if point not in known and time.time() < deadline:
            known[point] = cost(zeta=degree - point[0], beta=beta)
        return known.get(point, NOTHING)

    if weight < 160:
        grid, betas = [degree / 2 ** (i / 4) for i in range(25)], (60, 100, 140, 190, 240, 300, 360)
    else:
        grid = [degree * x for x in (1, 0.97, 0.94, 0.9, 0.85, 0.8, 0.74, 0.67, 0.6, 0.5)]
        betas = (200, 230, 260, 290, 320, 350)
    for kept in grid:
        for beta in betas:
            at(kept, beta)
    kept, beta = min(known, key=lambda point: known[point].bits)
    for factor, step in ((1.1, 16), (1.05, 8), (1.02, 4), (1.008, 2), (1.003, 1)):
        moved = known[kept, beta].bits < math.inf
        while moved and time.time() < deadline:
            around = [
                (min(degree, round(kept * scale)), beta + shift)
                for scale in (1 / factor, 1, factor)
                for shift in (-step, 0, step)
                if beta + shift >= 40
            ]
            best = min(around, key=lambda point: at(*point).bits)
            moved = at(*best).bits < known[kept, beta].bits - 1e-9
            if moved:
                kept, beta = best
    return known[kept, beta], time.time() < deadline


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("attack", choices=sorted({*PRIMAL, *DUAL, *WHAT_IF, *DIRECT}))
    parser.add_argument("log_degree", type=int)
    parser.add_argument("weight", type=int)
    parser.add_argument("log_modulus", type=int)
    parser.add_argument("--model", default="MATZOV", help="cost of lattice reduction: a name of estimator.RC")
    parser.add_argument("--seconds", type=float, default=600, help="time limit of the search")
    parser.add_argument(
        "--direct", action="store_true", help="the estimator's own search, without a time limit"
    )
    parser.add_argument("--blocks", action="store_true", help="a binary secret with a 1 in each block")
    options = parser.parse_args()
    lwe = problem(options.log_degree, options.weight, options.log_modulus, options.blocks)
    model = getattr(RC, options.model)
    direct = options.direct or options.attack == "usvp"
    if direct and options.blocks and options.attack != "usvp":
        raise SystemExit("--direct knows no blocks")
    if direct:
        cost = DIRECT[options.attack](lwe, red_cost_model=model)
        found, complete = Found(log2(cost["rop"]), {}), True
    else:
        kind = primal if options.attack in PRIMAL else dual if options.attack in DUAL else what_if
        price = partial(kind, lwe, model, options.attack, options.blocks)
        found, complete = search(price, lwe.n, options.weight, time.time() + options.seconds)
    if found.bits == math.inf:
        raise SystemExit(f"{options.attack}: no solution found")
    line = {
        "log_degree": options.log_degree,
        "weight": options.weight,
        **({"blocks": True} if options.blocks else {}),
        "log_modulus": options.log_modulus,
        "sigma": SIGMA,
        "samples": 2 * 2**options.log_degree,
        "model": options.model,
        "attack": options.attack,
        "bits": round(found.bits, 1),
        "time_limit": not complete,
        "search": "direct" if direct else "grid",
        "estimator": VERSION,
    }
    print(json.dumps(line | ({"at": found.at} if found.at else {})), flush=True)


if __name__ == "__main__":
    main()
