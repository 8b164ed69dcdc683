import type { Bytes } from '../../bytes.ts';
import { Refusal } from '../../refusal.ts';
import { type Firmware, maximumFirmware, pageSize, pointedTo } from '../firmware.ts';

/** A part of memory that the host prepares before a TD starts (Intel TDX Virtual Firmware Design Guide, chapter 11). */
export interface TdSection {
  readonly type: 'code' | 'configuration' | 'hand_off_block' | 'temporary' | 'other';
  readonly address: number;
  readonly size: number;
  /** The content from the firmware. Empty for memory that starts without one. */
  readonly content: Bytes;
  /** Whether the content is measured, not only its address. */
  readonly isExtended: boolean;
  /** Whether the guest itself accepts these pages later, so that the host adds none. */
  readonly isAccepted: boolean;
}

const types: ReadonlyMap<number, TdSection['type']> = new Map([
  [0, 'code'],
  [1, 'configuration'],
  [2, 'hand_off_block'],
  [3, 'temporary'],
]);

/** Reads the sections of a firmware image for TDX, in the order of its metadata. */
export function tdSectionsOf(firmware: Firmware): readonly TdSection[] {
  const reader = pointedTo(firmware, 'e47a6535-984a-4798-865e-4685a7bf8ec2', 'the TDX metadata of the firmware');
  if (reader === undefined) throw new Refusal('the firmware has no TDX metadata: it was not built for TDX');
  if (new TextDecoder().decode(reader.take(4)) !== 'TDVF')
    throw new Refusal('the TDX metadata of the firmware is malformed');
  reader.u32();
  if (reader.u32() !== 1) throw new Refusal('the TDX metadata of the firmware is of an unknown version');
  const sections: TdSection[] = [];
  for (let count = reader.u32(); count > 0; count -= 1) {
    const [from, length] = [reader.u32(), reader.u32()];
    const [address, size] = [Number(reader.u64()), Number(reader.u64())];
    const [type, attributes] = [types.get(reader.u32()) ?? 'other', reader.u32()];
    const isExtended = (attributes & 1) !== 0;
    if (address % pageSize !== 0 || size % pageSize !== 0 || size > maximumFirmware) {
      throw new Refusal('the TDX metadata of the firmware has a section that is not made of whole pages');
    }
    if (from + length > firmware.bytes.length || length > size || (isExtended && length !== size)) {
      throw new Refusal('the TDX metadata of the firmware has a section whose content is not in the firmware');
    }
    const content = firmware.bytes.subarray(from, from + length);
    sections.push({ type, address, size, content, isExtended, isAccepted: (attributes & 2) !== 0 });
  }
  return sections;
}
