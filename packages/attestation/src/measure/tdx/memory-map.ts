import { Refusal } from '../../refusal.ts';

const mebibyte = 0x10_0000;
/** From this size on, QEMU's q35 machine has 2 GiB below the gap for devices, instead of up to 2.75 GiB. */
const smallMachine = 0xb000_0000;
const lowOfLargeMachine = 0x8000_0000;
const startOfHighMemory = 0x1_0000_0000;
/** What TDX guests can address. */
const maximumMemory = 2 ** 51;

/** The memory of QEMU's q35 machine, on both sides of the gap for devices. */
export interface MemoryMap {
  /** The end of the memory below 4 GiB, in bytes. */
  readonly lowEnd: number;
  /** The memory from 4 GiB on. */
  readonly high: { readonly start: number; readonly size: number } | undefined;
}

/** @param size - All memory, in bytes. */
export function memoryMap(size: number): MemoryMap {
  if (!Number.isSafeInteger(size) || size % mebibyte !== 0 || size < 64 * mebibyte || size > maximumMemory) {
    throw new Refusal(`the memory is ${size} bytes; it must be at least 64 MiB, in whole MiB`);
  }
  const lowEnd = size < smallMachine ? size : lowOfLargeMachine;
  return { lowEnd, high: size > lowEnd ? { start: startOfHighMemory, size: size - lowEnd } : undefined };
}
