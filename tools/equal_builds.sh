#!/usr/bin/env bash
# equal_builds.sh: gcc and clang, without and with optimisation, must give the same logits to the
# bit, for every window and thread count, and the same blocks in every format that can be encoded.
# The four builds have warnings as errors.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v ninja > /dev/null && export CMAKE_GENERATOR=Ninja
tokens=$(seq -s ' ' 3 4 275) # 69 of them: more than the largest window but one
models=(tests/data/qwen4exp/micro.f32.gguf tests/data/qwen4exp/hq.ud.gguf)
work=build/equal/logits
mkdir -p "$work"

flavours=()
for compiler in gcc clang; do
    for type in Debug Release; do # -O0 and -O3
        flavour=build/equal/$compiler-$type
        cmake -B "$flavour" -DCMAKE_C_COMPILER=$compiler -DCMAKE_BUILD_TYPE=$type \
            -DVARVE_WERROR=ON -DVARVE_CONFORMANCE=ON > /dev/null
        cmake --build "$flavour" --parallel "$(nproc)" > "$work/build.log" 2>&1 || {
            tail -60 "$work/build.log"
            echo "equal_builds: $compiler $type does not build without a warning" >&2
            exit 1
        }
        flavours+=("$flavour")
    done
done

compared=0
for model in "${models[@]}"; do
    want=
    for flavour in "${flavours[@]}"; do
        for window in 1 2 3 7 64 all; do
            for threads in 1 2 3 4; do
                "$flavour/varve" logits -m "$model" --tokens "$tokens" --window $window \
                    --threads $threads --out "$work/l.npy"
                sum=$(sha256sum < "$work/l.npy")
                want=${want:-$sum}
                if [[ $sum != "$want" ]]; then
                    echo "equal_builds: $model differs: $flavour, window $window, $threads threads" >&2
                    exit 1
                fi
                compared=$((compared + 1))
            done
        done
    done
done
echo "equal builds: $compared files of logits, gcc and clang, -O0 and -O3, all equal"

types=(F32 F16 BF16 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4)
for type in "${types[@]}"; do
    want=
    for flavour in "${flavours[@]}"; do
        "$flavour/varve" quantize -m tests/data/qwen4exp/hq.ud.gguf -t "$type" \
            -o "$work/q.gguf" > /dev/null 2> "$work/q.log" || { cat "$work/q.log" >&2; exit 1; }
        sum=$(sha256sum < "$work/q.gguf")
        want=${want:-$sum}
        if [[ $sum != "$want" ]]; then
            echo "equal_builds: blocks of $type differ: $flavour" >&2
            exit 1
        fi
    done
done
echo "equal builds: blocks of ${#types[@]} formats, all equal"
