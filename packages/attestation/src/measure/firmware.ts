import { ByteReader, type Bytes, concatBytes, fromHex, toHex } from '../bytes.ts';
import { Refusal } from '../refusal.ts';

export const pageSize = 0x1000;

/** A firmware image of OVMF's kind. */
export interface Firmware {
  readonly bytes: Bytes;
  /** The entries of the table at its end, by their GUIDs. */
  readonly table: ReadonlyMap<string, Bytes>;
}

const tableGuid = '96b582de-1fb2-45f7-baea-a366c55a082d';
/** The reset vector, which follows the table. */
const bytesAfterTable = 32;
const entryHeader = 18;
/** Larger than any image of OVMF. */
export const maximumFirmware = 64 * 0x10_0000;

/**
 * Reads a firmware image and the table of GUIDs before its reset vector, last entry first (OvmfPkg/ResetVector of EDK II).
 * The table says where the firmware describes the pages that AMD's and Intel's hardware measure.
 */
export function readFirmware(bytes: Bytes): Firmware {
  const footerAt = bytes.length - bytesAfterTable - entryHeader;
  if (
    bytes.length % pageSize !== 0 ||
    bytes.length > maximumFirmware ||
    footerAt < 0 ||
    guidAt(bytes, footerAt) !== tableGuid
  ) {
    throw new Refusal('the firmware is not an image of OVMF: it does not end with a table of GUIDs');
  }
  const size = sizeAt(bytes, footerAt);
  const start = footerAt + entryHeader - size;
  if (size < entryHeader || start < 0) throw new Refusal('the table of GUIDs in the firmware has a wrong size');
  const table = new Map<string, Bytes>();
  for (let end = footerAt; end - entryHeader >= start; ) {
    const headerAt = end - entryHeader;
    const entry = sizeAt(bytes, headerAt);
    if (entry < entryHeader || end - entry < start) {
      throw new Refusal('the table of GUIDs in the firmware has an entry of a wrong size');
    }
    table.set(guidAt(bytes, headerAt), bytes.subarray(end - entry, headerAt));
    end -= entry;
  }
  return { bytes, table };
}

const sizeAt = (bytes: Bytes, at: number): number => new ByteReader(bytes.subarray(at, at + 2), 'the firmware').u16();

/** The 32-bit number at the start of an entry. Undefined without the entry. */
export function numberIn({ table }: Firmware, guid: string): number | undefined {
  const entry = table.get(guid);
  return entry === undefined ? undefined : new ByteReader(entry, `entry ${guid} of the firmware`).u32();
}

/** Reads what an entry points to by its distance from the end of the image. Undefined without the entry. */
export function pointedTo(firmware: Firmware, guid: string, what: string): ByteReader | undefined {
  const distance = numberIn(firmware, guid);
  if (distance === undefined) return undefined;
  const { bytes } = firmware;
  if (distance > bytes.length) throw new Refusal(`${what} would begin before the firmware`);
  return new ByteReader(bytes.subarray(bytes.length - distance), what);
}

/** The 16 bytes of a GUID: its first three groups are little-endian. */
export function guidBytes(guid: string): Bytes {
  const [a = '', b = '', c = '', ...rest] = guid.split('-');
  const group = (hex: string): Bytes => fromHex(hex, 'a GUID').reverse();
  return concatBytes(group(a), group(b), group(c), fromHex(rest.join(''), 'a GUID'));
}

function guidAt(bytes: Bytes, headerAt: number): string {
  const reader = new ByteReader(bytes.subarray(headerAt + 2, headerAt + entryHeader), 'the firmware');
  const group = (length: number): string => toHex(Uint8Array.from(reader.take(length)).reverse());
  return [group(4), group(2), group(2), toHex(reader.take(2)), toHex(reader.take(6))].join('-');
}
