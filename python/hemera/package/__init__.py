"""A program as a file with what its clients encode and decode, and the program ready to run."""
