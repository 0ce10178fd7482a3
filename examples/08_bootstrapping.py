"""Computing without an end: a hundred products one after the other, by parameters with thirteen levels."""

import numpy as np

import hemera as hm

# z <- z^2 + c, with c in a disc where z stays below 1/2 for ever.
STEPS, SLOTS = 100, 64
random = np.random.default_rng(8)
c = 0.24 * np.sqrt(random.uniform(0, 1, SLOTS)) * np.exp(2j * np.pi * random.uniform(0, 1, SLOTS))
params = hm.ckks.Parameters.for_bootstrapping("test-40")
print(f'"test-40" is for tests, with a small ring: security {params.security}. "n16-40" is secure.')

# What a bootstrap gives is known before anything is encrypted.
boot = hm.circuits.Bootstrap(params, SLOTS)
print(boot.report())
mean_bits, worst_bits = boot.expected_precision()

# The client: the plan's keys beside the usual ones.
context = hm.Context(params)
secret_key = context.generate_secret_key()
keys = context.generate_keys(secret_key, plan=boot)

# The server: operands of products without a level are bootstrapped by themselves. Their values are at most 1.
server = context.bind(keys, bootstrap=boot, automatic=True, magnitude=1)
shift = server.encrypt(c)
z, expected = shift, c
bootstraps = 0
print("bootstraps  products  error")
for step in range(1, STEPS + 1):
    z = z * z + shift
    expected = expected**2 + c
    if server.bootstraps > bootstraps:  # the client looks, to show the error
        bootstraps = server.bootstraps
        error = np.abs(context.decrypt(z, secret_key, dtype=np.complex128) - expected).max()
        print(f"{bootstraps:10}  {step:8}  2^{np.log2(error):.1f}")
assert bootstraps == (STEPS - 1) // boot.levels_left

# A bootstrap by hand, for values that are in no product: sums take no level, so nothing bootstraps them.
fresh = server.at_level(shift, boot.input_level).bootstrap()
print("levels again:", fresh.level - boot.input_level)
shown = context.decrypt(fresh, secret_key, dtype=np.complex128)
print(hm.ckks.precision(shown, c), f"(expected: {worst_bits:.1f} and {mean_bits:.1f})")
assert np.abs(shown - c).max() < 2**-20

shown = context.decrypt(z, secret_key, dtype=np.complex128)
assert np.abs(shown - expected).max() < 2**-18
