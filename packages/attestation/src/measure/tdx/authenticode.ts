import { sha384 } from '@noble/hashes/sha2.js';
import { ByteReader, type Bytes } from '../../bytes.ts';
import { Refusal } from '../../refusal.ts';

interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * SHA-384 of a PE image as firmware measures what it loads: without the checksum, the entry of the certificate table and that
 * table (Microsoft's Authenticode; `MeasurePeImageAndExtend` of EDK II).
 */
export function authenticode(image: Bytes): Bytes {
  const { checksumAt, certificates, certificateLength, headers, sections } = layoutOf(image);
  const hash = sha384.create();
  const add = ({ start, end }: Range): void => void hash.update(image.subarray(start, end));
  add({ start: 0, end: checksumAt });
  add({ start: checksumAt + 4, end: certificates ?? headers });
  if (certificates !== undefined) add({ start: certificates + 8, end: headers });
  for (const section of sections) add(section);
  const hashed = sections.reduce((sum, { start, end }) => sum + end - start, headers);
  if (image.length > hashed + certificateLength) add({ start: hashed, end: image.length - certificateLength });
  return Uint8Array.from(hash.digest());
}

function layoutOf(image: Bytes) {
  const notPe = new Refusal('the kernel is not an EFI program (a PE image)');
  const at = (offset: number): ByteReader => {
    if (offset > image.length) throw notPe;
    return new ByteReader(image.subarray(offset), 'the PE image');
  };
  if (image[0] !== 0x4d || image[1] !== 0x5a) throw notPe;
  const header = at(0x3c).u32();
  if (at(header).u32() !== 0x4550) throw notPe;
  const count = at(header + 6).u16();
  const optionalLength = at(header + 20).u16();
  const optional = header + 24;
  const directories = optional + (at(optional).u16() === 0x20b ? 112 : 96);
  // The certificate table is the fifth directory.
  const certificates = at(directories - 4).u32() > 4 ? directories + 4 * 8 : undefined;
  const headers = at(optional + 60).u32();
  const sections = Array.from({ length: count }, (_, index): Range => {
    const reader = at(optional + optionalLength + 40 * index + 16);
    const [length, start] = [reader.u32(), reader.u32()];
    return { start, end: start + length };
  })
    .filter(({ start, end }) => end > start)
    .sort((a, b) => a.start - b.start);
  if ([headers, ...sections.map(({ end }) => end)].some((end) => end > image.length)) {
    throw new Refusal('the PE image ends early');
  }
  const certificateLength = certificates === undefined ? 0 : at(certificates + 4).u32();
  return { checksumAt: optional + 64, certificates, certificateLength, headers, sections };
}
