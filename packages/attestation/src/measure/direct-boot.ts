import { sha256, sha384 } from '@noble/hashes/sha2.js';
import type { Bytes } from '../bytes.ts';

/** A file of which only the digests count. */
export interface HashedFile {
  /** In bytes. */
  readonly length: number;
  readonly sha256: Uint8Array;
  readonly sha384: Uint8Array;
}

/** Hashes a file that need not fit into the memory. */
export function hashFile(pieces: Iterable<Uint8Array>): HashedFile {
  const digests = [sha256.create(), sha384.create()] as const;
  let length = 0;
  for (const piece of pieces) {
    length += piece.length;
    for (const digest of digests) digest.update(piece);
  }
  return { length, sha256: digests[0].digest(), sha384: digests[1].digest() };
}

/** The files that a host boots directly, without a boot loader. */
export interface DirectBoot {
  readonly kernel: Bytes;
  /** Empty if the host passes none. TDX needs one. */
  readonly initrd: HashedFile;
  readonly commandLine: string;
}
