"""The commands that this package adds to `hemera`, by its entry points of the group "hemera.commands"."""

from hemera_apps.commands import bench, demo, score_trees, train_logistic

COMMANDS = {"demo": demo, "train-logistic": train_logistic, "score-trees": score_trees, "bench": bench}
"""The commands by name, the same as in pyproject.toml."""
