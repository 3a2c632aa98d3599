#!/usr/bin/env bash
# Makes the base images of the Dockerfile and of docker-compose.yml from Debian packages, on a machine that cannot pull them:
#   sudo NODE=/path/to/a/node-24 bash test/deploy/base-images.sh
# Needs root, debootstrap and a Docker daemon. npm and Node are those of this machine, unless NODE names a binary.
set -euo pipefail

command -v debootstrap > /dev/null || { echo 'debootstrap is not installed: apt-get install debootstrap' >&2; exit 1; }
docker info > /dev/null || exit 1

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
debootstrap --variant=minbase --include=ca-certificates bookworm "$folder/debian" > "$folder/log" || { tail "$folder/log" >&2; exit 1; }

import () { tar -C "$1" -c . | docker import --change "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" - "$2"; }

cp -a "$folder/debian" "$folder/redis"
cp /etc/resolv.conf "$folder/redis/etc/resolv.conf"
chroot "$folder/redis" apt-get install -y -qq --no-install-recommends redis-server redis-tools > "$folder/log"
# As the image that is pulled: a Redis without a configuration answers other containers.
printf '#!/bin/sh\nexec /usr/bin/redis-server "$@" --protected-mode no\n' > "$folder/redis/usr/local/bin/redis-server"
chmod +x "$folder/redis/usr/local/bin/redis-server"
import "$folder/redis" redis:7-bookworm

npm=$(cd "$(npm root -g)/npm" && pwd -P)
mkdir -p "$folder/debian/usr/local/lib/node_modules"
cp -aL "${NODE:-$(command -v node)}" "$folder/debian/usr/local/bin/node"
cp -a "$npm" "$folder/debian/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$folder/debian/usr/local/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$folder/debian/usr/local/bin/npx"
# The authorities that this machine trusts, for a registry behind a proxy of its own.
cp /etc/ssl/certs/ca-certificates.crt "$folder/debian/etc/ssl/certs/ca-certificates.crt"
echo 'cafile=/etc/ssl/certs/ca-certificates.crt' > "$folder/debian/root/.npmrc"
chroot "$folder/debian" useradd --uid 1000 --create-home node
import "$folder/debian" node:24-bookworm-slim
