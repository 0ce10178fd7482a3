#!/usr/bin/env bash
# The stages are Python programs: there is nothing to build, only to see that they can be run.
set -euo pipefail
python3 -m compileall -q "$1"
