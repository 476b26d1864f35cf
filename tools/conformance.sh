#!/usr/bin/env bash
# conformance.sh BUILD FIXTURES: every conformance program, then `varve logits --golden` over every
# model of FIXTURES/qwen4exp and FIXTURES/deepseek4. The last line counts the groups; exit 1 if one failed.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 fixtures=$2
passed=0 failed=0

# verdict NAME STATUS
verdict() {
    if [[ $2 -eq 0 ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1: FAILED"
    fi
}

for program in "$build"/tests/conformance_*; do
    [[ -x $program && -f $program ]] || continue
    status=0
    "$program" "$fixtures" > "$program.log" 2>&1 || status=$?
    [[ $status -eq 0 ]] && tail -1 "$program.log" || tail -30 "$program.log"
    verdict "$(basename "$program")" "$status"
done

# golden_of MODEL: micro.f32.gguf and heads.f16.gguf have micro and heads.golden.gguf, the quantised
# ones their own.
golden_of() {
    local base=${1%.gguf}
    [[ -f $base.golden.gguf ]] && echo "$base.golden.gguf" || echo "${base%.*}.golden.gguf"
}

# compare MODEL OPTION...: one line; the lines of all sequences if it fails.
compare() {
    local model=$1 status=0 log
    shift
    [[ $* == *--golden* ]] || set -- --golden "$(golden_of "$model")" "$@"
    log=$("$build/varve" logits -m "$model" "$@" 2>&1) || status=$?
    [[ $status -eq 0 ]] && log=$(tail -1 <<< "$log")
    echo "golden $(basename "$model") $*: $log"
    return $status
}

models=("$fixtures"/qwen4exp/*.gguf)
for model in "${models[@]}"; do
    [[ $model == *.golden.gguf ]] && continue
    for activations in int8 f32; do
        # With int8 the quantised ones are judged below.
        [[ $activations == int8 && $(basename "$model") == hq.* ]] && continue
        status=0
        compare "$model" --activations $activations || status=$?
        verdict "golden $(basename "$model") $activations" "$status"
    done
done

# The second family, by floats: caches as they are computed, and rounded as the weights were trained.
for model in "$fixtures"/deepseek4/*.gguf; do
    [[ $model == *.golden.gguf || $model == */mtp-draft.gguf ]] && continue
    status=0
    compare "$model" --activations f32 --cache-precision exact || status=$?
    verdict "golden $(basename "$model")" "$status"
    if [[ -f ${model%.gguf}.sim.golden.gguf ]]; then
        status=0
        compare "$model" --golden "${model%.gguf}.sim.golden.gguf" --activations f32 --tolerance 0.03 || status=$?
        verdict "golden $(basename "$model") rounded" "$status"
    fi
done

# Every way to draft writes the texts of plain decoding.
drafting=()
for model in "$fixtures"/{qwen4exp,deepseek4}/*.gguf; do
    [[ $model == *golden.gguf || $model == *draft.gguf ]] || drafting+=("$model")
done
status=0
"$build/tests/test_draft" "${drafting[@]}" > "$build/tests/draft.log" 2>&1 || status=$?
[[ $status -eq 0 ]] || tail -5 "$build/tests/draft.log"
echo "drafts: $(grep -c ': every way' "$build/tests/draft.log") of ${#drafting[@]} models write the same texts"
verdict "drafts" "$status"

# Quantised models as they run: the median error of a row of `long`, against that of another engine.
awk -v OFS='\t' '!/^#/ && NF { print $1, $2 }' tests/conformance/row_errors.txt | {
    worst=0
    while IFS=$'\t' read -r name theirs; do
        ours=$("$build/varve" logits -m "$fixtures/qwen4exp/$name.gguf" --json --sequence long \
            --golden "$fixtures/qwen4exp/$name.golden.gguf" |
            sed -n 's/.*"median_row":\([0-9.e-]*\).*/\1/p')
        echo "$name $theirs $ours"
    done | awk '
        { limit = 1.4 * $2; bad = !($3 > 0 && $3 <= limit); failed += bad; sum += log($3); n++
          printf "int8 %-12s median row %.4f, llama.cpp %.3f%s\n", $1, $3, $2, bad ? ": TOO FAR" : "" }
        END { mean = n ? exp(sum / n) : 1
              printf "int8: geometric mean %.4f of %d files (at most 0.0453), %d beyond 1.4 times those of llama.cpp\n", mean, n, failed
              exit !(n && mean <= 0.0453 && !failed) }'
} && status=0 || status=$?
verdict "int8 row errors" "$status"

echo "conformance: $passed groups passed, $failed failed"
[[ $failed -eq 0 ]]
