"""Stage 3: nothing. The network is compiled when the entry is built, and the harness does not say for which
instance this stage is."""
