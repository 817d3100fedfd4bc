#!/usr/bin/env bash
# Fetches Debian's source of memcached, makes its data durable by durable.patch and durable.c, and
# compiles it with the plugin of failure-atomic sections.
#
#   examples/memcached/build.sh DIRECTORY RUNTIME
#
# DIRECTORY is where the sources and the program go: DIRECTORY/memcached. RUNTIME are the words to
# link: Holdfast's libraries, installed or in a build tree. hf-clang is taken from PATH, or from
# build/pass. Package lists are fetched into DIRECTORY, so that the system's stay as they are.
set -euo pipefail

readonly place=${1:?a directory to build in} runtime=${2:?the runtime to link}
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
readonly here root

fail() {
    printf '%s\n' "build.sh: $*" >&2
    exit 3
}

# source_lists FILE: the system's Debian sources, as entries for source packages.
source_lists() {
    local list
    for list in /etc/apt/sources.list.d/*.sources; do
        [[ ! -e "$list" ]] || sed 's/^Types:.*/Types: deb-src/' "$list"
        printf '\n'
    done >"$1.sources"
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
        sed -n 's/^deb /deb-src /p' >"$1.list" || true
}

fetch() {
    local -r lists="$place/apt"
    mkdir -p "$lists/parts" "$lists/state/partial"
    source_lists "$lists/parts/debian"
    local -a apt=(apt-get -qq -o "Dir::Etc::sourcelist=$lists/parts/debian.list"
        -o "Dir::Etc::sourceparts=$lists/parts" -o "Dir::State::lists=$lists/state"
        -o "APT::Sandbox::User=$(id -un)")
    "${apt[@]}" update || fail "apt-get update failed: is there a network?"
    (cd "$place" && "${apt[@]}" source memcached) ||
        fail "apt-get source memcached failed; 1.6.18 is the version of Debian 12"
}

mkdir -p "$place"
source=$(find "$place" -maxdepth 1 -name 'memcached-1.6.18*' -type d | head -n 1)
if [[ -z "$source" ]]; then
    fetch
    source=$(find "$place" -maxdepth 1 -name 'memcached-1.6.18*' -type d | head -n 1)
    patch -s -d "$source" -p1 <"$here/durable.patch"
fi
cp "$here/durable.h" "$here/durable.c" "$source"

driver=$(command -v hf-clang || echo "$root/build/pass/bin/hf-clang")
[[ -x "$driver" ]] || fail "hf-clang is not there: ./dev pass builds it"
mkdir -p "$place/report"
cd "$source"
# configure learns about the system only: it needs neither the plugin nor the runtime.
[[ -f Makefile ]] || ./configure -q CC="$driver --hf-off --hf-runtime=" --disable-extstore \
    --disable-docs --disable-dependency-tracking >configure.log
flags="-O2 -g -pthread -I$root/include"
"$driver" -c durable.c -o durable.o $flags -I. -DHAVE_CONFIG_H "--hf-report=$place/report"
make -s memcached CC="$driver --hf-report=$place/report" CFLAGS="$flags -DHAVE_CONFIG_H" \
    LIBS="durable.o -levent -pthread" "CCLD=$driver --hf-runtime=$runtime"
cp memcached "$place/memcached"
printf '%s\n' "$place/memcached"
