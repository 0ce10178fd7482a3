"""BERT that classifies one encrypted input: blocks of `hemera_apps.transformer.single`, pooler, classifier.

- `config`: what client and server agree on.
- `model`: the network in the clear, which is the judge; random weights, and files of weights.
- `calibration`: the ranges of all blocks, from other inputs.
- `circuit`: parameters, layout, levels and keys, which no weight changes.
- `encrypted`, `head`: the encrypted network.
"""
