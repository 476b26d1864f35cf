#!/usr/bin/env bash
# check_install.sh BUILD: installs a build into a folder of its own, and tries it there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$1" --prefix "$folder" > /dev/null
"$(dirname "$0")/check_installed.sh" "$folder"
