"""A block of BERT on many encrypted inputs at once: tokens and inputs in the slots."""

# Hidden from the server: the inputs and the results. It has the weights.

import time

import hemera as hm
from hemera_apps.transformer.clear import Shape, clear_block, random_inputs
from hemera_apps.transformer.prepared import PreparedBlock, Settings
from hemera_apps.transformer.stages import Stages, agreement

# A small block on a small ring that is NOT secure, so that this runs in seconds. 128 bits and BERT-base:
# Settings(Shape()), or hemera bench bert --full --device cuda.
shape = Shape(tokens=8, features=16, heads=2, inner=32)
prepared = PreparedBlock(
    Settings(shape, preset="test-40", fields={"security": None}, sharpness=0.5, size=8, together=4)
)
print(f"{prepared.params!r}, {prepared.layout.inputs} inputs of {shape.tokens} tokens")
for name, value in vars(prepared.ranges).items():
    print(f"  range of {name}: {value}")  # of other inputs, with a margin

ctx = hm.Context(prepared.params)
secret_key = ctx.generate_secret_key()
cost, _ = prepared.cost()
ev = ctx.bind(ctx.generate_keys(secret_key, relinearization=False, plan=cost))
print(f"{len(cost.needed_keys)} keys of {cost.key_bytes / 1e6:.0f} MB, {cost.operations}")

inputs = random_inputs(shape, prepared.layout.inputs, seed=1)
trace = clear_block(prepared.weights, shape, inputs)
stages = Stages(ev, print, prepared.layout, trace, secret_key)  # decrypts some values of each stage
block = prepared.block(stages)
encrypted = prepared.encrypt(inputs, ev, block.levels.fresh)
stages.begin()
start = time.perf_counter()
output = block(encrypted)  # at the level of the input: blocks follow each other
print(f"{1e3 * (time.perf_counter() - start) / len(inputs):.0f} ms an input, {ev.bootstraps} bootstraps")

bits = agreement(prepared.decrypt(output, secret_key), trace["output"])
print(f"equal to the clear block within {bits:.1f} bits")
assert bits > 15

# BERT-base as a plan: 256 inputs of 128 tokens at N = 2^16. Nothing is encrypted here.
full = PreparedBlock(Settings(Shape(), calibration=1))
cost, _ = full.cost("nvidia-h200")
gigabytes = (cost.key_bytes + cost.plaintext_bytes + cost.workspace_bytes) / 1e9
seconds = cost.seconds or 0.0
print(f"{full.params!r}: {gigabytes:.0f} GB, about {seconds:.1f} s on an H200 by its table of times,")
print(f"{1e3 * seconds / full.layout.inputs:.0f} ms an input")
