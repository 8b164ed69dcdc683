import { type Bytes, concatBytes } from '../../bytes.ts';
import { Refusal } from '../../refusal.ts';
import { u16, u32, u64 } from '../little-endian.ts';
import type { MemoryMap } from './memory-map.ts';
import type { TdSection } from './td-sections.ts';

const kinds = { systemMemory: 0, unaccepted: 7 } as const;
/** Present, initialized and tested. */
const attributes = 7;
const headerLength = 56;
const endLength = 8;

/**
 * Writes the list in which QEMU tells the firmware about the memory: the TD hand-off block (UEFI PI, volume 3). Pages that the
 * host added are memory; the guest accepts the rest. The firmware measures the list without its last entry.
 */
export function handOffBlock(sections: readonly TdSection[], { lowEnd, high }: MemoryMap): Bytes {
  const block = sections.find(({ type }) => type === 'hand_off_block');
  if (block === undefined) throw new Refusal('the TDX metadata of the firmware has no place for the hand-off block');
  const added = sections
    .filter(({ type }) => type === 'hand_off_block' || type === 'temporary')
    .sort((a, b) => a.address - b.address);
  const resources: Bytes[] = [];
  let end = 0;
  for (const { address, size } of added) {
    if (address < end) throw new Refusal('the TDX metadata of the firmware has sections that overlap');
    if (address > end) resources.push(resource(kinds.unaccepted, end, address - end));
    resources.push(resource(kinds.systemMemory, address, size));
    end = address + size;
  }
  if (end > lowEnd) throw new Refusal('the firmware needs more memory than the machine has');
  resources.push(resource(kinds.unaccepted, end, lowEnd - end));
  if (high !== undefined) resources.push(resource(kinds.unaccepted, high.start, high.size));
  const list = concatBytes(...resources);
  const listEnd = block.address + headerLength + list.length + endLength;
  // The kind of entry, version 9 of the list, and no other memory of the firmware's.
  const header = [u16(1), u16(headerLength), u32(0), u32(9), u32(0), u64(0), u64(0), u64(0), u64(0), u64(listEnd)];
  return concatBytes(...header, list);
}

/** An entry about a range of memory. It has no owner. */
const resource = (kind: number, start: number, size: number): Bytes =>
  concatBytes(u16(3), u16(48), u32(0), new Uint8Array(16), u32(kind), u32(attributes), u64(start), u64(size));
