#!/usr/bin/env bash
# steps.sh [STEPS [DEVICE]]: random scripts of everything that moves a sequence's state, in pieces of
# 10,000 steps with a seed each, on the CPU and, in turn, on DEVICE: mock (the default) or cuda. What
# was done is noted, so that ended early it goes on there. Set in the environment:
#   BUILD   build folder with tests/test_kept   (build/release)
#   LOG     the notes                           (BUILD/steps-DEVICE.log)
set -euo pipefail
cd "$(dirname "$0")/.."
steps=${1:-1000000} device=${2:-mock} build=${BUILD:-build/release} piece=10000
log=${LOG:-$build/steps-$device.log}
touch "$log"
for ((n = 0; n * piece < steps; n++)); do
    seed=$((1000 + 10 * n))
    grep -q "^seed $seed done" "$log" && continue
    output=$("$build/tests/test_kept" $piece $seed "$device" 2>&1) || {
        printf '%s\n' "$output" >&2
        echo "steps: seed $seed fails: $build/tests/test_kept $piece $seed $device" >&2
        exit 1
    }
    { grep ' steps: ' <<< "$output" && echo "seed $seed done"; } >> "$log"
done
awk '/ steps: / { for (i = 4; i < NF; i += 2) { count[$i] += $(i + 1); all += $(i + 1) } }
     END { printf "%d steps, none differs:", all
           for (kind in count) printf " %s %d (%.1f %%)", kind, count[kind], 100 * count[kind] / all
           print "" }' "$log"
