#!/usr/bin/env bash
# A Debian root for arm64 with python3, to run things on the CPU architecture of a Spark: arm64_root.sh DIR
#
# Needs root, debootstrap and qemu-user-static. The packages are unpacked and not configured (that would take minutes
# under emulation); what is missing then, the loader's cache, is made at the end.
set -euo pipefail

root=$1
suite=bookworm
[ -x "$root/usr/bin/python3" ] && exit 0

# The kernel hands programs of another architecture to qemu; in a machine without that table there is none to fill.
table=/proc/sys/fs/binfmt_misc
[ -e "$table/register" ] || mount -t binfmt_misc binfmt_misc "$table"
[ -e "$table/qemu-aarch64" ] || cat /usr/lib/binfmt.d/qemu-aarch64.conf >"$table/register"

# The mirror that this machine already uses.
# shellcheck disable=SC2016 # $(SITE) is apt's
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | sed -n 's,/*$,,;/security/!p' | sort -u | head -n 1)
rm -rf "$root"
mkdir -p "$root"
debootstrap --foreign --arch=arm64 --variant=minbase --include=python3 "$suite" "$root" "$mirror" >"$root.log" 2>&1 ||
  { tail -n 5 "$root.log" >&2 && exit 1; }
for package in "$root"/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
mkdir -p "$root/proc" "$root/dev" "$root/tmp"
[ -e "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
chroot "$root" /sbin/ldconfig
chroot "$root" /usr/bin/python3 --version
