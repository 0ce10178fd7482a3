"""Finished programs on encrypted data, each a package with its client and its server apart."""
