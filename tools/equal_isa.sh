#!/usr/bin/env bash
# equal_isa.sh BUILD [--emulated BUILD] [FIXTURES]: the logits of every model in tests/data (and in
# FIXTURES/qwen4exp and FIXTURES/deepseek4) must have the same bytes at every level of instruction
# sets that this machine offers, at those of an emulated AArch64 machine (its build is named), and of
# an emulated x86 machine without AVX; with int8 and with float activations, several windows, all
# barriers or the needed ones, and on a device that keeps weights in another order. Here also with 1
# to 16 threads, and with a profile of varve tune.
set -euo pipefail
cd "$(dirname "$0")/.."
programs=("$1/varve")
if [[ ${2:-} == --emulated ]]; then
    programs+=("qemu-aarch64-static $3/varve")
    [[ $(uname -m) == x86_64 ]] && programs+=("qemu-x86_64-static -cpu Nehalem $1/varve")
    shift 2
fi
shift
shopt -s nullglob
models=()
folders=(tests/data ${1:+"$1"})
for folder in "${folders[@]}"; do
    for model in "$folder"/{qwen4exp,deepseek4}/*.gguf; do
        [[ $model == *golden.gguf || $model == *draft.gguf ]] || models+=("$model")
    done
done
tokens=$(seq -s ' ' 3 4 275) # 69 of them: more than the largest window but one
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ways=("-t 1" "-t 1 --activations f32" "-t 2 -w 7 --barriers all" "-t 2 -w 64 --device mock")

bad() {
    echo "equal_isa: $*" >&2
    exit 1
}

# levels PROGRAM: those that its machine offers, from the sentence that refuses another.
levels() {
    local other
    for other in neon amx; do
        # shellcheck disable=SC2086 # a program is several words
        $1 logits -m "${models[0]}" --tokens 1 -o "$work/none.npy" --isa $other 2>&1 |
            sed -n 's/.*it offers //p'
    done | head -1 | tr -d ,
}

# sum PROGRAM MODEL OPTION...: of the logits.
sum() {
    local program=$1 model=$2
    shift 2
    # shellcheck disable=SC2086
    $program logits -m "$model" --tokens "$tokens" -o "$work/l.npy" "$@" || bad "$program fails: $model $*"
    sha256sum < "$work/l.npy"
}

compared=0 names=()
declare -A want

# compare KEY PROGRAM MODEL OPTION...: its logits must be those that were first found for KEY.
compare() {
    local key=$1 got
    shift
    got=$(sum "$@") || exit
    [[ $got == "${want[$key]:=$got}" ]] || bad "$2 differs: $*"
    compared=$((compared + 1))
}

for program in "${programs[@]}"; do
    read -ra offered <<< "$(levels "$program")"
    ((${#offered[@]})) || bad "$program doesn't say which levels it offers"
    names+=("${offered[@]}")
    for level in "${offered[@]}"; do
        for model in "${models[@]}"; do
            for way in "${ways[@]}"; do
                [[ $way == *f32 ]] && key="$model f32" || key="$model int8"
                # shellcheck disable=SC2086 # a way is several words
                compare "$key" "$program" "$model" --isa "$level" $way
            done
        done
    done
done
for model in "${models[@]}"; do
    for threads in {1..16}; do
        compare "$model int8" "${programs[0]}" "$model" -t "$threads" -w 7 2> /dev/null
    done
done
for model in tests/data/{qwen4exp/hq.ud,deepseek4/tiny}.gguf; do
    ${programs[0]} tune -m "$model" --rounds 1 -t 2 -o "$work/tuned.json" > /dev/null
    for window in 1 4 64; do
        compare "$model int8" "${programs[0]}" "$model" --tuned "$work/tuned.json" -w $window
    done
done
echo "equal_isa: $compared files of logits of ${#want[@]} kinds, all equal; levels ${names[*]}"
