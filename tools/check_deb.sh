#!/usr/bin/env bash
# check_deb.sh PACKAGE: installs a Debian package into a root of its own, tries it there, and removes
# it again. Needs no rights.
set -euo pipefail
package=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

bad() {
    echo "check_deb: $*" >&2
    exit 1
}
field() { dpkg-deb --field "$package" "$1"; }

[[ $(field Package) == varve ]] || bad "the package is called $(field Package)"
[[ $(field Maintainer) == "The varve authors" ]] || bad "the maintainer is $(field Maintainer)"
[[ $(field Architecture) == "$(dpkg --print-architecture)" ]] || bad "another architecture"
for needed in libc6 libjansson4; do
    [[ $(field Depends) == *"$needed (>="* ]] || bad "it does not depend on $needed"
done

# A root without the packages that it depends on: dpkg is told to go on, and to need no root.
mkdir -p "$root/var/lib/dpkg/"{info,updates,triggers}
touch "$root/var/lib/dpkg/"{status,available}
dpkg_here() {
    dpkg --root="$root" --log=/dev/null --force-not-root --force-depends --force-script-chrootless \
        "$@" > "$root/said" 2>&1 || bad "dpkg $1 fails: $(cat "$root/said")"
}
dpkg_here --install "$package"
"$(dirname "$0")/check_installed.sh" "$root/usr"
dpkg_here --purge varve
left=$(find "$root/usr" ! -type d 2> /dev/null || true)
[[ -z $left ]] || bad "after its removal there is still $left"
echo "check_deb: $package is good"
