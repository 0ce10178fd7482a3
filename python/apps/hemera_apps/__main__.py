"""`python -m hemera_apps COMMAND`: as `hemera COMMAND`, also where the package lies on the path alone."""

import sys

from hemera.cli import main
from hemera_apps.commands import COMMANDS

if __name__ == "__main__":
    sys.exit(main(commands=COMMANDS))
