#!/usr/bin/env bash
# check_installed.sh PREFIX: tries an installed varve as its users would: the command, the manual
# page, the completions, and a C program built with the library through pkg-config.
set -euo pipefail
prefix=$(realpath "$1")
root=$(realpath "$(dirname "$0")/..")
model=$root/models/varve-tiny.gguf
export PATH=$prefix/bin:$PATH
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

bad() {
    echo "check_installed: $*" >&2
    exit 1
}

[[ $(command -v varve) == "$prefix/bin/varve" ]] || bad "there is no command in $prefix/bin"
[[ -n $(varve run -m "$model" -n 4 --temperature 0 "Tell me a story." 2> /dev/null) ]] ||
    bad "varve run writes nothing"

# The pages are those of this very command, and troff has nothing to say about them.
cmp <(varve help --man) "$prefix/share/man/man1/varve.1"
cmp <(varve help --completion bash) "$prefix/share/bash-completion/completions/varve"
zsh_file=$(find "$prefix/share/zsh" -name _varve)
cmp <(varve help --completion zsh) "$zsh_file"
if command -v groff > /dev/null; then
    said=$(groff -ww -man -Tutf8 "$prefix/share/man/man1/varve.1" 2>&1 > /dev/null)
    [[ -z $said ]] || bad "groff says: $said"
fi
bash -c 'source "$1" && complete -p varve' - "$prefix/share/bash-completion/completions/varve" \
    > /dev/null || bad "bash does not take the completions"
if command -v zsh > /dev/null; then
    zsh -n "$zsh_file" || bad "zsh does not take the completions"
fi

# What pkg-config says is enough for the example.
pc=$(dirname "$(find "$prefix/lib" -name varve.pc)")
flags=$(PKG_CONFIG_PATH=$pc pkg-config --static --cflags --libs varve)
version=$(PKG_CONFIG_PATH=$pc pkg-config --modversion varve)
[[ "varve $version" == "$(varve version)" ]] || bad "pkg-config knows version $version"
# shellcheck disable=SC2086 # the flags are words
"${CC:-cc}" -std=c17 "$prefix/share/doc/varve/examples/story.c" $flags -o "$scratch/story"
[[ -n $("$scratch/story" "$model" "Tell me a story." 4) ]] || bad "the example writes nothing"
[[ -s $prefix/share/doc/varve/LICENSE || -s $prefix/share/doc/varve/copyright ]] ||
    bad "the licence is missing"
echo "check_installed: $prefix is complete"
