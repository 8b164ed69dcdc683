import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, concatBytes } from '../../bytes.ts';
import { Refusal } from '../../refusal.ts';
import type { DirectBoot } from '../direct-boot.ts';
import { guidBytes, pageSize } from '../firmware.ts';
import { u16 } from '../little-endian.ts';

/**
 * The page in which QEMU (`kernel-hashes=on`) tells the firmware what it may boot: SHA-256 of command line, initrd and kernel,
 * at an offset that the firmware chooses. The firmware refuses other files, so a measured page measures them.
 */
export function kernelHashesPage({ kernel, initrd, commandLine }: DirectBoot, offset: number): Bytes {
  const line = new TextEncoder().encode(`${commandLine}\0`);
  const entries = concatBytes(
    part('97d02dd8-bd20-4c94-aa78-e7714d36ab2a', sha256(line)),
    part('44baf731-3a2f-4bd7-9af1-41e29169781d', initrd.sha256),
    part('4de79437-abd2-427f-b835-d5b172d2045b', sha256(kernel)),
  );
  const table = part('9438d606-4f22-4cc9-b479-a793d411fd21', entries);
  if (offset + table.length > pageSize) throw new Refusal('the firmware has no room for the hashes of a kernel');
  const page = new Uint8Array(pageSize);
  page.set(table, offset);
  return page;
}

/** A part begins with its GUID and its whole length. */
const part = (guid: string, content: Uint8Array): Bytes =>
  concatBytes(guidBytes(guid), u16(16 + 2 + content.length), content);
