#!/usr/bin/env bash
# The example as a user runs it: a table whose process is killed behind its last write.
set -euo pipefail

readonly example=$1
place=$(mktemp -d "${HF_TEST_DIR:-/dev/shm}/holdfast-test-XXXXXX")
trap 'rm -rf "$place"' EXIT

status=0
"$example" "$place/table.hf" fill 3000 || status=$?
((status == 137)) || {
    echo "it was to be killed"
    exit 1
}
for key in 0 1 1500 2999; do
    [[ "$("$example" "$place/table.hf" get "$key")" == $((3 * key)) ]]
done
if "$example" "$place/table.hf" get 3000; then exit 1; fi
"$example" "$place/table.hf" put 7 77
"$example" "$place/table.hf" remove 8
[[ "$("$example" "$place/table.hf" get 7)" == 77 ]]
if "$example" "$place/table.hf" get 8; then exit 1; fi
