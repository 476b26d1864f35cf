#!/usr/bin/env bash
# fuzz.sh FOLDER SECONDS: runs every fuzzer in FOLDER for that long, from the seeds in fuzz/corpus.
# What it finds is left beside the build, never in the tree.
set -euo pipefail
folder=$1 seconds=$2

for fuzzer in "$folder"/*_fuzz; do
    name=$(basename "$fuzzer" _fuzz)
    work=$folder/$name.work
    mkdir -p "$work/new" "$work/found"
    arguments=("$work/new")
    [[ -d fuzz/corpus/$name ]] && arguments+=("fuzz/corpus/$name")
    [[ -f fuzz/$name.dict ]] && arguments+=("-dict=fuzz/$name.dict")
    "$fuzzer" "${arguments[@]}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="$work/found/" > "$work/log" 2>&1 || {
        tail -40 "$work/log"
        echo "fuzz: $name found something: $work/found" >&2
        exit 1
    }
    echo "fuzz: $name: $(grep -E '^(#[0-9]+.*DONE|Done)' "$work/log" | tail -1)"
done
