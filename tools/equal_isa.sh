#!/usr/bin/env bash
# equal_isa.sh BUILD [--emulated BUILD] [FIXTURES]: the logits of every model in tests/data (and in
# FIXTURES/qwen4exp) must have the same bytes at every level of instruction sets that this machine
# offers, at those of an emulated AArch64 machine (its build is named), and of an emulated x86 machine
# without AVX; with int8 and with float activations, several threads, windows and barriers, and on a
# device that keeps weights in another order.
set -euo pipefail
cd "$(dirname "$0")/.."
programs=("$1/varve")
if [[ ${2:-} == --emulated ]]; then
    programs+=("qemu-aarch64-static $3/varve")
    [[ $(uname -m) == x86_64 ]] && programs+=("qemu-x86_64-static -cpu Nehalem $1/varve")
    shift 2
fi
shift
models=(tests/data/qwen4exp/*.gguf ${1:+"$1"/qwen4exp/*.gguf})
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
    $program logits -m "$model" --tokens "$tokens" -o "$work/l.npy" "$@"
    sha256sum < "$work/l.npy"
}

compared=0 names=()
declare -A want
for program in "${programs[@]}"; do
    read -ra offered <<< "$(levels "$program")"
    ((${#offered[@]})) || bad "$program doesn't say which levels it offers"
    names+=("${offered[@]}")
    for level in "${offered[@]}"; do
        for model in "${models[@]}"; do
            [[ $model == *.golden.gguf ]] && continue
            for way in "${ways[@]}"; do
                [[ $way == *f32 ]] && key="$model f32" || key="$model int8"
                # shellcheck disable=SC2086 # a way is several words
                got=$(sum "$program" "$model" --isa "$level" $way)
                [[ $got == "${want[$key]:=$got}" ]] || bad "$model differs: $program --isa $level $way"
                compared=$((compared + 1))
            done
        done
    done
done
echo "equal_isa: $compared files of logits of ${#want[@]} kinds, all equal; levels ${names[*]}"
