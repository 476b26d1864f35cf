#!/usr/bin/env bash
# fuzz.sh FOLDER SECONDS: runs every fuzzer in FOLDER for that long, as many at a time as there are
# CPUs, from the seeds in fuzz/corpus. What it finds is left beside the build, never in the tree.
set -euo pipefail

# run FUZZER SECONDS
run() {
    local fuzzer=$1 seconds=$2 name work arguments
    name=$(basename "$fuzzer" _fuzz)
    work=$(dirname "$fuzzer")/$name.work
    mkdir -p "$work/new" "$work/found"
    arguments=("$work/new")
    [[ -d fuzz/corpus/$name ]] && arguments+=("fuzz/corpus/$name")
    [[ -f fuzz/$name.dict ]] && arguments+=("-dict=fuzz/$name.dict")
    "$fuzzer" "${arguments[@]}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="$work/found/" > "$work/log" 2>&1 || {
        tail -40 "$work/log"
        echo "fuzz: $name found something: $work/found" >&2
        return 1
    }
    echo "fuzz: $name: $(grep -E '^(#[0-9]+.*DONE|Done)' "$work/log" | tail -1)"
}
export -f run

printf '%s\n' "$1"/*_fuzz |
    xargs -P "$(nproc)" -I FUZZER bash -euo pipefail -c 'run "$@"' run FUZZER "$2"
