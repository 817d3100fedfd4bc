#!/usr/bin/env bash
# Builds the plugin. Exit status 77 where LLVM 19 has not been installed.
set -euo pipefail

readonly source=$1 build=$2

if ! command -v clang-19 >/dev/null || [[ ! -d /usr/lib/llvm-19/include/llvm ]]; then
    echo "skipped: the plugin needs the packages clang-19 and llvm-19-dev"
    exit 77
fi
mkdir -p "$(dirname "$build")"
cmake -S "$source/pass" -B "$build" -G Ninja >"$build.log" 2>&1 || {
    cat "$build.log"
    exit 1
}
cmake --build "$build"
