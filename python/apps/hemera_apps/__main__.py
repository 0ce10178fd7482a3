"""`python -m hemera_apps COMMAND`: the same as `hemera COMMAND`, also without an installation of this
package."""

import sys

from hemera.cli import main
from hemera_apps.commands import COMMANDS

if __name__ == "__main__":
    sys.exit(main(commands=COMMANDS))
