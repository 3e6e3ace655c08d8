#!/usr/bin/env bash
# Installs Python 3, which runs the classes of `rowan codegen python` (npm run test:toolchain). Needs root; does nothing where it is there.
set -euo pipefail
command -v python3 > /dev/null && exit 0
apt-get update
apt-get install --yes --no-install-recommends python3
