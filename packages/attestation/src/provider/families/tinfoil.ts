import { allZero, toHex } from '../../bytes.ts';
import { Refusal, Unmade } from '../../refusal.ts';
import type { FamilyFindings, FamilyTask } from '../family-check.ts';

/** Tinfoil: report data is the SHA-256 of the TLS key, then the HPKE key itself. It does not contain a nonce. */
export async function checkTinfoil({ checks, reportData, upstreamModel: model }: FamilyTask): Promise<FamilyFindings> {
  await checks.make('provider.freshness', () => {
    throw new Unmade('Tinfoil’s evidence is made once and has no nonce in it');
  });
  const publicKey = await checks.make('provider.key_binding', () => {
    const key = Uint8Array.from(reportData.subarray(32));
    if (allZero(key)) throw new Refusal('the report data has no encryption key');
    return key;
  });
  const tls = await checks.make('provider.tls_binding', () => {
    if (allZero(reportData.subarray(0, 32))) throw new Refusal('the report data has no TLS key');
    return [toHex(reportData.subarray(0, 32))];
  });
  return { key: publicKey && { family: 'tinfoil', algorithm: 'x25519', publicKey, model }, tlsSpkiSha256: tls };
}
