#!/bin/sh
# Runs sotto-control with the settings and secrets of the installed control plane. Needs root. `sotto-control help` lists commands.
set -eu
root=${DESTDIR:-}
export NODE_ENV=production CONFIG_FILE="$root/etc/sotto/sotto.yaml" CREDENTIALS_DIRECTORY="$root/etc/sotto/secrets"
exec "$root/opt/sotto/control/bin/node" "$root/opt/sotto/control/apps/control/dist/main.js" "$@"
