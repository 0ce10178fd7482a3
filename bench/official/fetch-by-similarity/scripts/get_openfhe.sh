#!/usr/bin/env bash
# The harness calls the dependencies' script by this name. Hemera is the only one, beside NumPy: installed from
# HEMERA_SOURCE, a clone or a wheel, unless this Python has it.
set -euo pipefail
python3 -c "import hemera, numpy" 2>/dev/null || python3 -m pip install numpy "${HEMERA_SOURCE:?names a clone or a wheel of Hemera}"
