import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { onPath } from '@sotto/test-servers';

/**
 * Whether this run builds images. Building takes minutes, needs root and downloads two Debian systems. It is done
 * before a release (docs/contribute/releasing.md), and not in every run.
 */
export const canMakeImages = (programs: readonly string[]): boolean =>
  process.env.SOTTO_TEST_IMAGES === '1' &&
  process.getuid?.() === 0 &&
  programs.every((program) => onPath(program) !== undefined);

/** A sentence that says how to enable the builds. */
export const howToMakeImages = (programs: readonly string[]): string =>
  `as root on Debian, with ${programs.join(', ')} on the PATH, set SOTTO_TEST_IMAGES=1.`;

/** The source of this machine's own packages. The Dockerfiles use an archive of one day instead. */
export function debianMirror(): string {
  const files = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'].filter((file) => existsSync(file));
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  return /^(?:URIs:|deb(?: \[[^\]]*\])?) *(http\S+)/m.exec(text)?.[1] ?? 'http://deb.debian.org/debian';
}

export interface MachineOptions {
  /** The disk, as an image file. */
  readonly disk: string;
  readonly isReadOnly: boolean;
  readonly memoryMiB: number;
  /** The file that receives the serial console's output. */
  readonly console: string;
  /** Booted directly by the host, or by firmware (a file) from the disk alone. */
  readonly boot:
    | { readonly kernel: string; readonly initrd: string; readonly cmdline: string }
    | { readonly firmware: string };
  /** Ports of loopback that forward to ports of the machine. */
  readonly forwards: readonly (readonly [ours: number, theirs: number])[];
}

/**
 * Starts an emulated machine, without hardware for attestation. Its network's other side, 10.0.2.2, is this machine's
 * loopback.
 */
export function startMachine({ disk, isReadOnly, memoryMiB, console, boot, forwards }: MachineOptions): ChildProcess {
  const ports = forwards.map(([ours, theirs]) => `hostfwd=tcp:127.0.0.1:${ours}-:${theirs}`);
  return spawn('qemu-system-x86_64', [
    // Removes one instruction that QEMU before version 8 emulates wrongly.
    ...['-machine', 'q35,accel=tcg', '-cpu', 'Nehalem,-cx16', '-smp', '2', '-m', String(memoryMiB)],
    ...['-display', 'none', '-no-reboot', '-serial', `file:${console}`],
    ...['-drive', `file=${disk},format=raw,if=virtio${isReadOnly ? ',readonly=on' : ''}`],
    ...('firmware' in boot
      ? ['-bios', boot.firmware]
      : ['-kernel', boot.kernel, '-initrd', boot.initrd, '-append', boot.cmdline]),
    ...['-nic', ['user', 'model=virtio-net-pci', ...ports].join(',')],
  ]);
}
