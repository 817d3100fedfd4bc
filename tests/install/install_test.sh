#!/usr/bin/env bash
# Installs the library into a directory of its own, compiles the README's example against it with
# find_package and, where there is one, with pkg-config, and runs it: once on nothing, once on what
# the first run left behind.
set -euo pipefail

readonly cmake=$1 source=$2 build=$3 compiler=$4 work=$5

rm -rf "$work"
mkdir -p "$work/consumer"
"$cmake" --install "$build" --component library --prefix "$work/prefix" >"$work/install.log"

# The block after the mark. A README without it fails the test.
awk '/^<!-- example: map -->/ { marked = 1 }
     /^```$/ && inside { exit }
     inside
     marked && /^```cpp$/ { inside = 1 }' "$source/README.md" >"$work/consumer/example.cpp"
[[ -s "$work/consumer/example.cpp" ]] || { echo "README.md has no example marked as map"; exit 1; }
lines=$(grep -c . "$work/consumer/example.cpp")
((lines <= 30)) || { echo "the README's example has $lines lines; 30 are enough"; exit 1; }

# Structures of a user's own, made with the public headers alone.
cp "$source"/examples/checkpoint/*.[ch]pp "$work/consumer"

cat >"$work/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(holdfast REQUIRED)
add_executable(example example.cpp)
target_link_libraries(example PRIVATE holdfast::holdfast)
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
"$source/examples/checkpoint/run.sh" "$work/consumer/build/structures"
