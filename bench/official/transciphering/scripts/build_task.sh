#!/usr/bin/env bash
# The harness runs programs in submission/target/release: one for each stage, which starts its Python program.
set -euo pipefail
submission="$(cd "$(dirname "${BASH_SOURCE[0]}")/../submission" && pwd)"
python="${HEMERA_PYTHON:-python3}"
"$python" -c "import hemera_apps" 2>/dev/null ||
    "$python" -m pip install "${HEMERA_SOURCE:?names a clone of Hemera}" "$HEMERA_SOURCE/python/apps"
mkdir -p "$submission/target/release"
for stage in "$submission"/client_*.py "$submission"/server_*.py; do
    program="$submission/target/release/$(basename "$stage" .py)"
    printf '#!/usr/bin/env bash\nexec "%s" "%s" "$@"\n' "$python" "$stage" >"$program"
    chmod +x "$program"
done
