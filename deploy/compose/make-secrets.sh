#!/bin/sh
# Creates the secrets and files that docker-compose.yml passes to its services, with config/sotto.yaml. Existing ones stay. Run it again after an
# upgrade to add what the new version needs. Store a copy of the folder apart from the database backups, because both
# together reveal everything except the content of requests.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
mkdir -p -m 755 tls config
if [ ! -e config/sotto.yaml ]; then
  install -m 644 sotto.yaml config/
  # Files of a deployment that is older than sotto.yaml.
  [ ! -e config/catalog.yaml ] || echo 'models_file: catalog.yaml' >> config/sotto.yaml
  [ ! -e config/providers.yaml ] || echo 'providers_file: providers.yaml' >> config/sotto.yaml
  echo 'created config/sotto.yaml: set both origins in it'
fi
cd secrets

random() { head -c "$1" /dev/urandom | base64 | tr -d '\n'; }
word() { head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
# Containers run as other users, so the files are readable by all.
write() { [ -e "$1" ] || { printf '%s' "$2" > "$1" && chmod 444 "$1" && echo "created $1"; }; }

for key in ticket_sealing_key settlement_mac_key account_ref_key; do write "$key" "$(random 32)"; done
write session_secret "$(random 48)"
write postgres_password "$(word)"
write database_url "postgresql://sotto:$(cat postgres_password)@postgres:5432/sotto"
# Each plane has its own Redis user. The broker's user cannot read control's keys. Redis reads this file when it starts.
# A deployment that is older than these users keeps the one that control has. `default` is for you.
write redis_users "user default on >$(word) ~* &* +@all
"
write redis_url "redis://control:$(word)@redis:6379"
case $(cat redis_url) in
  *@redis:6379) write broker_redis_url "redis://broker:$(word)@redis:6379" ;;
  # With your own Redis, create the users there (docs/operate/systemd.md#redis-users) and put the broker's into this file.
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
    echo "created the Redis user $1"
  elif ! grep -qxF "$user" redis_users; then
    echo "redis_users: the line of $1 differs from the output of deploy/redis/acl-user.sh; replace it with that output" >&2
  fi
}
add_user control redis_url
add_user broker broker_redis_url
[ -e providers.env ] || {
  printf '# The keys of your providers, by their names in the registry, such as OPENAI_API_KEY=sk-...\n' > providers.env
  echo 'created providers.env: add the keys of your providers to it'
}
[ -e control.env ] || printf '# More secrets of control, such as STRIPE_SECRET_KEY=...; sotto.yaml names them as env:STRIPE_SECRET_KEY\n' > control.env
