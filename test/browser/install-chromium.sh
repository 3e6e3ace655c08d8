#!/usr/bin/env bash
# Installs Debian's Chromium, in which tests look at pages (npm run test:site, test:studio). Needs root; does nothing where it is there.
set -euo pipefail
command -v chromium > /dev/null && exit 0
apt-get update
apt-get install --yes --no-install-recommends chromium fonts-dejavu-core
