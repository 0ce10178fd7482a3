"""Exact computing without an end: products modulo 65537, one after the other, by BFV with bootstraps."""

from typing import Any

import numpy as np

import hemera as hm

# In every slot x <- x^2 + c modulo 65537, the step of Pollard's rho method.
T, STEPS = 65537, 12
params = hm.bfv.Parameters.for_bootstrapping("bfv11-test", plain_modulus=T)
print(f'"bfv11-test" is for tests, with a small ring: security {params.security}. "bfv16-32" is secure.')

# Budgets, keys and operations are known before anything is encrypted.
boot = hm.circuits.IntegerBootstrap(params)
print(boot.report())

# The client: the plan's keys beside the usual ones.
context = hm.Context(params)
secret_key = context.generate_secret_key()
keys = context.generate_keys(secret_key, plan=boot)

# The server: operands of products are bootstrapped by themselves, before their noise is too large for it.
server = context.bind(keys, bootstrap=boot, automatic=True)
c = np.random.default_rng(16).integers(0, T, params.max_slots)
shift = server.encrypt(c)
x, expected = shift, c
print("product  bootstraps  guaranteed and true budget, bits")
for step in range(1, STEPS + 1):
    x = x * x + shift
    expected = (expected**2 + c) % T
    true = context.noise_budget(x, secret_key)  # the client looks, to show it
    print(f"{step:7}  {server.bootstraps:10}  {x.guaranteed_noise_budget:.1f} and {true}")
    assert x.guaranteed_noise_budget <= true + 1
assert server.bootstraps >= 3

# A bootstrap by hand.
fresh = x.bootstrap()
print("bits again:", round(fresh.guaranteed_noise_budget, 1))

assert np.array_equal(context.decrypt(fresh, secret_key) % T, expected)
print("all", params.max_slots, "slots are exact")


# A compiled program has its bootstraps placed, and they are known before it runs: Conway's game of life.
def life(board: Any) -> Any:
    rule = [int(k == 3 or k in (11, 12)) for k in range(18)]
    for _ in range(2):
        near = sum(np.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1))
        index = near + 8 * board
        board = np.choose(index, rule)
    return board


small = hm.bfv.Parameters.for_bootstrapping("bfv11-test", plain_modulus=12289)  # the least with all slots
plan = hm.compile(life, hm.ArraySpec((8, 8), range=(0, 1)), scheme="bfv", params=small)
print("\n".join(plan.report("nvidia-h200").splitlines()[:2]))
board = np.random.default_rng(16).integers(0, 2, (8, 8))
found = plan.local()(board)
assert np.array_equal(found, life(board))
print("two generations are exact:", found.sum(), "cells live")
