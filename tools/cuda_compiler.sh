#!/usr/bin/env bash
# cuda_compiler.sh FOLDER: prints the path of CUDA's compiler: that of this machine, or one that is
# put into FOLDER from PyPI. Ends with 1 after a sentence if there is none.
set -euo pipefail
folder=${1:?where a compiler may be put}

find_there() { find "$folder" -path '*/bin/nvcc' -print -quit 2> /dev/null || true; }

if command -v nvcc; then
    exit 0
fi
if [[ -z $(find_there) ]]; then
    if ! { python3 -m venv "$folder" &&
        "$folder/bin/pip" install --quiet nvidia-cuda-nvcc nvidia-cuda-runtime; } > "$folder.log" 2>&1; then
        echo "there is no nvcc, and PyPI's nvidia-cuda-nvcc can't be installed: $folder.log tells why" >&2
        exit 1
    fi
fi
find_there | grep . || {
    echo "there is no nvcc, and PyPI's nvidia-cuda-nvcc has none for this machine" >&2
    exit 1
}
