#!/usr/bin/env bash
# Fetches Debian's source of memcached, makes its data durable by durable.patch and durable.c, and
# compiles it three times.
#
#   examples/memcached/build.sh DIRECTORY BUILD_TREE
#
# DIRECTORY is where sources and programs go:
#
#   DIRECTORY/memcached           durable, compiled with the plugin of failure-atomic sections
#   DIRECTORY/memcached-pages     durable, compiled without it: stores are found by pages
#   DIRECTORY/load                a load generator
#   DIRECTORY/power_cut.so        what a power cut takes from a program that is killed
#   DIRECTORY/memcached-original  as Debian has it, compiled by the same compiler
#
# BUILD_TREE is a build of Holdfast (build/release), whose runtime the durable ones use. hf-clang is
# taken from PATH, or from build/pass. Package lists are fetched into DIRECTORY: the system's own
# lists and sources stay as they are. Without a network: put the three files of the source package
# memcached 1.6.18-1+deb12u1 (.dsc, .orig.tar.*, .debian.tar.*) into DIRECTORY. What is there and up
# to date is not fetched or built again.
#
# Exit status: 2 for wrong arguments, 3 if something is missing.
set -euo pipefail

say() { printf '%s\n' "build.sh: $*" >&2; }
fail() {
    local -r status=$1
    shift
    say "$*"
    exit "$status"
}

(($# == 2)) || fail 2 "takes a directory to build in and a build tree, not $# arguments"
mkdir -p "$1" || fail 3 "cannot make the directory $1"
place="$(cd "$1" && pwd)"
tree="$(cd "$2" && pwd)" || fail 2 "there is no build tree $2"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
readonly place tree here root
readonly runtime="$tree/src/section" version=1.6.18
readonly wrappers="$runtime/libc/libholdfast_section_libc.a"
declare -ra flags=(-O2 -g -pthread "-I$root/include" -DHAVE_CONFIG_H)

# source_lists FILE: the system's own Debian sources, as entries for source packages, in FILE.list
# and FILE.sources. Other projects' archives are left out: few have sources.
source_lists() {
    local list
    for list in /etc/apt/sources.list.d/*.sources; do
        if [[ ! -e "$list" ]] || ! grep -q '^URIs:.*debian' "$list"; then continue; fi
        sed 's/^Types:.*/Types: deb-src/' "$list"
        printf '\n'
    done >"$1.sources"
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
        sed -n '/debian/s/^deb /deb-src /p' >"$1.list" || true
}

fetch() {
    local -r lists="$place/apt"
    mkdir -p "$lists/parts" "$lists/state/partial"
    source_lists "$lists/parts/debian"
    local -a apt=(apt-get -qq -o "Dir::Etc::sourcelist=$lists/parts/debian.list"
        -o "Dir::Etc::sourceparts=$lists/parts" -o "Dir::State::lists=$lists/state"
        -o "APT::Sandbox::User=$(id -un)")
    local -r help="is there a network? Without one, put the files of Debian's source package \
memcached 1.6.18-1+deb12u1 (.dsc, .orig.tar.*, .debian.tar.*) into $place"
    if ! { "${apt[@]}" update && cd "$place" && "${apt[@]}" --download-only source memcached; } \
        >"$lists/log" 2>&1; then
        cat "$lists/log" >&2
        fail 3 "the source of memcached could not be fetched with apt-get; $help"
    fi
}

# The source as Debian has it, configured, in DIRECTORY/original.
prepare_original() {
    [[ ! -f "$place/original/Makefile" ]] || return 0
    compgen -G "$place/memcached_$version*.dsc" >/dev/null || fetch
    local -a descriptions=("$place/memcached_$version"*.dsc)
    [[ -e "${descriptions[0]}" ]] ||
        fail 3 "Debian's sources here have another version of memcached than $version, which" \
            "the patch is for (Debian 12): put that source package into $place"
    rm -rf "$place/original"
    dpkg-source --no-check -x "${descriptions[0]}" "$place/original" >"$place/unpack.log" 2>&1 || {
        cat "$place/unpack.log" >&2
        fail 3 "${descriptions[0]} could not be unpacked; remove it and try again"
    }
    # configure learns about the system only: it needs neither the plugin nor the runtime.
    (cd "$place/original" && ./configure -q CC=clang-19 --disable-extstore --disable-docs \
        --disable-dependency-tracking) >"$place/configure.log" 2>&1 || {
        rm -f "$place/original/Makefile"
        cat "$place/configure.log" >&2
        fail 3 "memcached could not be configured: is libevent-dev installed?"
    }
}

# make_program NAME DIRECTORY CC CCLD LIBS
make_program() {
    make -s -C "$2" -j "${HF_JOBS:-$(nproc)}" memcached CC="$3" CCLD="$4" LIBS="$5" \
        CFLAGS="${flags[*]}" >"$place/make.log" 2>&1 || {
        cat "$place/make.log" >&2
        fail 1 "$1 could not be built"
    }
    cp "$2/memcached" "$place/$1.new"
    mv "$place/$1.new" "$place/$1"  # one of before may be running
}

# A fresh copy of the source with the patch, in DIRECTORY/$1.
patched_copy() {
    rm -rf "${place:?}/$1"
    cp -a "$place/original" "$place/$1"
    patch -s -d "$place/$1" -p1 <"$here/durable.patch"
    cp "$here/durable.h" "$here/durable.c" "$place/$1"
}

build_with_plugin() {
    patched_copy durable
    mkdir -p "$place/report"
    local -r compile="$driver --hf-report=$place/report"
    (cd "$place/durable" && $compile -c durable.c -o durable.o "${flags[@]}" -I.)
    printf '%s\n' "$wrappers -L$runtime -Wl,-rpath,$runtime -lholdfast_section -lstdc++" \
        >"$place/runtime"
    make_program memcached "$place/durable" "$compile" "$driver --hf-runtime=@$place/runtime" \
        "durable.o -levent -pthread"
}

build_without_plugin() {
    patched_copy pages
    (cd "$place/pages" && clang-19 -c durable.c -o durable.o "${flags[@]}" -I. \
        -DDURABLE_WITHOUT_PLUGIN)
    make_program memcached-pages "$place/pages" clang-19 clang-19 \
        "durable.o -levent -pthread -L$runtime -Wl,-rpath,$runtime -lholdfast_section"
}

driver=$(command -v hf-clang || echo "$root/build/pass/bin/hf-clang")
readonly driver
[[ -x "$driver" ]] || fail 3 "hf-clang is not there: ./dev pass builds it"
[[ -e "$runtime/libholdfast_section.so" && -e "$wrappers" ]] ||
    fail 3 "$tree has no runtime: ./dev build release hf_section_shared hf_section_libc"

stamp=$(cat "$here"/*.[ch] "$here/durable.patch" "$here/build.sh" "$wrappers" "$root"/include/holdfast/section*.h \
    "$(dirname "$driver")/../lib/holdfast/hf_section_pass.so" | sha256sum)
if [[ ! -f "$place/stamp" || "$(<"$place/stamp")" != "$stamp $tree" ]]; then
    prepare_original
    rm -f "$place/stamp"
    build_with_plugin
    build_without_plugin
    make_program memcached-original "$place/original" clang-19 clang-19 "-levent -pthread"
    clang-19 -O2 -shared -fPIC "$here/power_cut.c" -o "$place/power_cut.so"
    clang-19 -O2 -pthread "$here/load.c" -o "$place/load"
    printf '%s\n' "$stamp $tree" >"$place/stamp"
fi
printf '%s\n' "$place/memcached"
