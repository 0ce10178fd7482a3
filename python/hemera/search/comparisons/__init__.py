"""Comparisons of scores, with thresholds or with each other, which do not reveal the scores themselves."""
