"""Stage 2: nothing, as keys and folders are not there yet."""
