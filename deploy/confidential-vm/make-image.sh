#!/usr/bin/env bash
# Builds the disk of a confidential VM that runs only the broker: Debian's kernel and systemd, and a read-only root. A hash on
# the kernel's command line protects each block. The VM has no login and no package manager. The content depends only on the
# arguments, the day of the archive and SOURCE_DATE_EPOCH. Run it as root, on Debian 12 or later with mmdebstrap.
#
#   deploy/confidential-vm/make-image.sh BROKER SETTINGS OUT
#
#   BROKER    the output folder of `npm run image -- broker BROKER`
#   SETTINGS  a folder that becomes /etc/sotto: sotto.yaml and the files that it names. It is public and measured, so it must
#             not contain secrets. With acme.env (ACME_DIRECTORY, ACME_EMAIL) the image gets an ACME client (deploy/sign-request.sh)
#   OUT       the output folder: disk.raw (UEFI), kernel, initrd and cmdline (for direct boot), and measured.json
#
# MEASURE, such as 'sev-snp --firmware OVMF.fd --vcpus 4 --cpu EPYC-Milan', also writes the pins of that machine to OUT/pins.json,
# as `sotto measure` prints them for OUT.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
usage='usage: make-image.sh BROKER SETTINGS OUT'
broker=$(realpath -m "${1:?$usage}")
settings=$(realpath -m "${2:?$usage}")
out=$(realpath -m "${3:?$usage}")
snapshot=${DEBIAN_SNAPSHOT:-http://snapshot.debian.org/archive/debian/20261001T000000Z}
suite=${DEBIAN_SUITE:-trixie}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0} LC_ALL=C.UTF-8 TZ=UTC
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

fail() {
  echo "make-image: $*" >&2
  exit 1
}
[[ $EUID -eq 0 ]] || fail 'run it as root, because it creates file systems with owners'
command -v mmdebstrap >/dev/null || fail 'mmdebstrap is missing: apt-get install mmdebstrap'
[[ -x $broker/bin/node ]] || fail "$broker is not a broker image; create it with \`npm run image -- broker $broker\`"
[[ -f $settings/sotto.yaml ]] || fail "$settings/sotto.yaml is missing; \`sotto-control config split --out $settings\` writes it"
# The broker's own code reads the settings, and lists the secrets that they refer to.
secrets=$("$broker/bin/node" --input-type=module - "$broker" "$settings/sotto.yaml" <<'CHECK'
import { readFileSync } from 'node:fs';
const [broker, file] = process.argv.slice(2);
const { readSettingsFile } = await import(`${broker}/apps/confidential/dist/settings-file.js`);
const read = readSettingsFile(readFileSync(file, 'utf8'));
for (const { line, message } of read.problems ?? []) console.error(`${file}:${line}: ${message}`);
if (!read.ok) process.exit(1);
console.log([...read.value.values()].flatMap(({ path, kind }) => (kind === 'reference' ? [path] : [])).join(' '));
CHECK
) || fail 'correct sotto.yaml first'
[[ -z $secrets || ${ALLOW_SECRETS:-no} == yes ]] ||
  fail "the image is public, so sotto.yaml must not refer to secrets: $secrets; set broker.keeper to get them from a keeper"
registry=$broker/apps/confidential/providers.yaml
if [[ -f $settings/providers.yaml ]] && ! cmp -s "$settings/providers.yaml" "$registry"; then
  fail "$settings/providers.yaml is not the registry of $broker; run \`npm run image -- broker $broker $settings/providers.yaml\` first"
fi
acme=no
if [[ -f $settings/acme.env ]]; then
  acme=yes
  for name in ACME_DIRECTORY ACME_EMAIL; do
    grep -q "^$name=." "$settings/acme.env" || fail "$settings/acme.env has no $name"
  done
  for line in 'request_file: /var/lib/sotto-broker/request.pem' 'cert_file: /var/lib/sotto-broker/chain.pem'; do
    grep -q "$line" "$settings/sotto.yaml" || fail "acme.env needs this line below broker.tls in sotto.yaml: $line"
  done
fi
mkdir -p "$out"

# `sotto measure` of this checkout, where the script was started.
from=$PWD
measure() {
  local options=(--conditions=@sotto/source --disable-warning=ExperimentalWarning)
  (cd "$from" && "$broker/bin/node" "${options[@]}" "$here/../../packages/client/src/command/main.ts" measure "$@" --image "$out")
}
measure --help >/dev/null || fail 'the packages of this checkout are missing; run `npm run image` in it'

