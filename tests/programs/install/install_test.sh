#!/usr/bin/env bash
# Installs the library into a directory of its own, compiles the README's example against it with
# find_package and, where there is one, with pkg-config, and runs it: once on nothing, once on what
# the first run left behind. The example of docs/sections.md is killed instead, twice.
set -euo pipefail

readonly cmake=$1 source=$2 build=$3 compiler=$4 work=$5

rm -rf "$work"
mkdir -p "$work/consumer"
"$cmake" --install "$build" --component library --prefix "$work/prefix" >"$work/install.log"

# example PAGE NAME FILE LINES: the block after the mark. A page without it fails the test.
example() {
    awk "/^<!-- example: $2 -->/ { marked = 1 }
         /^\`\`\`$/ && inside { exit }
         inside
         marked && /^\`\`\`cpp$/ { inside = 1 }" "$source/$1" >"$work/consumer/$3"
    [[ -s "$work/consumer/$3" ]] || { echo "$1 has no example marked as $2"; exit 1; }
    lines=$(grep -c . "$work/consumer/$3")
    ((lines <= $4)) || { echo "the example of $1 has $lines lines; $4 are enough"; exit 1; }
}
example README.md map example.cpp 30
example docs/sections.md sections sections.cpp 50

# Structures of a user's own, made with the public headers alone.
cp "$source"/examples/checkpoint/*.[ch]pp "$work/consumer"

cat >"$work/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(holdfast REQUIRED)
add_executable(example example.cpp)
target_link_libraries(example PRIVATE holdfast::holdfast)
add_executable(sections sections.cpp)
target_link_libraries(sections PRIVATE holdfast::section_locks holdfast::holdfast)
add_executable(structures main.cpp)
target_link_libraries(structures PRIVATE holdfast::holdfast)
END
"$cmake" -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release >"$work/configure.log"
"$cmake" --build "$work/consumer/build"

if command -v pkg-config >/dev/null; then
    pc_directory=$(dirname "$(find "$work/prefix" -name holdfast.pc)")
    read -ra flags <<<"$(PKG_CONFIG_PATH=$pc_directory pkg-config --cflags --libs holdfast)"
    "$compiler" -std=c++20 "$work/consumer/example.cpp" -o "$work/with_pkg_config" "${flags[@]}"
fi

# The example's path is its argument, so that it may run where regions can lie.
region=$(mktemp -d /dev/shm/holdfast_install_test.XXXXXXXX)
trap 'rm -rf "$region"' EXIT
"$work/consumer/build/example" "$region/example.hf" | grep '^this was run 1$'
"$work/consumer/build/example" "$region/example.hf" | grep '^this was run 2$'
sections() { timeout -s KILL 1.5 "$work/consumer/build/sections" "$region/sections.hf" || true; }
sections | grep '^found 0 and 0$'
sections | grep -E '^found ([1-9][0-9]*) and \1$'
"$source/examples/checkpoint/run.sh" "$work/consumer/build/structures"
