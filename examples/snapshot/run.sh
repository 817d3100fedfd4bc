#!/usr/bin/env bash
# Runs the example three times on one file: 5 generations, 7 and a crash, and one more.
set -euo pipefail

readonly example=$1
place=$(mktemp -d "${HF_TEST_DIR:-/dev/shm}/holdfast-test-XXXXXX")
trap 'rm -rf "$place"' EXIT

"$example" "$place/life.hf" 5 | grep '^generation 5,'
if "$example" "$place/life.hf" 7 crash; then
    echo "it was to crash"
    exit 1
fi
"$example" "$place/life.hf" 1 | grep '^generation 13,'
