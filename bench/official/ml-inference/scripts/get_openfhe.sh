#!/usr/bin/env bash
# The harness calls the dependencies' script by this name. Hemera and hemera-apps are the only ones: installed
# from HEMERA_SOURCE, a clone, unless the stages' Python has them.
set -euo pipefail
python="${HEMERA_PYTHON:-python3}"
"$python" -c "import hemera_apps" 2>/dev/null ||
    "$python" -m pip install "${HEMERA_SOURCE:?names a clone of Hemera}" "$HEMERA_SOURCE/python/apps"
