#!/usr/bin/env bash
# device.sh [STEP...]: builds varve with its CUDA kernels, checks them and measures them on this
# machine's GPU. Steps: build check memory sanitize equal steps bench gemm tables whole model peer; none:
# all of them. Results go to one folder. Set in the environment, where the default doesn't suit:
#   BUILD     build folder with varve and libvarve_cuda.so   (build/cuda)
#   RESULTS   where results go                               (build/device-results)
#   FIXTURES  a folder with more models, qwen4exp/*.gguf     (none)
#   JOBS      models compared at a time                      (4)
#   MODEL     a file to measure as a model                   (none)
#   PEER      llama_window built with CUDA, beside it        (none)
#   STEPS     random steps of sessions                       (10000)
#   LIMIT     seconds that one step may take                 (600)
set -uo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/cuda} results=${RESULTS:-build/device-results} limit=${LIMIT:-600}
varve=$build/varve
mkdir -p "$results"
failed=()

# step NAME COMMAND...: its output goes to the results and its last lines here.
step() {
    local name=$1 began=$SECONDS
    shift
    echo "== $name"
    if timeout -k 5 "$limit" "$@" > "$results/$name.txt" 2>&1; then
        tail -n 4 "$results/$name.txt"
    else
        failed+=("$name")
        tail -n 12 "$results/$name.txt"
    fi
    echo "   ($((SECONDS - began)) s)"
}

facts() {
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader
    "$varve" version
    git log -1 --format='commit %h %cs' 2> /dev/null || true
    date -u +%F
}

do_build() {
    cmake -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DVARVE_CUDA=ON -DVARVE_TESTS=OFF \
        -DVARVE_EMULATED_CUDA=OFF -DCMAKE_CUDA_ARCHITECTURES="${ARCHITECTURES:-native}" &&
        cmake --build "$build"
}

do_check() { "$varve" check --device cuda ${QUICK:+--quick}; }

# Under these tools kernels are ten to a hundred times as slow: of each kernel, with each format, a
# case of each size. TOOLS: which of them; SANITIZE: more words for varve check.
do_sanitize() {
    local tool failed=0
    for tool in ${TOOLS:-memcheck racecheck initcheck}; do
        echo "-- $tool"
        compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 3 \
            "$varve" check --device cuda --quick --cases 1 ${SANITIZE:-} || failed=1
        echo "-- $tool: $SECONDS s so far"
    done
    return $failed
}

# Each call for memory of the device is refused in turn: see tests/device/memory.c.
do_memory() {
    local model
    for model in tests/data/qwen4exp/micro.f32.gguf tests/data/deepseek4/tiny.gguf; do
        echo "-- $model"
        "$build/device_memory" "$model" cuda || return 1
    done
}

# The logits of a model have the bytes that the CPU gives, whatever the window, with and without
# recorded graphs, with barriers wherever there can be one. Prints a line for each file compared.
equal_model() {
    local model=$1 tokens work want got activations way
    tokens=$(seq -s ' ' 0 319 | awk '{ for (i = 1; i <= NF; i++) printf "%d ", 3 + $i * 37 % 251 }')
    work=$(mktemp -d)
    for activations in int8 f32; do
        "$varve" logits -m "$model" --tokens "$tokens" -o "$work/l.npy" --activations $activations || return 1
        want=$(sha256sum < "$work/l.npy")
        for way in "" "-w 1" "-w 3" "-w 8" "-w 1 --graphs off" "-w all --barriers all"; do
            # shellcheck disable=SC2086 # a way is several words
            "$varve" logits -m "$model" --tokens "$tokens" -o "$work/l.npy" --activations $activations \
                --device cuda $way || { echo "$model $activations $way: fails"; return 1; }
            got=$(sha256sum < "$work/l.npy")
            [[ $got == "$want" ]] || { echo "$model $activations $way: differs"; return 1; }
            echo "$model $activations $way: equal"
        done
    done
    rm -rf "$work"
}

# Of all models but drafts' heads, which have no logits of their own; as many at a time as JOBS says.
export -f equal_model
do_equal() {
    local models work
    work=$(mktemp)
    models=$(ls tests/data/*/*.gguf ${FIXTURES:+"$FIXTURES"/*/*.gguf} | grep -v -e golden -e draft -e tests/data/quant -e tests/data/arithmetic -e vocab)
    # shellcheck disable=SC2086 # a name a word
    printf '%s\n' $models | xargs -P "${JOBS:-4}" -I{} bash -c 'equal_model {} || exit 255' > "$work" || { grep -v ': equal' "$work"; return 1; }
    echo "equal: $(grep -c ': equal' "$work") files of logits of $(wc -w <<< "$models") models have the CPU's bytes"
    rm "$work"
}

# Random scripts of everything that moves a sequence's state, on the CPU and the GPU in turn.
do_steps() {
    [[ -x $build/tests/test_kept ]] ||
        { cmake -B "$build" -DVARVE_TESTS=ON && cmake --build "$build" --target test_kept; } || return 1
    BUILD=$build tools/steps.sh "${STEPS:-10000}" cuda
}

do_bench() { "$varve" bench ${BENCH:-} --device cuda --rows 1,2,4,8 --rounds 5; }

# Prompts' products beside their roofs and, where libcublas is found, beside BF16.
do_gemm() { "$varve" bench gemm --device cuda --tiles --ab --rounds 3; }

# The tables that have published figures to be held against: docs/bench.md.
do_tables() {
    "$varve" bench hyper_read --tiles --device cuda --shape Qwen3.8 --rounds 3 &&
        "$varve" bench gdn --modes --device cuda --shape Qwen3.8 --rounds 3 &&
        "$varve" bench gemv_cat --device cuda --shape Qwen3.8 --rounds 3 &&
        "$varve" bench gemm --device cuda --chunk-sum --rounds 2
}

# A released model at full size, its weights made up.
do_whole() {
    "$varve" bench model --geometry qwen3.8-flash-next --types q4 --device cuda --kv f16 --rows 1,2,3,4,8 --batch 8,32 \
        --prompt 4096 --gen 64 --depth 2048 --rounds 3
}

do_model() {
    "$varve" bench model -m "${MODEL:?name a file}" --device cuda --kv f16 --rows 1,2,3,4,8 --prompt 512,2048 \
        --depth 0,2048 --rounds 3
}

# In turn with llama.cpp on the same file: docs/bench.md.
do_peer() {
    python3 tools/peer/compare.py --varve "$varve" --peer "${PEER:?name llama_window}" -m "${MODEL:?name a file}" \
        --threads 8 --rounds 3 --prompt 512,2048 --rows 1,2,3,4,8 --gen 64 \
        --varve-options "--device cuda --kv f16" --keep "$results/peer.jsonl"
}

steps=("$@")
((${#steps[@]})) || steps=(build check memory sanitize equal steps bench gemm tables whole ${MODEL:+model} ${PEER:+peer})
for name in "${steps[@]}"; do
    [[ $(type -t "do_$name") == function ]] || { echo "device: no step is called $name" >&2; exit 2; }
    [[ $name == build ]] || [[ -s $results/facts.txt ]] || facts > "$results/facts.txt" 2>&1
    export -f "do_$name"
    export varve build results
    step "$name" bash -c "do_$name"
done
if ((${#failed[@]})); then
    echo "device: failed: ${failed[*]}; see $results" >&2
    exit 1
fi
echo "device: all steps done; see $results"
