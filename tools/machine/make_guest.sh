#!/usr/bin/env bash
# make_guest.sh PLACE HOLDFAST: makes PLACE/kernel and PLACE/initramfs, what the virtual machine
# boots: Debian's kernel for clouds (unpacked, not installed), busybox, the modules wanted, and the
# program HOLDFAST with its libraries. The kernel's package is fetched once.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly here place=$1 holdfast=$2

# Wanted at once, and only when a command asks for it.
readonly early=(virtio_pci virtio_blk virtio_net xfs)
readonly late=(nfit nd_pmem dax_pmem)

fail() {
    printf '%s\n' "make_guest: $*" >&2
    exit 3
}

# The kernel's files under PLACE/unpacked.
fetch_kernel() {
    compgen -G "$place/unpacked/boot/vmlinuz-*" >/dev/null && return
    local package
    package="$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: //p' | head -n 1)"
    [[ -n "$package" ]] || fail "apt knows no linux-image-cloud-amd64; run apt-get update"
    rm -rf "$place/unpacked" "$place/download"
    mkdir -p "$place/download"
    (cd "$place/download" && apt-get download -qq "$package") >"$place/download.log" 2>&1 || {
        cat "$place/download.log" >&2
        fail "$package could not be downloaded"
    }
    dpkg -x "$place"/download/*.deb "$place/unpacked"
    rm -r "$place/download"
    local version
    version="$(basename "$(echo "$place"/unpacked/lib/modules/*)")"
    depmod -b "$place/unpacked" "$version"
}

# with_libraries ROOT PROGRAM...: into ROOT/bin, and the shared libraries to where they lie here.
with_libraries() {
    local -r root=$1
    shift
    local program library
    for program in "$@"; do
        cp -L "$program" "$root/bin/"
        while read -r library; do
            mkdir -p "$root$(dirname "$library")"
            cp -Lu "$library" "$root$library"
        done < <(ldd "$program" | grep -o '/[^ ]*')
    done
}

# Those wanted and those that they need, by the kernel's word and not by this machine's settings.
modules() {
    local -r root=$1 version=$2
    local module kind path
    for module in "${early[@]}" "${late[@]}"; do
        while read -r kind path; do
            [[ "$kind" == insmod ]] || continue
            mkdir -p "$root/lib/modules/$version"
            cp -u "$path" "$root/lib/modules/$version/"
        done < <(modprobe -C /dev/null -d "$place/unpacked" -S "$version" \
            --show-depends "$module")
    done
    cp "$place/unpacked/lib/modules/$version"/modules.{order,builtin,builtin.modinfo} \
        "$root/lib/modules/$version/"
    depmod -b "$root" "$version"
    printf '%s\n' "${early[@]}" >"$root/etc/modules"
}

main() {
    mkdir -p "$place"
    fetch_kernel
    local -r root="$place/root"
    local version
    version="$(basename "$(echo "$place"/unpacked/lib/modules/*)")"
    rm -rf "$root"
    mkdir -p "$root"/{bin,sbin,dev,proc,sys,run,mnt,etc,lib,tmp}
    local sbin
    sbin="$(command -v busybox)" || fail "there is no busybox"
    cp "$sbin" "$root/bin/busybox"
    local applet
    while read -r applet; do
        [[ -e "$root/bin/$applet" ]] || ln -s busybox "$root/bin/$applet"
    done < <("$root/bin/busybox" --list)
    with_libraries "$root" "$holdfast" "$(command -v ndctl)" /sbin/mkfs.ext4
    cp -L /usr/lib/x86_64-linux-gnu/libeatmydata.so.1 "$root/lib/libeatmydata.so"
    cp /etc/mke2fs.conf "$root/etc/"
    modules "$root" "$version"
    install -m 0755 "$here/guest/init.sh" "$root/init"
    ln -sf "unpacked/boot/vmlinuz-$version" "$place/kernel"
    (cd "$root" && find . -print0 | cpio --null --create --format=newc --quiet) |
        gzip -1 >"$place/initramfs.new"
    mv "$place/initramfs.new" "$place/initramfs"
}

main "$@"
