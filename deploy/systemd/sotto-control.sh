#!/bin/sh
# sotto-control with the settings and secrets of the installed control plane; for root. `sotto-control help` lists commands.
set -eu
root=${DESTDIR:-}
set -a
NODE_ENV=production
. "$root/etc/sotto/control.env"
for file in "$root"/etc/sotto/secrets/*; do
  case $file in
  *.env) ;;
  *)
    name=$(basename "$file" | tr '[:lower:]' '[:upper:]')
    unset "$name"
    eval "${name}_FILE=\$file"
    ;;
  esac
done
exec "$root/opt/sotto/control/bin/node" "$root/opt/sotto/control/apps/control/dist/main.js" "$@"
