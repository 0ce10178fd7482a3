"""Comparisons of scores, with thresholds or with each other, which do not tell the scores themselves."""
