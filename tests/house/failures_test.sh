#!/usr/bin/env bash
# What `./dev test` shows of a failed test: from its first complaint on, or else the end. The
# argument is the path of ./dev.
set -euo pipefail

place="$(mktemp -d)"
readonly place
trap 'rm -r "$place"' EXIT

# failed NAME FIRST: a failed test that printed 40 lines, then FIRST, then 40 more.
failed() {
    printf '<testcase name="%s" status="fail">\n<system-out>\n' "$1"
    printf 'before %s\n' {1..40}
    printf '%s\n' "$2"
    printf 'after %s\n' {1..40}
    printf '</system-out>\n</testcase>\n'
}
{
    printf '<testcase name="room/good" status="run">\nFailure of no test\n</testcase>\n'
    failed room/violation 'x.cpp:3: Failure'
    failed room/race 'WARNING: ThreadSanitizer: data race'
    failed room/silent 'nothing'
} >"$place/tests.xml"

# Only that function: the rest of ./dev acts.
eval "$(sed -n '/^failures() {/,/^}/p' "$1")"
failures 1 "$place" >"$place/shown"

demand() { grep -qxF -- "$1" "$place/shown" || { cat "$place/shown"; echo "no: $1"; exit 1; }; }
refuse() { ! grep -qF -- "$1" "$place/shown" || { cat "$place/shown"; echo "shown: $1"; exit 1; }; }

demand "  failed: room/race   (./dev test --stage 1 -R 'room/race')"
demand '    x.cpp:3: Failure'
demand '    WARNING: ThreadSanitizer: data race'
demand '    after 15'
demand '    after 40'
refuse 'before'
refuse 'Failure of no test'
