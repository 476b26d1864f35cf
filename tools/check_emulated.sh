#!/usr/bin/env bash
# check_emulated.sh BUILD: `varve check --quick` of an AArch64 build through qemu's user mode, as many
# operations at a time as there are CPUs, those with the longest checks first.
set -euo pipefail
cd "$(dirname "$0")/.."
said=$(mktemp)
trap 'rm -f "$said"' EXIT
wc -l src/op/*/check.c | sort -rn | sed -n 's|.*src/op/\(.*\)/check.c|\1|p' |
    xargs -P "$(nproc)" -I NAME qemu-aarch64-static "$1/varve" check --quick NAME > "$said" || {
    cat "$said" >&2
    echo "check_emulated: a check fails on AArch64" >&2
    exit 1
}
awk '/^[0-9]+ passed/ { passed += $1; failed += $3; n++ }
     END { print "check_emulated: " n " operations, " passed " passed, " failed " failed"
           exit failed || !passed }' "$said"
