import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(4096);
let at = pool.length;

/**
 * An id of `bytes` random bytes as base64url, from the system's generator. Taken from a pool that is filled now and
 * then, because one call to the system costs more than the rest of making an id. Bytes are used once and wiped.
 */
export function randomId(bytes = 16): string {
  if (at + bytes > pool.length) {
    randomFillSync(pool);
    at = 0;
  }
  const id = pool.toString('base64url', at, at + bytes);
  pool.fill(0, at, at + bytes);
  at += bytes;
  return id;
}
