#!/usr/bin/env bash
# The harness runs programs in submission/build: one for each stage, which starts its Python program. The compiled
# networks are put next to them.
set -euo pipefail
submission="$(cd "$1" && pwd)"
python="${HEMERA_PYTHON:-python3}"
mkdir -p "$submission/build"
for stage in "$submission"/client_*.py "$submission"/server_*.py; do
    program="$submission/build/$(basename "$stage" .py)"
    printf '#!/usr/bin/env bash\nexec "%s" "%s" "$@"\n' "$python" "$stage" >"$program"
    chmod +x "$program"
done
"$python" "$submission/compile_network.py"