# Use a private mount namespace, so that all mounts disappear when the script ends.
if [[ ${IN_OWN_MOUNTS:-no} != yes ]]; then
  IN_OWN_MOUNTS=yes exec unshare --mount --propagation private "${BASH_SOURCE[0]}" "$@"
fi
work=$(mktemp -d "${TMPDIR:-/var/tmp}/sotto-image-XXXXXX")
cleanup() {
  umount -R "$work"/tools/{proc,dev} 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT
root=$work/tools/build/root

bootstrap() {
  mmdebstrap --quiet --mode=root --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' --include="$1" \
    "$suite" "$2" "deb $snapshot $suite main"
}
# Two trees from the same day of the archive: the tools that build the image, and its content.
bootstrap linux-image-cloud-amd64,dracut,systemd-cryptsetup,cryptsetup-bin,systemd-ukify,systemd-boot-efi,squashfs-tools,dosfstools,mtools,fdisk "$work/tools"
mkdir "$work/tools/build"
packages=systemd,systemd-sysv,systemd-resolved,systemd-timesyncd,udev,kmod,libatomic1
[[ $acme == no ]] || packages+=,lego,ca-certificates
bootstrap "$packages" "$root"

kernel=$(basename "$work"/tools/usr/lib/modules/*)
mkdir -p "$root/usr/lib/modules"
cp -a "$work/tools/usr/lib/modules/$kernel" "$root/usr/lib/modules/"
rm -f "$root/usr/lib/modules/$kernel"/{build,source}

mkdir -p "$root/opt/sotto" "$root/etc/sotto"
cp -a "$broker" "$root/opt/sotto/broker"
cp -r "$settings/." "$root/etc/sotto/"
chown -R 0:0 "$root/opt/sotto" "$root/etc/sotto"
chmod -R u=rwX,go=rX "$root/etc/sotto"
units=$root/etc/systemd/system
install -m 644 "$here/../systemd/sotto-broker.service" "$units/"
install -D -m 644 "$here/../systemd/keeper.conf" "$units/sotto-broker.service.d/keeper.conf"
install -D -m 644 "$here/../systemd/confidential.conf" "$units/sotto-broker.service.d/confidential.conf"
cp -r --no-preserve=ownership,mode "$here/image/." "$root/"
if [[ $acme == yes ]]; then
  install -D -m 755 "$here/../sign-request.sh" "$root/usr/lib/sotto/sign-request"
  systemctl --quiet --root="$root" enable sotto-certificate.path sotto-certificate.timer
else
  rm "$units"/sotto-certificate.*
fi
# Allow no login, not even after a failure, and import nothing from the host.
systemctl --quiet --root="$root" enable sotto-broker.service systemd-networkd.service systemd-resolved.service systemd-timesyncd.service
rm -f "$root"/usr/lib/systemd/system-generators/systemd-{run,debug,gpt-auto,cryptsetup,hibernate-resume,sysv,rc-local,getty}-generator
for unit in getty.target getty@.service serial-getty@.service console-getty.service container-getty@.service \
  emergency.service emergency.target rescue.service rescue.target debug-shell.service ctrl-alt-del.target \
  systemd-sysext.service systemd-confext.service systemd-firstboot.service apt-daily.timer apt-daily-upgrade.timer; do
  ln -sf /dev/null "$units/$unit"
done
awk -F: -v OFS=: '{ $2 = "!*"; $3 = 0; print }' "$root/etc/shadow" >"$root/etc/shadow.new"
mv "$root/etc/shadow.new" "$root/etc/shadow"
chmod 640 "$root/etc/shadow"
chown 0:42 "$root/etc/shadow"
ln -sf ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
: >"$root/etc/machine-id"
echo sotto-broker >"$root/etc/hostname"
# Remove the package manager, and everything that differs between builds.
rm -rf "$root"/usr/bin/{apt,apt-*,dpkg,dpkg-*} "$root"/usr/lib/{apt,dpkg} "$root"/etc/{apt,dpkg} "$root"/var/{lib,cache,log}/* \
  "$root"/usr/share/{doc,man,info,locale,bash-completion} "$root"/boot/* "$root"/etc/{passwd,group,shadow,gshadow,subuid,subgid}- \
  "$root"/etc/{.pwd.lock,.updated} "$root"/tmp/* "$root"/run/*
mkdir -p "$root"/var/{lib,cache,log}

mount -t proc proc "$work/tools/proc"
mount --rbind /dev "$work/tools/dev"
inside() { chroot "$work/tools" "$@"; }
inside mksquashfs /build/root /build/root.squashfs -quiet -no-progress -noappend -comp zstd -no-xattrs
# A failed boot must not open a shell.
cp -r --no-preserve=ownership,mode "$here/initrd-units" "$work/tools/build/"
inside dracut --quiet --force --reproducible --no-hostonly --no-hostonly-cmdline --kver "$kernel" --gzip \
  --modules 'base systemd systemd-initrd systemd-veritysetup dm kernel-modules rootfs-block fs-lib' \
  --include /build/initrd-units /usr/lib/systemd/system \
  --add-drivers 'squashfs dm_verity virtio_pci virtio_blk virtio_scsi nvme sd_mod hv_storvsc' /build/initrd
no_salt=-
uuid=00000000-0000-0000-0000-000000000000
hash=$(inside veritysetup format --salt=$no_salt --uuid=$uuid /build/root.squashfs /build/root.verity | awk '/^Root hash:/ { print $3 }')
[[ $hash =~ ^[0-9a-f]{64}$ ]] || fail 'veritysetup printed no root hash'
# systemd's generator finds the two partitions by ids that are derived from the hash.
uuid_of() { echo "${1:0:8}-${1:8:4}-${1:12:4}-${1:16:4}-${1:20:12}"; }
options=(
  "roothash=$hash" root=/dev/mapper/root rootfstype=squashfs ro systemd.volatile=state
  # Panic on a changed block. Otherwise the host could choose which files are readable.
  systemd.verity_root_options=panic-on-corruption panic=-1
  # Ignore the host's credentials, its firmware variables and unknown partitions.
  systemd.import_credentials=no efi=noruntime systemd.gpt_auto=0 rd.systemd.gpt_auto=0 systemd.swap=0
  rd.shell=0 rd.emergency=poweroff sysctl.kernel.sysrq=0 lockdown=confidentiality
  ${EXTRA_CMDLINE:+$EXTRA_CMDLINE} quiet
)
echo -n "${options[*]}" >"$work/tools/build/cmdline"
cp "$work/tools/boot/vmlinuz-$kernel" "$work/tools/build/kernel"
inside ukify build --linux=/build/kernel --initrd=/build/initrd --cmdline=@/build/cmdline --uname="$kernel" \
  --os-release="ID=sotto-broker" --output=/build/boot.efi >/dev/null

megabytes() { echo $((($(stat -c %s "$1") + 1048575) / 1048576)); }
cd "$work/tools/build"
esp=$(($(megabytes boot.efi) + 36)) data=$(megabytes root.squashfs) tree=$(megabytes root.verity)
truncate -s "${esp}M" esp
inside mkfs.vfat --invariant -F 32 -i 50770000 /build/esp >/dev/null
inside mmd -i /build/esp ::/EFI ::/EFI/BOOT
touch -d "@$SOURCE_DATE_EPOCH" boot.efi
inside mcopy -m -i /build/esp /build/boot.efi ::/EFI/BOOT/BOOTX64.EFI
truncate -s "$((1 + esp + data + tree + 1))M" disk.raw
inside sfdisk --quiet /build/disk.raw <<TABLE
label: gpt
label-id: $(uuid_of "${hash:16:32}")
start=1MiB, size=${esp}MiB, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, uuid=$(uuid_of "${hash:8:32}"), name=esp
size=${data}MiB, type=4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709, uuid=$(uuid_of "${hash:0:32}"), name=root
size=${tree}MiB, type=2C7357ED-EBD2-46D9-AEC1-23D437EC2BF5, uuid=$(uuid_of "${hash:32:32}"), name=root-verity
TABLE
at=1
for part in esp root.squashfs root.verity; do
  dd if=$part of=disk.raw bs=1M seek=$at conv=notrunc,sparse status=none
  at=$((at + $(megabytes $part)))
done

cp --sparse=always disk.raw "$out/"
cp kernel initrd cmdline boot.efi "$out/"
# TDX has these in its registers after a direct boot, with 2 GiB or at least 2.75 GiB of memory.
registers=$(measure boot --memory 4G)
digest() { sha256sum "$1" | cut -d' ' -f1; }
cat >"$out/measured.json" <<JSON
{
 "broker": $(cat "$broker/measured.json"),
 "root_hash": "$hash",
 "cmdline": "$(cat cmdline)",
 "kernel_version": "$kernel",
 "kernel_sha256": "$(digest kernel)",
 "initrd_sha256": "$(digest initrd)",
 "boot_efi_sha256": "$(digest boot.efi)",
 "tdx": $registers
}
JSON
cat "$out/measured.json"
if [[ -n ${MEASURE:-} ]]; then
  # shellcheck disable=SC2086 # the words of MEASURE are options
  measure $MEASURE >"$out/pins.json"
  cat "$out/pins.json"
fi
