#!/bin/sh
# Runs sign-request.sh for as long as the broker may have requests. After a failure it waits ever longer, because authorities
# count failures: twice as long each time, at most an hour. `keep-certificate.sh healthy` tells whether the present request is
# signed; without a request there is nothing to sign. It takes the settings of sign-request.sh, and:
#
#   ACME_RETRY_S       how long it waits after the first failure; default: 120
set -eu

here=$(dirname "$0")
state=${STATE:-/var/lib/sotto-broker}
retry_s=${ACME_RETRY_S:-120}

if [ "${1:-}" = healthy ]; then
  [ -f "$state/request.pem" ] || exit 0
  exec cmp -s "$state/request.pem" "$state/acme/signed.pem"
fi

trap 'exit 0' TERM INT
pause() {
  sleep "$1" &
  wait $!
}
wait_s=$retry_s
while :; do
  if [ ! -f "$state/request.pem" ]; then
    pause 1
  elif "$here/sign-request.sh"; then
    wait_s=$retry_s
    pause 5
  else
    echo "keep-certificate: not signed, next try in $wait_s s" >&2
    pause "$wait_s"
    wait_s=$((wait_s * 2))
    [ "$wait_s" -le 3600 ] || wait_s=3600
  fi
done
