import { createHash } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { concatBytes, toBase64 } from '@sotto/attestation';

/** A witness, and its line for a checkpoint (https://c2sp.org/tlog-cosignature). */
export function witness(name: string) {
  const secret = new Uint8Array(32).fill(name.length);
  const publicKey = ed25519.getPublicKey(secret);
  const hashed = concatBytes(new TextEncoder().encode(`${name}\n`), Uint8Array.of(4), publicKey);
  const id = createHash('sha256').update(hashed).digest().subarray(0, 4);
  const hexId = id.toString('hex');
  return {
    key: `${name}+${hexId}+${toBase64(concatBytes(Uint8Array.of(4), publicKey))}`,
    line: (checkpoint: string, time = Date.parse('2026-11-28T00:00:00Z') / 1000): string => {
      const body = checkpoint.slice(0, checkpoint.indexOf('\n\n') + 1);
      const signature = ed25519.sign(new TextEncoder().encode(`cosignature/v1\ntime ${time}\n${body}`), secret);
      const stamp = new Uint8Array(8);
      new DataView(stamp.buffer).setBigUint64(0, BigInt(time));
      return `— ${name} ${toBase64(concatBytes(id, stamp, signature))}\n`;
    },
  };
}
