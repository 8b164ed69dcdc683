#!/bin/sh
# Prints the line of an ACL file that creates a Redis user: `acl-user.sh broker PASSWORD`, or `control`. The words after
# `user` are also the arguments of ACL SETUSER. The rules are in `broker.acl` and `control.acl` in this folder.
set -eu
rules=$(sed '/^#/d; /^$/d' "$(dirname "$0")/$1.acl" | paste -sd ' ' -)
printf 'user %s on >%s resetchannels -@all %s\n' "$1" "$2" "$rules"
