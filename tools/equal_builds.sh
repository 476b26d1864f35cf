#!/usr/bin/env bash
# equal_builds.sh: gcc and clang, without and with optimisation, must give the same logits to the
# bit, for every window and thread count, and the same blocks in every format that can be encoded.
# The four builds have warnings as errors; gcc with optimisation is build/release, the others have the
# command alone.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v ninja > /dev/null && export CMAKE_GENERATOR=Ninja
work=build/equal/work
rm -rf "$work"
mkdir -p "$work"
trap 'rm -f "$work"/*.npy "$work"/*.gguf' EXIT

# build FOLDER OPTION...
flavours=()
build() {
    local folder=$1
    shift
    cmake -B "$folder" -DVARVE_WERROR=ON "$@" > /dev/null
    cmake --build "$folder" --parallel "$(nproc)" --target varve > "$work/log" 2>&1 || {
        tail -60 "$work/log"
        echo "equal_builds: $folder does not build without a warning" >&2
        exit 1
    }
    flavours+=("$folder")
}
build build/release -DCMAKE_BUILD_TYPE=Release
build build/equal/gcc-Debug -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=Debug
build build/equal/clang-Debug -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug
build build/equal/clang-Release -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Release

# A line of a list is what is made, and the command that makes it: "WHAT BUILD ARGUMENT...". Files of
# the same name WHAT must have the same bytes. Lines run as many at a time as there are CPUs.
make_one() {
    local out
    out=$(mktemp "$work/XXXXXX.$2")
    "$3/varve" "${@:4}" -o "$out" > "$out.said" 2>&1 || { cat "$out.said" >&2; return 1; }
    printf '%s %s %s\n' "$1" "$(sha256sum < "$out" | cut -c1-64)" "${*:3}"
    rm "$out" "$out.said"
}
export -f make_one
export work

# all_equal LIST
all_equal() {
    xargs -P "$(nproc)" -L 1 bash -euo pipefail -c 'make_one "$@"' make < "$1" > "$1.sums"
    awk '
        { if (!($1 in want)) { want[$1] = $2; first[$1] = $0 }
          if (want[$1] != $2) { print "equal_builds: these differ:\n" first[$1] "\n" $0; bad = 1 } }
        END { exit bad }' "$1.sums" >&2
}

tokens=$(seq -s , 3 4 275) # 69 of them: more than the largest window but one
for flavour in "${flavours[@]}"; do
    for model in micro.f32 hq.ud; do
        for window in 1 3 7 64 all; do
            for threads in 1 3; do
                echo "$model npy $flavour logits -m tests/data/qwen4exp/$model.gguf" \
                    "--tokens $tokens -w $window -t $threads"
            done
        done
    done
done > "$work/logits"
all_equal "$work/logits"
echo "equal builds: $(wc -l < "$work/logits") files of logits, gcc and clang, -O0 and -O3, all equal"

types=(F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4)
for flavour in "${flavours[@]}"; do
    for type in "${types[@]}"; do
        echo "$type gguf $flavour quantize -m tests/data/qwen4exp/hq.ud.gguf -t $type"
    done
done > "$work/blocks"
all_equal "$work/blocks"
echo "equal builds: blocks of ${#types[@]} formats, all equal"
