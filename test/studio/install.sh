#!/usr/bin/env bash
# Installs what `npm run test:studio` needs beside the packages: Debian's Chromium, and a font for its pictures.
set -euo pipefail
command -v chromium >/dev/null && exit 0
apt-get update
apt-get install -y --no-install-recommends chromium fonts-dejavu-core
