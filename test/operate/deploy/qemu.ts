import { type ChildProcess, spawn } from 'node:child_process';

export interface MachineOptions {
  /** The disk, as an image file. */
  readonly disk: string;
  readonly isReadOnly: boolean;
  readonly memoryMiB: number;
  /** Where its serial console is written. */
  readonly console: string;
  /** Booted directly by its host, or by firmware (a file) from the disk alone. */
  readonly boot:
    | { readonly kernel: string; readonly initrd: string; readonly cmdline: string }
    | { readonly firmware: string };
  /** Ports of loopback that reach ports of the machine. */
  readonly forwards: readonly (readonly [ours: number, theirs: number])[];
}

/** Starts an emulated machine, without hardware for attestation. Its network's other side, 10.0.2.2, is this machine's loopback. */
export function startMachine({ disk, isReadOnly, memoryMiB, console, boot, forwards }: MachineOptions): ChildProcess {
  const ports = forwards.map(([ours, theirs]) => `hostfwd=tcp:127.0.0.1:${ours}-:${theirs}`);
  return spawn('qemu-system-x86_64', [
    // QEMU before 8 gets the one instruction wrong that is taken away here.
    ...['-machine', 'q35,accel=tcg', '-cpu', 'Nehalem,-cx16', '-smp', '2', '-m', String(memoryMiB)],
    ...['-display', 'none', '-no-reboot', '-serial', `file:${console}`],
    ...['-drive', `file=${disk},format=raw,if=virtio${isReadOnly ? ',readonly=on' : ''}`],
    ...('firmware' in boot
      ? ['-bios', boot.firmware]
      : ['-kernel', boot.kernel, '-initrd', boot.initrd, '-append', boot.cmdline]),
    ...['-nic', ['user', 'model=virtio-net-pci', ...ports].join(',')],
  ]);
}
