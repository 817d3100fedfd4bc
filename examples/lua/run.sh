#!/usr/bin/env bash
# Kills the interpreter with -9 under load, three times; compares its state with what it had told.
set -euo pipefail

readonly lua=$1
place=$(mktemp -d "${HF_TEST_DIR:-/dev/shm}/holdfast-test-XXXXXX")
trap 'rm -rf "$place"' EXIT
readonly file=$place/state.hf
export HOLDFAST_SECTION_PERIOD=5

fail() {
    echo "$*"
    exit 1
}
say() { printf '%s\n' "$@" | "$lua" "$file"; }

# One step changes a number, a table, a closure's upvalue and a coroutine.
say 'n, t, s = 0, {}, ""' \
    'function make() local k = 0; return function() k = k + 1; return k end end' \
    'count = make()' \
    'walk = coroutine.wrap(function() for i = 1, math.huge do coroutine.yield(i) end end)' \
    'function step() n = n + 1; t[n] = "value " .. n; k = count(); c = walk(); print(n) end'

before=0
for round in 1 2 3; do
    : >"$place/told"
    (yes 'step()' || true) | "$lua" "$file" >"$place/told" &
    for _ in {1..300}; do  # a slow machine takes a while to its first line
        sleep 0.1
        [[ ! -s $place/told ]] || break
    done
    sleep 0.2
    kill -9 $!
    wait $! 2>/dev/null && fail "round $round: it ended by itself"
    told=$(tail -n 1 "$place/told")
    found=$(say 'print(n, #t, k, c, t[n] == "value " .. n)')
    read -r n size k c last <<<"$found"
    echo "round $round: told $told, found $n"
    ((told > before && n >= told)) || fail "it had told of a step that is undone"
    [[ "$size $k $c $last" == "$n $n $n true" ]] ||
        fail "a step is there in part: $n $size $k $c $last"
    # What is suspended goes on.
    [[ $(say 'step() print(n == k and n == c)' | tail -n 1) == true ]] || fail "the closures differ"
    before=$n
done

say 'error("x")' 2>&1 | grep -q ':1: x$' || fail "an error was not reported"
[[ $(say 'print(n > 0)') == true ]] || fail "an error changed the state"

# Another build has its functions elsewhere.
id=$(readelf -n "$lua" | sed -n 's/.*Build ID: //p')
python3 - "$lua" "$place/other" "$id" <<'END'
import sys
program = open(sys.argv[1], "rb").read()
old = bytes.fromhex(sys.argv[3])
open(sys.argv[2], "wb").write(program.replace(old, bytes(255 - b for b in old)))
END
chmod +x "$place/other"
if "$place/other" "$file" </dev/null 2>"$place/error"; then fail "another build was accepted"; fi
grep -q lua "$place/error" || fail "no reason was given"
