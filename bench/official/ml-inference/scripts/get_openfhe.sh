#!/usr/bin/env bash
# The harness calls the dependencies' script by this name. Hemera is the only one: installed from HEMERA_SOURCE, a
# clone or a wheel, unless the stages' Python has it.
set -euo pipefail
python="${HEMERA_PYTHON:-python3}"
"$python" -c "import hemera" 2>/dev/null ||
    "$python" -m pip install "${HEMERA_SOURCE:?names a clone or a wheel of Hemera}"
