#!/usr/bin/env bash
# Installs the crash lab into a directory of its own, compiles examples/crash_lab against it with
# find_package, as it is and with a seeded mistake, and has its command line explore, minimise,
# replay, draw and report.
set -euo pipefail

readonly cmake=$1 source=$2 build=$3 compiler=$4 work=$5

rm -rf "$work"
mkdir -p "$work/consumer"
"$cmake" --install "$build" --component crashlab --prefix "$work/prefix" >"$work/install.log"
mkdir -p "$work/consumer/examples"
cp -r "$source/examples/crash_lab" "$source/examples/checkpoint" "$work/consumer/examples"

cat >"$work/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(holdfast REQUIRED COMPONENTS crashlab)
foreach(name IN ITEMS queue broken_queue)
  add_library(${name}_target STATIC examples/crash_lab/structure_targets.cpp)
  target_include_directories(${name}_target PUBLIC .)
  holdfast_instrument(${name}_target)
  target_link_libraries(${name}_target PUBLIC holdfast::crashlab)
  add_executable(${name} examples/crash_lab/main.cpp)
  target_link_libraries(${name} PRIVATE ${name}_target)
endforeach()
target_compile_definitions(broken_queue_target PRIVATE EXAMPLE_FORGETS_TO_NOTE)
END
"$cmake" -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="-O1 -g1" >"$work/configure.log"
"$cmake" --build "$work/consumer/build" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
cd "$work/consumer/build"

say() { echo "== $*"; }
# Exit status 1 is what a violation has; a program that dies has another.
must_be_wrong() {
    local status=0
    "$@" || status=$?
    ((status == 1)) || { echo "exit status $status instead of 1: $*"; exit 1; }
}

say "the queue comes through"
./queue --target structures.queue --rounds 1 --seed 3 --json queue.json --html queue.html | tail -1
grep -q '"states"' queue.json
grep -q '</html>' queue.html
./queue --lint >/dev/null

say "the broken queue is found, minimised, and says how to repeat that"
must_be_wrong ./broken_queue --target structures.queue --rounds 1 --seed 3 \
    --html broken.html >found.txt
grep VIOLATION found.txt
replay="[^ ]*broken_queue --target structures.queue --seed [0-9]* --replay '[^']*'"
line=$(grep -o "$replay" found.txt)
grep -q 'o violation' broken.html

say "repeated, it is drawn"
must_be_wrong bash -c "$line --svg drawn.svg" >drawn.txt
grep 'recovery found\|question .* found\|inspection .* found' drawn.txt
grep -Eq 'LOST|reached' drawn.txt
grep -q 'queue.hpp:[0-9]' drawn.txt
grep -q '</svg>' drawn.svg
say "the same crash does no harm to the queue as it should be"
bash -c "${line/broken_queue/queue} --brief"

say "what it does not know is refused"
status=0
./queue --target nobody 2>refused.txt || status=$?
((status == 2))
grep -q 'no such target' refused.txt
