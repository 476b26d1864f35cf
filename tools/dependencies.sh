#!/usr/bin/env bash
# dependencies.sh GROUP...: makes sure that what the groups need is there. It looks for the programs
# and headers themselves, so that any system will do that has them. What is missing is installed if
# this is Debian and we are root; otherwise one sentence names the packages.
set -euo pipefail

missing=()

# need PACKAGE COMMAND...: PACKAGE is missing unless the command succeeds.
need() {
    local package=$1
    shift
    "$@" > /dev/null 2>&1 || missing+=("$package")
}
# wish PACKAGE COMMAND...: the same for what can be done without.
wish() {
    local package=$1
    shift
    "$@" > /dev/null 2>&1 || wishes+=("$package")
}
have() { command -v "$1"; }
compiles() { printf '#include <%s>\n' "$1" | "${CC:-gcc}" -E -x c -; }
compiles_for_arm() { echo '#include <stdio.h>' | aarch64-linux-gnu-gcc -E -x c -; }
fuzzes() {
    local folder
    folder=$(mktemp -d)
    printf 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return !p && n; }\n' |
        clang -fsanitize=fuzzer -x c -o "$folder/out" -
    rm -r "$folder"
}

for group in "$@"; do
    case $group in
    build)
        need gcc have "${CC:-gcc}"
        need libc6-dev compiles stdio.h
        need cmake have cmake
        need make have make
        need pkg-config have pkg-config
        need libjansson-dev pkg-config --exists jansson
        wish libedit-dev pkg-config --exists libedit # lines are edited in varve chat
        wish libxxhash-dev pkg-config --exists libxxhash # session files
        wish libzstd-dev pkg-config --exists libzstd
        ;;
    edit) need libedit-dev pkg-config --exists libedit ;;
    test)
        need libcmocka-dev pkg-config --exists cmocka
        need g++ have "${CXX:-g++}" # the emulated GPU
        need libxxhash-dev pkg-config --exists libxxhash
        need libzstd-dev pkg-config --exists libzstd
        ;;
    cuda) have nvcc > /dev/null || need python3-venv python3 -m ensurepip --version ;;
    conformance) need libzstd-dev pkg-config --exists libzstd ;;
    clang) need clang have clang ;;
    fuzz)
        need clang have clang
        need libxxhash-dev pkg-config --exists libxxhash
        need libzstd-dev pkg-config --exists libzstd
        need libclang-rt-14-dev fuzzes
        ;;
    package)
        need dpkg-dev have dpkg-shlibdeps
        need file have file
        ;;
    format) need clang-format have clang-format ;;
    arm)
        need gcc-aarch64-linux-gnu have aarch64-linux-gnu-gcc
        need libc6-dev-arm64-cross compiles_for_arm
        need qemu-user-static have qemu-aarch64-static
        ;;
    *)
        echo "dependencies.sh: there is no group $group" >&2
        exit 2
        ;;
    esac
done

if [[ $(id -u) -eq 0 ]] && command -v apt-get > /dev/null; then
    missing+=("${wishes[@]}")
    ((${#missing[@]})) || exit 0
    echo "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null 2>&1 ||
        apt-get install -y --no-install-recommends "${missing[@]}"
elif ((${#missing[@]})); then
    echo "varve needs packages that are not here: sudo apt-get install ${missing[*]} ${wishes[*]}" >&2
    exit 1
elif ((${#wishes[@]})); then
    echo "some things are left out without ${wishes[*]} (libedit: arrow keys in varve chat; libxxhash: session files; libzstd: their compression)" >&2
fi
