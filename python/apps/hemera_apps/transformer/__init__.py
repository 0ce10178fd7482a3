"""A block of BERT on encrypted inputs: tokens and inputs in the slots, a ciphertext for each feature.

- `clear`: shapes, random weights, and the block in NumPy, which is the judge.
- `layout`: where values lie in the slots.
- `approximations`: polynomials in place of the block's functions, and the levels of its steps.
- `attention`, `block`: the encrypted block.
- `single`: the block of one input, whose features lie side by side in the slots of few ciphertexts.
- `network`: blocks of one input one after the other, which classify it.
- `prepared`: either of them, with ranges, parameters, plans and keys.
"""
