#!/bin/sh
# Runs a command with the names of both origins in sotto.yaml: CONTROL_HOST and CONFIDENTIAL_HOST.
#
#   with-names.sh COMMAND…
set -eu

file=${CONFIG_FILE:-/etc/sotto/sotto.yaml}
name_of() {
  awk -v map="$1:" '
    /^[^ #]/ { inside = $1 == map }
    inside && $1 == "origin:" { sub(/^["\047]?https:\/\//, "", $2); sub(/[:\/"\047].*$/, "", $2); print $2; exit }
  ' "$file"
}
CONTROL_HOST=$(name_of control)
CONFIDENTIAL_HOST=$(name_of broker)
for name in "$CONTROL_HOST" "$CONFIDENTIAL_HOST"; do
  case $name in
  *.*) ;;
  *)
    echo "with-names: $file needs \`origin: https://NAME\`, on a line of its own, below \`control:\` and \`broker:\`" >&2
    exit 1
    ;;
  esac
done
export CONTROL_HOST CONFIDENTIAL_HOST
exec "$@"
