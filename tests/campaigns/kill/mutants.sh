#!/usr/bin/env bash
# Builds the SIGKILL campaign over deliberately broken cores (HF_MUTATION), each in a build tree
# of its
# own, and demands that it reports violations.
#
#   mutants.sh [--cycles N] [--builds DIRECTORY] [MUTANT...]
#
# Without names, all that a killed process can show. Exit status 1: a mutant got away.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)"
# Mutants that only a power cut shows (missing write-backs) are the crash lab's: a killed process's
# stores are all there.
readonly shown_by_kills=(skip_log leaf_epoch group_epoch)

cycles=60
builds="$root/build/mutants"
mutants=()
while (($#)); do
    case "$1" in
        --cycles) cycles=$2 && shift 2 ;;
        --builds) builds=$2 && shift 2 ;;
        -*) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2 && exit 2 ;;
        *) mutants+=("$1") && shift ;;
    esac
done
((${#mutants[@]})) || mutants=("${shown_by_kills[@]}")

got_away=0
for mutant in "${mutants[@]}"; do
    tree="$builds/$mutant"
    mkdir -p "$tree"
    {
        cmake -S "$root" -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHF_BUILD_TOOLS=OFF \
            -DHF_MUTATION="$mutant" &&
            cmake --build "$tree" -j "${HF_JOBS:-$(nproc)}" --target hf_kill_test
    } >"$tree/build.log" 2>&1 || {
        cat "$tree/build.log" >&2
        exit 3
    }
    # Broken cores may end in any way; what they say goes to the log.
    if "$tree/tests/campaigns/kill/hf_kill_test" --cycles "$cycles" --give-up-after 1 --discard \
        >"$tree/campaign.log" 2>&1; then
        printf 'mutant %-12s NOT noticed in %s cycles\n' "$mutant" "$cycles"
        got_away=1
    else
        grep -q '^kill-test: .* [1-9][0-9]* violations$' "$tree/campaign.log" || {
            cat "$tree/campaign.log" >&2
            exit 3
        }
        printf 'mutant %-12s noticed: %s\n' "$mutant" \
            "$(sed -n '/^kill-test: [0-9]* cycles,/s/^kill-test: //p' "$tree/campaign.log")"
    fi
done
exit "$got_away"
