import { ByteReader, type Bytes } from '../../bytes.ts';
import { Refusal } from '../../refusal.ts';
import { pageSize } from '../firmware.ts';
import { u32 } from '../little-endian.ts';
import type { MemoryMap } from './memory-map.ts';

/** Fields of Linux' setup header (Documentation/arch/x86/boot.rst). */
const field = {
  ...{ signature: 0x202, protocol: 0x206, loader: 0x210, flags: 0x211, initrd: 0x218, initrdSize: 0x21c },
  ...{ heapEnd: 0x224, commandLine: 0x228, initrdMaximum: 0x22c, extendedFlags: 0x236 },
} as const;
const headerEnd = 0x268;
const [linux, oldestProtocol] = [0x53_72_64_48, 0x20c];
const [loadedHigh, canUseHeap, initrdAbove4G] = [0x01, 0x80, 0x02];
/** Where QEMU places the setup code and the command line of a kernel that is loaded high. */
const [setupAddress, commandLineAddress] = [0x1_0000, 0x2_0000];
/** What QEMU keeps free for ACPI at the end of low memory. */
const acpiReserve = 0x2_8000;

/**
 * The kernel as QEMU passes it to the firmware, with the fields of its setup header that a boot loader fills in
 * (`x86_load_linux`). They depend on the size of the initrd, and below 2.75 GiB on that of the memory.
 */
export function loadedKernel(kernel: Bytes, initrdSize: number, { lowEnd }: MemoryMap): Bytes {
  const read = (at: number): ByteReader => new ByteReader(kernel.subarray(at), 'the kernel');
  if (kernel.length < headerEnd || read(field.signature).u32() !== linux) {
    throw new Refusal('the kernel is not a Linux kernel for x86 (bzImage)');
  }
  const flags = kernel[field.flags] ?? 0;
  if (read(field.protocol).u16() < oldestProtocol || (flags & loadedHigh) === 0) {
    throw new Refusal('the kernel is too old: it must speak boot protocol 2.12 (Linux 3.8)');
  }
  const isFree = (read(field.extendedFlags).u16() & initrdAbove4G) !== 0;
  const allowed = isFree ? 0xffff_ffff : read(field.initrdMaximum).u32();
  const end = Math.min(allowed, lowEnd - acpiReserve - 1);
  if (initrdSize === 0) throw new Refusal('the initrd is empty; without one the firmware measures other events');
  if (initrdSize >= end) throw new Refusal('the initrd is larger than the low memory of the machine');
  const loaded = Uint8Array.from(kernel);
  loaded[field.loader] = 0xb0;
  loaded[field.flags] = flags | canUseHeap;
  loaded.set(u32(end - initrdSize - ((end - initrdSize) % pageSize)), field.initrd);
  loaded.set(u32(initrdSize), field.initrdSize);
  loaded.set(u32(commandLineAddress - setupAddress - 0x200), field.heapEnd);
  loaded.set(u32(commandLineAddress), field.commandLine);
  return loaded;
}
