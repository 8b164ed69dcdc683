#!/bin/sh
# Makes the secrets and files that docker-compose.yml hands to its services, once: what is there stays. Keep a copy of the folder apart
# from backups of the database: who has both has everything but what requests said.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
mkdir -p -m 755 tls config
[ -e config/catalog.yaml ] || install -m 644 ../../apps/control/catalog.yaml config/
[ -e config/providers.yaml ] || install -m 644 ../../apps/confidential/providers.yaml config/
cd secrets

random() { head -c "$1" /dev/urandom | base64 | tr -d '\n'; }
word() { head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
# Containers read these as users of their own.
write() { [ -e "$1" ] || { printf '%s' "$2" > "$1" && chmod 444 "$1" && echo "made $1"; }; }

for key in ticket_sealing_key settlement_mac_key account_ref_key; do write "$key" "$(random 32)"; done
write session_secret "$(random 48)"
write postgres_password "$(word)"
write database_url "postgresql://sotto:$(cat postgres_password)@postgres:5432/sotto"
if [ ! -e redis_url ]; then
  password=$(word)
  write redis_users "user default on >$password ~* &* +@all
"
  write redis_url "redis://:$password@redis:6379"
fi
[ -e providers.env ] || {
  printf '# The keys of your providers, by the names in the registry, such as OPENAI_API_KEY=sk-...\n' > providers.env
  echo 'made providers.env: put the keys of your providers into it'
}
[ -e control.env ] || printf '# Further settings of control, such as STRIPE_SECRET_KEY=..., as the README names them\n' > control.env
