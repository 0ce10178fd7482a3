"""Stage 6: nothing, as the next stage takes what the harness encrypted as it is."""
