#!/bin/sh
# Makes the secrets and files that docker-compose.yml hands to its services. What is there stays, and what a later version
# needs is added: run it again when you upgrade. Keep a copy of the folder apart from backups of the database: both
# together hold everything but what requests said.
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
# Each plane has a user of its own in Redis: the broker's cannot read what is control's. Redis reads the file when it starts.
# A deployment from before these users goes on with the one that control has. `default` is for you.
write redis_users "user default on >$(word) ~* &* +@all
"
write redis_url "redis://control:$(word)@redis:6379"
case $(cat redis_url) in
  *@redis:6379) write broker_redis_url "redis://broker:$(word)@redis:6379" ;;
  # A Redis of your own: make the users there (docs/guides/deploy.md), and put the broker's into this file.
  *) write broker_redis_url "$(cat redis_url)" ;;
esac
add_user() {
  password=$(sed -n "s|^redis://$1:\(.*\)@redis:6379$|\1|p" "$2")
  [ -n "$password" ] || return 0
  user=$(../../redis/acl-user.sh "$1" "$password")
  if ! grep -q "^user $1 " redis_users; then
    chmod 644 redis_users
    printf '%s\n' "$user" >> redis_users
    chmod 444 redis_users
    echo "made the user $1 of Redis"
  elif ! grep -qxF "$user" redis_users; then
    echo "redis_users: the line of $1 is not the one that deploy/redis/acl-user.sh makes" >&2
  fi
}
add_user control redis_url
add_user broker broker_redis_url
[ -e providers.env ] || {
  printf '# The keys of your providers, by the names in the registry, such as OPENAI_API_KEY=sk-...\n' > providers.env
  echo 'made providers.env: put the keys of your providers into it'
}
[ -e control.env ] || printf '# Further settings of control, such as STRIPE_SECRET_KEY=..., as the README names them\n' > control.env
