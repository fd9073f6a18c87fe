#!/bin/sh
# Run a command as a container of ours runs it: uid 10001, no capability, no new privileges, process 1, and a root file
# system that is read-only but for what is named.
#
#   confined.sh ROOT [ro:HOST_PATH:PATH | rw:HOST_PATH:PATH]... -- COMMAND...
#
# ROOT is a folder with the file system of an image. Must be called as root, in a mount and process namespace of its own:
#   unshare --mount --pid --fork --propagation private confined.sh ...
# Network and host name stay the machine's, so that a test can ask the server.
set -eu

root=$1
shift
mount --bind "$root" "$root"
mount -t tmpfs -o size=256m,mode=1777 tmpfs "$root/tmp"
while [ "$1" != -- ]; do
  mode=${1%%:*} paths=${1#*:}
  mkdir -p "$root${paths#*:}"
  mount --bind "${paths%%:*}" "$root${paths#*:}"
  if [ "$mode" = ro ]; then
    mount -o remount,bind,ro "$root${paths#*:}"
  fi
  shift
done
shift
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero random urandom; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mount -o remount,ro "$root/dev"
mount -o remount,bind,ro "$root"

exec chroot "$root" setpriv --reuid 10001 --regid 10001 --clear-groups \
  --inh-caps=-all --bounding-set=-all --no-new-privs "$@"
