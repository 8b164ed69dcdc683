#!/bin/sh
# Gets a certificate from an ACME authority for the broker's request: once for each request, and again when it is due for
# renewal. Needs lego 4 or later. Run it every few minutes, or let keep-certificate.sh repeat it.
#
#   ACME_DIRECTORY   the authority's directory, such as https://acme-v02.api.letsencrypt.org/directory
#   ACME_EMAIL       the address that the authority sends mail to
#   ACME_CHALLENGE   lego's options for the challenge; default: `--tls --tls.port :8443`
#   ACME_RENEW_DAYS  the age in days at which a certificate is renewed; default: 30
#   STATE            the folder of request.pem, where chain.pem is written; default: /var/lib/sotto-broker
set -eu

directory=${ACME_DIRECTORY:?set it to the directory of an ACME authority}
email=${ACME_EMAIL:?set it to the address that the authority sends mail to}
challenge=${ACME_CHALLENGE:---tls --tls.port :8443}
renew_days=${ACME_RENEW_DAYS:-30}
state=${STATE:-/var/lib/sotto-broker}
acme=$state/acme

if [ ! -f "$state/request.pem" ]; then
  echo "sign-request: $state/request.pem does not exist; set TLS_REQUEST_FILE of the broker to it" >&2
  exit 1
fi
mkdir -p "$acme"
if cmp -s "$state/request.pem" "$acme/signed.pem" &&
  [ -z "$(find "$acme/signed.pem" -mtime "+$((renew_days - 1))")" ]; then exit 0; fi

# Sign a copy, because the broker may change its request in the meantime.
cp "$state/request.pem" "$acme/asked.pem"
rm -rf "$acme/certificates"
# shellcheck disable=SC2086 # several options
lego --accept-tos --email "$email" --server "$directory" --path "$acme" --csr "$acme/asked.pem" $challenge run
certificate=$(find "$acme/certificates" -name '*.crt' ! -name '*.issuer.crt')
cp "$certificate" "$state/chain.pem.new"
mv "$state/chain.pem.new" "$state/chain.pem"
mv "$acme/asked.pem" "$acme/signed.pem"
