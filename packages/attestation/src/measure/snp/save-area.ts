import type { Bytes } from '../../bytes.ts';
import { pageSize } from '../firmware.ts';
import { littleEndian } from '../little-endian.ts';

/** The first instruction of the first processor. */
export const resetVector = 0xffff_fff0;

export interface Processor {
  /** Where its first instruction is. */
  readonly entry: number;
  readonly signature: number;
  readonly guestFeatures: number;
}

/**
 * The registers of a virtual processor as QEMU and KVM start it: a VMSA page (AMD APM volume 2, table B-4). Everything that
 * is not listed is zero.
 */
export function saveArea({ entry, signature, guestFeatures }: Processor): Bytes {
  const page = new Uint8Array(pageSize);
  const put = (at: number, length: number, value: number | bigint): void => page.set(littleEndian(value, length), at);
  const segment = (at: number, { selector = 0, attributes = 0, base = 0 }): void => {
    put(at, 2, selector);
    put(at + 2, 2, attributes);
    put(at + 4, 4, 0xffff);
    put(at + 8, 8, base);
  };
  const dataSegment = { attributes: 0x93 };
  segment(0x00, dataSegment); // ES
  segment(0x10, { selector: 0xf000, attributes: 0x9b, base: (entry & 0xffff_0000) >>> 0 }); // CS
  for (const at of [0x20, 0x30, 0x40, 0x50]) segment(at, dataSegment); // SS, DS, FS, GS
  segment(0x60, {}); // GDTR
  segment(0x70, { attributes: 0x82 }); // LDTR
  segment(0x80, {}); // IDTR
  segment(0x90, { attributes: 0x8b }); // TR
  put(0xd0, 8, 0x1000); // EFER: KVM sets SVME
  put(0x148, 8, 0x40); // CR4: KVM sets MCE
  put(0x158, 8, 0x10); // CR0
  put(0x160, 8, 0x400); // DR7
  put(0x168, 8, 0xffff_0ff0); // DR6
  put(0x170, 8, 0x2); // RFLAGS
  put(0x178, 8, entry & 0xffff); // RIP
  put(0x268, 8, 0x0007_0406_0007_0406n); // PAT
  put(0x310, 8, signature); // RDX
  put(0x3b0, 8, guestFeatures); // SEV_FEATURES
  put(0x3e8, 8, 0x1); // XCR0
  put(0x408, 4, 0x1f80); // MXCSR
  put(0x410, 2, 0x37f); // x87 control word
  return page;
}
