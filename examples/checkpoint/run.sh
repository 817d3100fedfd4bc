#!/usr/bin/env bash
# The example as a user runs it: a queue over three processes, and a map whose process crashes.
set -euo pipefail

readonly example=$1
place=$(mktemp -d "${HF_TEST_DIR:-/dev/shm}/holdfast-test-XXXXXX")
trap 'rm -rf "$place"' EXIT

"$example" "$place/queue.hf" queue push one two three
[[ "$("$example" "$place/queue.hf" queue pop)" == one ]]
[[ "$("$example" "$place/queue.hf" queue list)" == $'two\nthree' ]]

if "$example" "$place/map.hf" map fill 5000 crash; then
    echo "it was to crash"
    exit 1
fi
for record in 0 1 2499 4999; do
    [[ "$("$example" "$place/map.hf" map get "record $record")" == durable ]]
done
"$example" "$place/map.hf" map put "record 7" "changed"
"$example" "$place/map.hf" map remove "record 8"
[[ "$("$example" "$place/map.hf" map get "record 7")" == changed ]]
! "$example" "$place/map.hf" map get "record 8"
