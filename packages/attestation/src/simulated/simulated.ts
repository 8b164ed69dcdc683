import { type Bytes, concatBytes, ownBytes, sameBytes } from '../bytes.ts';
import { Refusal } from '../refusal.ts';
import { type Check, CheckList } from '../verdict.ts';

const simulatedChecks = ['simulated.format', 'simulated.signature', 'simulated.hardware'] as const;
export type SimulatedCheckName = (typeof simulatedChecks)[number];

const magic = new TextEncoder().encode('SIMQ1\0');
const size = magic.length + 32 + 64;

/**
 * Evidence for development: the magic, an Ed25519 public key (32 bytes), and its signature (64 bytes) over a statement
 * with a simulated purpose. No hardware format begins with the magic, and no hardware parser ever receives it.
 */
export function encodeSimulatedEvidence(publicKey: Uint8Array, signature: Uint8Array): Bytes {
  return concatBytes(magic, publicKey, signature);
}

/**
 * Reads simulated evidence, so that developers can run the whole path without a confidential machine. The last check
 * always fails: simulated evidence protects nothing, so the verdict is `untrusted`.
 */
export async function verifySimulated(
  evidence: unknown,
  statements: readonly Bytes[],
): Promise<Check<SimulatedCheckName>[]> {
  const checks = new CheckList<SimulatedCheckName>(simulatedChecks);
  const bytes = await checks.make('simulated.format', () => {
    const own = ownBytes(evidence, 'the simulated evidence', size);
    if (own.length !== size || !sameBytes(own.subarray(0, magic.length), magic)) {
      throw new Refusal('it is no simulated evidence');
    }
    return own.subarray(magic.length);
  });
  if (bytes !== undefined) {
    await checks.make('simulated.signature', async () => {
      const key = await crypto.subtle.importKey('raw', bytes.subarray(0, 32), 'Ed25519', false, ['verify']);
      for (const statement of statements) {
        if (await crypto.subtle.verify('Ed25519', key, bytes.subarray(32), statement)) return;
      }
      throw new Refusal('the simulated evidence is for another statement');
    });
  }
  await checks.make('simulated.hardware', () => {
    throw new Refusal('the evidence is simulated: no hardware protects anything');
  });
  return checks.list();
}
