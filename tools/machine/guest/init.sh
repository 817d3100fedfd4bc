#!/bin/sh
# The virtual machine's first process: it makes the machine ready and carries out commands.
#
# Commands come in on the second serial port, a line each; see `carry_out`. Answers go out on it:
#   "ready"         once, after boot
#   "| TEXT"        a line of what a command printed
#   "= STATUS"      the command is done
#   "s TEXT"        a line of what the server printed
#   "s= STATUS"     the server has ended
# Nothing of a disk is touched before a command says so: snapshots are taken when "ready" was said.
export PATH=/bin:/sbin

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mkdir -p /dev/shm /mnt
mount -t tmpfs shm /dev/shm

while read -r module; do modprobe "$module"; done </etc/modules

ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up

# The second serial port, for both directions.
stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1

# A device that was plugged in appears a little later.
await_device() {
    left=3000
    until [ -b "$1" ]; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || { echo "there is no $1"; return 1; }
        usleep 10000
    done
}

# attach FILE_SYSTEM DEVICE [OPTIONS]
attach() {
    await_device "$2" || return
    mount -t "$1" ${3:+-o "$3"} "$2" /mnt
}

# Persistent memory is looked for now, and not before the snapshot. --format makes a namespace.
find_persistent_memory() {
    for module in nfit nd_pmem dax_pmem; do modprobe "$module" || return; done
    [ "$1" = --format ] || { await_device /dev/pmem0; return; }
    # Without labels all of the memory is one raw namespace.
    ndctl create-namespace -f -e namespace0.0 -m fsdax >/run/ndctl 2>&1 ||
        { cat /run/ndctl; return 1; }
    await_device /dev/pmem0 && mkfs.ext4 -q -F -b 4096 /dev/pmem0
}

# serve synced|unsynced ARGUMENT...: in the background. unsynced: the same program, whose syncs do
# nothing.
serve() {
    preload=
    [ "$1" = synced ] || preload=/lib/libeatmydata.so
    shift
    {
        {
            LD_PRELOAD=$preload holdfast serve "$@" 2>&1 &
            echo "$!" >/run/server
            wait "$!"
            echo "= $?"
        } | while read -r text; do
            case "$text" in
                '= '*) echo "s$text" ;;
                *) echo "s $text" ;;
            esac
        done
    } >&3 &
}

carry_out() {
    verb=$1
    shift
    case "$verb" in
        attach | find_persistent_memory | serve) "$verb" "$@" ;;
        detach) umount /mnt ;;
        stop) kill -TERM "$(cat /run/server)" ;;
        holdfast) holdfast "$@" ;;
        facts) uname -r && grep -m 1 'model name' /proc/cpuinfo && holdfast --version ;;
        remove) rm -f "$@" ;;
        *) echo "there is no command $verb" && return 2 ;;
    esac
}

echo ready >&3
while read -r line; do
    # Words are separated by blanks; none has any inside.
    # shellcheck disable=SC2086
    carry_out $line >/run/output 2>&1
    status=$?
    while read -r text; do echo "| $text"; done </run/output >&3
    echo "= $status" >&3
done <&3
