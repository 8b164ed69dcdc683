#!/bin/sh
# Has the broker's request for a certificate signed by an ACME authority, once for each request. Takes lego 4 or later. Run it
# whenever the request changes (the broker makes a key when it starts, and the next after 29 days), and again where it failed.
#
#   ACME_DIRECTORY   the authority's, such as https://acme-v02.api.letsencrypt.org/directory
#   ACME_EMAIL       whom the authority writes to
#   ACME_CHALLENGE   how to show it that the name is ours, in lego's options; default: `--tls --tls.port :8443`
#   STATE            the folder of request.pem, where chain.pem goes; default: /var/lib/sotto-broker
set -eu

directory=${ACME_DIRECTORY:?the directory of an ACME authority}
email=${ACME_EMAIL:?whom the authority writes to}
challenge=${ACME_CHALLENGE:---tls --tls.port :8443}
state=${STATE:-/var/lib/sotto-broker}
acme=$state/acme

if [ ! -f "$state/request.pem" ]; then
  echo "sign-request: $state/request.pem is not there: TLS_REQUEST_FILE of the broker names it" >&2
  exit 1
fi
mkdir -p "$acme"
cmp -s "$state/request.pem" "$acme/signed.pem" && exit 0

# The broker may change its request meanwhile: what is signed is this one.
cp "$state/request.pem" "$acme/asked.pem"
rm -rf "$acme/certificates"
# shellcheck disable=SC2086 # options, in words
lego --accept-tos --email "$email" --server "$directory" --path "$acme" --csr "$acme/asked.pem" $challenge run
find "$acme/certificates" -name '*.crt' ! -name '*.issuer.crt' -exec cp {} "$state/chain.pem.new" \;
mv "$state/chain.pem.new" "$state/chain.pem"
mv "$acme/asked.pem" "$acme/signed.pem"
