import { sha384 } from '@noble/hashes/sha2.js';
import type { Bytes } from '../../bytes.ts';
import { pageSize } from '../firmware.ts';
import { u64 } from '../little-endian.ts';
import type { TdSection } from './td-sections.ts';

/** How a host adds a section: all its pages and then their content, or the content of each page after it. */
export type PageOrder = 'pages_first' | 'page_by_page';

const chunk = 0x100;

/**
 * Computes MRTD (48 bytes): one SHA-384 over a record of each page that the host adds (TDH.MEM.PAGE.ADD) and of each 256 bytes
 * that it measures (TDH.MR.EXTEND), in the order of the host's calls.
 */
export function mrTd(sections: readonly TdSection[], order: PageOrder): Bytes {
  const hash = sha384.create();
  const call = (name: string, address: number): void => {
    const record = new Uint8Array(128);
    record.set(new TextEncoder().encode(name));
    record.set(u64(address), 16);
    hash.update(record);
  };
  const addPage = ({ address, isAccepted }: TdSection, at: number): void => {
    if (!isAccepted) call('MEM.PAGE.ADD', address + at);
  };
  const extendPage = ({ address, content, isExtended }: TdSection, page: number): void => {
    if (!isExtended) return;
    for (let at = page; at < page + pageSize; at += chunk) {
      call('MR.EXTEND', address + at);
      hash.update(content.subarray(at, at + chunk));
    }
  };
  for (const section of sections) {
    for (let at = 0; at < section.size; at += pageSize) {
      addPage(section, at);
      if (order === 'page_by_page') extendPage(section, at);
    }
    if (order === 'page_by_page') continue;
    for (let at = 0; at < section.size; at += pageSize) extendPage(section, at);
  }
  return Uint8Array.from(hash.digest());
}
