#!/bin/sh
# Programs that some tests run and neither pip nor npm brings, on machines of CI: a browser, proxies, promtool,
# systemd-analyze, curl, openssl, tmux and mkfs.xfs. Elsewhere those tests are skipped, and say so.
set -eu

there() {
    for program in "$@"; do
        command -v "$program" >/dev/null || return 1
    done
}

if [ -z "${CI:-}" ] || there chromium nginx caddy promtool systemd-analyze curl openssl tmux mkfs.xfs; then
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium curl fonts-dejavu-core nginx openssl systemd tmux xfsprogs
# One program of each, without the services and libraries that their packages bring.
folder="$(mktemp -d)"
cd "$folder"
apt-get download -qq caddy prometheus
for package in ./*.deb; do
    dpkg -x "$package" .
done
install usr/bin/caddy usr/bin/promtool /usr/local/bin/
cd /
rm -rf "$folder"
