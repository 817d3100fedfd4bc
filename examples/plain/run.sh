#!/usr/bin/env bash
# Runs the example three times on one file; the second run crashes.
set -euo pipefail

readonly example=$1
place=$(mktemp -d "${HF_TEST_DIR:-/dev/shm}/holdfast-test-XXXXXX")
trap 'rm -rf "$place"' EXIT

"$example" "$place/bank.hf" | grep '^[1-9][0-9]* transfers, sum 0$'
if "$example" "$place/bank.hf" crash; then
    echo "it was to crash"
    exit 1
fi
"$example" "$place/bank.hf" | grep '^[1-9][0-9]* transfers, sum 0$'
