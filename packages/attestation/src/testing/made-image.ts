import { type Bytes, concatBytes } from '../bytes.ts';
import { guidBytes } from '../measure/firmware.ts';
import { u16, u32, u64 } from '../measure/little-endian.ts';

/** What a made firmware describes. Undefined leaves the metadata out. */
export interface MadeFirmware {
  readonly sev?: readonly (readonly [address: number, size: number, type: number])[] | undefined;
  readonly tdx?: readonly MadeSection[] | undefined;
  /** Goes into the volume with the firmware's variables, the first page. */
  readonly configuration?: Bytes | undefined;
}

type MadeSection = readonly [
  offset: number,
  length: number,
  address: number,
  size: number,
  type: number,
  attributes: number,
];

const size = 0x8000;
const fourGigabytes = 0x1_0000_0000;
const codeSize = size - 0x1000;

/** The sections of OvmfPkg/AmdSev. */
export const sevSections: NonNullable<MadeFirmware['sev']> = [
  [0x80_0000, 0x9000, 1],
  [0x80_a000, 0x3000, 1],
  [0x80_d000, 0x1000, 2],
  [0x80_e000, 0x1000, 3],
  [0x80_f000, 0x1000, 4],
  [0x81_0000, 0x1000, 0x10],
  [0x81_1000, 0xf000, 1],
];

/** The sections of dstack's firmware, but for the size of the code. */
export const tdxSections: readonly MadeSection[] = [
  [0x1000, codeSize, fourGigabytes - codeSize, codeSize, 0, 1],
  [0, 0x1000, fourGigabytes - size, 0x1000, 1, 0],
  [0, 0, 0x81_0000, 0x1_0000, 3, 0],
  [0, 0, 0x80_b000, 0x2000, 3, 0],
  [0, 0, 0x80_9000, 0x2000, 2, 0],
  [0, 0, 0x80_0000, 0x6000, 3, 0],
];

/** An image of 32 KiB that describes itself as OVMF does. Its code is a pattern. */
export function madeFirmware(made: MadeFirmware = { sev: sevSections, tdx: tdxSections }): Bytes {
  const image = pattern(size);
  image.set(made.configuration ?? new Uint8Array());
  const entries: [guid: string, content: Bytes][] = [['00f771de-1a7e-4fcb-890e-68c77e2fb44e', u32(0x80_b004)]];
  if (made.sev !== undefined) {
    const sections = made.sev.map((section) => concatBytes(...section.map(u32)));
    const metadata = [ascii('ASEV'), u32(16 + 12 * sections.length), u32(1), u32(sections.length), ...sections];
    image.set(concatBytes(...metadata), size - 0x600);
    entries.push(['7255371f-3a3b-4b04-927b-1da6efa8d454', concatBytes(u32(0x81_0c00), u32(0x400))]);
    entries.push(['dc886566-984a-4798-a75e-5585a7bf67cc', u32(0x600)]);
  }
  if (made.tdx !== undefined) {
    const sections = made.tdx.map(([offset, length, address, memory, type, attributes]) =>
      concatBytes(u32(offset), u32(length), u64(address), u64(memory), u32(type), u32(attributes)),
    );
    const metadata = [ascii('TDVF'), u32(16 + 32 * sections.length), u32(1), u32(sections.length), ...sections];
    image.set(concatBytes(...metadata), size - 0xa00);
    entries.push(['e47a6535-984a-4798-865e-4685a7bf8ec2', u32(0xa00)]);
  }
  const table = firmwareTable(entries);
  image.set(table, size - table.length);
  return image;
}

/** A table of GUIDs and the 32 bytes after it, as at the end of OVMF. */
function firmwareTable(entries: readonly (readonly [guid: string, content: Bytes])[]): Bytes {
  const parts = entries.map(([guid, content]) => concatBytes(content, u16(content.length + 18), guidBytes(guid)));
  const length = parts.reduce((sum, part) => sum + part.length, 18);
  const footer = concatBytes(u16(length), guidBytes('96b582de-1fb2-45f7-baea-a366c55a082d'));
  return concatBytes(...parts, footer, new Uint8Array(32));
}

/** A file with the headers of a Linux kernel that is an EFI program, too. Its code is a pattern. */
export function madeKernel(length = 0x3000): Bytes {
  const kernel = pattern(length);
  const headers = 0x400;
  kernel.fill(0, 0, headers);
  const put = (at: number, ...parts: readonly Bytes[]): void => kernel.set(concatBytes(...parts), at);
  put(0, ascii('MZ'));
  put(0x3c, u32(0x40));
  // The machine, two sections, and an optional header of 240 bytes with 16 directories.
  put(0x40, ascii('PE\0\0'), u16(0x8664), u16(2), u32(0), u32(0), u32(0), u16(240), u16(0x206));
  put(0x58, u16(0x20b));
  put(0x58 + 60, u32(headers), u32(0x1234_5678));
  put(0x58 + 108, u32(16));
  put(0x148 + 16, u32(0x1000), u32(headers));
  put(0x170 + 16, u32(length - headers - 0x1000), u32(headers + 0x1000));
  // Linux' setup header: protocol 2.15, loaded high, the largest initrd, and an initrd above 4 GiB.
  put(0x202, ascii('HdrS'), u16(0x20f));
  put(0x211, Uint8Array.of(1));
  put(0x22c, u32(0x7fff_ffff));
  put(0x236, u16(0x7f));
  return kernel;
}

export const madeInitrd = (length = 0x1234): Bytes => pattern(length).reverse();

const ascii = (text: string): Bytes => new TextEncoder().encode(text);
const pattern = (length: number): Bytes => Uint8Array.from({ length }, (_, at) => (at * 31 + (at >> 8)) & 0xff);
