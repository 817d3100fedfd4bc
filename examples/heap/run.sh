#!/bin/sh
# The list survives its program, and a kill in the middle of it.
set -eu
program=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$program" "$dir/list.hf" add 1 2 3 2 >/dev/null
expect() {
    found=$("$program" "$dir/list.hf" | tr '\n' ' ')
    [ "$found" = "$1" ] || { echo "the list is: $found; it should be: $1" >&2; exit 1; }
}
expect "2 3 2 1 "
"$program" "$dir/list.hf" erase 2 >/dev/null
expect "3 1 "
"$program" "$dir/list.hf" add $(seq 1 20000) >/dev/null &
sleep 0.2
kill -9 $! 2>/dev/null || true
wait 2>/dev/null || true
"$program" "$dir/list.hf" erase 3 | tail -n 1 | grep -qx 1
