#!/usr/bin/env bash
# foreign_package.sh ARCHITECTURE PACKAGE FOLDER: unpacks a Debian package of another architecture
# into FOLDER. It keeps lists of its own there, so this system's packages and architectures stay as
# they are, and no rights are needed.
set -euo pipefail
architecture=$1 package=$2 folder=$3
[[ -e $folder/$package.done ]] && exit 0
mkdir -p "$folder"
folder=$(realpath "$folder")
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state"/{lists,archives}/partial

own_apt() {
    apt-get -qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
        -o Acquire::Languages=none -o Dir::State::Lists="$state/lists" -o Dir::Cache="$state" \
        -o Dir::State::status=/dev/null -o APT::Sandbox::User="$(id -un)" "$@"
}
own_apt update
(cd "$state" && own_apt download "$package")
dpkg-deb --extract "$state/$package"_*.deb "$folder"
touch "$folder/$package.done"
