#!/bin/sh
# Prints the line of an ACL file that makes a user of Redis: `acl-user.sh broker PASSWORD`, or `control`. The words after
# `user` are also what ACL SETUSER takes. The rules are in `broker.acl` and `control.acl` beside this file.
set -eu
rules=$(sed '/^#/d; /^$/d' "$(dirname "$0")/$1.acl" | paste -sd ' ' -)
printf 'user %s on >%s resetchannels -@all %s\n' "$1" "$2" "$rules"
