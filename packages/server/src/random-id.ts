import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(4096);
let at = pool.length;

/**
 * Returns an id of `bytes` random bytes as base64url, from the system’s generator. The bytes come from a pool, because
 * a system call costs more than the rest of making an id. Each byte is used once and wiped.
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

/** Creates a random id for one request. It is not derived from anything, so it cannot be linked to other records. */
export const requestId = (): string => `req_${randomId(12)}`;
