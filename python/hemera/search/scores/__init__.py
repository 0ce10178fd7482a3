"""Scores of all rows, which clients decrypt and rank: rows are polynomials of small rings."""
