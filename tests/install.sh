#!/bin/sh
# The browser that some tests drive and the proxy that one runs, on machines of CI: neither pip nor npm brings them.
# Elsewhere those tests are skipped, and say so.
set -eu

if [ -z "${CI:-}" ] || { command -v chromium && command -v nginx; } >/dev/null; then
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core nginx
