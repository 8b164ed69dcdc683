import { type Check, verifyGateway, verifyReceipt } from '@sotto/attestation';
import { ClientError } from '../errors.ts';
import { acceptableVerdicts, requireAccepted } from '../gateway/acceptance.ts';
import { type OriginVerification, verifyOrigin } from '../gateway/verify-origin.ts';
import { readOrigin } from '../origin.ts';
import { nodePlatform } from '../platform/node-platform.ts';
import { asUsage, readPinsFile, readWord } from './settings.ts';
import type { Terminal } from './terminal.ts';

/** Options by which the broker is verified whose key signed a receipt, as `parseArgs` takes them. */
export const signerOptions = {
  'base-url': { type: 'string' },
  pins: { type: 'string' },
  require: { type: 'string' },
  relay: { type: 'string' },
  'self-signed': { type: 'boolean' },
  'allow-simulated': { type: 'boolean' },
} as const;

export type SignerValues = {
  readonly [name in keyof typeof signerOptions]?: (typeof signerOptions)[name]['type'] extends 'boolean'
    ? boolean | undefined
    : string | undefined;
};

/**
 * The result for the signature of a receipt:
 *
 * - `valid`: a key of the broker's attested key set signed it.
 * - `invalid`: that key did not sign it, or it contradicts the key set.
 * - `unchecked`: there is no verified key to check it with.
 */
export type SignatureFinding =
  | {
      readonly state: 'valid';
      readonly origin: string;
      readonly keyId: string;
      readonly verdict: string;
      readonly teeType: string | undefined;
    }
  | { readonly state: 'invalid' | 'unchecked'; readonly reason: string };

/** Checks the signature of a receipt. */
export type CheckSignature = (receipt: { readonly key_id: string }) => Promise<SignatureFinding>;

/** Verifies the broker now. The result checks signatures by the key set that it attests. */
export async function signatureChecker(terminal: Terminal, values: SignerValues): Promise<CheckSignature> {
  const none = (reason: string): CheckSignature => {
    return async () => unchecked(reason);
  };
  const address = values['base-url'] ?? terminal.environment.BASE_URL;
  if (address === undefined || address === '') {
    return none('pass --base-url, so that the key of the broker can be verified');
  }
  const { origin } = asUsage(() => readOrigin('--base-url', address));
  const pins = readPinsFile(values.pins);
  const minimumVerdict = readWord('--require', values.require ?? 'hardware_verified', acceptableVerdicts);
  const { 'self-signed': selfSigned = false, 'allow-simulated': allowSimulated = false, relay } = values;
  const { relaysPlainHttp } = terminal;
  const platform = asUsage(() => nodePlatform({ selfSigned, relay, relaysPlainHttp }));
  const verification = await verifyOrigin({ platform, verifyGateway, origin, pins: pins.gateway, now: Date.now });
  try {
    requireAccepted(verification, { minimumVerdict, pins, allowSimulated });
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    const asked = `${minimumVerdict} is required`;
    return none(`the verdict on ${origin} is ${verification.verdict}, and ${asked}; see \`sotto verify ${origin}\``);
  }
  return (receipt) => bySignerOf(receipt, verification);
}

async function bySignerOf(
  receipt: { readonly key_id: string },
  { origin, keySet, verdict, teeType }: OriginVerification,
): Promise<SignatureFinding> {
  if (keySet === undefined) return unchecked(`${origin} attests no keys`);
  const checks = await verifyReceipt(receipt, keySet);
  const { key_id: keyId } = receipt;
  if (outcomeOf(checks, 'receipt.key') !== 'passed') {
    return unchecked(
      `${origin} does not attest the key ${keyId}: another broker signed it, or one that was restarted since, or it is forged`,
    );
  }
  if (outcomeOf(checks, 'receipt.signature') !== 'passed') {
    return { state: 'invalid', reason: `the key ${keyId} that ${origin} attests did not sign it` };
  }
  if (outcomeOf(checks, 'receipt.registry') !== 'passed') {
    return { state: 'invalid', reason: `it names another provider registry than ${origin} attests` };
  }
  return { state: 'valid', origin, keyId, verdict, teeType };
}

const unchecked = (reason: string): SignatureFinding => ({ state: 'unchecked', reason });

const outcomeOf = (checks: readonly Check[], name: string): string | undefined =>
  checks.find((check) => check.name === name)?.outcome;

/** The finding as a line for people. */
export function signatureLine(finding: SignatureFinding): string {
  if (finding.state !== 'valid') {
    return `SIGNATURE NOT ${finding.state === 'invalid' ? 'VALID' : 'CHECKED'}: ${finding.reason}.`;
  }
  const { origin, keyId, verdict, teeType } = finding;
  const simulated = teeType === 'simulated' ? ', by simulated evidence, which proves nothing' : '';
  return `Signature valid: by the key ${keyId}, which ${origin} attests (${verdict}${simulated}).`;
}

/** The finding for programs. */
export function signatureJson(finding: SignatureFinding): object {
  if (finding.state !== 'valid') return finding;
  const { state, origin, keyId, verdict, teeType } = finding;
  return { state, origin, key_id: keyId, verdict, tee_type: teeType ?? null };
}
