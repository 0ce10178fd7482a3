"""Finished programs on encrypted data, each a package of its own: docs/applications.md."""
