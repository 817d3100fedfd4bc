#!/usr/bin/env bash
# check.sh RELEASE_TREE LAB_TREE [CASE...]: traces workloads of the release build, instruction for
# instruction, and has the crash lab explore what a power cut could have left of them.
set -euo pipefail

readonly release=$1 lab=$2
shift 2
cases=("$@")
((${#cases[@]})) || cases=(leaf.insert leaf.update leaf.remove leaf.mixed leaf.wrap split.leaf
    layer.make layer.remove node.remove epochs.change log.fill alloc.churn)
readonly workload="$release/crashlab/production/hf_production_workload"
readonly tracer="$release/crashlab/production/libhf_tracer.so"
scratch="$(mktemp -d /dev/shm/hf-production.XXXXXX)"
readonly scratch
trap 'rm -rf "$scratch"' EXIT

# Address, length and kind of every flush and fence in the program's text.
objdump -d -w "$workload" | awk -F'\t' '
    $3 ~ /^(clwb|clflushopt|clflush|sfence)/ {
        place = $1; gsub(/[ :]/, "", place)
        kind = $3 ~ /^sfence/ ? "fence" : "flush"
        print place, split($2, bytes, " "), kind
    }' >"$scratch/places"

status=0
for case in "${cases[@]}"; do
    rm -f "$scratch/region"
    HF_TRACE_FILE="$scratch/trace" HF_TRACE_PLACES="$scratch/places" LD_PRELOAD="$tracer" \
        "$workload" "$case" 1 "$scratch/region"
    "$lab/crashlab/hf_crash" --target "$case" --seed 1 --rounds 1 --trace "$scratch/trace" |
        grep -vE '^(target|seed|$|  not reached)' || true
    ((PIPESTATUS[0] == 1)) && status=1
done
exit "$status"
