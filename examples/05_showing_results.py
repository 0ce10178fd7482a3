"""Results that others will see: what the noise of a CKKS decryption tells must be hidden first."""

import numpy as np

import hemera as hm

# Scores of 4096 people from two measurements, to be shown to each of them: 0.5 + 0.4 a - 0.3 a b.
random = np.random.default_rng(5)
a, b = random.uniform(-1, 1, (2, 4096))
scores = 0.5 + 0.4 * a - 0.3 * a * b

# Room for 40 statistical bits, and for ten results that will ever be shown.
params = hm.ckks.Parameters.for_circuit(depth=2, slots=4096, largest=2, sharing_bits=40, shares=10)
print(f"scale 2^{np.log2(params.scale):.0f}, N = {params.degree}, {params.log_modulus:.0f} bits in all")
context = hm.Context(params)
secret_key = context.generate_secret_key()
keys = context.generate_keys(secret_key, public_key=False)

# The computing side.
x, y = context.bind(keys).bind(context.encrypt(np.stack([a, b]), secret_key))
result = (0.5 + 0.4 * x - 0.3 * (x * y)).shrink()

# The owner. The bound follows from the circuit, never from the data.
bound = context.noise_bound(depth=2, terms=3)
shown = context.decrypt_for_sharing(result, secret_key, noise_bound=bound, shares=10)
print("shown:", hm.ckks.precision(shown, scores))
assert np.abs(shown - scores).max() < 1e-2

# The same again gives the same values: repeating the question tells nothing new.
again = context.decrypt_for_sharing(result, secret_key, noise_bound=bound, shares=10)
assert np.array_equal(again, shown)

# Parameters that were not made for it have no room.
plain = hm.Context(hm.ckks.Parameters.for_circuit(depth=1, slots=4096, largest=2))
key = plain.generate_secret_key()
try:
    plain.decrypt_for_sharing(plain.encrypt(a, key), key, noise_bound=plain.noise_bound(depth=0))
except hm.errors.NoiseError as error:
    print("refused:", error)
