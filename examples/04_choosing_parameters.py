"""Choosing parameters: what depth, precision and security cost."""

import numpy as np

import hemera as hm

# Depth and precision decide the modulus, the modulus and the security decide the degree, and that the sizes.
print("depth scale      N   log2 QP  security  ciphertext  one key")
for depth, scale_bits in ((1, 30), (1, 40), (4, 40), (8, 40), (8, 50)):
    params = hm.ckks.Parameters.for_circuit(depth, scale_bits=scale_bits)
    print(
        f"{depth:5} {scale_bits:5} {params.degree:6} {params.log_modulus:9.1f}  {params.security:8} "
        f"{params.ciphertext_bytes / 2**20:8.2f} MiB {params.switching_key_bytes / 2**20:6.2f} MiB"
    )

# The precision that a scale gives, measured on a circuit of depth 2.
values = np.random.default_rng(4).uniform(-1, 1, 64)
for scale_bits in (30, 40, 48):
    context = hm.Context(hm.ckks.Parameters.for_circuit(2, scale_bits=scale_bits, slots=64))
    secret_key = context.generate_secret_key()
    x = context.bind(context.generate_keys(secret_key)).encrypt(values)
    print(f"scale 2^{scale_bits}:", hm.ckks.precision(context.decrypt(x**4, secret_key), values**4))

# Parameters weaker than 128 bits are refused; `security=None` accepts them, for experiments.
for security in (128, None):
    try:
        chain = hm.ckks.Parameters.from_bits(
            degree=4096, prime_bits=[40, 30, 30], special_bits=[40], scale_bits=30, security=security
        )
    except hm.errors.SecurityError as error:
        print("refused:", error)
    else:
        print("accepted:", chain)

# BFV and BGV: the plaintext modulus and the depth decide. The noise bound follows the circuit.
params_of_integers = hm.bgv.Parameters.for_circuit(depth=3, plain_bits=18)
context = hm.Context(params_of_integers)
secret_key = context.generate_secret_key()
x = context.bind(context.generate_keys(secret_key)).encrypt(np.arange(-5, 5))
for power in (1, 2, 4, 8):
    y = x**power
    print(
        f"x^{power}: noise budget {context.noise_budget(y, secret_key):.0f} bits, "
        f"of which {y.guaranteed_noise_budget:.1f} are sure without looking"
    )

# Keys for every rotation by itself, or fewer for its power-of-two steps.
steps = range(1, 9)
print("rotations by 1 to 8 need keys of at least", hm.rotations_needed(params_of_integers, steps))
