#!/usr/bin/env bash
# The report of `./dev test`: a failed test is shown from its first complaint on, or else its end,
# and the table counts tests and seconds. The argument is the path of report.py.
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

python3 -B "$1" failures 1 "$place" >"$place/shown"

demand() { grep -qxF -- "$1" "$place/shown" || { cat "$place/shown"; echo "no: $1"; exit 1; }; }
refuse() { ! grep -qF -- "$1" "$place/shown" || { cat "$place/shown"; echo "shown: $1"; exit 1; }; }

demand "  failed: room/race   (./dev test --stage 1 -R 'room/race')"
demand '    x.cpp:3: Failure'
demand '    WARNING: ThreadSanitizer: data race'
demand '    after 15'
demand '    after 40'
refuse 'before'
refuse 'Failure of no test'

mkdir "$place/1" "$place/2"
mv "$place/tests.xml" "$place/1"
printf 'building 10.5 1 20.5 12\nrunning 20.5 12 23.5 13\n' >"$place/1/phases"
{
    printf '<testcase name="room/good" status="notrun"/>\n'
    printf '<testcase name="room/never" time="0.5" status="notrun"/>\n'
} >"$place/2/tests.xml"
python3 -B "$1" table "$place" '1:1:one stage' '2:0:another' >"$place/shown"
demand '  one stage                          FAILED     10     11      3      1      4      0'
demand '  another                            passed      0      0      0      0      0      2'
demand '  Skipped, and run by none of these stages:'
demand '    room/never'
refuse '    room/good'
